//! What `flowpipe bench` consists of: it measures solvers on the same boards.
//!
//! # Layout
//! - [`corpus`]: the boards; [`class`]: their classes.
//! - [`measure`]: runs the boards through a solver. [`sample`]: the measurement of one board; [`row`]: of a class.
//! - [`table`]: rows as text and as Markdown; [`chart`]: as SVG.

pub mod chart;
pub mod class;
pub mod corpus;
pub mod measure;
pub mod row;
pub mod sample;
pub mod table;
