//! Minesweeper without a screen: what a field shows, where the mines are, and which clicks that allows.

pub mod chances;
pub mod clicks;
pub mod field;
mod known;
pub mod message;
