//! Refuses pictures that contain no board, or none that can be read exactly.
//!
//! | Rule | Module |
//! |---|---|
//! | the reasons, their texts and their order | [`refusal`] |
//! | how many rows and columns a board has | [`size`] |
//! | boards that are proved to have no solution | [`solvability`] |

pub mod refusal;
pub mod size;
pub mod solvability;
