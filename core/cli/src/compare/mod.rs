//! What `flowpipe compare` consists of: it runs two pipelines on the same recording.
//!
//! # Layout
//! - [`offline`]: turns a pipeline into one that plays a recording and acts on nothing; [`output`]: which of the
//!   recorded messages it plays.
//! - [`collect`]: collects the messages of a run. [`frame`]: the results by frame; [`side`]: by board.
//! - [`puzzles`]: whether two puzzles are equal, and where they differ first.
//! - [`pair`]: the boards of both pipelines, joined; [`difference`]: their differences.
//! - [`times`]: the times of the stages.
//! - [`comparison`]: the whole result; [`text`] and [`table`]: as text.
//! - [`messages`]: pipelines without boards, compared message by message.
//! - [`runner`]: runs one pipeline, round after round.

pub mod collect;
pub mod comparison;
pub mod difference;
pub mod frame;
pub mod messages;
pub mod offline;
mod output;
pub mod pair;
mod puzzles;
pub mod runner;
pub mod side;
mod table;
pub mod text;
pub mod times;
