//! The header `flowpipe.h`: frozen as 0.1, and equal to its Rust twin.

mod frozen;
mod layout;
