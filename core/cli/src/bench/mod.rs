//! Solvers beside each other, for `flowpipe bench`.
//!
//! # Layout
//! - [`corpus`]: the boards; [`class`]: which of them are counted together.
//! - [`measure`]: puts the boards to a solver. [`sample`]: what it made of one; [`row`]: of a class.
//! - [`table`]: rows as text and as Markdown; [`chart`]: as SVG.

pub mod chart;
pub mod class;
pub mod corpus;
pub mod measure;
pub mod row;
pub mod sample;
pub mod table;
