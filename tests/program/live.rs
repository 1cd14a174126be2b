//! The live pipeline against the practice game: a real screen, a real window, the real mouse, and the
//! game's own log as the truth.

use crate::live_play::{TITLE, Table, ready, with_plugin};
use crate::screen::wait_for;
use flowpipe_puzzle::Puzzle;
use serde_json::Value;

/// Every size that boards of the real game have, squares first.
const SIZES: &str = "5,6,7,8,9,10,11,12,13,14,15,5x7,6x8,7x9,8x10,8x11,10x12,12x15,13x17,15x18";
const F12: u32 = 0xffc9;

/// So slow that a test can step in between a press and its release.
const SLOW: &str = "pace = { step = 1.0, dwell_ms = 400.0, ends_ms = 400.0, repeats = 1 }";
/// Stops at the ends of segments alone, so that it does not take all day.
const STOPS: (&str, &str) = ("planner", "profile = \"segments\"");

/// Every press, move and release is inside the board that stood there then, and the game took each.
fn stays_on_the_board(table: &Table) {
    let (mut rows, mut cols, mut seen) = (0.0, 0.0, 0);
    for line in table.log() {
        let size = |key: &str| line["puzzle"]["board"][key].as_f64();
        match line["event"].as_str().unwrap() {
            "level" => (rows, cols) = (size("rows").unwrap(), size("cols").unwrap()),
            "press" | "move" | "release" => {
                let at = |axis: usize| line["at"][axis].as_f64().unwrap();
                let inside = (0.0..cols).contains(&at(0)) && (0.0..rows).contains(&at(1));
                assert!(inside && line["ignored"].is_null(), "{line}");
                seen += 1;
            }
            _ => {}
        }
    }
    assert!(seen > 0, "nothing was played");
}

fn is_down(table: &Table) -> bool {
    let down = |line: &Value| line["event"] == "press" || line["event"] == "release";
    let last = table.log().into_iter().rfind(down);
    last.is_some_and(|line| line["event"] == "press")
}

/// Waits until the game knows that the button is up. It may learn that after the program has ended.
fn wait_for_release(table: &Table) {
    wait_for("release", || (!is_down(table)).then_some(()));
}

/// Plays `boards` boards and compares the result with the game's log.
fn plays(table: &Table, boards: usize, during: impl FnOnce()) -> Value {
    let referee = format!("boards = {boards}");
    let player = table.play(
        &ready("live.toml", &[("referee", referee.as_str())]),
        &["--json"],
    );
    during();
    let report = player.ended().expect(0).json();
    let counts = &report["boards"];
    assert_eq!(counts["accepted"], boards, "{counts}");
    // By the game's own log; the last one may still be on its way into the file.
    table.wait_for("solved", boards);
    let numbers: Vec<usize> = table
        .logged("solved")
        .iter()
        .map(|line| line["number"].as_u64().unwrap() as usize)
        .collect();
    assert_eq!(numbers, (1..=boards).collect::<Vec<_>>());
    stays_on_the_board(table);
    wait_for_release(table);
    report
}

fn boards_of_all_sizes(boards: usize) {
    let table = Table::set(&["--size", SIZES, "--seed", "11", "--time-trial", "1h"]);
    plays(&table, boards, || {});
}

#[test]
fn ten_boards_of_all_sizes() {
    boards_of_all_sizes(10);
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn a_hundred_boards_of_all_sizes() {
    boards_of_all_sizes(100);
}

/// As a person does who selects text in another window: that window would get the presses.
#[test]
fn nothing_is_pressed_while_a_button_is_held_elsewhere() {
    let table = Table::set(&["--size", "5", "--seed", "1", "--window", "600x600"]);
    table.screen.move_to([20, 1190]);
    table.screen.press();
    let printed = tempfile::NamedTempFile::new().unwrap();
    let pipeline = ready("live.toml", &[("referee", "boards = 1")]);
    let player = table.play_as(&pipeline, &["--json"], |command| {
        command.stderr(printed.reopen().unwrap());
    });
    wait_for("the reason", || {
        let text = std::fs::read_to_string(printed.path()).unwrap();
        text.contains("is held down by someone: release it")
            .then_some(())
    });
    assert_eq!(table.count("press"), 0);
    table.screen.release();
    player.ended().expect(0);
    table.wait_for("solved", 1);
    stays_on_the_board(&table);
    wait_for_release(&table);
}

/// Where lines cover terminals, fill cells or end flat, each board is read while it is drawn.
#[test]
fn boards_whose_pipes_look_otherwise() {
    for kind in ["whole-cells", "flat-ends", "digits", "edge-to-edge-cut"] {
        println!("{kind}");
        let args = ["--like", kind, "--size", "5,6,7", "--seed", "14"];
        let table = Table::set(&[&args[..], &["--time-trial", "1h"]].concat());
        plays(&table, 5, || {});
    }
}

/// The screen and the mouse are reached from stages that are confined to that.
#[test]
fn stages_apart_play_too() {
    let table = Table::set(&["--size", "5,6", "--seed", "3", "--time-trial", "1h"]);
    let pipeline = ready("live.toml", &[("referee", "boards = 3")]);
    let mut pipeline: toml::Table = pipeline.parse().unwrap();
    for (_, stage) in pipeline["stages"].as_table_mut().unwrap() {
        let stage = stage.as_table_mut().unwrap();
        stage.insert("isolation".into(), "process".into());
    }
    let report = table
        .play(&pipeline.to_string(), &["--json"])
        .ended()
        .expect(0)
        .json();
    assert_eq!(report["boards"]["accepted"], 3, "{report:#}");
    for stage in report["report"]["stages"].as_array().unwrap() {
        assert_eq!(stage["restarted"], 0, "{stage:#}");
    }
    table.wait_for("solved", 3);
    stays_on_the_board(&table);
    wait_for_release(&table);
}

fn boards_in_a_game_that_loses_events(boards: usize) {
    let args = ["--size", SIZES, "--seed", "12", "--drop", "0.1"];
    let table = Table::set(&[&args[..], &["--time-trial", "1h"]].concat());
    let report = plays(&table, boards, || {});
    let lost = table.log().iter().filter(|it| it["lost"] == true).count();
    assert!(lost > boards, "{lost} events lost");
    println!("{} strokes again", report["boards"]["strokes_refused"]);
}

#[test]
fn ten_boards_in_a_game_that_loses_events() {
    boards_in_a_game_that_loses_events(10);
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn a_hundred_boards_in_a_game_that_loses_events() {
    boards_in_a_game_that_loses_events(100);
}

fn boards_in_a_window_that_is_moved_between_them(boards: usize) {
    let table = Table::set(&["--size", SIZES, "--seed", "13"]);
    plays(&table, boards, || {
        for solved in 1..boards {
            table.wait_for("solved", solved);
            // It stays for a second, then the next one flips in: the window moves meanwhile.
            let step = (solved % 7) as i16;
            table
                .screen
                .move_window(TITLE, [20 + 60 * step, 10 + 9 * step]);
        }
    });
}

#[test]
fn ten_boards_in_a_window_that_is_moved_between_them() {
    boards_in_a_window_that_is_moved_between_them(10);
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_hundred_boards_in_a_window_that_is_moved_between_them() {
    boards_in_a_window_that_is_moved_between_them(100);
}

#[test]
fn every_stage_is_changed_while_it_plays() {
    let args = ["--size", "5,6,7,8", "--seed", "21", "--time-trial", "1h"];
    let table = Table::set(&args);
    let boards = 45;
    let number = format!("boards = {boards}");
    let referee = ("referee", number.as_str());
    let mut pipeline = ready("live.toml", &[referee]);
    let player = table.play(&pipeline, &["--json", "--watch"]);
    let patient = format!("{number}, attempts = 9");
    let changes = [
        with_plugin(&pipeline, "solver", "solver-batsat"),
        with_plugin(&pipeline, "planner", "planner-corners"),
        ready("live.toml", &[referee, ("mouse", "hotkey = \"F11\"")]),
        ready("live.toml", &[("referee", patient.as_str())]),
        ready(
            "live.toml",
            &[referee, ("screen", "window = \"flowpipe play\", rate = 45")],
        ),
        // All at once.
        with_plugin(
            &ready(
                "live.toml",
                &[("referee", patient.as_str()), ("mouse", "hotkey = \"F11\"")],
            ),
            "solver",
            "solver-batsat",
        ),
        pipeline.clone(),
    ];
    let count = changes.len();
    for (round, change) in changes.into_iter().enumerate() {
        table.wait_for("solved", 3 + 4 * round);
        table.change(&change);
        std::thread::sleep(std::time::Duration::from_millis(900));
        pipeline = change;
    }
    drop(pipeline);
    let ran = player.ended().expect(0);
    assert_eq!(
        ran.stderr.matches("changed: ").count(),
        count,
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("not changed"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("referee (config, state kept)"),
        "{}",
        ran.stderr
    );
    let counts = &ran.json()["boards"];
    assert_eq!(counts["accepted"], boards, "{counts}");
    table.wait_for("solved", boards);
    let solved = table.logged("solved");
    let numbers: Vec<_> = solved
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!(
        numbers,
        (1..=boards as u64).collect::<Vec<_>>(),
        "none twice"
    );
    stays_on_the_board(&table);
    wait_for_release(&table);
}

#[test]
fn a_time_trial_is_played_until_it_is_over() {
    let args = ["--size", "5", "--seed", "2", "--time-trial", "5s"];
    let table = Table::set(&args);
    let seconds = ("referee", "seconds = 6.0");
    let player = table.play(&ready("timetrial.toml", &[seconds]), &["--json"]);
    let report = player.ended().expect(0).json();
    assert_eq!(report["report"]["ended"]["reason"], "the time is up");
    assert_eq!(table.logged("over").len(), 1);
    let solved = table.logged("solved").len();
    assert!(solved > 1, "{solved} boards");
}

/// Starts to drag, slowly, and returns while the button is down.
fn mid_drag(table: &Table, mouse: &str) -> crate::live_play::Player {
    let mouse = format!("{SLOW}, {mouse}");
    let player = table.play(
        &ready("live.toml", &[("mouse", mouse.as_str()), STOPS]),
        &["--json"],
    );
    wait_for("press", || is_down(table).then_some(()));
    player
}

/// The run was stopped by hand, with the button up.
fn was_stopped(table: &Table, player: crate::live_play::Player, why: &str) {
    let report = player.ended().expect(130).json();
    let ended = &report["report"]["ended"];
    assert_eq!(ended["how"], "stopped", "{report}");
    assert!(ended["reason"].as_str().unwrap().contains(why), "{ended}");
    wait_for_release(table);
    stays_put(table);
}

/// Nothing more is pressed.
fn stays_put(table: &Table) {
    let presses = table.count("press");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(table.count("press"), presses);
}

#[test]
fn it_lets_go_when_a_person_moves_the_mouse() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, "by_hand = true");
    table.screen.move_to([40, 700]);
    was_stopped(&table, player, "moved by hand");
}

#[test]
fn it_lets_go_when_the_pointer_is_thrown_into_a_corner() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, "by_hand = false");
    // It is put back every 400 ms; a person keeps it there.
    for _ in 0..200 {
        table.screen.move_to([0, 0]);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    was_stopped(&table, player, "corner");
}

#[test]
fn it_lets_go_at_the_hotkey() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, "by_hand = true");
    table.screen.hold_key(F12);
    was_stopped(&table, player, "F12");
    table.screen.release_key(F12);
}

#[test]
fn it_lets_go_at_ctrl_c() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, "by_hand = true");
    player.signal("INT");
    player.ended().expect(130);
    wait_for_release(&table);
    stays_put(&table);
}

/// It stands still in the last stroke. The button is released without it, the game counts the board, and goes on.
#[test]
fn a_board_that_is_won_while_the_program_stands_still_counts() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let mouse = "pace = { dwell_ms = 25.0, ends_ms = 1000.0, repeats = 1 }, max_age_ms = 3000";
    let planner = "profile = \"segments\", skip_last_terminal = false";
    let configs = [
        ("mouse", mouse),
        ("planner", planner),
        ("referee", "boards = 1"),
    ];
    let player = table.play(&ready("live.toml", &configs), &["--json"]);
    table.wait_for("level", 1);
    let puzzle = table.logged("level")[0]["puzzle"].clone();
    let puzzle: Puzzle = serde_json::from_value(puzzle).unwrap();
    table.wait_for("joined", puzzle.terminals().len() / 2);
    player.signal("STOP");
    table.wait_for("ready", 2);
    player.signal("CONT");
    let report = player.ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], 1, "{report:#}");
    assert_eq!(table.count("solved"), 1, "no other board is played");
}

#[test]
fn it_lets_go_when_another_stage_crashes() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let text = ready("live.toml", &[("mouse", SLOW), STOPS]);
    // Reads vision's messages, and panics at the 25th: heartbeats come ten times a second.
    let text = format!(
        "{text}\n[stages.crash]\nplugin = \"misbehaving\"\nfrom = \"vision\"\n\
         config = {{ how = \"panic-in-process\", every = 25 }}\n"
    );
    let player = table.play(&text, &["--json"]);
    wait_for("press", || is_down(&table).then_some(()));
    let report = player.ended().expect(1).json();
    assert_eq!(report["report"]["failure"]["stage"], "crash");
    let last = table.count("press");
    wait_for("release", || (table.count("release") == last).then_some(()));
    stays_put(&table);
    assert!(table.logged("solved").is_empty(), "it was in the middle");
}

#[test]
fn it_lets_go_when_the_window_goes_and_plays_on_when_it_comes_back() {
    let mut table = Table::set(&["--size", "6", "--seed", "1"]);
    let configs = [("mouse", SLOW), STOPS, ("referee", "boards = 1")];
    let player = table.play(&ready("live.toml", &configs), &["--json"]);
    wait_for("press", || is_down(&table).then_some(()));
    table.close_game();
    wait_for("button", || (!table.screen.button_is_down()).then_some(()));
    table.open_game(&["--size", "5", "--seed", "1"]);
    table.wait_for("solved", 1);
    player.ended().expect(0);
}

#[test]
fn it_lets_go_while_something_covers_the_board() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let configs = [("mouse", SLOW), STOPS, ("referee", "boards = 1")];
    let player = table.play(&ready("live.toml", &configs), &["--json"]);
    wait_for("press", || is_down(&table).then_some(()));
    let before = table.count("press");
    let cover = table
        .screen
        .open("cover", [0, 0], [1280, 1200], [90, 90, 90]);
    table.screen.raise_window("cover");
    wait_for_release(&table);
    stays_put(&table);
    assert!(table.count("press") <= before + 1);
    table.screen.close(cover);
    table.wait_for("solved", 1);
    player.ended().expect(0);
    stays_on_the_board(&table);
}

#[test]
fn the_window_and_the_key_that_stops_the_mouse_are_printed_once() {
    let table = Table::set(&["--size", "5", "--seed", "1", "--window", "600x600"]);
    let live = ready(
        "live.toml",
        &[
            ("screen", "window = \"FLOWPIPE P\""),
            ("mouse", "hotkey = \"Pause\""),
            ("referee", "boards = 2"),
        ],
    );
    let ran = table.play(&live, &["--json"]).ended().expect(0);
    let [x, y] = table.screen.window(TITLE);
    let words = format!(
        "the window \"{TITLE}\" at {x}, {y}, 600 x 600 pixels: the real mouse plays there; Pause, Ctrl-C in the terminal or a \
         hand on the mouse stops it\n"
    );
    assert_eq!(ran.stderr.matches(&words).count(), 1, "{ran:#?}");
    let ran = table.play(&live, &["-q"]).ended().expect(0);
    assert!(!ran.stderr.contains("the real mouse"), "{ran:#?}");
}

#[test]
fn a_dry_run_touches_nothing() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let player = table.play(&ready("live.toml", &[]), &["--dry-run"]);
    std::thread::sleep(std::time::Duration::from_secs(4));
    player.signal("INT");
    let ran = player.ended().expect(130);
    assert!(ran.stdout.contains("would drag A by"), "{ran:#?}");
    let words = "pixels: a dry run, the mouse is not moved and nothing is clicked";
    assert_eq!(ran.stderr.matches(words).count(), 1, "{ran:#?}");
    let summary = ", 0 played in a dry run, 0 accepted by the game";
    assert!(ran.stdout.contains(summary), "{ran:#?}");
    assert!(table.logged("press").is_empty());
}

#[test]
fn a_dry_run_of_some_boards_ends_once_their_strokes_are_planned() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let args = ["--dry-run", "--boards", "1"];
    let ran = table
        .play(&ready("live.toml", &[]), &args)
        .ended()
        .expect(0);
    let reason = "a dry run has planned the strokes of 1 board";
    assert!(
        ran.stdout.contains(reason) || ran.stderr.contains(reason),
        "{ran:#?}"
    );
    let (before, _) = ran.stdout.split_once(" flows) solved").unwrap();
    let flows: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    let strokes = ran.stdout.matches("would drag ").count();
    assert_eq!(strokes, flows, "{ran:#?}");
    assert!(table.logged("press").is_empty());
}

#[test]
fn a_run_with_the_real_mouse_is_run_again_without_it() {
    let table = Table::set(&["--size", "5,7,9", "--seed", "8", "--time-trial", "1h"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("live.mcap").display().to_string();
    let pipeline = ready("live.toml", &[("referee", "boards = 4")]);
    let player = table.play(&pipeline, &["--json", "--record", &file]);
    let report = player.ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], 4);
    table.wait_for("solved", 4);
    let presses = table.count("press");

    let again = flowpipe_tests::run(&["replay", &file, "--verify", "--json"]).expect(0);
    let verdict = &again.json()["verdict"];
    assert_eq!(verdict["differences"], Value::Array(Vec::new()));
    // At least a sighting, a solution and a plan for each board.
    assert!(verdict["same"].as_u64().unwrap() >= 12, "{verdict:#}");
    assert_eq!(
        table.count("press"),
        presses,
        "the replay left the mouse alone"
    );
}
