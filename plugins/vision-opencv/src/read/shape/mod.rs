//! Determines the shape of a board: which cells of a grid exist, and where its walls are.
//!
//! | Rule | Module |
//! |---|---|
//! | the order of the checks | [`grid_check`] |
//! | how a line looks | [`stretch`], [`sides`] |
//! | what counts as a line on this board | [`line_model`] |
//! | walls and outlines: thick lines | [`thickness`], and where scaling left lines uneven [`uneven`] |
//! | which cells exist, holes | [`cell_mask`] |
//! | what continues beyond a border | [`surroundings`], near the picture's edge [`continuation`] |
//! | boards that warp | [`warp`] |
//! | the result | [`board_shape`] |

pub mod board_shape;
pub mod cell_mask;
pub mod continuation;
pub mod grid_check;
pub mod line_model;
pub mod sides;
pub mod stretch;
pub mod surroundings;
pub mod thickness;
pub mod uneven;
pub mod warp;
