//! Reads what the cells of a board hold.
//!
//! | Rule | Module |
//! |---|---|
//! | where in a cell to look | [`cell_layout`], [`cell_colours`] |
//! | terminals that are discs or blocks | [`terminals`], `blob` |
//! | terminals that are numbers | [`numbers`] |
//! | which terminals belong together | [`colours`], [`pairing`] |
//! | pipe, bridge or nothing in a cell | [`cell_contents`] |
//! | bridges | `rails` |
//! | drawings that must not be there | [`drawings`] |
//! | which cells a pipe joins | [`pipes`] |

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
