//! Files that are read are not written over.

use std::path::Path;

use flowpipe_recording::Recording;
use flowpipe_tests::{Ran, flowpipe, pipeline, record, run};

use super::names;
use crate::edited::edit;

#[test]
fn what_is_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    std::fs::hard_link(&path, at("hard.mcap")).unwrap();
    std::os::unix::fs::symlink("a.mcap", at("soft.mcap")).unwrap();
    let before = std::fs::read(&path).unwrap();
    let from_recording = |record: &str| {
        let to = at("source.toml");
        let text = format!(
            "{record}[stages.screen]\nplugin = \"capture-recording\"\nconfig = {{ file = '{path}' }}\n"
        );
        std::fs::write(&to, text).unwrap();
        to
    };
    let mut tried = Vec::new();
    for name in ["a.mcap", "hard.mcap", "soft.mcap"].map(at) {
        for flag in ["--record", "--trace"] {
            tried.push(run(&["replay", &path, "-q", flag, &name]));
            tried.push(run(&["run", &from_recording(""), "-q", flag, &name]));
        }
        let of_pipeline = format!("[record]\nfile = '{name}'\n");
        tried.push(run(&["run", &from_recording(&of_pipeline), "-q"]));
        tried.push(run(&["report", &path, "--output", &name]));
    }
    let pipeline = from_recording("");
    tried.push(run(&["run", &pipeline, "-q", "--record", &pipeline]));
    for (command, flag) in [
        ("solve", "--svg"),
        ("convert", "--output"),
        ("bench", "--svg"),
    ] {
        let puzzles = at("puzzles.txt");
        std::fs::write(&puzzles, "AB\n..\nAB\n").unwrap();
        let mut args = vec![command, &puzzles, flag, &puzzles];
        if command == "convert" {
            args.extend(["--to", "json"]);
        }
        tried.push(run(&args));
        assert_eq!(std::fs::read(&puzzles).unwrap(), b"AB\n..\nAB\n");
    }
    for ran in tried {
        let ran = ran.expect(2);
        assert!(ran.stderr.contains("reads the same file"), "{ran:#?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let left = names(folder.path());
    let made = [
        "a.mcap",
        "hard.mcap",
        "puzzles.txt",
        "soft.mcap",
        "source.toml",
    ];
    assert_eq!(left, made, "nothing half made is left");
    // Another name is fine, also one that something has.
    std::fs::write(at("b.mcap"), "old").unwrap();
    run(&["replay", &path, "-q", "--record", &at("b.mcap")]).expect(0);
    Recording::open(Path::new(&at("b.mcap"))).unwrap();
}

/// By what plugins declare: pictures of a pattern or a folder, and what is among a command's arguments.
#[test]
fn what_stages_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.png", "solver.py"] {
        std::fs::write(at(name), "precious").unwrap();
    }
    let all = folder.path().display();
    for (config, file) in [
        (
            format!("plugin = 'capture-files'\nconfig = {{ paths = '{all}' }}"),
            "a.png",
        ),
        (
            format!("plugin = 'capture-files'\nconfig = {{ paths = ['{all}/?.png'] }}"),
            "a.png",
        ),
        (
            format!(
                "plugin = 'capture-exec'\nconfig = {{ command = ['python3', '{all}/solver.py'] }}"
            ),
            "solver.py",
        ),
    ] {
        let pipeline = pipeline(folder.path(), &format!("[stages.a]\n{config}\n"));
        let ran = run(&["run", &pipeline, "-q", "--record", &at(file)]).expect(2);
        assert!(ran.stderr.contains("reads the same file"), "{ran:#?}");
        assert_eq!(std::fs::read(at(file)).unwrap(), b"precious");
    }
}

/// A text of a config that happens to be a file's name.
#[test]
fn what_no_stage_reads_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("A.A"), "old").unwrap();
    let text = "[stages.a]\nplugin = 'capture-puzzles'\nconfig = { text = 'A.A' }\n";
    let pipeline = pipeline(folder.path(), text);
    let mut command = flowpipe(&["run", &pipeline, "-q", "--record", "A.A"]);
    let ran = command.current_dir(folder.path()).output().unwrap();
    Ran::from(ran).expect(0);
    Recording::open(&folder.path().join("A.A")).unwrap();
}

#[test]
fn a_run_that_does_not_begin_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let before = std::fs::read(&path).unwrap();
    let bad = pipeline(
        folder.path(),
        "[stages.a]\nplugin = \"capture-recording\"\nconfig = { file = 'none' }\n",
    );
    run(&["run", &bad, "-q", "--record", &path]).expect(78);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["a.mcap", "pipeline.toml"]);
}

/// The name of a pipeline in a recording is its maker's choice: it picks no folder, follows no link and replaces no
/// file.
/// The tables of a run would be in the middle of its recording.
#[test]
fn standard_output_is_not_recorded_to() {
    let args = ["run", "pipelines/replay.toml", "-q", "--record"];
    let ran = run(&[&args[..], &["/dev/stdout"]].concat()).expect(2);
    assert!(ran.stderr.contains("standard output"), "{ran:#?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_recording_does_not_choose_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let honest = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    std::fs::create_dir(at("out")).unwrap();
    std::fs::create_dir(at("elsewhere")).unwrap();
    for (name, content) in [("precious", "precious"), ("out/taken.mcap", "taken")] {
        std::fs::write(at(name), content).unwrap();
    }
    let links = [
        ("out/linked.mcap", "../precious"),
        ("out/_victim.mcap", "../precious"),
        ("out/.victim.mcap", "../precious"),
        ("out/dangling.mcap", "../elsewhere/made.mcap"),
        ("out/folder", "../elsewhere"),
    ];
    for (link, to) in links {
        std::os::unix::fs::symlink(to, at(link)).unwrap();
    }
    let long = "n".repeat(1000);
    let replay = |name: &str, to: &str| {
        let from = at("edited.mcap");
        edit(Path::new(&honest), Path::new(&from), |it| {
            it.about.name = name.to_owned();
        });
        run(&["replay", &from, "-q", "--record", &at(to)])
    };
    for (name, to) in [
        ("taken", "out/{name}.mcap"),
        ("linked", "out/{name}.mcap"),
        (".victim", "out/{name}.mcap"),
        ("dangling", "out/{name}.mcap"),
        ("folder", "out/{name}/a.mcap"),
    ] {
        let ran = replay(name, to).expect(2);
        assert!(ran.stderr.contains("{name}"), "{name}: {}", ran.stderr);
    }
    for (name, to, made) in [
        ("..", "out/{name}/b.mcap", "out/__/b.mcap"),
        ("../../x", "out/{name}.mcap", "out/______x.mcap"),
        ("a\nb\u{1b}", "out/{name}.mcap", "out/a-b-.mcap"),
        ("", "out/{name}.mcap", "out/_.mcap"),
    ] {
        replay(name, to).expect(0);
        assert!(Path::new(&at(made)).is_file(), "{name:?}");
    }
    replay(&long, "out/{name}.mcap").expect(0);
    assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");
    assert_eq!(std::fs::read(at("out/taken.mcap")).unwrap(), b"taken");
    assert_eq!(names(Path::new(&at("elsewhere"))), [""; 0]);
    let all = ["a.mcap", "edited.mcap", "elsewhere", "out", "precious"];
    assert_eq!(names(folder.path()), all);
}
