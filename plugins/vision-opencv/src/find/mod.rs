//! Finds candidates for boards: straight lines in a picture, and the grids of cells that they make.
//!
//! | Rule | Module |
//! |---|---|
//! | which lines are tried, and in which order | [`candidates`] |
//! | when a search ends | [`budget`] |
//! | what counts as a line | [`lines`] |
//! | grids of squares | [`square_grid`] |
//! | grids of hexagons | [`hex_grid`] |
//! | boards that turn, in perspective | [`perspective`] |
//! | tilted pictures | [`tilt`] |
//! | grids up to the picture's edge | [`edge_grid`] |
//! | what lies on hatched pages | [`hatch`] |
//!
//! [`grid`] defines the grid of a candidate, [`border`] its four borders, [`cell_side`] where the sides of its cells
//! lie. [`profile`] measures the colours across a line.

pub mod border;
pub mod border_line;
pub mod budget;
pub mod candidates;
pub mod cell_side;
pub mod edge_grid;
pub mod grid;
pub mod hatch;
pub mod hex_grid;
pub mod lines;
pub mod perspective;
pub mod profile;
pub mod square_grid;
pub mod tilt;
