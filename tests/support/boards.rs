//! Boards for the practice game, and what it logged of playing them.

#![allow(dead_code, reason = "each test file uses some of it")]
#![expect(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use flowpipe_game::generate::generate;
use flowpipe_puzzle::{Board, Cell, Puzzle, Solution, text};
use flowpipe_tests::game_log;
use serde_json::Value;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// Generated boards in a file, and the game's log beside it.
pub struct Boards {
    folder: tempfile::TempDir,
    pub boards: Vec<(Puzzle, Solution)>,
}

impl Boards {
    /// A board for each pair of rows and columns.
    pub fn new(sizes: &[(usize, usize)]) -> Self {
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
        std::fs::write(folder.path().join("levels.txt"), texts.join("\n")).unwrap();
        Self { folder, boards }
    }

    /// What the program is given to play them and to log it.
    pub fn args(&self) -> [String; 4] {
        let levels = self.folder.path().join("levels.txt");
        let text = |path: PathBuf| path.display().to_string();
        [
            "play".into(),
            text(levels),
            "--log".into(),
            text(self.log()),
        ]
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// What the game has logged of one kind.
    pub fn logged(&self, event: &str) -> Vec<Value> {
        let mut all = game_log(&self.log());
        all.retain(|line| line["event"] == event);
        all
    }

    /// Waits until so many lines of one kind are logged.
    pub fn wait_for(&self, event: &str, count: usize) {
        let began = Instant::now();
        while self.logged(event).len() < count {
            assert!(
                began.elapsed() < PATIENCE,
                "not {count} of {event} within {PATIENCE:?}"
            );
            sleep(Duration::from_millis(2));
        }
    }

    /// The middle of a cell in the window or the terminal.
    pub fn middle(&self, board: usize, cell: Cell) -> [f64; 2] {
        self.wait_for("layout", 1);
        let layout = self.logged("layout").pop().unwrap();
        let part = |name: &str| layout[name].as_f64().unwrap();
        let size = self.boards[board].0.board();
        let (row, col) = size.row_col(cell);
        [
            part("x") + part("width") * (col as f64 + 0.5) / size.cols() as f64,
            part("y") + part("height") * (row as f64 + 0.5) / size.rows() as f64,
        ]
    }
}
