//! The result of a picture, as JSON.

use std::collections::BTreeMap;

use flowpipe_puzzle::geometry::Point;
use flowpipe_puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_puzzle::{Cell, Colour, Lattice, Puzzle};
use serde::Serialize;
use serde_json::Value;

use crate::see::picture::{PictureError, PictureResult, VisionAnswer};
use crate::see::times::{ByName, milliseconds};

/// The `step` of a file that is not a picture, and of a plugin that failed.
const FILE: &str = "file";
const PLUGIN: &str = "plugin";

/// Row and column, from 0.
type RowCol = (usize, usize);

/// One object of JSON lines.
#[derive(Default, Serialize)]
struct PictureRecord<'a> {
    file: &'a str,
    /// `board`, or `refused` if no board was read; `messages` of a plugin that emits no sightings.
    status: &'static str,
    reason: Option<&'a str>,
    /// The step that refused it, or [`FILE`], or [`PLUGIN`].
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    rows: Option<usize>,
    cols: Option<usize>,
    /// By row: `.` is an empty cell, `#` no cell, equal letters are a pair.
    grid: Option<Vec<String>>,
    state: Option<BoardState>,
    /// Pixels of the corners of the board's grid: top left, top right, bottom right, bottom left.
    board_quad: Option<[Point; 4]>,
    confidence: Option<f64>,
    /// Milliseconds of the call; of several calls, the median.
    ms: Option<f64>,
    /// The lattice, if the cells are not squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    lattice: Option<Lattice>,
    /// Edges wrap around.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warps: bool,
    /// Pairs of cells with no passage between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    walls: Vec<[RowCol; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bridges: Vec<RowCol>,
    /// What is drawn already: the letter and the cells of each pipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drawn: Vec<Pipe>,
    /// The colours of the letters: red, green, blue.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    colours: BTreeMap<char, [u8; 3]>,
    /// Milliseconds by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<ByName<'a>>,
    /// The 95th percentile of several calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    ms_p95: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_p95: Option<ByName<'a>>,
    /// The messages of a plugin that emits no sightings.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Value>,
    /// How many further ones are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_left_out: Option<usize>,
}

#[derive(Serialize)]
struct Pipe {
    letter: char,
    cells: Vec<RowCol>,
}

/// One line of JSON, without its end.
///
/// # Errors
/// Never: every value serializes.
pub fn record(file: &str, result: &PictureResult) -> serde_json::Result<String> {
    let mut record = match result.answer() {
        Ok(VisionAnswer::Messages(messages)) => PictureRecord {
            status: "messages",
            messages: Some(messages.json()),
            messages_left_out: Some(messages.left_out()),
            ..PictureRecord::default()
        },
        Ok(VisionAnswer::Reading(Reading::Board(board))) => of_board(board),
        Ok(VisionAnswer::Reading(Reading::Refused {
            step,
            reason,
            confidence,
            state,
            ..
        })) => PictureRecord {
            status: "refused",
            reason: Some(reason),
            step: Some(step),
            confidence: Some(*confidence),
            state: *state,
            ..PictureRecord::default()
        },
        Err(reason) => PictureRecord {
            // Not a step of vision: there was no picture, or the plugin failed.
            status: "refused",
            reason: Some(reason),
            step: Some(match result.error {
                Some(PictureError::Unopened(_) | PictureError::Unreadable(_)) => FILE,
                Some(PictureError::Failed(_)) | None => PLUGIN,
            }),
            confidence: Some(0.0),
            ..PictureRecord::default()
        },
    };
    record.file = file;
    let calls = result.times.calls();
    if calls > 0 {
        record.ms = Some(milliseconds(result.times.whole().p50_ns));
        record.steps = ByName::new(result.times.steps(), |cost| cost.p50_ns);
    }
    if calls > 1 {
        record.ms_p95 = Some(milliseconds(result.times.whole().p95_ns));
        record.steps_p95 = ByName::new(result.times.steps(), |cost| cost.p95_ns);
    }
    serde_json::to_string(&record)
}

fn of_board(seen: &SeenBoard) -> PictureRecord<'static> {
    let board = seen.puzzle.board();
    let shape = board.description();
    let letters = letters(&seen.puzzle);
    let letter = |colour| letters.get(&colour).copied().unwrap_or('?');
    let place = |&cell: &Cell| board.row_col(cell);
    let drawn = seen.drawn.iter().map(|flow| Pipe {
        letter: letter(flow.colour),
        cells: flow.cells.iter().map(place).collect(),
    });
    let colours = letters.iter().filter_map(|(&colour, &letter)| {
        let rgb = seen.palette.get(usize::from(colour))?;
        Some((letter, *rgb))
    });
    PictureRecord {
        status: "board",
        rows: Some(board.rows()),
        cols: Some(board.cols()),
        grid: Some(grid(&seen.puzzle, letter)),
        state: Some(seen.state),
        board_quad: Some(seen.geometry.corners),
        confidence: Some(seen.confidence),
        lattice: (shape.lattice != Lattice::Square).then_some(shape.lattice),
        warps: shape.warps,
        walls: shape
            .walls
            .iter()
            .map(|(a, b)| [place(a), place(b)])
            .collect(),
        bridges: shape.bridges.iter().map(place).collect(),
        drawn: drawn.collect(),
        colours: colours.collect(),
        ..PictureRecord::default()
    }
}

fn grid(puzzle: &Puzzle, letter: impl Fn(Colour) -> char) -> Vec<String> {
    let board = puzzle.board();
    let character = |row, col| match board.cell(row, col) {
        Some(cell) => puzzle.terminal_at(cell).map_or('.', &letter),
        None => '#',
    };
    let row = |row| (0..board.cols()).map(|col| character(row, col)).collect();
    (0..board.rows()).map(row).collect()
}

/// A character for each colour of a puzzle: letters of English first, then digits, then letters of others.
fn letters(puzzle: &Puzzle) -> BTreeMap<Colour, char> {
    let plain = ('A'..='Z').chain('a'..='z').chain('0'..='9');
    let others = ('\u{C0}'..).filter(|letter| letter.is_alphabetic());
    puzzle
        .colours()
        .into_iter()
        .zip(plain.chain(others))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use flowpipe_puzzle::{Board, Rules, Terminal};

    use super::*;

    #[test]
    fn more_pairs_than_english_has_letters() {
        let board = Board::rectangle(40, 50).unwrap();
        let terminals = (0..2000).map(|cell| Terminal {
            cell,
            colour: (cell / 2) as Colour,
        });
        let puzzle = Puzzle::new(board, terminals.collect(), Rules::default()).unwrap();
        let letters = letters(&puzzle);
        assert_eq!(letters.len(), 1000);
        assert_eq!(letters.values().collect::<HashSet<_>>().len(), 1000);
        let fits = |letter: &char| !letter.is_whitespace() && !".#".contains(*letter);
        assert!(letters.values().all(fits));
        let rows = grid(&puzzle, |colour| letters[&colour]);
        assert!(rows.iter().all(|row| row.chars().count() == 50));
        assert!(
            rows[0].starts_with("AABBCC") && rows[1].starts_with("ZZaabb"),
            "{rows:?}"
        );
    }
}
