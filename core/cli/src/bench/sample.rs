//! The measurement of one solver on one board.

/// How a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleOutcome {
    /// A solution that keeps the rules.
    Solved,
    /// A proof that there is none.
    Unsolvable,
    /// The timeout, or a limit of the solver, was exceeded.
    GaveUp,
    /// The solver does not support puzzles of this kind.
    Unsupported,
    /// It failed, or its answer broke the rules.
    Failed,
}

/// What one solver made of one board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How it ended.
    pub outcome: SampleOutcome,
    /// The solver's own time, microseconds.
    pub search_us: Option<f64>,
    /// The time of the whole call through the plugin, microseconds.
    pub call_us: Option<f64>,
    /// Steps of the search by the solver's own measure.
    pub nodes: Option<u64>,
}
