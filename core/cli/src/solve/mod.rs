//! What `flowpipe solve` asks, and how it tells the answers.

pub mod printer;
pub mod want;
