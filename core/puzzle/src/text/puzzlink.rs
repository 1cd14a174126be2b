//! puzz.link's URLs of Numberlink puzzles, in and out: `https://puzz.link/p?numlin/5/4/…`.
//!
//! After the kind stand width and height, then the cells row by row in the encoding that the source
//! of pzpr, the program behind puzz.link, calls `Number16`: a hexadecimal digit is a number; `-`,
//! `+`, `=` and `%` stand before two or three digits of larger ones, `*` and `$` before four or five;
//! `g` to `z` are 1 to 20 empty cells. Any site's address may stand before the `?`, and flags between
//! the kind and the width are passed over.
//!
//! What such a puzzle asks is what pzpr's checker of `numlin` asks: equal numbers joined, nothing
//! branching or crossing. Cells may stay empty, and a line may lie beside itself. Other rules stand
//! behind a `#`, which pzpr does not look at: `#rules=cover,no-touch`.

use std::borrow::Cow;
use std::collections::HashSet;

use thiserror::Error;

use crate::board::Board;
use crate::puzzle::{Puzzle, Rules};
use crate::text::excerpt::excerpt;
use crate::text::named::{self, Named};
use crate::text::rule_words;
use crate::text::{Format, TextError, TextProblem, UnsupportedByFormat};

/// The rules of a URL that names none.
pub(crate) const RULES: Rules = Rules {
    cover: false,
    touch: true,
};

const KIND: &str = "numlin";
const ADDRESS: &str = "https://puzz.link/p?numlin";
const FRAGMENT: &str = "rules=";

/// What can be wrong in a URL.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkProblem {
    /// Something else than what belongs there.
    #[error("expected {expected}, found {}", if .found.is_empty() { "nothing".to_owned() } else { format!("{found:?}") })]
    Expected {
        /// What belongs there.
        expected: &'static str,
        /// The text there.
        found: String,
    },
    /// Numbers and blanks for fewer cells than the board has.
    #[error("expected {expected} cells, the URL ends after {found}")]
    Short {
        /// Cells of the board.
        expected: usize,
        /// Cells in the URL.
        found: usize,
    },
    /// Numbers or blanks beyond the last cell.
    #[error("expected no more than the board's {expected} cells, found {found:?} after them")]
    Long {
        /// Cells of the board.
        expected: usize,
        /// The text there.
        found: String,
    },
}

/// Whether a line is a URL, of whatever puzzle.
pub(crate) fn is_link(line: &str) -> bool {
    line.contains("://") || line.starts_with("numlin/") || line.contains("?numlin")
}

/// Reads one URL: the puzzle, and by colour number the numbers that it has there.
pub(crate) fn read(number: usize, line: &str) -> Result<(Puzzle, Vec<String>), TextError> {
    PuzzlinkUrl { number, line }.read()
}

/// A line that knows its number.
#[derive(Clone, Copy)]
struct PuzzlinkUrl<'a> {
    number: usize,
    line: &'a str,
}

impl<'a> PuzzlinkUrl<'a> {
    fn read(self) -> Result<(Puzzle, Vec<String>), TextError> {
        let line = self.line.trim_end();
        let (address, fragment) = line.split_once('#').unwrap_or((line, ""));
        let mut start = address.find('?').map_or_else(
            || address.len() - address.trim_start().len(),
            |mark| mark + 1,
        );
        // The next field, and where it begins.
        let mut next = || {
            let from = start.min(address.len());
            let field = address[from..].split('/').next().unwrap_or_default();
            start = from + field.len() + 1;
            (field, from)
        };
        let (kind, at) = next();
        if kind.strip_suffix("_edit").unwrap_or(kind) != KIND {
            return Err(self.expected(at, "`numlin`, puzz.link's name for Numberlink", kind));
        }
        let mut width = next();
        if !width.0.starts_with(|it: char| it.is_ascii_digit()) {
            width = next();
        }
        let height = next();
        let side = |(text, at): (&str, usize), expected| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let side = text.parse::<usize>().ok().filter(|_| digits);
            side.ok_or_else(|| self.expected(at, expected, text))
        };
        let cols = side(width, "the width in cells")?;
        let rows = side(height, "the height in cells")?;
        let board = Board::rectangle(rows, cols)
            .map_err(|error| self.error(width.1, None, error.into()))?;
        let (cells, at) = next();
        let numbers = self.numbers(cells, at, &board)?;
        let (rest, at) = next();
        if !rest.is_empty() {
            return Err(self.expected(at, "the end of the URL", rest));
        }
        let rules = self.rules(fragment, address.len() + 1)?;
        named::puzzle(board, &numbers, rules, (self.number, self.column(width.1)))
    }

    fn numbers(
        self,
        cells: &str,
        start: usize,
        board: &Board,
    ) -> Result<Vec<Named<'static>>, TextError> {
        let mut named = Vec::new();
        // Up to where it reads on there are only bytes that are characters.
        let first = self.column(start);
        let (mut cell, mut at) = (0, 0);
        while let Some(character) = cells[at..].chars().next() {
            if cell >= board.len() {
                let (expected, found) = (board.len(), excerpt(&cells[at..]));
                return Err(self.link(start + at, None, LinkProblem::Long { expected, found }));
            }
            // How many digits follow, and what the number counts from.
            let (digits, base) = match character {
                'g'..='z' => {
                    cell += character as usize - 'f' as usize;
                    at += 1;
                    continue;
                }
                '0'..='9' | 'a'..='f' => (1, 0),
                '-' => (2, 0),
                '+' => (3, 0),
                '=' => (3, 4096),
                '%' => (3, 8192),
                '*' => (4, 12_240),
                '$' => (5, 77_776),
                _ => (0, 0),
            };
            let sign = usize::from(!character.is_ascii_hexdigit());
            let place = board.row_col(cell);
            let number = cells
                .get(at + sign..at + sign + digits)
                .filter(|text| !text.is_empty() && text.bytes().all(|it| it.is_ascii_hexdigit()))
                .and_then(|text| u32::from_str_radix(text, 16).ok());
            let Some(number) = number else {
                let (expected, width) = match character {
                    '.' => ("a number (a `?` can't be joined to anything)", 1),
                    _ if digits == 0 => (
                        "a number in hexadecimal digits, or `g` to `z` for empty cells",
                        1,
                    ),
                    _ => ("hexadecimal digits of a large number", 1 + digits),
                };
                let found: String = cells[at..].chars().take(width).collect();
                let problem = LinkProblem::Expected { expected, found };
                return Err(self.link(start + at, Some((place.0 + 1, place.1 + 1)), problem));
            };
            named.push(Named {
                name: Cow::Owned((number + base).to_string()),
                cell,
                line: self.number,
                column: first + at,
            });
            cell += 1;
            at += sign + digits;
        }
        let (expected, found) = (board.len(), cell);
        if found < expected {
            return Err(self.link(
                start + cells.len(),
                None,
                LinkProblem::Short { expected, found },
            ));
        }
        if found > expected {
            let found = cells[cells.len() - 1..].to_owned();
            let at = start + cells.len() - 1;
            return Err(self.link(at, None, LinkProblem::Long { expected, found }));
        }
        Ok(named)
    }

    /// The text behind the `#`, which begins at a byte of the line.
    fn rules(self, fragment: &str, start: usize) -> Result<Rules, TextError> {
        let Some(words) = fragment.strip_prefix(FRAGMENT) else {
            return Ok(RULES);
        };
        rule_words::read(words, RULES).map_err(|(byte, word)| {
            self.expected(start + FRAGMENT.len() + byte, rule_words::EXPECTED, word)
        })
    }

    fn column(self, byte: usize) -> usize {
        let before = self.line.get(..byte).unwrap_or(self.line);
        before.chars().count() + 1
    }

    fn expected(self, byte: usize, expected: &'static str, found: &str) -> TextError {
        let found = excerpt(found);
        self.link(byte, None, LinkProblem::Expected { expected, found })
    }

    fn link(self, byte: usize, cell: Option<(usize, usize)>, problem: LinkProblem) -> TextError {
        self.error(byte, cell, TextProblem::Link(problem))
    }

    fn error(self, byte: usize, cell: Option<(usize, usize)>, problem: TextProblem) -> TextError {
        TextError {
            line: self.number,
            column: self.column(byte),
            cell,
            problem,
        }
    }
}

/// Writes a rectangle as a URL with a newline at the end. Colours have the numbers that they are
/// called, where each is called one of its own, else 1, 2, 3 …
///
/// # Errors
/// What a URL can't express.
pub(crate) fn write(puzzle: &Puzzle, names: &[String]) -> Result<String, UnsupportedByFormat> {
    let board = puzzle.board();
    if let Some(what) = UnsupportedByFormat::kinds(board.description(), |_| true) {
        let format = Format::Puzzlink;
        return Err(UnsupportedByFormat::Kind { format, what });
    }
    let colours = puzzle.colours();
    let given: Vec<u32> = colours
        .iter()
        .filter_map(|&colour| number(names.get(usize::from(colour))?))
        .collect();
    let distinct: HashSet<&u32> = given.iter().collect();
    let given = (distinct.len() == colours.len()).then_some(&given);

    let mut text = format!("{ADDRESS}/{}/{}/", board.cols(), board.rows());
    let mut empty = 0;
    for cell in 0..board.len() {
        let Some(colour) = puzzle.terminal_at(cell) else {
            empty += 1;
            continue;
        };
        write_empty(&mut text, empty);
        empty = 0;
        let place = colours.partition_point(|&other| other < colour);
        let number = given.map_or(place as u32 + 1, |given| given[place]);
        text += &match number {
            0..16 => format!("{number:x}"),
            16..256 => format!("-{number:02x}"),
            256..4096 => format!("+{number:03x}"),
            4096..8192 => format!("={:03x}", number - 4096),
            8192..12_240 => format!("%{:03x}", number - 8192),
            12_240..77_776 => format!("*{:04x}", number - 12_240),
            _ => format!("${:05x}", number - 77_776),
        };
    }
    write_empty(&mut text, empty);
    if puzzle.rules() != RULES {
        let words = rule_words::write(puzzle.rules()).replace(' ', "");
        text += &format!("#{FRAGMENT}{words}");
    }
    text.push('\n');
    Ok(text)
}

/// The number that a name is, if it can be encoded and reads back as the same name.
fn number(name: &String) -> Option<u32> {
    const LAST: u32 = 77_776 + 0xf_ffff;
    let number: u32 = name.parse().ok()?;
    (number <= LAST && number.to_string() == *name).then_some(number)
}

fn write_empty(text: &mut String, mut count: usize) {
    while count > 0 {
        let run = count.min(20);
        // 'g' for one, 'z' for twenty.
        text.push(char::from(b'f' + run as u8));
        count -= run;
    }
}

#[cfg(test)]
mod tests;
