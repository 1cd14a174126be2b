//! Refuses pictures that hold no board, or none that is read exactly: the reasons, and checks of whole boards.

pub mod refusal;
pub mod size;
pub mod solvability;
