//! Finds boards that turn about their middle line, as they flip over to the next one, and rectifies them.
//!
//! - Where a board was at rest before ([`rest_pose`]), `detection` finds the turned one.
//! - Where none was, [`quad`] finds its outline from the ends of vertical lines.
//! - [`missed_columns`] adds columns that were not detected.
//! - [`rectification`] undoes the perspective of a [`turned_board`].

mod detection;
pub mod flip_axis;
pub mod missed_columns;
mod outline;
pub mod quad;
pub mod rectification;
pub mod rest_pose;
mod slanted_edge;
pub mod turned_board;
