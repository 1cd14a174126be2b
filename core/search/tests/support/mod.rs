//! What the tests share.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of it, and tests may panic"
)]

pub mod brute_force;
pub mod puzzles;
pub mod shared;

/// Says something past the test harness, which shows nothing that a passing test prints.
macro_rules! say {
    ($($text:tt)+) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)+);
    }};
}
pub(crate) use say;

/// Never cancelled.
pub fn never() -> bool {
    false
}
