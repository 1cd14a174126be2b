//! What one solver made of one board.

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a solution that keeps the rules.
    Solved,
    /// With the word that there is none.
    Unsolvable,
    /// Not within the time, or the solver's own limits.
    GaveUp,
    /// Not a kind of puzzle that the solver takes.
    Unsupported,
    /// It failed, or its answer broke the rules.
    Failed,
}

/// What one solver made of one board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How it ended.
    pub outcome: Outcome,
    /// The solver's own work, microseconds.
    pub search_us: Option<f64>,
    /// The whole call through the plugin, from taking the message to having given the answer, microseconds.
    pub call_us: Option<f64>,
    /// Steps of the search by the solver's own measure.
    pub nodes: Option<u64>,
}
