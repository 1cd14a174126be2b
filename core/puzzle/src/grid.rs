//! Grid text, in and out: one row a line, cells as single characters or as words with blanks between.

use std::collections::HashMap;

use crate::board::Cell;
use crate::colour::{self, Colour};
use crate::puzzle::{Puzzle, PuzzleError, Rules, Terminal};
use crate::text::{TextError, TextProblem, grid_board};

/// A cell as written, with its line in the text and its column in characters, both from 1.
struct Written<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

/// Reads the numbered lines of one grid: the puzzle, and by colour number what the text calls it.
pub(crate) fn read(lines: &[(usize, &str)]) -> Result<(Puzzle, Vec<String>), TextError> {
    let words = lines
        .iter()
        .any(|(_, line)| line.trim().contains(char::is_whitespace));
    let rows: Vec<Vec<Written>> = lines
        .iter()
        .map(|&(number, line)| split(number, line, words))
        .collect();
    let cols = rows.first().map_or(0, Vec::len);
    let cells: Vec<&Written> = rows.iter().flatten().collect();
    for (row, written) in rows.iter().enumerate() {
        if written.len() != cols {
            // The first cell too many, or the last one before those that are missing.
            let at = written.get(cols).or(written.last());
            let (line, column) = at.map_or((lines[row].0, 1), |cell| (cell.line, cell.column));
            let problem = TextProblem::Ragged {
                expected: cols,
                found: written.len(),
            };
            return Err(TextError {
                line,
                column,
                cell: None,
                problem,
            });
        }
    }

    let (mut holes, mut bridges, mut terminals) = (Vec::new(), Vec::new(), Vec::new());
    let mut names: Vec<&str> = Vec::new();
    let mut colours: HashMap<&str, Colour> = HashMap::new();
    for (cell, written) in cells.iter().enumerate() {
        let at = |problem| error_at(written, cell, cols, problem);
        match written.text {
            "." | "-" | "_" => {}
            "#" => holes.push(cell),
            "+" => bridges.push(cell),
            name if name.chars().all(char::is_alphanumeric) => {
                let colour = match colours.get(name) {
                    Some(&colour) => colour,
                    None => {
                        let new = Colour::try_from(names.len())
                            .map_err(|_| at(TextProblem::TooManyColours))?;
                        names.push(name);
                        colours.insert(name, new);
                        new
                    }
                };
                terminals.push(Terminal { cell, colour });
            }
            other => {
                return Err(at(TextProblem::Cell {
                    found: other.to_owned(),
                }));
            }
        }
    }

    let start = TextError {
        line: lines.first().map_or(1, |line| line.0),
        column: 1,
        cell: None,
        problem: TextProblem::Puzzle(PuzzleError::NoTerminals),
    };
    let board = grid_board(rows.len(), cols, holes, bridges).map_err(|error| TextError {
        problem: error.into(),
        ..start.clone()
    })?;
    let first_of = |colour: Colour| terminals.iter().find(|terminal| terminal.colour == colour);
    let puzzle = Puzzle::new(board, terminals.clone(), Rules::default()).map_err(|error| {
        let PuzzleError::Odd { colour, count, .. } = error else {
            return TextError {
                problem: error.into(),
                ..start.clone()
            };
        };
        let name = names[usize::from(colour)].to_owned();
        let cell = first_of(colour).map_or(0, |terminal| terminal.cell);
        error_at(cells[cell], cell, cols, TextProblem::Odd { name, count })
    })?;
    Ok((puzzle, names.into_iter().map(str::to_owned).collect()))
}

fn split(number: usize, line: &str, words: bool) -> Vec<Written<'_>> {
    let mut cells: Vec<Written> = Vec::new();
    let mut in_word = false;
    for (index, (start, character)) in line.char_indices().enumerate() {
        if character.is_whitespace() {
            in_word = false;
            continue;
        }
        let end = start + character.len_utf8();
        match cells.last_mut() {
            Some(cell) if words && in_word => {
                let from = start - cell.text.len();
                cell.text = &line[from..end];
            }
            _ => cells.push(Written {
                text: &line[start..end],
                line: number,
                column: index + 1,
            }),
        }
        in_word = true;
    }
    cells
}

fn error_at(written: &Written, cell: Cell, cols: usize, problem: TextProblem) -> TextError {
    let place = (cell / cols + 1, cell % cols + 1);
    TextError {
        line: written.line,
        column: written.column,
        cell: Some(place),
        problem,
    }
}

/// Writes a rectangle with holes and bridges. Names longer than one character get blanks between.
pub(crate) fn write(puzzle: &Puzzle, name_length: usize) -> String {
    let board = puzzle.board();
    let mut text = String::new();
    for row in 0..board.rows() {
        let cells = (0..board.cols()).map(|col| {
            let cell = row * board.cols() + col;
            match puzzle.terminal_at(cell) {
                Some(colour) => colour::name(colour),
                None if !board.exists(cell) => "#".to_owned(),
                None if board.is_bridge(cell) => "+".to_owned(),
                None => ".".to_owned(),
            }
        });
        let line = if name_length == 1 {
            cells.collect::<String>()
        } else {
            let padded: Vec<String> = cells.map(|cell| format!("{cell:<name_length$}")).collect();
            padded.join(" ")
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
