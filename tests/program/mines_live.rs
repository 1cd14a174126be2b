//! `examples/mines` plays sgt-mines, a program of others, in a window on a screen of its own.
//!
//! The program itself judges: only when a field is won it sets the flags that are missing, and vision reads a field as won
//! only when all mines have flags. That the flags were not set by clicks is counted.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::{Ran, built, flowpipe, project};
use serde_json::Value;

use crate::screen::Screen;

/// The entries of the program's menu "Type": its argument, and the number of mines.
const TYPES: [(&str, usize); 6] = [
    ("9x9n10", 10),
    ("9x9n35", 35),
    ("16x16n40", 40),
    ("16x16n99", 99),
    ("30x16n99", 99),
    ("30x16n170", 170),
];
/// The title of the window.
const TITLE: &str = "Mines";

/// A window of sgt-mines.
struct Game(Child);

impl Game {
    fn start(screen: &Screen, id: &str) -> Self {
        let game = Command::new("/usr/games/sgt-mines")
            .arg(id)
            .env("DISPLAY", screen.display())
            .env("GDK_BACKEND", "x11")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let game = game.unwrap_or_else(|error| {
            panic!(
                "sgt-mines does not start ({error}): `./x test` installs it, as the package `sgt-puzzles` does"
            )
        });
        let game = Self(game);
        screen.window(TITLE);
        game
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the example's plugins are.
fn plugins() -> String {
    let folder = built().parent().unwrap().join("mines/debug");
    assert!(
        folder.join("libvision_mines.so").is_file(),
        "examples/mines is not built: run `./x test`, which builds it into {}",
        folder.display()
    );
    folder.display().to_string()
}

/// Plays a game to its end.
fn run(screen: &Screen, mines: usize, args: &[&str]) -> Ran {
    let pipeline = project()
        .join("examples/mines/mines.toml")
        .display()
        .to_string();
    let (plugins, mines) = (plugins(), format!("vision.mines={mines}"));
    let own = [
        "run",
        &pipeline,
        "--plugin-dir",
        &plugins,
        "--set",
        &mines,
        "--json",
    ];
    let player = flowpipe(&[&own[..], args].concat())
        .env("DISPLAY", screen.display())
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output();
    player.unwrap().into()
}

/// What a won game took.
struct Won {
    clicks: usize,
    time: Duration,
}

fn win(screen: &Screen, kind: (&str, usize), seed: usize, args: &[&str]) -> Won {
    let (name, mines) = kind;
    let game = Game::start(screen, &format!("{name}#{seed}"));
    let began = Instant::now();
    let ran = run(screen, mines, args).expect(0);
    let time = began.elapsed();
    drop(game);
    let report: Value = ran.json();
    let reason = report["report"]["ended"]["reason"]
        .as_str()
        .unwrap()
        .to_owned();
    // "the field is won: 12 clicks to open cells, 5 for flags"
    let numbers = reason
        .split(|it: char| !it.is_ascii_digit())
        .filter_map(|it| it.parse().ok());
    let numbers: Vec<usize> = numbers.collect();
    let &[opening, flags] = numbers.as_slice() else {
        panic!("{reason}")
    };
    assert!(flags < mines, "{name}#{seed}: {reason}");
    assert!(
        !ran.stderr.contains("no cell is safe"),
        "{name}#{seed}: {}",
        ran.stderr
    );
    Won {
        clicks: opening + flags,
        time,
    }
}

/// Wins games of each kind, and prints what they took.
fn win_all(kinds: &[(&str, usize)], games: usize) {
    let screen = Screen::start_with_manager();
    for &kind in kinds {
        let mut won: Vec<Won> = (1..=games)
            .map(|seed| win(&screen, kind, seed, &[]))
            .collect();
        let mut range = |of: &dyn Fn(&Won) -> f64| {
            won.sort_by(|one, other| of(one).total_cmp(&of(other)));
            format!(
                "median {:.1}, most {:.1}",
                of(&won[games / 2]),
                of(&won[games - 1])
            )
        };
        let clicks = range(&|it| it.clicks as f64);
        let seconds = range(&|it| it.time.as_secs_f64());
        println!(
            "{}: {games} of {games} won; clicks: {clicks}; seconds: {seconds}",
            kind.0
        );
    }
}

#[test]
fn small_and_large_fields_are_won() {
    win_all(&TYPES[..2], 1);
    win_all(&TYPES[4..5], 1);
}

#[test]
fn a_game_can_be_recorded_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("game.mcap").display().to_string();
    let screen = Screen::start_with_manager();
    win(
        &screen,
        TYPES[0],
        1,
        &["--record", &recording, "--record-lossless"],
    );
    let replayed = flowpipe(&["replay", &recording, "--verify", "--plugin-dir", &plugins()]);
    let ran = Ran::from({ replayed }.output().unwrap()).expect(0);
    assert!(ran.stdout.contains("the same, byte for byte"), "{ran:#?}");
}

#[test]
#[ignore = "takes half an hour: `./x test full` runs it"]
fn a_hundred_fields_of_each_kind_are_won() {
    win_all(&TYPES, 100);
}

#[test]
fn the_tests_of_the_pipeline_pass() {
    let plugins = plugins();
    let ran = flowpipe_tests::run(&[
        "test",
        "examples/mines/mines.toml",
        "--plugin-dir",
        &plugins,
    ]);
    let ran = ran.expect(0);
    assert!(
        ran.stdout.ends_with("2 tests: 2 passed, 0 failed\n"),
        "{ran:#?}"
    );
}
