//! Reading level lines.

use super::{Level, LevelError, LevelProblem};
use crate::board::{Board, Cell, Description, Lattice};
use crate::colour::Colour;
use crate::puzzle::{Puzzle, Rules, Terminal};
use crate::solution::{Flow, Solution};
use crate::text::excerpt::excerpt;

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
    let mut fields = whole.split(b';');
    let header = fields.next().unwrap_or(whole);
    let flows: Vec<Piece> = fields.collect();

    let mut parts = header.split(b',');
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
    let declared = count.number("the number of flows")?;
    if declared != flows.len() {
        return Err((
            count.start,
            LevelProblem::FlowCount {
                declared,
                found: flows.len(),
            },
        ));
    }
    let cells = description.rows.saturating_mul(description.cols);
    for bridge in bridges.list(b':') {
        description
            .bridges
            .push(bridge.cell(cells, "a bridge: a cell of the board")?);
    }
    for hole in holes.list(b':') {
        let cell = Piece {
            text: hole.text.split('_').next().unwrap_or_default(),
            ..hole
        };
        description
            .holes
            .push(cell.cell(cells, "a hole: a cell of the board")?);
    }
    for wall in walls.list(b':') {
        const WALL: &str = "a wall: two cells of the board with `|` between";
        let mut sides = wall.split(b'|');
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
    let mut terminals = Vec::with_capacity(2 * flows.len());
    for (index, field) in flows.iter().enumerate() {
        let colour =
            Colour::try_from(index).map_err(|_| (field.start, LevelProblem::TooManyFlows))?;
        // A cell takes two bytes, with what is between.
        let mut path = Vec::with_capacity(field.text.len() / 2 + 1);
        for cell in field.split(b',') {
            path.push(cell.cell(cells, "a flow: cells of the board with `,` between")?);
        }
        let ends = path.first().into_iter().chain(path.last());
        terminals.extend(ends.map(|&cell| Terminal { cell, colour }));
        solution.flows.push(Flow::new(colour, path));
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
    .split(b':');
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

    /// The pieces between the bytes `by`, which is ASCII. Most pieces are so short that a search made for long texts
    /// costs more than it saves.
    fn split(self, by: u8) -> impl Iterator<Item = Piece<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let Piece { text, start } = rest.take()?;
            let Some(at) = text.bytes().position(|byte| byte == by) else {
                return Some(Piece { text, start });
            };
            rest = Some(Piece {
                text: &text[at + 1..],
                start: start + at + 1,
            });
            Some(Piece {
                text: &text[..at],
                start,
            })
        })
    }

    /// As `split`, but nothing gives an empty list.
    fn list(self, by: u8) -> impl Iterator<Item = Piece<'a>> {
        self.split(by).filter(move |_| !self.text.is_empty())
    }

    fn expected(self, expected: &'static str) -> (usize, LevelProblem) {
        (
            self.start,
            LevelProblem::Expected {
                expected,
                found: excerpt(self.text),
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
        let digit = |number: Cell, byte: u8| {
            let digit = byte.is_ascii_digit().then(|| Cell::from(byte - b'0'))?;
            // What overflows is no cell either.
            Some(number.saturating_mul(10).saturating_add(digit))
        };
        let cell = self.text.bytes().try_fold(0, digit);
        cell.filter(|&cell| cell < cells && !self.text.is_empty())
            .ok_or_else(|| self.expected(expected))
    }
}
