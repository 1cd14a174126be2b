//! The shape of a board: which cells of a grid there are, and where its walls are.

pub mod board_shape;
pub mod cell_mask;
pub mod grid_check;
pub mod line_model;
pub mod sides;
pub mod stretch;
pub mod surroundings;
pub mod thickness;
pub mod warp;
