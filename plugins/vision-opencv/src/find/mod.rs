//! Finds what may be boards: straight lines in a picture, and the grids of cells that they make.

pub mod border;
pub mod budget;
pub mod candidates;
pub mod cell_side;
pub mod grid;
pub mod hex_grid;
pub mod lines;
pub mod perspective;
pub mod profile;
pub mod square_grid;
pub mod tilt;
