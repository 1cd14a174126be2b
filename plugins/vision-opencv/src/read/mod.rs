//! Reads the board in one picture, with nothing known from other pictures.
//!
//! - [`search`] examines the candidates of [`find`](crate::find), [`edge_search`] boards up to the picture's edge,
//!   [`flip_search`] boards that turn, [`tilt_search`] tilted pictures.
//! - [`board`] reads the board on one grid: first its [`shape`], then its [`contents`].
//! - [`illustration`] draws what the steps saw.

pub mod board;
pub mod contents;
pub mod edge_search;
pub mod error;
pub mod flip_search;
pub mod illustration;
pub mod search;
pub mod shape;
pub mod tilt_search;
