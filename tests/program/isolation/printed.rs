//! What a process prints by itself is logged, and acts on no terminal.

#[cfg(target_os = "linux")]
use std::io::Write as _;
#[cfg(target_os = "linux")]
use std::process::Stdio;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use flowpipe_tests::run;
#[cfg(target_os = "linux")]
use flowpipe_tests::{
    Ran,
    bounds::{bounded, most_memory},
    flowpipe,
};

use super::misbehaving;

#[test]
fn what_a_plugin_prints_is_no_output_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "print", "");
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 8);
    let line = "WARN flowpipe::output: printed by a plugin stage=\"wrong\"";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
}

#[test]
fn what_a_plugin_prints_can_not_act_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "print-escapes", "");
    for colours in ["never", "always"] {
        let ran = run(&["run", "--color", colours, &file]).expect(0);
        for shown in [
            r"\u001b]0;owned\u0007\u001b[2J\rto standard output",
            r"\u009b31m\u202eto standard error",
        ] {
            assert!(ran.stderr.contains(shown), "{}", ran.stderr);
        }
        for hidden in ["\u{1b}]", "\u{1b}[2J", "\r", "\u{9b}", "\u{202e}"] {
            assert!(!ran.stderr.contains(hidden), "{:?}", ran.stderr);
        }
    }
}

#[test]
fn what_is_printed_before_a_crash_is_logged_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "print-and-abort", "");
    let stderr = run(&["run", &file]).expect(0).stderr;
    let places = |what: &str| -> Vec<usize> {
        let places = stderr.match_indices(what);
        places.map(|(at, _)| at).collect()
    };
    let first = places("flowpipe::output: the last words stage=");
    let last = places("flowpipe::output: without an end of the line stage=");
    let deaths = places("its process aborted (SIGABRT");
    assert_eq!((first.len(), last.len()), (2, 2), "{stderr}");
    assert!(deaths.len() >= 2, "{stderr}");
    assert!(first[0] < last[0] && last[0] < deaths[0], "{stderr}");
    assert!(
        first[1] < last[1] && last[1] < deaths[deaths.len() - 1],
        "{stderr}"
    );
}

#[test]
fn a_panic_in_a_process_of_its_own_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "panic-in-thread", "");
    let ran = run(&["run", &file]).expect(0);
    for line in [
        " panicked at tests/plugins/misbehaving.rs:",
        "WARN flowpipe::output: made to panic in a thread stage=\"wrong\"",
    ] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
}

/// Neither where its output is read nor where nobody reads the program's.
#[cfg(target_os = "linux")]
#[test]
fn one_that_prints_without_end_stops_nobody() {
    const MEMORY: u64 = 300_000_000;
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "print-without-end", "");
    let limit = Duration::from_secs(60);
    let ran = bounded(flowpipe(&["run", "--json", &file]), MEMORY, limit).orderly();
    assert_eq!(ran.ran.json()["boards"]["solved"], 8);
    let stderr = &ran.ran.stderr;
    assert!(stderr.contains("printed without end"), "{stderr}");
    assert!(stderr.contains(" lines of output left out)"), "{stderr}");
    assert!(stderr.len() < 1 << 20, "{}", stderr.len());

    // Full before the first line is logged, and it stays so.
    let (unread, stderr) = std::io::pipe().unwrap();
    let mut fills = stderr.try_clone().unwrap();
    std::thread::spawn(move || while fills.write_all(&[b' '; 4096]).is_ok() {});
    std::thread::sleep(Duration::from_millis(200));
    let mut command = flowpipe(&["run", "--json", &file]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap();
    drop(command);
    let mut peak = 0;
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < limit {
        peak = peak.max(most_memory(&child));
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let ran = Ran::from(child.wait_with_output().unwrap()).expect(0);
    drop(unread);
    assert_eq!(ran.json()["boards"]["solved"], 8);
    assert!(peak < MEMORY, "{peak}");
}
