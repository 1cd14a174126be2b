//! What comes out: a verdict, and what it cost.

use flowpipe_puzzle::Refusal;
use flowpipe_puzzle::message::{Effort, Verdict};
use thiserror::Error;

use crate::backend::{BackendError, Work};

/// The answer to a puzzle.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The verdict on the puzzle. Never [`Verdict::Unknown`] or [`Verdict::Unsupported`].
    pub verdict: Verdict,
    /// Nodes are the conflicts of the SAT solver, where it reports them. Figures: `decisions` and `propagations` where it
    /// reports them, `variables` and `clauses` passed to it, `models` that it found, `cuts` made in them. All zero where
    /// no SAT solver was needed.
    pub effort: Effort,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum SolveError {
    /// The work was not wanted any more.
    #[error("cancelled")]
    Cancelled,
    /// The SAT solver failed by itself.
    #[error("the SAT solver failed: {0}")]
    Failed(String),
    /// A mistake in the encoding or in the SAT solver: what came out breaks the rules.
    #[error("the SAT solver found a wrong solution: {0:?}")]
    Wrong(Vec<Refusal>),
}

impl From<BackendError> for SolveError {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Cancelled => Self::Cancelled,
            BackendError::Failed(text) => Self::Failed(text),
        }
    }
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub work: Work,
    pub variables: usize,
    pub clauses: usize,
    pub models: u64,
    pub cuts: u64,
}

impl Cost {
    /// The cost of two searches for one answer.
    pub fn and(self, other: Self) -> Self {
        Self {
            work: self.work.and(other.work),
            variables: self.variables + other.variables,
            clauses: self.clauses + other.clauses,
            models: self.models + other.models,
            cuts: self.cuts + other.cuts,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub fn effort(self) -> Effort {
        let mut effort = Effort::default();
        effort.nodes = self.work.conflicts;
        let reported = [
            ("decisions", self.work.decisions),
            ("propagations", self.work.propagations),
            ("variables", Some(self.variables as u64)),
            ("clauses", Some(self.clauses as u64)),
            ("models", Some(self.models)),
            ("cuts", Some(self.cuts)),
        ];
        reported
            .into_iter()
            .filter_map(|(name, figure)| Some((name, figure?)))
            .fold(effort, |effort, (name, figure)| {
                effort.with(name, figure as f64)
            })
    }
}
