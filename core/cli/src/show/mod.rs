//! Boards, tables and colours on the terminal.

pub mod answer;
pub mod board;
pub mod colour;
pub mod happenings;
pub mod log;
pub mod pictures;
pub mod plot;
pub mod progress;
pub mod report;
pub mod screen;
pub mod steps;
