//! What a SAT solver must be able to do to serve here.

use flowpipe_puzzle::Rules;
use thiserror::Error;

use crate::literal::Literal;
use crate::options::Encoding;

/// A SAT solver at work on one formula.
pub trait Backend<'a>: Sized {
    /// The encoding that was measured to be the fastest with this solver under these rules.
    fn best_encoding(rules: Rules) -> Encoding;

    /// A solver without clauses. Variables are those of `phases`, which gives for each the value to try
    /// first, where one is likelier (a solver may do as it likes). `cancelled` is asked while it works.
    fn new(phases: &[Option<bool>], cancelled: &'a dyn Fn() -> bool) -> Self;

    /// One more clause, before or after a solve. It may be empty, and it may name a literal twice.
    fn add_clause(&mut self, clause: &[Literal]);

    /// Whether some assignment keeps all clauses. Asks `cancelled` at least every 10 ms.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn solve(&mut self) -> Result<bool, BackendError>;

    /// Whether a literal is true in the assignment that the last [`Backend::solve`] found. `false` for
    /// variables that do not matter there.
    fn is_true(&self, literal: Literal) -> bool;

    /// What was done since the beginning.
    fn work(&self) -> Work;
}

/// Why a SAT solver stopped without an answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BackendError {
    /// The work was not wanted any more.
    #[error("cancelled")]
    Cancelled,
    /// It failed by itself.
    #[error("the SAT solver failed: {0}")]
    Failed(String),
}

/// What a SAT solver has done, as far as it reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Contradictions that it ran into.
    pub conflicts: Option<u64>,
    /// Values that it chose.
    pub decisions: Option<u64>,
    /// Values that it concluded.
    pub propagations: Option<u64>,
}

impl Work {
    /// The work of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        Self {
            conflicts: sum(self.conflicts, other.conflicts),
            decisions: sum(self.decisions, other.decisions),
            propagations: sum(self.propagations, other.propagations),
        }
    }
}
