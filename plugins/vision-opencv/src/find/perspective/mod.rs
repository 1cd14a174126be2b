//! Finds boards that turn about their middle line, as they flip over to the next one, and rectifies them.

pub mod missed_columns;
pub mod quad;
pub mod rectification;
pub mod slanted_edge;
pub mod turned_board;
