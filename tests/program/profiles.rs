//! Games that need different things from the mouse: the practice game in a window is made to be one
//! after the other, and the live pipeline has to find out which.

use std::path::Path;

use crate::live_play::{TITLE, Table, ready, with_plugin};
use flowpipe_tests::Ran;

/// Boards of each run.
const BOARDS: usize = 10;

/// Plays some boards with a profile and a file for the measured profile, and returns how the program ended.
fn play(table: &Table, profile: &str, games: &Path) -> Ran {
    let before = table.count("solved");
    let planner = format!("profile = \"{profile}\"");
    let referee = format!("boards = {BOARDS}, games = {games:?}");
    let configs = [("planner", planner.as_str()), ("referee", referee.as_str())];
    let pipeline = with_plugin(&ready("live.toml", &configs), "planner", "planner-minlink");
    let ran = table.play(&pipeline, &["--json", "-v"]).ended().expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], BOARDS, "{ran:#?}");
    // By the game's own log, too.
    table.wait_for("solved", before + BOARDS);
    ran
}

/// The profile that the file names for the practice game; `None`: there is no file.
fn kept(games: &Path) -> Option<String> {
    let text = std::fs::read_to_string(games).ok()?;
    let file: toml::Table = text.parse().unwrap();
    let game = &file["games"][TITLE];
    Some(game["profile"].as_str().unwrap().to_owned())
}

/// In a game with these arguments this profile is found, kept, and begun with the next time; or a slower one
/// on a machine so busy that the game misses samples. A faster one is never enough.
fn is_found(args: &[&str], profile: &str) {
    const LADDER: [&str; 6] = ["events", "segments", "turns", "cells", "frames", "slow"];
    let rung = |profile: &str| LADDER.iter().position(|&name| name == profile).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.toml");
    let table = Table::set(args);
    let begins = "begins with profile";
    let first = play(&table, "auto", &games);
    assert!(!first.stderr.contains(begins), "{first:#?}");
    let found = kept(&games).unwrap();
    assert!(rung(&found) >= rung(profile), "{found}: {first:#?}");
    let second = play(&table, "auto", &games);
    let expected = format!("{begins} {found}, found earlier");
    assert!(second.stderr.contains(&expected), "{second:#?}");
    assert!(rung(&kept(&games).unwrap()) >= rung(&found), "{second:#?}");
}

/// With this profile a game is played without any finding, and this is kept.
fn needs_no_finding(args: &[&str], profile: &str, expected: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.toml");
    play(&Table::set(args), profile, &games);
    assert_eq!(kept(&games).as_deref(), expected);
}

#[test]
fn a_game_that_takes_every_event_needs_no_finding() {
    needs_no_finding(
        &["--size", "5,7", "--input", "events"],
        "auto",
        Some("events"),
    );
}

#[test]
fn a_game_that_samples_once_a_frame_needs_segments() {
    is_found(&["--size", "5,7", "--input", "frames"], "segments");
}

#[test]
fn a_game_that_loses_what_is_not_straight_is_found_to_need_turns() {
    is_found(&["--size", "7", "--input", "straight"], "turns");
}

#[test]
fn a_game_that_wants_a_nudge_is_found_to_need_cells() {
    // More than a third of a cell of some 115 pixels, so that steps of a third do not nudge by chance.
    let args = ["--size", "5", "--input", "events", "--nudge", "44"];
    is_found(&args, "cells");
}

#[test]
fn a_game_that_may_overlook_the_nudge_is_found_to_need_it_for_a_frame() {
    let args = ["--size", "5", "--input", "frames", "--nudge", "44"];
    is_found(&args, "frames");
}

#[test]
fn a_game_that_wants_clicks_is_played_with_clicks() {
    needs_no_finding(&["--size", "5,7", "--input", "clicks"], "clicks", None);
}
