//! Ctrl-C, and the end of the terminal, in every phase of `replay`, `report` and `compare`: while the recording is read,
//! prepared, run and summed up.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::entries::Parts;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{changed, flowpipe, record};
use serde_json::{Value, json};

/// So long after the signal nobody waits, however busy the machine. Each command goes on for far longer.
const SOON: Duration = Duration::from_secs(20);

/// A recording of two small boards.
fn good(folder: &Path) -> Parts {
    let pipeline = changed(folder, |ready| {
        ready.replace(
            "pipelines/frames/*.png",
            "pipelines/frames/phone-[56]x*.png",
        )
    });
    let path = record(folder, "good.mcap", pipeline.to_str().unwrap());
    Parts::read(Path::new(&path))
}

fn saved(folder: &Path, name: &str, parts: &Parts) -> String {
    let path = folder.join(name);
    std::fs::write(&path, parts.write()).unwrap();
    path.display().to_string()
}

/// Starts the program, sends a signal after a while and waits for the end.
pub fn interrupted(args: &[&str], signal: &str, after: Duration) -> ExitStatus {
    let mut child = flowpipe(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while began.elapsed() < after {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    send_signal(signal, child.id());
    let sent = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if sent.elapsed() > SOON {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{args:?} goes on {SOON:?} after SIG{signal} that came {after:?} after its start"
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether it ended because of the signal: before anybody listens to it, by the signal itself.
pub fn is_stopped(status: ExitStatus) -> bool {
    status.code() == Some(130) || [Some(1), Some(2)].contains(&status.signal())
}

#[test]
fn in_every_phase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut parts = good(folder);
    // Enough to read, prepare and sum up for some time.
    for number in 1000..60_000_u64 {
        parts.call(&json!({
            "stage": "solver", "event": "message", "taken_ns": number, "ended_ns": number,
            "took": { "port": "in", "from": "vision", "output": "out", "sequence": number },
            "emitted": [{ "port": "out", "sequence": number, "at_ns": number }],
        }));
    }
    let file = saved(folder, "long.mcap", &parts);
    let page = folder.join("page.html").display().to_string();
    let ready = "pipelines/replay.toml";
    let commands: [&[&str]; 3] = [
        &["replay", &file, "--verify", "--json"],
        &["report", &file, "--output", &page],
        &["compare", ready, ready, &file, "--repeat", "100"],
    ];
    for command in commands {
        let mut stopped = 0;
        let phases = [10, 60, 150, 300, 600, 1_000, 1_800];
        for (after, signal) in phases.into_iter().zip(["INT", "HUP"].into_iter().cycle()) {
            let status = interrupted(command, signal, Duration::from_millis(after));
            let is_over = [Some(0), Some(1)].contains(&status.code());
            assert!(is_stopped(status) || is_over, "{command:?}: {status:?}");
            stopped += usize::from(is_stopped(status));
            let left = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name());
            let mut left = left.filter(|name| name.as_encoded_bytes().ends_with(b".tmp"));
            assert_eq!(left.next(), None, "{command:?} leaves an unfinished file");
        }
        assert!(stopped > 2, "{command:?} was stopped {stopped} times");
    }
}

#[test]
fn a_command_without_a_run_ends_in_order_when_its_terminal_is_gone() {
    let mut child = flowpipe(&["generate", "--count", "1000000000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It prints, so that it listens to signals.
    let mut first = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    send_signal("HUP", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Whoever runs the tests may ignore signals, as shells do for what they start in the background.
#[test]
fn signals_that_are_ignored_around_the_tests() {
    let script =
        "trap '' HUP INT QUIT TERM; exec \"$0\" --exact interrupt::a_replay_that_waits_for_years";
    let mut tests = Command::new("sh");
    tests
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap());
    let ran = tests.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(stdout.contains("1 passed"), "{stdout}");
}

/// A call of eighteen years later, and everything at the pace of then.
#[test]
fn a_replay_that_waits_for_years() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut parts = good(folder);
    let late = 1_i64 << 59;
    parts.call(&json!({
        "stage": "solver", "event": "message", "taken_ns": late, "ended_ns": late,
        "took": { "port": "in", "from": "vision", "output": "out", "sequence": 1 },
    }));
    let file = saved(folder, "late.mcap", &parts);
    let command = ["replay", &file, "--speed", "1x", "-q"];
    let status = interrupted(&command, "INT", Duration::from_secs(3));
    assert!(is_stopped(status), "{status:?}");
}

/// The solver's last call with a message comes years later. What waits for it is not compared.
#[test]
fn a_verification_that_is_stopped_compares_what_was_played() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut parts = good(folder);
    let is_late = |call: &Value| call["stage"] == "solver" && call["took"]["sequence"] == 2;
    let mut late = 0;
    for entry in &mut parts.entries {
        if !parts.channels[entry.channel].has_calls() {
            continue;
        }
        let mut call: Value = serde_json::from_slice(&entry.data).unwrap();
        if is_late(&call) {
            call["taken_ns"] = json!(1_i64 << 59);
            call["ended_ns"] = json!(1_i64 << 59);
            entry.data = call.to_string().into_bytes();
            late += 1;
        }
    }
    assert_eq!(late, 1);
    let file = saved(folder, "late.mcap", &parts);
    let mut child = flowpipe(&["replay", &file, "--verify", "--speed", "1x"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The board that comes first is solved: messages were compared.
    let solved = lines.find(|line| line.as_ref().unwrap().contains(" solved by "));
    assert!(solved.is_some(), "it ended before it was stopped");
    send_signal("INT", child.id());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    let stopped = "the replay was stopped: ";
    let line = rest.iter().find_map(|line| line.strip_prefix(stopped));
    let line = line.unwrap_or_else(|| panic!("no {stopped:?} in {rest:#?}"));
    let numbers = line.split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<u64> = numbers.filter_map(|it| it.parse().ok()).collect();
    // The answer to the second board, its plan and its strokes are never played.
    assert!(numbers[0] > 0 && numbers[1] >= 3, "{line}");
    assert!(
        !rest.iter().any(|line| line.contains("(no message)")),
        "{rest:#?}"
    );
}
