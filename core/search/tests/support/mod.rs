//! What the tests share.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of it, and tests may panic"
)]

pub mod brute_force;
pub mod puzzles;
pub mod shared;

/// Prints a line past the test harness, which hides the output of passing tests.
macro_rules! note {
    ($($text:tt)+) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)+);
    }};
}
pub(crate) use note;

/// Never cancelled.
pub fn never() -> bool {
    false
}
