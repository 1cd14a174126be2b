//! The differences of two pipelines on a board.

use serde::Serialize;

use crate::compare::puzzles::{self, CellDifference};
use crate::compare::side::{Side, VerdictKind};

/// One of the two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PipelineId {
    /// The first.
    A,
    /// The second.
    B,
}

impl PipelineId {
    /// As text.
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Difference {
    /// One never reads the board.
    Unread {
        /// Which pipeline.
        by: PipelineId,
        /// Why, if it gives a reason.
        reason: Option<String>,
    },
    /// They read the same frame differently.
    Reading {
        /// The frame's number.
        frame: u64,
        /// The first difference.
        #[serde(flatten)]
        cell: CellDifference,
    },
    /// The verdicts of their solvers differ: one solves the board, the other does not, or proves that it has no
    /// solution.
    Verdict {
        /// The first verdict.
        a: VerdictKind,
        /// The second verdict.
        b: VerdictKind,
    },
    /// A stage failed on it.
    Failure {
        /// Of which pipeline.
        by: PipelineId,
        /// The stage.
        stage: String,
        /// The error.
        text: String,
    },
    /// The game counts the board as solved for one pipeline only.
    Played {
        /// The pipeline for which it does not.
        refused: PipelineId,
    },
    /// Both solve it, with different correct solutions.
    AnotherSolution,
}

impl Difference {
    /// Whether one pipeline succeeds where the other does not.
    pub fn matters(&self) -> bool {
        !matches!(self, Self::AnotherSolution)
    }

    /// As text.
    pub fn words(&self) -> String {
        match self {
            Self::Unread { by, reason } => {
                let why = reason
                    .as_ref()
                    .map_or_else(String::new, |it| format!(": {it}"));
                format!("{} does not read it{why}", by.word())
            }
            Self::Reading { frame, cell } => {
                let place = match (cell.row, cell.col) {
                    (Some(row), Some(col)) => format!("row {row}, column {col}: "),
                    _ => String::new(),
                };
                let CellDifference { a, b, .. } = cell;
                format!("read differently in frame {frame}, {place}A {a}, B {b}")
            }
            Self::Verdict { a, b } => format!("A: {}, B: {}", a.word(), b.word()),
            Self::Failure { by, stage, text } => {
                format!("{}: stage \"{stage}\" failed: {text}", by.word())
            }
            Self::Played { refused } => format!(
                "the game does not count it as solved after the strokes of {}",
                refused.word()
            ),
            Self::AnotherSolution => "another solution, and both are right".to_owned(),
        }
    }
}

/// The differences on a board that both read.
pub fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let mut found = Vec::new();
    if a.verdict != b.verdict {
        let (a, b) = (a.verdict, b.verdict);
        found.push(Difference::Verdict { a, b });
    }
    match (a.accepted, b.accepted) {
        (Some(true), Some(false)) => found.push(Difference::Played {
            refused: PipelineId::B,
        }),
        (Some(false), Some(true)) => found.push(Difference::Played {
            refused: PipelineId::A,
        }),
        _ => {}
    }
    if let (Some(one), Some(other)) = (&a.solution, &b.solution)
        && !puzzles::same_solution(one, other)
    {
        found.push(Difference::AnotherSolution);
    }
    found
}

/// The failures on a board.
pub fn failures(by: PipelineId, side: &Side) -> impl Iterator<Item = Difference> {
    side.failures.iter().map(move |failed| Difference::Failure {
        by,
        stage: failed.stage.clone(),
        text: failed.text.clone(),
    })
}
