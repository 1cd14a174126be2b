//! Finds boards that turn about their middle line, as they flip over to the next one, and rectifies them.

mod detection;
pub mod flip_axis;
pub mod missed_columns;
mod outline;
pub mod quad;
pub mod rectification;
pub mod rest_pose;
mod slanted_edge;
pub mod turned_board;
