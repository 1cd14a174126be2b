//! Reads what the cells of a board hold.
//!
//! | Rule | Module |
//! |---|---|
//! | where in a cell to look | [`cell_layout`], [`cell_colours`] |
//! | terminals that are discs or blocks | [`terminals`], `blob` |
//! | terminals that are numbers | [`numbers`] |
//! | terminals that were seen before lines covered them | [`known_terminals`] |
//! | which terminals belong together | [`colours`], [`pairing`] |
//! | pipe, bridge or nothing in a cell | [`cell_contents`] |
//! | bridges | `rails` |
//! | drawings that must not be there | [`drawings`] |
//! | pipes with flat ends | `flat_end` |
//! | pipes that fill their cells | [`tiles`] |
//! | which cells a pipe joins | [`pipes`], where pipes fill their cells [`courses`] |
//! | whether a board that can't be read is partly drawn | [`drawn`] |

mod blob;
pub mod cell_colours;
pub mod cell_contents;
pub mod cell_layout;
pub mod colours;
pub mod courses;
pub mod drawings;
pub mod drawn;
mod flat_end;
pub mod known_terminals;
pub mod numbers;
pub mod pairing;
pub mod pipes;
mod rails;
pub mod terminals;
pub mod tiles;
