//! Finds what may be boards: straight lines in a picture, and the grids of cells that they make.

pub mod budget;
pub mod grid;
pub mod hex_grid;
pub mod lines;
pub mod perspective;
pub mod square_grid;
pub mod tilt;
