//! What pictures show, as people wrote it down in a `truth.jsonl` beside them, and whether a reading agrees.

use std::fs;
use std::path::{Path, PathBuf};

use flowpipe_plugin::puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Puzzle, colour};
use flowpipe_testing::{note, shared_folder};
use image::RgbImage;
use serde::Deserialize;

/// A line of `truth.jsonl`.
#[derive(Deserialize)]
pub struct Truth {
    pub file: String,
    cols: usize,
    /// By rows: `.` is an empty cell, `#` none, two equal letters are a pair.
    grid: Vec<String>,
    /// Left, top, width and height of the board, to the middles of its border lines, in pixels.
    board_xywh: [f64; 4],
    state: BoardState,
}

/// What a reading is worth.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    Exact,
    /// No board was read: at this step, for this reason.
    Refused(String),
    /// A board was read that is not what the picture shows: how it differs.
    Wrong(String),
}

impl Verdict {
    pub fn of(truth: &Truth, reading: &Reading) -> Self {
        match reading {
            Reading::Refused { step, reason, .. } => Self::Refused(format!("{step}: {reason}")),
            Reading::Board(board) => difference(truth, board).map_or(Self::Exact, Self::Wrong),
        }
    }
}

/// How a board differs from the truth, if it does. A corner may be a tenth of a cell from where it is.
fn difference(truth: &Truth, board: &SeenBoard) -> Option<String> {
    let [left, top, width, height] = truth.board_xywh;
    let (right, bottom) = (left + width, top + height);
    let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
    let off = |(a, b): ([f64; 2], [f64; 2])| (a[0] - b[0]).hypot(a[1] - b[1]);
    let pairs = corners.into_iter().zip(board.geometry.corners);
    let farthest = pairs.map(off).fold(0.0, f64::max);
    let seen = letters(&board.puzzle);
    if seen != canonical(&truth.grid) {
        Some(format!("terminals:\n{}", seen.join("\n")))
    } else if board.state != truth.state {
        Some(format!("{:?}", board.state))
    } else if farthest > 0.1 * width / truth.cols as f64 {
        Some(format!("a corner {farthest:.1} pixels off"))
    } else {
        None
    }
}

/// The terminals of a puzzle by rows, with letters in order of first appearance.
pub fn letters(puzzle: &Puzzle) -> Vec<String> {
    let letter = |cell| {
        puzzle
            .terminal_at(cell)
            .map_or(".".to_owned(), colour::name)
    };
    let (rows, cols) = (puzzle.board().rows(), puzzle.board().cols());
    let row = |row| (0..cols).map(|col| letter(row * cols + col)).collect();
    canonical(&(0..rows).map(row).collect::<Vec<String>>())
}

/// The same grid with its letters in order of first appearance.
fn canonical(grid: &[String]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut exchange = |letter| {
        if matches!(letter, '.' | '#') {
            return letter.to_string();
        }
        let known = seen.iter().position(|&old| old == letter);
        let number = known.unwrap_or_else(|| {
            seen.push(letter);
            seen.len() - 1
        });
        colour::name(number as u16)
    };
    let rows = grid.iter();
    rows.map(|row| row.chars().map(&mut exchange).collect())
        .collect()
}

/// A folder of pictures with their truths.
pub struct Frames {
    folder: PathBuf,
    pub truths: Vec<Truth>,
}

impl Frames {
    /// The project's own.
    pub fn own() -> Self {
        Self::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines/frames"))
    }

    /// Real screenshots, where they are at hand; prints a note where they are not.
    pub fn real() -> Option<Self> {
        let folder = shared_folder().join("frames");
        if !folder.join("truth.jsonl").exists() {
            note!("skipped: no real screenshots at {}", folder.display());
            return None;
        }
        Some(Self::at(folder))
    }

    fn at(folder: PathBuf) -> Self {
        let truths = fs::read_to_string(folder.join("truth.jsonl")).unwrap();
        let truths = truths
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Self {
            truths: truths.collect(),
            folder,
        }
    }

    pub fn picture(&self, truth: &Truth) -> RgbImage {
        // Some pictures have the wrong ending.
        let picture = image::ImageReader::open(self.folder.join(&truth.file)).unwrap();
        let picture = picture.with_guessed_format().unwrap();
        picture.decode().unwrap().into_rgb8()
    }
}
