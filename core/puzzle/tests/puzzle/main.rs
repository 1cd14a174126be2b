//! Formats, rules and checks on boards of every kind, and on known puzzles.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

mod formats;
mod known_puzzles;
mod rules;
mod strokes;
mod support;
