//! A live run that plays nothing says why, and which config key changes it.

use std::time::Duration;

use crate::live_play::{Table, ready};

/// What a pipeline prints in five seconds, boards left out: standard output and standard error.
fn printed(table: &Table, configs: &[(&str, &str)]) -> (String, String) {
    let player = table.play(&ready("live.toml", configs), &["-q"]);
    std::thread::sleep(Duration::from_secs(5));
    player.signal("INT");
    let ran = player.ended().expect(130);
    (ran.stdout, ran.stderr)
}

#[test]
fn a_monitor_is_not_played_in_and_the_key_for_it_is_named() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let (_, stderr) = printed(&table, &[("screen", "monitor = 1")]);
    let words = "not played, it is unknown whether the board of monitor 1";
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    let key = "set `window` of capture-screen, or any_window = true of actuator-mouse";
    assert!(stderr.contains(key), "{stderr}");
    assert!(table.logged("press").is_empty());
}

/// Its age is another one each time.
#[test]
fn a_board_that_is_always_seen_too_late_is_reported_once() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let (_, stderr) = printed(&table, &[("mouse", "max_age_ms = 0")]);
    let words = "ms ago, and max_age_ms of actuator-mouse is 0";
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    let (_, stderr) = printed(&table, &[("referee", "fresh_ms = 0")]);
    let words = "ms ago, and fresh_ms of referee-repair is 0";
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    assert!(table.logged("press").is_empty());
}

#[test]
fn flags_choose_the_window_and_the_end() {
    let table = Table::set(&["--size", "5", "--seed", "1", "--time-trial", "1h"]);
    let live = ready("live.toml", &[("screen", "monitor = 1")]);
    let args = [
        "--window",
        "flowpipe play",
        "--boards",
        "2",
        "--profile",
        "segments",
    ];
    let player = table.play(&live, &[&args[..], &["--json"]].concat());
    let report = player.ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], 2, "{report:#}");
    assert!(table.count("solved") >= 2);
    let args = ["--window", "flowpipe play", "--seconds", "1"];
    let ended = table.play(&live, &args).ended().expect(0);
    assert!(ended.stdout.contains("the time is up"), "{ended:#?}");
}
