//! The search against brute force, on real levels and on large boards.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

mod agrees;
mod corpus;
mod race;
mod support;
