//! Writing puzzles in each format.

use std::fmt;

use thiserror::Error;

use crate::board::{Description, Lattice};
use crate::check::Refusal;
use crate::puzzle::Puzzle;
use crate::solution::Solution;
use crate::text::level::{self, Level, Tag};
use crate::text::{grid, json, puzzlink};

/// A format that puzzles are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Grid text.
    Grid,
    /// A Flow Free level line.
    Level,
    /// A URL of puzz.link.
    Puzzlink,
    /// A JSON object in one line.
    Json,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grid => "a grid",
            Self::Level => "a level line",
            Self::Puzzlink => "a puzz.link URL",
            Self::Json => "JSON",
        })
    }
}

/// A puzzle and everything known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sheet<'a> {
    /// The puzzle.
    pub puzzle: &'a Puzzle,
    /// Its solution, where it is known.
    pub solution: Option<&'a Solution>,
    /// Its title.
    pub title: Option<&'a str>,
    /// What its colours are called, by colour number; past the end, letters.
    pub names: &'a [String],
    /// Which level of the game it is.
    pub tag: Option<&'a Tag>,
}

/// Why a puzzle can't be written in a format.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsupportedByFormat {
    /// Something that the format has no signs for.
    #[error("{format} can't express {what}")]
    Kind {
        /// The format.
        format: Format,
        /// What it can't express.
        what: String,
    },
    /// A level line holds the solution, and there is none.
    #[error("a level line contains the solution, and none is given")]
    NoSolution,
    /// A level line holds the solution, and this one breaks the rules.
    #[error("a level line contains the solution, and the given one is wrong{}", .0.as_ref().map_or_else(String::new, |breach| format!(": {breach}")))]
    WrongSolution(Option<Refusal>),
}

impl UnsupportedByFormat {
    /// What a board has beyond plain squares, in words, as far as it is asked for. `None`: nothing.
    pub(crate) fn kinds(board: &Description, asked: impl Fn(&str) -> bool) -> Option<String> {
        let kinds = [
            ("hexes", board.lattice == Lattice::Hex),
            ("warps", board.warps),
            ("holes", !board.holes.is_empty()),
            ("bridges", !board.bridges.is_empty()),
            ("walls", !board.walls.is_empty()),
        ];
        let names: Vec<&str> = kinds
            .iter()
            .filter(|(name, there)| *there && asked(name))
            .map(|(name, _)| *name)
            .collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }
}

/// Writes a puzzle in a format, with what else is known about it, as far as the format can express it.
/// The text ends in a newline; a title comes before it as a comment, in JSON in the object.
///
/// # Errors
/// What the format can't express.
pub fn write_as(sheet: &Sheet, format: Format) -> Result<String, UnsupportedByFormat> {
    let text = match format {
        Format::Json => return Ok(json::write(sheet)),
        Format::Grid => grid::write(sheet.puzzle, sheet.names)?,
        Format::Puzzlink => puzzlink::write(sheet.puzzle, sheet.names)?,
        Format::Level => {
            let solution = sheet.solution.ok_or(UnsupportedByFormat::NoSolution)?;
            let tag = sheet.tag.cloned().unwrap_or_default();
            format!("{}\n", Level::new(tag, sheet.puzzle, solution)?)
        }
    };
    // A line of the title must not end the comment.
    let title = sheet.title.unwrap_or_default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(if title.is_empty() {
        text
    } else {
        format!("// {title}\n{text}")
    })
}

/// Writes a puzzle as text that [`read`](super::read) takes, ending in a newline: as grid text, or as
/// one line of JSON where a grid can't express it all (walls, warps, hexes).
///
/// Reading gives the same puzzle back; from grid text, colours are renumbered by first appearance.
#[must_use]
pub fn write(puzzle: &Puzzle) -> String {
    let sheet = Sheet {
        puzzle,
        solution: None,
        title: None,
        names: &[],
        tag: None,
    };
    grid::write(puzzle, &[]).unwrap_or_else(|_| json::write(&sheet))
}

/// Writes a puzzle as one line that [`read`](super::read) takes, without a newline: the shortest one that gives the very
/// same puzzle back, with the numbers of its colours. That is a level line with only the ends of each flow in place of
/// its cells, or JSON where a level line can't express it all.
#[must_use]
pub fn write_line(puzzle: &Puzzle) -> String {
    level::write_ends(puzzle)
        // Numbers only: it always has a form in JSON.
        .unwrap_or_else(|| serde_json::to_string(puzzle).unwrap_or_default())
}
