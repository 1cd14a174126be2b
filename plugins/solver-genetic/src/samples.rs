//! Puzzles for the tests that stand in several of them.

/// Four flows, two of them bent around one corner: what must be follows from neighbours alone.
pub const NESTED: &str = "A...\nB...\nCD..\nCDBA";
