//! Reads the board in one picture, with nothing known from others.

pub mod board;
pub mod contents;
pub mod error;
pub mod flip_search;
pub mod illustration;
pub mod search;
pub mod shape;
pub mod tilt_search;
