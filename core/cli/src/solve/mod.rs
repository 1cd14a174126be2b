//! What `flowpipe solve` consists of: what it asks of a solver, the puzzles that were read, and how it prints the answers.

pub mod answer;
pub mod mode;
pub mod picture;
pub mod plot;
pub mod printer;
pub mod window;
