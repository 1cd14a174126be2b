//! How hard a puzzle is.

use std::fmt;

use flowpipe_search::Found;

/// A grade of difficulty, by how often the search had to try one of two possibilities and follow it
/// up, until the one solution was found and proved to be the only one. Where it never had to, every cell
/// follows from what is known.
///
/// Of the real game's plain boards up to 9x9 nineteen in twenty are easy, and nearly all others medium; of
/// those of 15x18 a quarter is easy and half is hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difficulty {
    /// No branching.
    Easy,
    /// One to three branchings.
    Medium,
    /// Four branchings or more.
    Hard,
}

/// The most branchings of a medium puzzle.
const MEDIUM: u64 = 3;

/// What the search needed for a puzzle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// How often it tried one of two possibilities.
    pub branchings: u64,
    /// Steps of propagation for each cell of the board: how often a cell was looked at on average.
    /// About 2 where one thing follows from another throughout; false trails add to it.
    pub steps_per_cell: f64,
}

impl Rating {
    pub(crate) fn new(found: &Found, cells: usize) -> Self {
        Self {
            branchings: found.nodes,
            steps_per_cell: found.steps as f64 / cells as f64,
        }
    }

    /// The grade.
    #[must_use]
    pub fn difficulty(self) -> Difficulty {
        match self.branchings {
            0 => Difficulty::Easy,
            1..=MEDIUM => Difficulty::Medium,
            _ => Difficulty::Hard,
        }
    }
}

impl fmt::Display for Difficulty {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Easy => "easy",
            Self::Medium => "medium",
            Self::Hard => "hard",
        })
    }
}
