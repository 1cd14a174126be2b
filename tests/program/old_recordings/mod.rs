//! Recordings that earlier builds made: they stay readable, and their stages give the same messages.
//!
//! - `frames.mcap`: three pictures of a desktop, a race of two solvers, and a board in memory; by commit `dfae0da`, when
//!   the runtime was one crate.
//! - `changes.mcap`: puzzles, a solver that crashes once and is restarted, and a config that is changed while it runs; by
//!   commit `a605d03`, before the recording's keys got their names of today.

use flowpipe_recording::Recording;
use flowpipe_tests::{project, run};

/// The path of a recording, which is read only.
fn old(name: &str) -> String {
    let path = project().join("tests/program/old_recordings").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn pictures_a_race_and_a_board_in_memory() {
    let ran = run(&["replay", &old("frames.mcap"), "--verify", "--json"]).expect(0);
    let verdict = &ran.json()["verdict"];
    assert_eq!(verdict["same"], 12, "{verdict:#}");
    assert_eq!(verdict["differing"], 0, "{verdict:#}");
    // The pictures come from the recording: what captures has effects.
    assert_eq!(verdict["from_recording"], 3, "{verdict:#}");
}

#[test]
fn a_restart_and_a_changed_config() {
    let recording = Recording::open(std::path::Path::new(&old("changes.mcap"))).unwrap();
    let restarts = recording.calls().filter(|call| call.restarted).count();
    assert_eq!(restarts, 1);
    let ran = run(&["replay", &old("changes.mcap"), "--verify", "--json"]).expect(0);
    let ran = ran.json();
    let verdict = &ran["verdict"];
    assert_eq!(verdict["same"], 2, "{verdict:#}");
    assert_eq!(verdict["differing"], 0, "{verdict:#}");
    // Commands have effects, and the planner's config changed.
    assert_eq!(verdict["from_recording"], 9, "{verdict:#}");
    assert_eq!(ran["changed"], serde_json::json!(["planner"]));
}

#[test]
fn reports_show_what_they_contain() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["frames.mcap", "changes.mcap"] {
        let page = folder.path().join("report.html");
        run(&["report", &old(name), "--output", page.to_str().unwrap()]).expect(0);
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("solver"), "{name}");
    }
}
