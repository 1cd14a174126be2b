//! Two pipelines on the same recording, for `flowpipe compare`.
//!
//! # Layout
//! - [`onto`]: a pipeline that is fed by a recording and touches nothing; [`output`]: by which of the recorded
//!   messages.
//! - [`gather`]: listens to a run of it. [`frame`]: what was made of one frame; [`side`]: of one board.
//! - [`puzzles`]: whether two puzzles are the same, and where they differ first.
//! - [`pair`]: the boards of both, joined; [`difference`]: in what they differ.
//! - [`times`]: how long the stages took.
//! - [`outcome`]: all of it; [`text`] and [`table`]: for a terminal.

pub mod difference;
pub mod frame;
pub mod gather;
pub mod onto;
pub mod outcome;
mod output;
pub mod pair;
mod puzzles;
pub mod side;
mod table;
pub mod text;
pub mod times;
