//! A live run that plays nothing says why, and which config key changes it.

use std::fs::File;
use std::time::{Duration, Instant};

use crate::live_play::{TITLE, Table, ready};

/// The longest time until something is printed that is waited for.
const LONGEST: Duration = Duration::from_secs(60);

/// What a pipeline prints on standard error in five seconds, and longer until these words are there.
fn printed(table: &Table, configs: &[(&str, &str)], words: &str) -> String {
    printed_while(table, &ready("live.toml", configs), words, wait)
}

/// Between two looks at the clock, where nothing is done meanwhile.
fn wait(_: i16) {
    std::thread::sleep(Duration::from_millis(10));
}

/// The same of another pipeline, while something is done again and again. It is passed how often it was done.
fn printed_while(table: &Table, pipeline: &str, words: &str, again: impl FnMut(i16)) -> String {
    printed_within(Duration::from_secs(5), table, pipeline, words, again)
}

fn printed_within(
    time: Duration,
    table: &Table,
    pipeline: &str,
    words: &str,
    mut again: impl FnMut(i16),
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stderr");
    let stderr = File::create(&file).unwrap();
    let player = table.play_as(pipeline, &["-q"], |command| {
        command.stderr(stderr);
    });
    let printed = || std::fs::read_to_string(&file).unwrap();
    let began = Instant::now();
    for times in 0.. {
        again(times);
        let took = began.elapsed();
        if took > LONGEST || took > time && printed().contains(words) {
            break;
        }
    }
    player.signal("INT");
    player.ended().expect(130);
    printed()
}

#[test]
fn a_monitor_is_not_played_in_and_the_key_for_it_is_named() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let words = "not played, it is unknown whether monitor 1";
    let stderr = printed(&table, &[("screen", "monitor = 1")], words);
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    let key = "set `window` of capture-screen (--window TITLE), or any_window = true of actuator-mouse (--set \
               actuator-mouse.any_window=true)";
    assert!(stderr.contains(key), "{stderr}");
    assert!(table.logged("press").is_empty());
}

/// Its age is another one each time.
#[test]
fn a_board_that_is_always_seen_too_late_is_reported_once() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let words = "ms ago, and max_age_ms of actuator-mouse is 0";
    let stderr = printed(&table, &[("mouse", "max_age_ms = 0")], words);
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    let words = "ms ago, and fresh_ms of referee-repair is 0";
    let stderr = printed(&table, &[("referee", "fresh_ms = 0")], words);
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
    // Enough for a board in a game that it does not know.
    let args = ["--window", "flowpipe play", "--seconds", "8"];
    let ended = table.play(&live, &args).ended().expect(0);
    assert!(ended.stdout.contains("the time is up"), "{ended:#?}");
}

#[test]
fn a_game_that_takes_clicks_is_played_with_a_hint_to_that_profile() {
    let table = Table::set(&["--size", "5", "--seed", "1", "--input", "clicks"]);
    let live = ready("live.toml", &[("planner", "profile = \"events\"")]);
    let hint = "if it takes clicks instead of drags, use --profile clicks";
    // After it began to play, it tries for two seconds.
    let stderr = printed_within(Duration::from_secs(12), &table, &live, hint, wait);
    assert_eq!(stderr.matches(hint).count(), 1, "{stderr}");
}

#[test]
fn a_solver_that_does_not_answer_is_named_with_the_keys_that_change_it() {
    let table = Table::set(&["--size", "14", "--seed", "1"]);
    let live = ready("live.toml", &[]).replace("solver-search", "solver-patient");
    let words = "s: the solver has not answered: wait, set `timeout` of its stage";
    let stderr = printed_while(&table, &live, words, wait);
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    assert!(stderr.contains("another solver in `plugin`"), "{stderr}");
    assert!(table.logged("press").is_empty());
}

#[test]
fn a_window_that_does_not_come_to_rest_is_reported_with_what_to_do() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let again = |times: i16| {
        let step = times % 40;
        table.screen.move_window(TITLE, [20 + 5 * step, 10 + step]);
        std::thread::sleep(Duration::from_millis(15));
    };
    let remedy = "leave it where it is";
    let stderr = printed_while(&table, &ready("live.toml", &[]), remedy, again);
    assert!(stderr.contains(remedy), "{stderr}");
}

/// A window covers one pixel of the board, and has its colour: the board is read all the same.
#[test]
fn a_board_that_stays_covered_is_reported_with_what_to_do() {
    let table = Table::set(&["--size", "5", "--seed", "1", "--window", "600x600"]);
    let [x, y] = table.screen.window(TITLE);
    let place = [x + 330, y + 330];
    let colour = table.screen.pixel(place);
    table.screen.open_dot("dot", place, colour);
    let again = |_| {
        table.screen.raise_window("dot");
        std::thread::sleep(Duration::from_millis(5));
    };
    let words = "something covers the board: move it away";
    let stderr = printed_while(&table, &ready("live.toml", &[]), words, again);
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
}

#[test]
fn a_board_that_can_not_be_seen_is_reported_with_what_to_do() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let size = [1280, 1200];
    table.screen.open("cover", [0, 0], size, [90, 90, 90]);
    let again = |_| {
        table.screen.raise_window("cover");
        std::thread::sleep(Duration::from_millis(15));
    };
    let words = "another window lies over the captured one: move it away";
    let stderr = printed_while(&table, &ready("live.toml", &[]), words, again);
    assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    assert!(table.logged("press").is_empty());
}

#[test]
fn a_window_without_a_board_is_reported_with_the_key_for_another_one() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let size = [600, 600];
    table.screen.open("plain", [0, 0], size, [90, 90, 90]);
    let key = "`window` of capture-screen (--window TITLE)";
    let stderr = printed(&table, &[("screen", "window = \"plain\"")], key);
    assert_eq!(stderr.matches(key).count(), 1, "{stderr}");
    assert!(stderr.contains("(step: "), "{stderr}");
}
