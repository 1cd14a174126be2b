//! Terminals by the names that a text gives them.

use std::collections::HashMap;

use crate::board::{Board, Cell};
use crate::colour::Colour;
use crate::puzzle::{Puzzle, PuzzleError, Rules, Terminal};
use crate::text::excerpt::excerpt;
use crate::text::{TextError, TextProblem};

/// A terminal as written, with its line in the text and its column in characters, both from 1.
#[derive(Clone, Debug)]
pub(crate) struct Named<'a> {
    pub name: std::borrow::Cow<'a, str>,
    pub cell: Cell,
    pub line: usize,
    pub column: usize,
}

impl Named<'_> {
    fn error(&self, cols: usize, problem: TextProblem) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            cell: Some((self.cell / cols + 1, self.cell % cols + 1)),
            problem,
        }
    }
}

/// The puzzle, and by colour number what the text calls it: colours are numbered by first appearance.
/// Errors of the whole are reported at its `start`, a line and a column.
pub(crate) fn puzzle(
    board: Board,
    named: &[Named],
    rules: Rules,
    start: (usize, usize),
) -> Result<(Puzzle, Vec<String>), TextError> {
    let cols = board.cols();
    let mut names: Vec<&str> = Vec::new();
    let mut colours: HashMap<&str, Colour> = HashMap::new();
    let mut terminals = Vec::with_capacity(named.len());
    for one in named {
        let colour = match colours.get(&*one.name) {
            Some(&colour) => colour,
            None => {
                let new = Colour::try_from(names.len())
                    .map_err(|_| one.error(cols, TextProblem::TooManyColours))?;
                names.push(&one.name);
                colours.insert(&one.name, new);
                new
            }
        };
        let cell = one.cell;
        terminals.push(Terminal { cell, colour });
    }
    let puzzle = Puzzle::new(board, terminals, rules).map_err(|error| {
        let odd = match &error {
            PuzzleError::Odd { colour, count, .. } => {
                let name = names.get(usize::from(*colour)).copied();
                let first = named.iter().find(|one| Some(&*one.name) == name);
                first.map(|first| {
                    let (name, count) = (excerpt(&first.name), *count);
                    first.error(cols, TextProblem::Odd { name, count })
                })
            }
            _ => None,
        };
        odd.unwrap_or(TextError {
            line: start.0,
            column: start.1,
            cell: None,
            problem: error.into(),
        })
    })?;
    Ok((puzzle, names.into_iter().map(str::to_owned).collect()))
}
