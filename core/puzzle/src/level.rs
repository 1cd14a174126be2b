//! Flow Free's own level lines, in and out.
//!
//! One level a line, fields split by `;`. The first field is the header, split by `,`: size, pack,
//! number, count of flows, then, where there are any, bridges, holes and walls. Every other field is
//! one flow of the solution, its cells from first to last; its ends are the terminals.
//!
//! - size: `7` (square) or `8:10` (width, height), after `W_` (warps) or `X_` (hexes) where it is
//!   such a board, before `+FLAGS` where the board is drawn in a special way.
//! - bridges and holes: cells split by `:`. A hole may carry a `_SUFFIX`, which says how it is drawn.
//! - walls: `a|b` split by `:`.

use std::fmt;

use thiserror::Error;

use crate::board::{Board, Cell, Description, Lattice};
use crate::colour::Colour;
use crate::puzzle::{Puzzle, PuzzleError, Rules, Terminal};
use crate::solution::{Flow, Solution};

/// A level of Flow Free: a puzzle with its solution. Its `Display` is the level line, with flows by
/// colour; the suffixes of holes are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The pack's number; 0 in most files.
    pub pack: u32,
    /// The level's number in its pack.
    pub number: u32,
    /// How the board is drawn: what follows the size after `+`, such as `B`; empty for most.
    pub flags: String,
    /// The puzzle, under Flow Free's rules. Colours are numbered in the order of flows.
    pub puzzle: Puzzle,
    /// The solution that comes with it, in canonical order. Not held against the rules:
    /// see [`check`](crate::check::check).
    pub solution: Solution,
}

/// Why a line is no level, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column {column}: {problem}")]
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
        /// What stands there.
        found: String,
    },
    /// More or fewer flows than the header says.
    #[error("the header says {said} flows, the line has {found}")]
    FlowCount {
        /// By the header.
        said: usize,
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

/// A piece of the line, which knows where it begins.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    /// In bytes, from 0.
    start: usize,
}

/// Reads one level line. Space around it is passed over, as is a `;` at its end.
///
/// # Errors
/// The first thing that is wrong, with its column.
pub fn parse(line: &str) -> Result<Level, LevelError> {
    read(line).map_err(|(start, problem)| {
        let column = line.get(..start).map_or(0, |before| before.chars().count()) + 1;
        LevelError { column, problem }
    })
}

/// An error before its byte is turned into a column.
type At<T> = Result<T, (usize, LevelProblem)>;

fn read(line: &str) -> At<Level> {
    let trimmed = line.trim();
    let trimmed = trimmed.strip_suffix(';').unwrap_or(trimmed);
    let whole = Piece {
        text: trimmed,
        start: line.len() - line.trim_start().len(),
    };
    let mut fields = whole.split(';');
    let header = fields.next().unwrap_or(whole);
    let flows: Vec<Piece> = fields.collect();

    let mut parts = header.split(',');
    let mut next = || {
        parts.next().unwrap_or(Piece {
            text: "",
            start: header.end(),
        })
    };
    let (size, pack, number, count) = (next(), next(), next(), next());
    let (bridges, holes, walls) = (next(), next(), next());
    if let Some(more) = parts.find(|part| !part.text.is_empty()) {
        return Err(more.expected("no more than 7 header fields"));
    }

    let (mut description, flags) = read_size(size)?;
    let pack = pack.number("the pack's number")?;
    let number = number.number("the level's number")?;
    let said = count.number("the number of flows")?;
    if said != flows.len() {
        return Err((
            count.start,
            LevelProblem::FlowCount {
                said,
                found: flows.len(),
            },
        ));
    }
    let cells = description.rows.saturating_mul(description.cols);
    for bridge in bridges.list(':') {
        description
            .bridges
            .push(bridge.cell(cells, "a bridge: a cell of the board")?);
    }
    for hole in holes.list(':') {
        let cell = Piece {
            text: hole.text.split('_').next().unwrap_or_default(),
            ..hole
        };
        description
            .holes
            .push(cell.cell(cells, "a hole: a cell of the board")?);
    }
    for wall in walls.list(':') {
        const WALL: &str = "a wall: two cells of the board with `|` between";
        let mut sides = wall.split('|');
        let (Some(a), Some(b), None) = (sides.next(), sides.next(), sides.next()) else {
            return Err(wall.expected(WALL));
        };
        description
            .walls
            .push((a.cell(cells, WALL)?, b.cell(cells, WALL)?));
    }

    let board = Board::new(description)
        .map_err(|error| (size.start, LevelProblem::Puzzle(error.into())))?;
    let mut solution = Solution::default();
    let mut terminals = Vec::new();
    for (index, field) in flows.iter().enumerate() {
        let colour =
            Colour::try_from(index).map_err(|_| (field.start, LevelProblem::TooManyFlows))?;
        let cells: Vec<Cell> = field
            .split(',')
            .map(|cell| cell.cell(cells, "a flow: cells of the board with `,` between"))
            .collect::<At<_>>()?;
        let ends = cells.first().into_iter().chain(cells.last());
        terminals.extend(ends.map(|&cell| Terminal { cell, colour }));
        solution.flows.push(Flow { colour, cells });
    }
    let puzzle = Puzzle::new(board, terminals, Rules::default()).map_err(|error| {
        (
            flows.first().map_or(size.start, |flow| flow.start),
            error.into(),
        )
    })?;
    Ok(Level {
        pack,
        number,
        flags,
        puzzle,
        solution: solution.canonical(),
    })
}

/// The board's description without lists, and the flags behind `+`.
fn read_size(size: Piece) -> At<(Description, String)> {
    let mut description = Description::default();
    let mut rest = size;
    loop {
        if let Some(text) = rest.text.strip_prefix("W_") {
            description.warps = true;
            rest = Piece {
                text,
                start: rest.start + 2,
            };
        } else if let Some(text) = rest.text.strip_prefix("X_") {
            description.lattice = Lattice::Hex;
            rest = Piece {
                text,
                start: rest.start + 2,
            };
        } else {
            break;
        }
    }
    let (sides, flags) = rest.text.split_once('+').unwrap_or((rest.text, ""));
    let mut sides = Piece {
        text: sides,
        ..rest
    }
    .split(':');
    let (Some(width), height, None) = (sides.next(), sides.next(), sides.next()) else {
        return Err(size.expected("a size such as `7` or `8:10`"));
    };
    description.cols = width.number("a width, such as the 8 of `8:10`")?;
    description.rows = match height {
        Some(height) => height.number("a height, such as the 10 of `8:10`")?,
        None => description.cols,
    };
    Ok((description, flags.to_owned()))
}

impl<'a> Piece<'a> {
    fn end(self) -> usize {
        self.start + self.text.len()
    }

    fn split(self, by: char) -> impl Iterator<Item = Piece<'a>> {
        let mut start = self.start;
        self.text.split(by).map(move |text| {
            let piece = Piece { text, start };
            start += text.len() + by.len_utf8();
            piece
        })
    }

    /// As `split`, but nothing gives an empty list.
    fn list(self, by: char) -> impl Iterator<Item = Piece<'a>> {
        self.split(by).filter(move |_| !self.text.is_empty())
    }

    fn expected(self, expected: &'static str) -> (usize, LevelProblem) {
        (
            self.start,
            LevelProblem::Expected {
                expected,
                found: self.text.to_owned(),
            },
        )
    }

    fn number<T: std::str::FromStr>(self, expected: &'static str) -> At<T> {
        // `FromStr` takes a sign, the format does not.
        let digits = self.text.bytes().all(|byte| byte.is_ascii_digit());
        self.text
            .parse()
            .ok()
            .filter(|_| digits)
            .ok_or_else(|| self.expected(expected))
    }

    fn cell(self, cells: usize, expected: &'static str) -> At<Cell> {
        let cell: Cell = self.number(expected)?;
        if cell < cells {
            Ok(cell)
        } else {
            Err(self.expected(expected))
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = self.puzzle.board().description();
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
        write!(
            f,
            ",{},{},{}",
            self.pack,
            self.number,
            self.solution.flows.len()
        )?;

        let walls: Vec<_> = board
            .walls
            .iter()
            .map(|(a, b)| format!("{a}|{b}"))
            .collect();
        let mut lists = vec![
            join(&board.bridges, ":"),
            join(&board.holes, ":"),
            walls.join(":"),
        ];
        while lists.last().is_some_and(String::is_empty) {
            lists.pop();
        }
        for list in lists {
            write!(f, ",{list}")?;
        }
        let mut flows: Vec<&Flow> = self.solution.flows.iter().collect();
        flows.sort_by_key(|flow| flow.colour);
        flows
            .iter()
            .try_for_each(|flow| write!(f, ";{}", join(&flow.cells, ",")))
    }
}

fn join(cells: &[Cell], by: &str) -> String {
    cells
        .iter()
        .map(Cell::to_string)
        .collect::<Vec<_>>()
        .join(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_every_kind_of_board() {
        for line in [
            "3,0,1,3;0,1,2;3,4,5;6,7,8",
            "4:2,7,12,2;0,1,2,3;4,5,6,7",
            "3+B:I,0,1,2,,8;0,1,2,5;3,4,7,6",
            "5,0,1,2,12;2,7,12,17,22;10,11,12,13,14",
            "3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8",
            "W_3,0,1,3,,4,0|2;0,1;2,5,8;3,6,7",
            "X_3,0,1,3,,8;0,3,6;1,4,7;2,5",
        ] {
            let level = parse(line).unwrap();
            assert_eq!(level.to_string(), line);
            assert_eq!(parse(&level.to_string()).unwrap(), level);
        }
    }

    #[test]
    fn passes_over_suffixes_of_holes_space_and_a_last_semicolon() {
        let level = parse("  2:3,0,1,2,,5_0B:4_11;0,1;2,3; ").unwrap();
        assert_eq!(level.puzzle.board().description().holes, [4, 5]);
        assert_eq!(level.to_string(), "2:3,0,1,2,,4:5;0,1;2,3");
    }

    #[test]
    fn says_where_and_what() {
        let errors: Vec<String> = [
            "",
            "3",
            "3,0,x,1;0,1",
            "3:4:5,0,1,1;0,1",
            "Z_3,0,1,1;0,1",
            "3,0,1,2;0,1",
            "3,0,1,1;0,+1",
            "3,0,1,1;0,1,9",
            "3,0,1,1,,,1|2|3;0,1",
            "3,0,1,1,,,0|8;0,1",
            "3,0,1,1,4:,5;0,1",
            "3,0,1,1,,,,9;0,1",
            "0,0,1,1;0,1",
            "99999999999,0,1,1;0,1",
            "3,0,1,1;4",
            "3,0,1,1,,0;0,1",
            "3,0,1,0",
            "é,0,1,1;0,é",
        ]
        .iter()
        .map(|line| format!("{line:>24}  {}", parse(line).unwrap_err()))
        .collect();
        crate::snapshot::settings()
            .bind(|| insta::assert_snapshot!("level_errors", errors.join("\n")));
    }
}
