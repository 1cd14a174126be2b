//! What the cells of a board hold: terminals, pipes and bridges.

mod blob;
pub mod cell_colours;
pub mod cell_contents;
pub mod cell_layout;
pub mod colours;
pub mod drawings;
pub mod numbers;
pub mod pairing;
pub mod pipes;
mod rails;
pub mod terminals;
