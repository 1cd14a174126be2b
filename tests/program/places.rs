//! Relative paths of a pipeline start at its file's folder, wherever the program runs.

use std::path::Path;

use flowpipe_tests::{Ran, begun, flowpipe, pipeline, project, ready, run, with_input};

const PICTURE: &str = "pipelines/frames/phone-5x5-01.png";
const WARNING: &str = "is not in the pipeline file's folder";

/// A pipeline that reads one picture, with more config of its stages.
fn text(paths: &str, frames: &str, actuator: &str) -> String {
    format!(
        "
[stages.frames]
plugin = \"capture-files\"
config = {{ paths = {paths} }}
{frames}
[stages.vision]
plugin = \"vision-opencv\"
from = \"frames\"
[stages.solver]
plugin = \"solver-search\"
from = \"vision\"
[stages.planner]
plugin = \"planner-minlink\"
from = \"solver\"
[stages.actuator]
plugin = \"actuator-simulated\"
from = \"planner\"
{actuator}
"
    )
}

fn in_folder(folder: &Path, args: &[&str]) -> Ran {
    flowpipe(args).current_dir(folder).output().unwrap().into()
}

#[test]
fn what_is_read_and_written_lies_beside_the_file() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let pictures = folder.path().join("my [pictures]");
    std::fs::create_dir(&pictures).unwrap();
    std::fs::copy(project().join(PICTURE), pictures.join("a.png")).unwrap();
    for (isolation, out) in [("", "out"), ("isolation = 'process'", "apart")] {
        let record = format!(
            "config = {{ pictures = '{out}/' }}\n{isolation}\n[record]\nfile = '{out}.mcap'"
        );
        let paths = "['my [[]pictures]/*.png', 'my [pictures]/a.png']";
        let file = pipeline(folder.path(), &text(paths, isolation, &record));
        let ran = in_folder(elsewhere.path(), &["run", &file, "--json"]).expect(0);
        assert_eq!(ran.json()["boards"]["accepted"], 2, "{ran:#?}");
        assert!(!ran.stderr.contains(WARNING), "{ran:#?}");
        let drawn = std::fs::read_dir(folder.path().join(out)).unwrap();
        let drawn = drawn.flatten().map(|it| it.path());
        let drawn = drawn.filter(|path| path.extension().is_some_and(|it| it == "png"));
        assert_eq!(drawn.count(), 2);
        let recording = folder.path().join(format!("{out}.mcap"));
        let recording = recording.display().to_string();
        in_folder(elsewhere.path(), &["replay", &recording, "--verify"]).expect(0);
    }
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_is_only_in_the_working_directory_is_read_there_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), &text(&format!("['{PICTURE}']"), "", ""));
    let ran = run(&["run", &file, "--json"]).expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], 1, "{ran:#?}");
    let beside = format!("({}/{PICTURE})", folder.path().display());
    assert!(
        ran.stderr.contains(WARNING) && ran.stderr.contains(&beside),
        "{ran:#?}"
    );
    let ran = run(&["run", "pipelines/replay.toml", "-q"]).expect(0);
    assert!(!ran.stderr.contains(WARNING), "{ran:#?}");
    // In neither place: the error names the file's folder.
    let file = pipeline(folder.path(), &text("['none.png']", "", ""));
    let ran = run(&["run", &file]).expect(78);
    let missing = folder.path().join("none.png").display().to_string();
    assert!(ran.stderr.contains(&missing), "{ran:#?}");
}

/// A pipe has no folder.
#[cfg(unix)]
#[test]
fn a_pipeline_from_standard_input_starts_at_the_working_directory() {
    for name in ["-", "/dev/stdin"] {
        let ran = with_input(&["run", name, "--json"], &ready()).expect(0);
        assert_eq!(ran.json()["boards"]["accepted"], 11, "{ran:#?}");
        assert!(!ran.stderr.contains(WARNING), "{ran:#?}");
    }
}

/// Scripts and their puzzles are found wherever the pipeline is run from.
#[test]
fn a_new_plugin_in_python_runs_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = "set -e\nflowpipe new planner planner-mine --lang python\nmkdir far\ncd far\n\
                  flowpipe run ../planner-mine/pipeline.toml";
    let ran = begun(folder.path(), script);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let played = "4 boards read, 4 solved, 4 played, 4 accepted";
    assert!(ran.stdout.contains(played), "{ran:#?}");
    assert!(!ran.stderr.contains("WARN"), "{ran:#?}");
}

/// No command writes over the script that it runs.
#[test]
fn an_output_is_compared_with_the_command_s_files_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("solve.py");
    std::fs::copy(project().join("examples/solver.py"), &script).unwrap();
    let stages =
        "[stages.a]\nplugin = 'capture-exec'\nconfig = { command = ['python3', 'solve.py'] }\n";
    let file = pipeline(folder.path(), stages);
    let script = script.display().to_string();
    let ran = run(&["run", &file, "--record", &script]).expect(2);
    assert!(
        ran.stderr.contains("this command reads the same file"),
        "{ran:#?}"
    );
}
