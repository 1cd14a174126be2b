//! Boards, tables and colours on the terminal.

pub mod board;
pub mod colour;
pub mod log;
pub mod progress;
pub mod report;
