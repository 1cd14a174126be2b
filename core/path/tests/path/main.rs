//! Paths of the pointer: plans, corridors, and the fewest segments.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

mod corpus;
mod exhaustive;
mod planners;
mod properties;
mod support;
