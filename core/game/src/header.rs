//! The lines above the board.

/// What is written above the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The large line, such as `level 5`.
    pub title: String,
    /// The small one, such as `7x7`.
    pub note: String,
    /// Flows that are joined.
    pub flows: usize,
    /// Moves so far.
    pub moves: usize,
    /// The fewest moves so far, if the level was solved before.
    pub best: Option<usize>,
    /// From 0 to 100.
    pub pipe_percent: usize,
}
