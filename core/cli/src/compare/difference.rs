//! In what two pipelines differ on a board.

use serde::Serialize;

use crate::compare::puzzles::{self, Spot};
use crate::compare::side::{Said, Side};

/// One of the two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// The first.
    A,
    /// The second.
    B,
}

impl Who {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// In what they differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Difference {
    /// One never reads the board.
    Unread {
        /// Which.
        by: Who,
        /// Why, where it says so.
        reason: Option<String>,
    },
    /// They read the same frame differently.
    Reading {
        /// The frame's number.
        frame: u64,
        /// The first difference.
        #[serde(flatten)]
        spot: Spot,
    },
    /// Their solvers say something else: one solves the board, the other does not, or proves that there is
    /// nothing to solve.
    Verdict {
        /// What the one says.
        a: Said,
        /// What the other says.
        b: Said,
    },
    /// Something failed on it.
    Failure {
        /// Whose.
        by: Who,
        /// The stage.
        stage: String,
        /// What happened.
        text: String,
    },
    /// The game that the strokes are played on counts the board as solved for one alone.
    Played {
        /// For whom it does not.
        refused: Who,
    },
    /// Both solve it, each in another way. Both ways are right.
    AnotherSolution,
}

impl Difference {
    /// Whether the one does what the other does not.
    pub fn matters(&self) -> bool {
        !matches!(self, Self::AnotherSolution)
    }

    /// For people.
    pub fn words(&self) -> String {
        match self {
            Self::Unread { by, reason } => {
                let why = reason
                    .as_ref()
                    .map_or_else(String::new, |it| format!(": {it}"));
                format!("{} does not read it{why}", by.word())
            }
            Self::Reading { frame, spot } => {
                let place = match (spot.row, spot.col) {
                    (Some(row), Some(col)) => format!("row {row}, column {col}: "),
                    _ => String::new(),
                };
                let Spot { a, b, .. } = spot;
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

/// In what both differ on a board that both read.
pub fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let mut found = Vec::new();
    if a.verdict != b.verdict {
        let (a, b) = (a.verdict, b.verdict);
        found.push(Difference::Verdict { a, b });
    }
    match (a.accepted, b.accepted) {
        (Some(true), Some(false)) => found.push(Difference::Played { refused: Who::B }),
        (Some(false), Some(true)) => found.push(Difference::Played { refused: Who::A }),
        _ => {}
    }
    if let (Some(one), Some(other)) = (&a.solution, &b.solution)
        && !puzzles::same_solution(one, other)
    {
        found.push(Difference::AnotherSolution);
    }
    found
}

/// What failed on a board.
pub fn failures(by: Who, side: &Side) -> impl Iterator<Item = Difference> {
    side.failures.iter().map(move |failed| Difference::Failure {
        by,
        stage: failed.stage.clone(),
        text: failed.text.clone(),
    })
}
