//! `flowpipe play`: the practice game in a real window, played with real pointer events.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "support/screen.rs"]
mod screen;

use std::path::PathBuf;
use std::process::{Child, Stdio};

use flowpipe_game::generate::generate;
use flowpipe_game::render::paint;
use flowpipe_puzzle::{Board, Cell, Puzzle, Solution, text};
use flowpipe_tests::{Ran, flowpipe, run};
use screen::{Screen, wait_for};
use serde_json::Value;

const TITLE: &str = "flowpipe play";
const ESCAPE: u32 = 0xff1b;

/// The game in a window of a screen of its own, and its boards.
struct Game {
    // Fields are dropped in this order: first the game, then its screen.
    child: Option<Child>,
    screen: Screen,
    _folder: tempfile::TempDir,
    log: PathBuf,
    /// Where the window's inside begins on the screen.
    origin: [i16; 2],
    boards: Vec<(Puzzle, Solution)>,
}

impl Game {
    fn start(sizes: &[(usize, usize)], args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let boards: Vec<_> = sizes
            .iter()
            .zip(1..)
            .map(|(&(rows, cols), seed)| {
                let board = Board::rectangle(rows, cols).unwrap();
                generate(&board, rows.midpoint(cols), seed).unwrap()
            })
            .collect();
        let texts: Vec<String> = boards
            .iter()
            .map(|(puzzle, _)| text::write(puzzle))
            .collect();
        let (levels, log) = (folder.path().join("levels.txt"), folder.path().join("log"));
        std::fs::write(&levels, texts.join("\n")).unwrap();
        let screen = Screen::start();
        let child = flowpipe(&["play", &levels.display().to_string()])
            .args(["--log", &log.display().to_string()])
            .args(args)
            .env("DISPLAY", screen.display())
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let origin = screen.window(TITLE);
        Self {
            child: Some(child),
            screen,
            _folder: folder,
            log,
            origin,
            boards,
        }
    }

    /// What the game has logged of one kind.
    fn logged(&self, event: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["event"] == event)
            .collect()
    }

    fn wait_for(&self, event: &str, count: usize) {
        wait_for(event, || (self.logged(event).len() >= count).then_some(()));
    }

    /// The middle of a cell on the screen.
    fn middle(&self, board: usize, cell: Cell) -> [i16; 2] {
        let layout = wait_for("layout", || self.logged("layout").pop());
        let part = |name: &str| layout[name].as_f64().unwrap();
        let size = self.boards[board].0.board();
        let (row, col) = size.row_col(cell);
        let x = part("x") + part("width") * (col as f64 + 0.5) / size.cols() as f64;
        let y = part("y") + part("height") * (row as f64 + 0.5) / size.rows() as f64;
        [self.origin[0] + x as i16, self.origin[1] + y as i16]
    }

    /// Draws a board's flows. With `wait`, each step only when the game has taken the one before.
    fn solve(&self, board: usize, wait: bool) {
        for flow in &self.boards[board].1.flows {
            self.screen.move_to(self.middle(board, flow.cells[0]));
            self.screen.press();
            let taken = || self.logged("extended").len() + self.logged("joined").len();
            let before = taken();
            for (step, &cell) in flow.cells.iter().enumerate().skip(1) {
                self.screen.move_to(self.middle(board, cell));
                if wait {
                    wait_for("step", || (taken() >= before + step).then_some(()));
                }
            }
            self.screen.release();
        }
        self.wait_for("solved", board + 1);
    }

    /// Waits for the program's end.
    fn ended(&mut self) -> Ran {
        let child = self.child.take().unwrap();
        child.wait_with_output().unwrap().into()
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        // Still there only when a test fails.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn boards_are_drawn_with_the_mouse_and_escape_closes_the_window() {
    let mut game = Game::start(&[(6, 5), (4, 4)], &["--window", "500x900"]);
    // The terminals are on the screen where the log says that the board is.
    let terminals = game.boards[0].0.terminals();
    wait_for("picture", || {
        let seen = |terminal: &flowpipe_puzzle::Terminal| {
            game.screen.pixel(game.middle(0, terminal.cell)) == paint::colour(terminal.colour)
        };
        terminals.iter().all(seen).then_some(())
    });
    game.solve(0, true);
    // The next board comes by itself.
    game.wait_for("ready", 2);
    game.solve(1, true);
    let solved = game.logged("solved");
    for (line, (_, solution)) in solved.iter().zip(&game.boards) {
        assert_eq!(line["moves"], solution.flows.len());
    }
    game.wait_for("over", 1);
    assert!(game.screen.has_window(TITLE));
    game.screen.key(ESCAPE);
    let ran = game.ended().expect(0);
    assert_eq!(ran.stdout, "solved 2 boards\n");
    assert!(!game.screen.has_window(TITLE));
    assert_eq!(game.logged("closed")[0]["solved"], 2);
}

#[test]
fn every_event_counts_in_a_time_trial_until_it_is_stopped() {
    let args = ["--input", "events", "--time-trial", "10m"];
    let mut game = Game::start(&[(5, 5), (5, 5), (5, 5)], &args);
    for board in 0..2 {
        game.wait_for("ready", board + 1);
        game.solve(board, false);
    }
    game.wait_for("ready", 3);
    // Half a second between two boards, to the nanosecond, by the game's own clock.
    let time = |line: &Value| line["t"].as_u64().unwrap();
    for (solved, ready) in game.logged("solved").iter().zip(&game.logged("ready")[1..]) {
        assert_eq!(time(ready) - time(solved), 500_000_000);
    }
    let cells: usize = game.boards[..2]
        .iter()
        .flat_map(|(_, solution)| &solution.flows)
        .map(|flow| flow.cells.len() - 1)
        .sum();
    assert_eq!(
        game.logged("extended").len() + game.logged("joined").len(),
        cells
    );
    let id = game.child.as_ref().unwrap().id().to_string();
    let kill = std::process::Command::new("kill")
        .arg(&id)
        .status()
        .unwrap();
    assert!(kill.success());
    let ran = game.ended().expect(130);
    assert_eq!(ran.stdout, "solved 2 boards in a time trial of 10m\n");
    assert_eq!(game.logged("closed")[0]["solved"], 2);
}

#[test]
fn without_a_screen_it_says_so() {
    let mut command = flowpipe(&["play"]);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(name);
    }
    let ran = Ran::from(command.output().unwrap()).expect(1);
    let said = "flowpipe: can't open a window: neither WAYLAND_DISPLAY";
    assert!(ran.stderr.starts_with(said), "{ran:#?}");
}

#[test]
fn wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    for (args, code, said) in [
        (&["--size", "3"][..], 2, "from 4 to 18"),
        (&["--drop", "1.5"], 2, "from 0 to 1"),
        (&["--window", "600"], 2, "600x1067"),
        (&["--time-trial", "30"], 2, "the unit is missing"),
        (&["no/such/file"], 2, "no/such/file"),
        (&[&file("empty", "\n")], 2, "no puzzles"),
        (&[&file("odd", "AB\nA.\n")], 65, "line 1, column 2"),
    ] {
        let ran = run(&[&["play"], args].concat()).expect(code);
        assert!(ran.stderr.contains(said), "{ran:#?}");
    }
}
