//! Flow Free's own level lines, in and out.
//!
//! One level a line, fields split by `;`. The first field is the header, split by `,`: size, pack,
//! number, count of flows, then, where there are any, bridges, holes and walls. Every other field is
//! one flow of the solution, its cells from first to last; its ends are the terminals.
//!
//! - size: `7` (square) or `8:10` (width, height), after `W_` (warps) or `X_` (hexes) where it is
//!   such a board, before `+FLAGS` where the board is drawn in a special way.
//! - bridges and holes: cells split by `:`. A hole may carry a `_SUFFIX`, which sets how it is drawn.
//! - walls: `a|b` split by `:`.

mod read;
#[cfg(test)]
mod tests;

use std::fmt::{self, Display as _, Write as _};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::board::{Cell, Description, Lattice};
use crate::check::check;
use crate::colour::Colour;
use crate::puzzle::{Puzzle, PuzzleError, Rules, Terminal};
use crate::solution::{Flow, Solution};
use crate::text::{Format, UnsupportedByFormat, rule_words};

pub use read::parse;

/// A level of Flow Free: a puzzle with its solution. Its `Display` is the level line, with flows by
/// colour; the suffixes of holes are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The pack's number; 0 in most files.
    pub pack: u32,
    /// The level's number in its pack.
    pub number: u32,
    /// How the board is drawn: what follows the size after `+`, such as `B`; empty for most.
    pub flags: String,
    /// The puzzle, under Flow Free's rules. Colours are numbered in the order of flows.
    pub puzzle: Puzzle,
    /// The solution that comes with it, in canonical order. Not checked against the rules:
    /// see [`check`].
    pub solution: Solution,
}

/// Which level of the game a puzzle is: what a level line holds besides the puzzle and its solution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Tag {
    /// See [`Level::pack`].
    pub pack: u32,
    /// See [`Level::number`].
    pub number: u32,
    /// See [`Level::flags`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub flags: String,
}

impl Tag {
    /// The level of a pack, both by their numbers, without flags.
    #[must_use]
    pub fn new(pack: u32, number: u32) -> Self {
        Self {
            pack,
            number,
            flags: String::new(),
        }
    }

    /// The same level with these flags.
    #[must_use]
    pub fn with_flags(mut self, flags: impl Into<String>) -> Self {
        self.flags = flags.into();
        self
    }
}

/// Why a line is no level, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column {column}: {problem}")]
#[non_exhaustive]
pub struct LevelError {
    /// Characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: LevelProblem,
}

/// What can be wrong in a level line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelProblem {
    /// Something else than what belongs there.
    #[error("expected {expected}, found {}", if .found.is_empty() { "nothing".to_owned() } else { format!("{found:?}") })]
    Expected {
        /// What belongs there.
        expected: &'static str,
        /// The text there.
        found: String,
    },
    /// More or fewer flows than the header declares.
    #[error("the header declares {declared} flows, the line has {found}")]
    FlowCount {
        /// By the header.
        declared: usize,
        /// In the line.
        found: usize,
    },
    /// More flows than there are colour numbers.
    #[error("a level can have at most {} flows", usize::from(Colour::MAX) + 1)]
    TooManyFlows,
    /// A well-formed line with a board or terminals that can't be.
    #[error(transparent)]
    Puzzle(#[from] PuzzleError),
}

impl Level {
    /// A level of a puzzle and its solution. Colours are renumbered in their order.
    ///
    /// # Errors
    /// What a level line can't express: other rules than Flow Free's, several pairs of one colour. And a
    /// solution that breaks the rules, since a line gives the terminals by the ends of its flows.
    pub fn new(
        tag: Tag,
        puzzle: &Puzzle,
        solution: &Solution,
    ) -> Result<Self, UnsupportedByFormat> {
        let unsupported = |what: String| UnsupportedByFormat::Kind {
            format: Format::Level,
            what,
        };
        if puzzle.rules() != Rules::default() {
            let rules = rule_words::write(puzzle.rules());
            return Err(unsupported(format!("the rules {rules:?}")));
        }
        let colours = puzzle.colours();
        if colours.len() < puzzle.flow_count() {
            return Err(unsupported("several pairs of one colour".to_owned()));
        }
        if tag.flags.contains([',', ';']) || tag.flags.contains(char::is_whitespace) {
            return Err(unsupported(format!("the flags {:?}", tag.flags)));
        }
        check(puzzle, solution)
            .map_err(|breaches| UnsupportedByFormat::WrongSolution(breaches.into_iter().next()))?;
        // A colour's place among the others; there are no more than colour numbers.
        let number = |colour| colours.partition_point(|&other| other < colour) as Colour;
        let terminals = puzzle.terminals().iter().map(|terminal| Terminal {
            cell: terminal.cell,
            colour: number(terminal.colour),
        });
        let flows = solution.flows.iter().map(|flow| Flow {
            colour: number(flow.colour),
            cells: flow.cells.clone(),
        });
        let solution = Solution {
            flows: flows.collect(),
        };
        let puzzle = Puzzle::new(
            puzzle.board().clone(),
            terminals.collect(),
            Rules::default(),
        );
        Ok(Self {
            pack: tag.pack,
            number: tag.number,
            flags: tag.flags,
            puzzle: puzzle.map_err(|error| unsupported(error.to_string()))?,
            solution: solution.canonical(),
        })
    }

    /// Which level it is.
    #[must_use]
    pub fn tag(&self) -> Tag {
        Tag {
            pack: self.pack,
            number: self.number,
            flags: self.flags.clone(),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut flows: Vec<&Flow> = self.solution.flows.iter().collect();
        flows.sort_by_key(|flow| flow.colour);
        let line = Line {
            board: self.puzzle.board().description(),
            pack: self.pack,
            number: self.number,
            flags: &self.flags,
            flows: flows.iter().map(|flow| &flow.cells[..]).collect(),
        };
        line.fmt(f)
    }
}

/// A level line with only the two ends of each flow in place of its cells. [`parse`] reads it as this puzzle. `None`: a
/// level line can't express the puzzle and the numbers of its colours.
pub(crate) fn write_ends(puzzle: &Puzzle) -> Option<String> {
    if puzzle.rules() != Rules::default() {
        return None;
    }
    let mut ends: Vec<(Colour, Cell)> = puzzle
        .terminals()
        .iter()
        .map(|terminal| (terminal.colour, terminal.cell))
        .collect();
    ends.sort_unstable();
    let cells: Vec<Cell> = ends.iter().map(|&(_, cell)| cell).collect();
    let mut pairs = ends.chunks(2).enumerate();
    let is_numbered = pairs.all(|(number, pair)| {
        let mut colours = pair.iter().map(|&(colour, _)| usize::from(colour));
        colours.all(|colour| colour == number)
    });
    let line = Line {
        board: puzzle.board().description(),
        pack: 0,
        number: 0,
        flags: "",
        flows: cells.chunks(2).collect(),
    };
    is_numbered.then(|| line.to_string())
}

/// What a level line holds.
struct Line<'a> {
    board: &'a Description,
    pack: u32,
    number: u32,
    flags: &'a str,
    /// The cells of each flow, by colour.
    flows: Vec<&'a [Cell]>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = self.board;
        let warps = if board.warps { "W_" } else { "" };
        let hexes = if board.lattice == Lattice::Hex {
            "X_"
        } else {
            ""
        };
        write!(f, "{warps}{hexes}{}", board.cols)?;
        if board.rows != board.cols {
            write!(f, ":{}", board.rows)?;
        }
        if !self.flags.is_empty() {
            write!(f, "+{}", self.flags)?;
        }
        write!(f, ",{},{},{}", self.pack, self.number, self.flows.len())?;

        let has_walls = !board.walls.is_empty();
        let has_holes = has_walls || !board.holes.is_empty();
        if has_holes || !board.bridges.is_empty() {
            f.write_str(",")?;
            join(f, &board.bridges, ':')?;
        }
        if has_holes {
            f.write_str(",")?;
            join(f, &board.holes, ':')?;
        }
        if has_walls {
            f.write_str(",")?;
            let walls = board.walls.iter().map(|(a, b)| format!("{a}|{b}"));
            join(f, walls, ':')?;
        }
        self.flows.iter().try_for_each(|cells| {
            f.write_str(";")?;
            join(f, *cells, ',')
        })
    }
}

/// Writes items with a character between them.
fn join(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item: fmt::Display>,
    by: char,
) -> fmt::Result {
    let mut items = items.into_iter();
    if let Some(first) = items.next() {
        first.fmt(f)?;
    }
    items.try_for_each(|item| {
        f.write_char(by)?;
        item.fmt(f)
    })
}
