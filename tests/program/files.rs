//! Every command on every kind of file: folders, devices, pipes, what is no text, what is empty or endless. Each ends
//! soon, and with the exit code that is documented.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_tests::{Ran, flowpipe, pipeline, run};

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kinds of files, and what they are called in the folder of [`files`].
const KINDS: [&str; 9] = [
    "missing",
    "folder",
    "/dev/zero",
    "/dev/stdin",
    "pipe",
    "latin1",
    "nul",
    "empty",
    "huge",
];

/// One file of each kind.
fn files(folder: &Path) {
    let at = |name: &str| folder.join(name);
    fs::create_dir(at("folder")).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    fs::write(at("latin1"), b"name = \"a\"\n# caf\xe9\n").unwrap();
    fs::write(at("nul"), b"\0\0\0\0").unwrap();
    fs::write(at("empty"), b"").unwrap();
    // Takes no room on the disk.
    File::create(at("huge")).unwrap().set_len(6 << 30).unwrap();
}

/// Runs the program to its end, which comes soon.
#[track_caller]
fn soon(mut command: Command) -> Ran {
    // What it reads as its standard input is a pipe that somebody holds open.
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let held = child.stdin.take();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
    drop(held);
    child.wait_with_output().unwrap().into()
}

/// What a command ends with on each of [`KINDS`]; `None`: it waits for what somebody is about to write.
#[track_caller]
fn check(before: &[&str], after: &[&str], codes: [Option<i32>; 9]) {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    thread::scope(|scope| {
        for (kind, code) in KINDS.into_iter().zip(codes) {
            let Some(code) = code else {
                continue;
            };
            let path = folder.path().join(kind).display().to_string();
            scope.spawn(move || {
                let args = [before, &[&path], after].concat();
                let ran = soon(flowpipe(&args));
                assert_eq!(ran.code, Some(code), "{args:?}: {ran:#?}");
                let all_output = [&*ran.stdout, &*ran.stderr].concat();
                assert!(
                    all_output.contains(kind),
                    "{args:?} names no file: {ran:#?}"
                );
                assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:#?}");
            });
        }
    });
}

#[test]
fn pipelines() {
    let codes = [2, 2, 78, 0, 2, 78, 78, 78, 78].map(Some);
    let waits = |codes: [Option<i32>; 9]| codes.map(|code| code.filter(|&code| code != 0));
    check(&["check"], &[], waits(codes));
    check(&["run"], &[], waits(codes));
    check(&["graph"], &[], waits(codes));
}

#[test]
fn recordings() {
    let codes = [2, 2, 2, 2, 2, 65, 65, 65, 65].map(Some);
    check(&["replay"], &[], codes);
    check(&["report"], &["--output", "-"], codes);
    check(&["messages"], &[], codes);
    let ready = "pipelines/replay.toml";
    check(&["compare", ready, ready], &[], codes);
}

#[test]
fn puzzles() {
    let codes = [
        Some(2),
        Some(2),
        Some(2),
        None,
        Some(2),
        Some(65),
        Some(65),
        Some(2),
        Some(2),
    ];
    check(&["solve"], &[], codes);
    check(&["convert"], &["--to", "grid"], codes);
    check(&["bench"], &[], codes);
}

#[test]
fn pictures() {
    let codes = [2, 2, 2, 2, 2, 65, 65, 65, 65].map(Some);
    check(&["see"], &[], codes);
}

#[test]
fn plugins() {
    let codes = [2, 2, 2, 2, 2, 1, 1, 1, 1].map(Some);
    check(
        &["plugin", "check"],
        &[],
        codes.map(|code| code.filter(|&code| code == 2)),
    );
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for kind in ["latin1", "nul", "empty"] {
        let path = folder.path().join(kind).display().to_string();
        soon(flowpipe(&["plugin", "check", &path])).expect(1);
    }
}

#[test]
fn a_pipeline_that_is_no_text_is_wrong_at_a_place() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let path = folder.path().join("latin1").display().to_string();
    let ran = run(&["check", &path]).expect(78);
    assert!(
        ran.stderr.contains("latin1:2:6: the byte 0xe9"),
        "{}",
        ran.stderr
    );
    let ran = run(&["check", &path, "--json"]).expect(78);
    let json = ran.json();
    assert_eq!(
        (&json["line"], &json["column"]),
        (&2.into(), &6.into()),
        "{json}"
    );
}

#[test]
fn a_nul_character_is_wrong_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[stages.a]\nplugin = \"capture-files\"\nconfig = { paths = [\"a\\u0000b.png\"] }\n";
    let path = pipeline(folder.path(), text);
    for command in ["check", "run"] {
        let ran = run(&[command, &path]).expect(78);
        let place = "pipeline.toml:3:21: a string can't hold a NUL character";
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
    }
    let puzzle = folder.path().join("puzzle.txt").display().to_string();
    fs::write(&puzzle, "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n").unwrap();
    run(&["solve", &puzzle]).expect(0);
    let picture = "pipelines/frames/phone-5x5-01.png";
    for (args, what) in [
        (
            ["solve", &puzzle, "--config", "{ a = \"\\u0000\" }"],
            "a string",
        ),
        (["see", picture, "--config", "{ \"\\u0000\" = 1 }"], "a key"),
    ] {
        let ran = run(&args).expect(78);
        let expected = format!("{what} can't hold a NUL character");
        assert!(ran.stderr.contains(&expected), "{ran:#?}");
    }
}

/// A pipeline out of a pipe runs, and its recording has its text.
#[test]
fn a_pipeline_may_come_out_of_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let pipe = folder.path().join("pipe");
    let text = flowpipe_tests::ready();
    let written = pipe.clone();
    let writing = thread::spawn(move || fs::write(written, text));
    let recording = folder.path().join("a.mcap").display().to_string();
    let args = [
        "run",
        &pipe.display().to_string(),
        "-q",
        "--record",
        &recording,
    ];
    soon(flowpipe(&args)).expect(0);
    writing.join().unwrap().unwrap();
    let recording = flowpipe_recording::Recording::open(Path::new(&recording)).unwrap();
    assert!(recording.pipeline().contains("[stages.frames]"));
}
