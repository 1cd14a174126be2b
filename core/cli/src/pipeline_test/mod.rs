//! The tests of pipeline files: `[[tests]]`.
//!
//! # Layout
//! - [`execution`]: runs one test, within its time. [`inputs`]: the messages that enter. [`buffer`]: their buffers, and
//!   those that are expected.
//! - [`judgement`]: compares what was emitted with what is expected. [`difference`]: where two values differ.
//!   [`listing`]: both side by side.
//! - [`printer`]: prints the results.

mod buffer;
mod difference;
pub mod execution;
mod inputs;
mod judgement;
mod listing;
pub mod printer;

pub use inputs::Folder;
pub use judgement::TestFailure;
