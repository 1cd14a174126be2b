//! Flow Free (Numberlink) puzzles: boards, rules, checking, formats and the message types.
//!
//! Every rule of the game is defined here once; solvers, the game, the checker and the tests ask it.
//! Nothing here does I/O or starts threads.
//!
//! # Layout
//! - [`board`]: which cells exist and which of them touch (rectangles, holes, walls, bridges, warps, hexes);
//!   `description`: the same as it is written.
//! - [`graph`]: the same as nodes and links; a bridge is one node for each way across.
//! - [`puzzle`]: a board with terminals and rules; [`solution`]: flows.
//! - [`mod@check`]: the one checker of solutions; [`stroke_check`]: the one checker of strokes.
//! - [`text`]: puzzles as text, in and out, of every format: grids, JSON, [`level`] (Flow Free's own level lines),
//!   [`puzzlink`] (puzz.link's URLs).
//! - [`colour`]: letters, names and terminal colours. [`draw`]: boards as text with pipes. [`svg`]: boards
//!   as pictures.
//! - [`geometry`]: where a board lies in a picture, in [`projection`] where it is seen in perspective. [`place`]: where
//!   cells lie on a board.
//! - [`message`]: what flows between stages. [`gestures`]: strokes as what a pointer does.
//!
//! # Example
//! ```
//! use flowpipe_puzzle::{Flow, Solution, check, draw, text};
//!
//! let entry = text::read("R.G\nR.G").remove(0);
//! let (puzzle, _) = entry.puzzle?;
//! let flows = vec![Flow::new(0, vec![0, 1, 4, 3]), Flow::new(1, vec![2, 5])];
//! let solution = Solution::new(flows);
//!
//! // Flow Free's flows do not touch themselves, this one does.
//! let refusals = check(&puzzle, &solution).unwrap_err();
//! assert_eq!(refusals[0].to_string(), "row 2, column 1: flow A touches itself");
//!
//! let style = draw::TextStyle { names: &entry.names, ..draw::TextStyle::default() };
//! assert_eq!(draw::draw(&puzzle, &solution.flows, style), "R─┐ G\nR─┘ G\n");
//! # Ok::<(), text::TextError>(())
//! ```

pub mod answer_check;
pub mod board;
pub mod check;
pub mod colour;
mod description;
pub mod draw;
pub mod geometry;
pub mod gestures;
pub mod graph;
pub mod message;
pub mod place;
pub mod projection;
pub mod puzzle;
#[cfg(test)]
mod snapshot;
pub mod solution;
pub mod stroke_check;
pub mod svg;
pub mod text;

pub use board::{Board, BoardError, Cell, Lattice};
pub use check::{Refusal, Rule, check};
pub use colour::Colour;
pub use geometry::{Geometry, Point};
pub use graph::{Direction, Graph, Link, Node};
pub use projection::Projection;
pub use puzzle::{Puzzle, PuzzleError, Rules, Terminal};
pub use solution::{Flow, Solution};
pub use text::{level, puzzlink};
