//! The flight recorder: the files that it writes after a failure can be replayed.

use std::path::{Path, PathBuf};

use flowpipe_recording::{Entry, Recording, Topic};
#[cfg(unix)]
use flowpipe_tests::{Ran, begun, changed, pipeline, run};
#[cfg(not(unix))]
use flowpipe_tests::{Ran, changed, run};

fn wrong(ready: &str, config: &str, settings: &str) -> String {
    ready
        .replace("from = \"vision\"", "from = \"wrong\"")
        .replace(
            "[stages.solver]",
            &format!(
                "[stages.wrong]\nplugin = \"misbehaving\"\nfrom = \"vision\"\nconfig = {config}\n{settings}\n\n[stages.solver]"
            ),
        )
}

fn fly(folder: &Path, pipeline: &Path, length: &str) -> Ran {
    let to = folder.join("flight.mcap");
    let (pipeline, to) = (pipeline.to_str().unwrap(), to.to_str().unwrap());
    run(&["run", pipeline, "-q", "--flight", length, "--flight-to", to])
}

/// The files that were written.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "mcap"))
        .collect();
    files.sort();
    files
}

fn replay(path: &Path) -> Ran {
    run(&["replay", path.to_str().unwrap(), "--verify", "-q"])
}

#[test]
fn a_run_without_trouble_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| ready);
    fly(folder.path(), &pipeline, "10s").expect(0);
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_stage_that_fails_is_written_down_and_fails_again() {
    let folder = tempfile::tempdir().unwrap();
    // One of the eleven messages fails: two that are far apart on a slow machine leave two files.
    let pipeline = changed(folder.path(), |ready| {
        wrong(
            &ready,
            "{ how = \"fail\", every = 8 }",
            "on_error = \"skip\"",
        )
    });
    let ran = fly(folder.path(), &pipeline, "10s").expect(0);
    let [file] = &files(folder.path())[..] else {
        panic!("one file: {ran:#?}");
    };
    assert!(ran.stderr.contains("made to fail"), "{ran:#?}");
    let command = format!("flowpipe replay {}", file.display());
    assert!(ran.stderr.contains(&command), "{ran:#?}");

    let recording = Recording::open(file).unwrap();
    assert!(!recording.is_cut_off());
    let failed: Vec<_> = recording
        .calls()
        .filter(|call| call.failed.is_some())
        .map(|call| (call.stage.as_str(), call.took.as_ref().unwrap().sequence))
        .collect();
    assert_eq!(failed.first(), Some(&("wrong", 8)));
    // The frame that it began with is there too.
    let frames = Topic::new("frames", "out");
    assert!(recording.picture_of(&frames, 8).is_some());
    let again = replay(file).expect(0);
    assert!(again.stderr.contains("made to fail"), "{again:#?}");
}

#[test]
fn a_stage_that_hangs_is_written_down_and_hangs_again() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| {
        wrong(
            &ready,
            "{ how = \"hang\", every = 6 }",
            "on_error = \"skip\"\ntimeout = \"100ms\"\nwatchdog = \"200ms\"",
        )
    });
    // What the stage sits on is older than what is kept.
    let ran = fly(folder.path(), &pipeline, "50ms").expect(0);
    let files = files(folder.path());
    assert!(!files.is_empty(), "{ran:#?}");
    let recording = Recording::open(&files[0]).unwrap();
    let hung = recording.calls().find(|call| call.hung);
    let took = hung.unwrap().took.clone().unwrap();
    assert_eq!((took.from.as_str(), took.sequence), ("vision", 6));
    let sighting = Topic::new("vision", "out");
    assert!(recording.message(&sighting, 6).is_some());
    assert!(recording.has_pixels(&Topic::new("frames", "out"), 6));

    let whole = folder.path().join("whole.mcap");
    let (whole, changed) = (whole.to_str().unwrap(), folder.path().join("changed.toml"));
    run(&["run", changed.to_str().unwrap(), "-q", "--record", whole]).expect(0);
    let again = replay(Path::new(whole)).expect(0);
    assert!(again.stderr.contains("it hangs"), "{again:#?}");
}

#[test]
fn a_board_that_is_not_solved_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| {
        ready.replace(
            "plugin = \"solver-search\"",
            "plugin = \"solver-bruteforce\"\nconfig = { max_paths = 1 }",
        )
    });
    let ran = fly(folder.path(), &pipeline, "10s");
    assert!(
        ran.stderr.contains("a board that can't be solved"),
        "{ran:#?}"
    );
    let files = files(folder.path());
    assert!(!files.is_empty(), "{ran:#?}");
    replay(&files[0]).expect(0);
}

#[test]
fn a_board_that_is_not_played_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    // The strokes are for a game that draws lines between the places that it sees; this one does not.
    let pipeline = changed(folder.path(), |ready| {
        ready.replace(
            "plugin = \"actuator-simulated\"",
            "plugin = \"actuator-simulated\"\nconfig = { input = \"events\" }",
        )
    });
    let ran = fly(folder.path(), &pipeline, "10s").expect(0);
    assert!(
        ran.stderr.contains("the game does not count it as solved"),
        "{ran:#?}"
    );
    let files = files(folder.path());
    assert!(!files.is_empty(), "{ran:#?}");
    replay(&files[0]).expect(0);
}

/// Fails on each message.
#[cfg(unix)]
const FAILS: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if "message" in asked:
        answer["error"] = "made to fail"
    print(json.dumps(answer), flush=True)
"#;

#[cfg(unix)]
#[test]
fn the_printed_command_runs_the_stage_that_failed_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("fails.py", FAILS);
    write("numbers.jsonl", "1\n2\n");
    let plugins = folder.path().join("my plugins");
    std::fs::create_dir(&plugins).unwrap();
    let text = |rest: &str| {
        format!(
            "[stages.numbers]\nplugin = \"source-jsonl\"\n\
             config = {{ path = \"numbers.jsonl\", schema = \"x.a/1\" }}\n{rest}\
             [stages.ask.config]\ncommand = [\"python3\", \"fails.py\"]\n\
             inputs = {{ in = {{ schema = \"x.a/1\" }} }}\noutputs = {{ out = {{ schema = \"x.b/1\" }} }}\n"
        )
    };
    let ask = |from: &str| {
        format!("[stages.ask]\nplugin = \"exec\"\nfrom = \"{from}\"\non_error = \"skip\"\n")
    };
    let behind =
        "[stages.filter]\nplugin = \"filter\"\nfrom = \"numbers\"\nconfig = { jq = \"true\" }\n";
    for rest in [ask("numbers"), format!("{behind}{}", ask("filter"))] {
        let file = pipeline(folder.path(), &text(&rest));
        let to = folder.path().join("flight-{time}.mcap");
        let to = to.to_str().unwrap();
        let dir = plugins.to_str().unwrap();
        let args = ["run", &file, "-q", "--flight", "10s", "--flight-to", to];
        let ran = run(&[&args[..], &["--plugin-dir", dir]].concat()).expect(0);
        let command = ran.stderr.lines().find_map(|line| {
            let (_, command) = line.split_once("to replay them: flowpipe ")?;
            Some(command.to_owned())
        });
        let command = command.unwrap_or_else(|| panic!("{ran:#?}"));
        assert!(
            command.ends_with(&format!(
                "--from ask --allow runs-commands --plugin-dir '{dir}'"
            )),
            "{command}"
        );
        let pasted = begun(folder.path(), &format!("flowpipe {command}")).expect(0);
        assert!(pasted.stderr.contains("made to fail"), "{pasted:#?}");
    }
}

#[test]
fn only_the_last_seconds_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    // 11 frames at 20 a second, the last fails: what came more than 100 ms before is gone.
    let pipeline = changed(folder.path(), |ready| {
        wrong(
            &ready,
            "{ how = \"fail\", every = 11 }",
            "on_error = \"skip\"",
        )
    });
    let ran = fly(folder.path(), &pipeline, "100ms").expect(0);
    let [file] = &files(folder.path())[..] else {
        panic!("one file: {ran:#?}");
    };
    let recording = Recording::open(file).unwrap();
    let about = recording.about();
    assert!(about.since_ns.is_some(), "{about:#?}");
    let numbers: Vec<_> = recording
        .entries()
        .iter()
        .filter_map(|entry| match entry {
            Entry::Message(message) if message.topic().stage == "frames" => {
                Some(message.sequence())
            }
            _ => None,
        })
        .collect();
    assert_eq!(numbers.last(), Some(&11));
    assert!(!numbers.contains(&1), "{numbers:?}");
    // Numbers that do not start at 1 are the same in a replay.
    replay(file).expect(0);
}

#[test]
fn invalid_arguments_are_reported() {
    let ran = run(&["run", "pipelines/replay.toml", "--flight", "10"]).expect(2);
    assert!(ran.stderr.contains("write it as 500ms or 10s"), "{ran:#?}");
    run(&["run", "pipelines/replay.toml", "--flight-to", "a.mcap"]).expect(2);
}
