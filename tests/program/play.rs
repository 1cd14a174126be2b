//! `flowpipe play`: the practice game in a real window, played with real pointer events.

use std::process::{Child, Stdio};

use crate::boards::Boards;
use crate::screen::{Screen, wait_for};
use flowpipe_game::render::{Theme, paint};
use flowpipe_puzzle::{Cell, Flow};
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, run};
use serde_json::Value;

const TITLE: &str = "flowpipe play";
const ESCAPE: u32 = 0xff1b;

/// The game in a window of a screen of its own, and its boards.
pub(crate) struct Game {
    // Fields are dropped in this order: first the game, then its screen.
    child: Option<Child>,
    pub(crate) screen: Screen,
    /// Where the window's inside begins on the screen.
    pub(crate) origin: [i16; 2],
    pub(crate) boards: Boards,
}

impl Game {
    pub(crate) fn start(sizes: &[(usize, usize)], args: &[&str]) -> Self {
        Self::start_on(Screen::start(), sizes, args)
    }

    fn start_on(screen: Screen, sizes: &[(usize, usize)], args: &[&str]) -> Self {
        let boards = Boards::new(sizes);
        let child = flowpipe(&boards.args().each_ref().map(String::as_str))
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
            origin,
            boards,
        }
    }

    /// What the game has logged of one kind.
    pub(crate) fn logged(&self, event: &str) -> Vec<Value> {
        self.boards.logged(event)
    }

    pub(crate) fn wait_for(&self, event: &str, count: usize) {
        self.boards.wait_for(event, count);
    }

    /// The middle of a cell on the screen.
    fn middle(&self, board: usize, cell: Cell) -> [i16; 2] {
        let [x, y] = self.boards.middle(board, cell);
        [self.origin[0] + x as i16, self.origin[1] + y as i16]
    }

    /// Draws a board's flows. With `wait`, each step only when the game has taken the one before.
    pub(crate) fn solve(&self, board: usize, wait: bool) {
        for flow in &self.boards.boards[board].1.flows {
            self.draw(board, flow, wait);
        }
        self.wait_for("solved", board + 1);
    }

    fn draw(&self, board: usize, flow: &Flow, wait: bool) {
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
    // The terminals are on the screen where the log places the board.
    let terminals = game.boards.boards[0].0.terminals();
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
    for (line, (_, solution)) in solved.iter().zip(&game.boards.boards) {
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
fn a_theme_is_seen_in_the_window_and_changes_no_rule() {
    let mut game = Game::start(&[(4, 4)], &["--theme", "light"]);
    let (puzzle, solution) = &game.boards.boards[0];
    wait_for("picture", || {
        let seen = |cell| {
            let seen = game.screen.pixel(game.middle(0, cell));
            puzzle.terminal_at(cell).map_or_else(
                || seen.iter().all(|&value| value > 200),
                |colour| seen == Theme::Light.paint(&[], colour),
            )
        };
        puzzle.board().cells().all(seen).then_some(())
    });
    let moves = solution.flows.len();
    game.solve(0, true);
    assert_eq!(game.logged("solved")[0]["moves"], moves);
    game.screen.key(ESCAPE);
    assert_eq!(game.ended().expect(0).stdout, "solved 1 board\n");
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
    let cells: usize = game.boards.boards[..2]
        .iter()
        .flat_map(|(_, solution)| &solution.flows)
        .map(|flow| flow.cells.len() - 1)
        .sum();
    assert_eq!(
        game.logged("extended").len() + game.logged("joined").len(),
        cells
    );
    send_signal("TERM", game.child.as_ref().unwrap().id());
    let ran = game.ended().expect(130);
    assert_eq!(ran.stdout, "solved 2 boards in a time trial of 10m\n");
    assert_eq!(game.logged("closed")[0]["solved"], 2);
}

/// Drags along a flow of the first board, back and forth, so often.
fn drag_about(game: &Game, times: usize) {
    let cells: Vec<Cell> = game.boards.boards[0].1.flows[0].cells.clone();
    for _ in 0..times {
        game.screen.move_to(game.middle(0, cells[0]));
        game.screen.press();
        for &cell in cells[1..].iter().chain(cells.iter().rev()) {
            game.screen.move_to(game.middle(0, cell));
        }
        game.screen.release();
    }
    game.wait_for("release", times);
}

#[test]
fn a_share_of_the_moves_is_lost() {
    let game = Game::start(&[(5, 5)], &["--drop", "1", "--input", "events"]);
    drag_about(&game, 2);
    let moves = game.logged("move");
    assert!(!moves.is_empty() && moves.iter().all(|line| line["lost"] == true));
    assert!(game.logged("extended").is_empty() && game.logged("joined").is_empty());
    assert_eq!(game.logged("pressed").len(), 2);

    let game = Game::start(&[(5, 5)], &["--drop", "0.1", "--seed", "5"]);
    drag_about(&game, 40);
    let moves = game.logged("move");
    let lost = moves.iter().filter(|line| line["lost"] == true).count();
    // With a tenth lost of so many, fewer than a twentieth or more than a fifth does not happen.
    assert!(moves.len() > 200, "{}", moves.len());
    let (least, most) = (moves.len() / 20, moves.len() / 5);
    assert!((least..most).contains(&lost), "{lost} of {}", moves.len());
}

#[test]
fn a_board_is_played_where_its_window_goes() {
    let sizes = [(5, 5), (6, 6)];
    let mut game = Game::start_on(
        Screen::start_with_manager(),
        &sizes,
        &["--window", "400x700"],
    );
    game.wait_for("shown", 1);
    let flows = game.boards.boards[0].1.flows.clone();
    // One flow, then the window moves: the board stays where it is inside.
    game.draw(0, &flows[0], true);
    let layouts = game.logged("layout").len();
    let before = game.origin;
    game.screen.move_window(TITLE, [300, 150]);
    game.origin = wait_for("move", || {
        Some(game.screen.window(TITLE)).filter(|&origin| origin != before)
    });
    game.draw(0, &flows[1], true);
    assert_eq!(game.logged("layout").len(), layouts);
    // It grows: the board lies elsewhere, and its picture with it.
    game.screen.resize_window(TITLE, [500, 800]);
    game.wait_for("layout", layouts + 1);
    game.origin = game.screen.window(TITLE);
    for flow in &flows[2..] {
        game.draw(0, flow, true);
    }
    game.wait_for("solved", 1);
    assert_eq!(game.logged("solved")[0]["moves"], flows.len());
    // What comes next is drawn in the new size.
    game.wait_for("shown", 2);
    let terminals = game.boards.boards[1].0.terminals().to_vec();
    wait_for("picture", || {
        let seen = |terminal: &flowpipe_puzzle::Terminal| {
            game.screen.pixel(game.middle(1, terminal.cell)) == paint::colour(terminal.colour)
        };
        terminals.iter().all(seen).then_some(())
    });
    for line in game.logged("shown") {
        let ready = &game.logged("ready")[line["number"].as_u64().unwrap() as usize - 1];
        assert!(line["t"].as_u64() >= ready["t"].as_u64());
    }
}

#[test]
fn a_missing_screen_is_reported() {
    let mut command = flowpipe(&["play"]);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(name);
    }
    let ran = Ran::from(command.output().unwrap()).expect(1);
    let message = "flowpipe: can't open a window: neither WAYLAND_DISPLAY";
    assert!(ran.stderr.starts_with(message), "{ran:#?}");
}

#[test]
fn wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    for (args, code, message) in [
        (&["--size", "3"][..], 2, "from 4 to 18"),
        (&["--drop", "1.5"], 2, "from 0 to 1"),
        (&["--window", "600"], 2, "600x1067"),
        (&["--theme", "paper"], 2, "dark, light, blocks"),
        (
            &["--theme", "light", "--terminal"],
            2,
            "cannot be used with",
        ),
        (&["--time-trial", "30"], 2, "the unit is missing"),
        (&["no/such/file"], 2, "no/such/file"),
        (&[&file("empty", "\n")], 2, "no puzzles"),
        (&[&file("odd", "AB\nA.\n")], 65, "line 1, column 2"),
    ] {
        let ran = run(&[&["play"], args].concat()).expect(code);
        assert!(ran.stderr.contains(message), "{ran:#?}");
    }
}
