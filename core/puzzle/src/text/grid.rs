//! Grid text, in and out: one row a line, cells as single characters or as words with blanks between,
//! and before the rows, where they are not Flow Free's, the rules.

use crate::board::{Board, BoardError, Description};
use crate::colour::Colour;
use crate::puzzle::{Puzzle, Rules};
use crate::text::excerpt::excerpt;
use crate::text::named::{self, Named};
use crate::text::reader::too_long;
use crate::text::rule_words;
use crate::text::{Format, TextError, TextProblem, UnsupportedByFormat};

/// What the line with the rules begins with.
pub(crate) const RULES: &str = "rules:";

/// A cell as written, with its line in the text and its column in characters, both from 1.
struct Written<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

/// Reads the numbered lines of one grid: the puzzle, and by colour number what the text calls it. `left_out`: how many
/// more lines it has.
pub(crate) fn read(
    lines: &[(usize, &str)],
    left_out: usize,
) -> Result<(Puzzle, Vec<String>), TextError> {
    let (rules, lines) = match lines.split_first() {
        Some((&(number, first), rest)) if first.trim_start().starts_with(RULES) => {
            (read_rules(number, first, rest)?, rest)
        }
        _ => (Rules::default(), lines),
    };
    let start = (lines.first().map_or(1, |line| line.0), 1);
    let whole = |error: BoardError| TextError {
        line: start.0,
        column: start.1,
        cell: None,
        problem: error.into(),
    };
    let words = lines
        .iter()
        .any(|(_, line)| line.trim().contains(char::is_whitespace));
    // A cell that was read takes many times its text: what is too large is not even begun.
    let cols = lines.first().map_or(0, |line| count(line.1, words));
    let count_of_rows = lines.len() + left_out;
    let too_large = |cols| {
        whole(BoardError::TooLarge {
            rows: count_of_rows,
            cols,
        })
    };
    if count_of_rows.saturating_mul(cols) > Board::MAX_CELLS {
        return Err(too_large(cols));
    }
    if left_out > 0 {
        return Err(too_long(start.0));
    }
    let mut rows: Vec<Vec<Written>> = Vec::with_capacity(lines.len());
    for &(number, line) in lines {
        let found = count(line, words);
        if found > Board::MAX_CELLS {
            return Err(too_large(found));
        }
        let written = split(number, line, words);
        if found != cols {
            // The first cell too many, or the last one before those that are missing.
            let at = written.get(cols).or(written.last());
            let (line, column) = at.map_or((number, 1), |cell| (cell.line, cell.column));
            let problem = TextProblem::Ragged {
                expected: cols,
                found,
            };
            return Err(TextError {
                line,
                column,
                cell: None,
                problem,
            });
        }
        rows.push(written);
    }

    let (mut holes, mut bridges, mut terminals) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, written) in rows.iter().flatten().enumerate() {
        match written.text {
            "." | "-" | "_" => {}
            "#" => holes.push(cell),
            "+" => bridges.push(cell),
            name if is_name(name) => terminals.push(Named {
                name: name.into(),
                cell,
                line: written.line,
                column: written.column,
            }),
            other => {
                return Err(TextError {
                    line: written.line,
                    column: written.column,
                    cell: Some((cell / cols + 1, cell % cols + 1)),
                    problem: TextProblem::Cell {
                        found: excerpt(other),
                    },
                });
            }
        }
    }
    let board = Board::new(Description {
        rows: rows.len(),
        cols,
        holes,
        bridges,
        ..Description::default()
    });
    let board = board.map_err(whole)?;
    named::puzzle(board, &terminals, rules, start)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(char::is_alphanumeric)
}

fn read_rules(number: usize, line: &str, rows: &[(usize, &str)]) -> Result<Rules, TextError> {
    let start = line.len() - line.trim_start().len() + RULES.len();
    let at = |byte: usize, problem| TextError {
        line: number,
        column: line[..byte].chars().count() + 1,
        cell: None,
        problem,
    };
    let rules = rule_words::read(&line[start..], Rules::default()).map_err(|(byte, word)| {
        let found = excerpt(word);
        at(start + byte, TextProblem::Rules { found })
    })?;
    if rows.is_empty() {
        return Err(at(0, TextProblem::NoRows));
    }
    Ok(rules)
}

/// How many cells [`split`] finds.
fn count(line: &str, words: bool) -> usize {
    match words {
        true => line.split_whitespace().count(),
        false => line.chars().filter(|it| !it.is_whitespace()).count(),
    }
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

/// Writes a rectangle with holes and bridges. Names longer than one character get blanks between.
/// Colours have the names given, by colour number, where these can stand in a grid.
///
/// # Errors
/// What a grid can't express.
pub(crate) fn write(puzzle: &Puzzle, names: &[String]) -> Result<String, UnsupportedByFormat> {
    let board = puzzle.board();
    let description = board.description();
    let what = UnsupportedByFormat::kinds(description, |kind| !matches!(kind, "holes" | "bridges"));
    let colours = puzzle.colours();
    let name = names_for(&colours, names);
    let longest = colours.iter().map(|&colour| name(colour).chars().count());
    let longest = longest.max().unwrap_or(1);
    // One column of long names has no blanks between them: it would be read as single characters.
    let column = (board.cols() == 1 && longest > 1)
        .then(|| "one column of names longer than a character".to_owned());
    if let Some(what) = what.or(column) {
        let format = Format::Grid;
        return Err(UnsupportedByFormat::Kind { format, what });
    }
    let mut text = String::new();
    if puzzle.rules() != Rules::default() {
        text += &format!("{RULES} {}\n", rule_words::write(puzzle.rules()));
    }
    for row in 0..board.rows() {
        let cells = (0..board.cols()).map(|col| {
            let cell = row * board.cols() + col;
            match puzzle.terminal_at(cell) {
                Some(colour) => name(colour),
                None if !board.exists(cell) => "#".to_owned(),
                None if board.is_bridge(cell) => "+".to_owned(),
                None => ".".to_owned(),
            }
        });
        let line = if longest == 1 {
            cells.collect::<String>()
        } else {
            let padded: Vec<String> = cells.map(|cell| format!("{cell:<longest$}")).collect();
            padded.join(" ")
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Ok(text)
}

/// The names given where every colour has one of its own that can stand in a grid, else letters.
fn names_for<'a>(colours: &[Colour], names: &'a [String]) -> impl Fn(Colour) -> String + use<'a> {
    let given: Vec<&String> = colours
        .iter()
        .filter_map(|&colour| names.get(usize::from(colour)))
        .filter(|name| is_name(name))
        .collect();
    let distinct: std::collections::HashSet<_> = given.iter().collect();
    let use_them = distinct.len() == colours.len();
    move |colour| match names.get(usize::from(colour)) {
        Some(name) if use_them => name.clone(),
        _ => crate::colour::name(colour),
    }
}
