//! Where things lie in a terminal.
//!
//! A cell is as large as the terminal allows: eight by four characters or four by two, with lines
//! between, or, on plain boards, two by one without.

use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Cell, Lattice, Point, Puzzle};

/// Lines above the board: the title, and how far the game is.
pub(super) const ABOVE: u16 = 2;
/// Lines below the board: the keys.
const BELOW: u16 = 1;
/// Room for the writing, in characters.
const WRITING: u16 = 32;

/// Where a board lies in a terminal. All in characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    left: u16,
    top: u16,
    /// From one cell to the next, across and down.
    pub(super) pitch: (u16, u16),
    /// Whether there are lines between the cells.
    pub(super) has_lines: bool,
    rows: usize,
    cols: usize,
}

/// The width and height in characters that a board needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooSmall {
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Plan {
    /// Lays a board out in a terminal of a width and height, with the largest cells that fit.
    pub(super) fn new(puzzle: &Puzzle, (width, height): (u16, u16)) -> Result<Self, TooSmall> {
        let board = puzzle.board();
        let (rows, cols) = (board.rows(), board.cols());
        let is_hex = board.description().lattice == Lattice::Hex;
        let mut kinds = vec![((8, 4), true), ((4, 2), true)];
        // Without lines neither walls nor edges that warp are seen, and names have one letter.
        if board.is_plain_rectangle() && puzzle.flow_count() <= 26 {
            kinds.push(((2, 1), false));
        }
        let mut needs = TooSmall {
            width: u16::MAX,
            height: u16::MAX,
        };
        for (pitch, has_lines) in kinds {
            // Boards have far fewer cells than these numbers can hold.
            let line = u16::from(has_lines);
            let lowered = if is_hex { pitch.1 / 2 } else { 0 };
            let wide = cols as u16 * pitch.0 + line;
            let high = rows as u16 * pitch.1 + line + lowered;
            needs = TooSmall {
                width: wide.max(WRITING),
                height: high + ABOVE + BELOW,
            };
            if needs.width <= width && needs.height <= height {
                return Ok(Self {
                    left: (width - wide) / 2,
                    top: ABOVE + (height - needs.height) / 2,
                    pitch,
                    has_lines,
                    rows,
                    cols,
                });
            }
        }
        Err(needs)
    }

    /// The character in the middle of a cell: column and row.
    pub(super) fn middle(&self, puzzle: &Puzzle, cell: Cell) -> (u16, u16) {
        self.character(centre(puzzle.board(), cell))
    }

    /// The character at a point in board units, which must be on the board.
    pub(super) fn character(&self, [x, y]: Point) -> (u16, u16) {
        let [left, top, ..] = self.board_xywh();
        let (across, down) = self.pitch;
        // The casts saturate.
        let column = (left + x * f64::from(across)).floor() as u16;
        let row = (top + y * f64::from(down)).floor() as u16;
        (column, row)
    }

    /// The middle of a character in board units.
    pub(super) fn to_board(&self, column: u16, row: u16) -> Point {
        let [left, top, ..] = self.board_xywh();
        let (across, down) = self.pitch;
        [
            (f64::from(column) - left) / f64::from(across),
            (f64::from(row) - top) / f64::from(down),
        ]
    }

    /// Left, top, width and height of the board's bounding grid, where whole numbers are the middles of
    /// characters.
    pub(super) fn board_xywh(&self) -> [f64; 4] {
        let (left, top) = (f64::from(self.left), f64::from(self.top));
        let (across, down) = (f64::from(self.pitch.0), f64::from(self.pitch.1));
        // With lines the board begins in the middle of its first line, without before its first
        // character.
        let before = if self.has_lines { 0.0 } else { 0.5 };
        [
            left - before,
            top - before,
            across * self.cols as f64,
            down * self.rows as f64,
        ]
    }
}
