//! The ready pipeline on the project's own frames, and the same on real screenshots.

use std::collections::BTreeMap;

use flowpipe_testing::note;
use flowpipe_tests::{pipeline, project, ready, run, shared};
use serde_json::Value;

/// The same stages on other frames.
fn replay_of(frames: &str) -> String {
    let text = ready();
    assert!(text.contains("pipelines/frames/*.png"));
    text.replace("pipelines/frames/*.png", frames)
}

#[test]
fn every_frame_is_read_solved_played_and_accepted() {
    let frames = std::fs::read_to_string(project().join("pipelines/frames/truth.jsonl")).unwrap();
    let count = frames.lines().count();
    assert!(count >= 10);
    let ran = run(&["run", "pipelines/replay.toml", "--json"]).expect(0);
    let json = ran.json();
    for what in ["boards", "solved", "played", "accepted"] {
        assert_eq!(json["boards"][what], count, "{what}: {json:#}");
    }
    assert_eq!(json["boards"]["strokes_refused"], 0, "{json:#}");
    assert_eq!(json["report"]["marks"]["action"]["count"], count);
    assert_eq!(json["report"]["failure"], Value::Null);
    // A steady pipeline allocates no frame memory: no more buffers than can be under way at once.
    let frames = &json["report"]["frames"];
    assert_eq!(json["report"]["stages"][0]["frames_left"], 0, "{frames:#}");
}

#[test]
fn a_run_for_people() {
    let ran = run(&["run", "pipelines/replay.toml"]).expect(0);
    assert!(
        !ran.stdout.contains('\u{1b}'),
        "no colours where there is no terminal"
    );
    for part in [
        "phone-5x5-01.png (5 x 5, 5 flows) solved by solver-search",
        "the game counts it as solved",
        "stage",
        "share",
        "frame captured -> first mouse action: p50",
        "11 boards read, 11 solved, 11 played, 11 accepted by the game",
    ] {
        assert!(ran.stdout.contains(part), "no {part:?} in {}", ran.stdout);
    }
    let coloured = run(&["--color", "always", "run", "pipelines/replay.toml"]).expect(0);
    assert!(
        coloured.stdout.contains("\u{1b}[38;2;255;0;0m"),
        "{}",
        coloured.stdout
    );
}

/// Every board is read, solved and played.
#[test]
fn real_screenshots() {
    let Some(frames) = shared().map(|shared| shared.join("frames")) else {
        note!("skipped: no folder with real screenshots");
        return;
    };
    let truth: BTreeMap<String, Value> = std::fs::read_to_string(frames.join("truth.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|truth| (truth["file"].as_str().unwrap().to_owned(), truth))
        .collect();
    let boards = truth.len();
    // A board that stands solved needs no strokes.
    let solved = truth.values().filter(|truth| truth["state"] == "solved");
    let playable = boards - solved.count();

    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), &replay_of(&frames.display().to_string()));
    let ran = run(&["run", &file]).expect(0);
    let summary = format!(
        "{boards} boards read, {boards} solved, {playable} played, {playable} accepted by the game"
    );
    assert!(
        ran.stdout.contains(&summary),
        "no {summary:?} in {}",
        ran.stdout
    );
    note!("{boards} real screenshots read, solved and played");
}

#[test]
fn a_board_that_contours_find_is_solved_and_played() {
    let text = replay_of("pipelines/frames/phone-5x5-01.png");
    let text = text.replace("vision-opencv", "vision-contours");
    assert!(text.contains("vision-contours"));
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), &text);
    let json = run(&["run", &file, "--json"]).expect(0).json();
    for what in ["boards", "solved", "played", "accepted"] {
        assert_eq!(json["boards"][what], 1, "{what}: {json:#}");
    }
}
