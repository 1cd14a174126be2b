//! `flowpipe play --terminal` in a real pseudo terminal, with the keyboard and the mouse.

use std::fmt::Write as _;

use crate::boards::Boards;
use crate::pty::{Pty, flowpipe};
use flowpipe_puzzle::{Board, Cell};
use flowpipe_tests::run;

/// The game in a terminal of its own, and its boards.
struct Game {
    terminal: Pty,
    boards: Boards,
}

impl Game {
    fn start(sizes: &[(usize, usize)], size: (u16, u16), args: &[&str]) -> Self {
        let boards = Boards::new(sizes);
        let mut command = flowpipe(&[]);
        command.args(boards.args());
        command.arg("--terminal");
        command.args(args);
        Self {
            terminal: Pty::start(command, size),
            boards,
        }
    }

    /// What the program leaves on the terminal, and the boards.
    fn ended(self, code: u32) -> (String, Boards) {
        (self.terminal.ended(code), self.boards)
    }
}

/// The keys that bring the cursor from one cell to another.
fn way(board: &Board, from: Cell, to: Cell) -> String {
    let [(from_row, from_col), (to_row, to_col)] = [from, to].map(|cell| board.row_col(cell));
    let (right, left) = (
        to_col.saturating_sub(from_col),
        from_col.saturating_sub(to_col),
    );
    let (down, up) = (
        to_row.saturating_sub(from_row),
        from_row.saturating_sub(to_row),
    );
    // Letters one way, arrows the other.
    [
        "l".repeat(right),
        "\x1b[D".repeat(left),
        "j".repeat(down),
        "\x1b[A".repeat(up),
    ]
    .concat()
}

#[test]
fn a_level_is_played_with_keys_all_typed_at_once() {
    let mut game = Game::start(&[(4, 5)], (80, 24), &[]);
    game.terminal.wait_to_see("level 1  5x4");
    let (puzzle, solution) = game.boards.boards[0].clone();
    let board = puzzle.board();
    let first = puzzle.terminals().iter().map(|terminal| terminal.cell);
    let (mut keys, mut cursor) = (String::new(), first.min().unwrap());
    for flow in &solution.flows {
        keys += &way(board, cursor, flow.cells[0]);
        keys.push(' ');
        for pair in flow.cells.windows(2) {
            keys += &way(board, pair[0], pair[1]);
        }
        keys.push('\r');
        cursor = flow.cells[flow.cells.len() - 1];
    }
    game.terminal.type_in(&keys);
    game.boards.wait_for("solved", 1);
    game.terminal.wait_to_see("pipe 100%");
    game.terminal.wait_to_see("the end");
    game.terminal.type_in("q");
    let (left, boards) = game.ended(0);
    assert_eq!(left.trim(), "solved 1 board");
    assert_eq!(boards.logged("solved")[0]["moves"], solution.flows.len());
    assert_eq!(boards.logged("shown")[0]["number"], 1);
}

#[test]
fn a_level_is_played_with_the_mouse_until_control_c() {
    let mut game = Game::start(&[(5, 5), (6, 6)], (60, 30), &["--input", "events"]);
    game.boards.wait_for("shown", 1);
    let mut keys = String::new();
    for flow in &game.boards.boards[0].1.flows {
        let last = flow.cells.len() - 1;
        for (index, &cell) in flow.cells.iter().enumerate() {
            // Columns and rows are counted from 1. 0: the left button, 32 more: it moves.
            let [x, y] = game
                .boards
                .middle(0, cell)
                .map(|value| value.floor() as u16 + 1);
            let button = if index == 0 { 0 } else { 32 };
            write!(keys, "\x1b[<{button};{x};{y}M").unwrap();
            if index == last {
                write!(keys, "\x1b[<0;{x};{y}m").unwrap();
            }
        }
    }
    game.terminal.type_in(&keys);
    game.boards.wait_for("solved", 1);
    game.boards.wait_for("shown", 2);
    game.terminal.wait_to_see("level 2  6x6");
    game.terminal.type_in("\x03");
    let (left, boards) = game.ended(130);
    assert_eq!(left.trim(), "solved 1 board");
    assert_eq!(boards.logged("closed")[0]["solved"], 1);
}

#[test]
fn a_small_terminal_is_reported_and_a_signal_ends_the_game() {
    let game = Game::start(&[(18, 15)], (50, 12), &["--time-trial", "30s"]);
    game.terminal.wait_to_see("32 x 21 characters");
    assert!(game.boards.logged("layout").is_empty());
    game.terminal.resize((80, 24));
    game.boards.wait_for("layout", 1);
    game.terminal.wait_to_see("0:30  15x18");
    game.terminal.terminate();
    let (left, _) = game.ended(130);
    assert_eq!(left.trim(), "solved 0 boards in a time trial of 30s");
}

#[test]
fn a_missing_terminal_is_reported() {
    let ran = run(&["play", "--terminal"]).expect(1);
    let expected = "flowpipe: can't play here: standard input is not a terminal\n";
    assert_eq!(ran.stderr, expected);
    let ran = run(&["play", "--terminal", "--window", "500x500"]).expect(2);
    assert!(ran.stderr.contains("cannot be used with"), "{ran:#?}");
}
