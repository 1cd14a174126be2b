//! What pictures show, as people wrote it down in a `truth.jsonl` beside them, and whether a reading agrees.

use std::fs;
use std::path::{Path, PathBuf};

use flowpipe_plugin::puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Flow, Lattice};
use flowpipe_plugin::{Format, PixelInfo};
use flowpipe_testing::{note, shared_folder};
use image::RgbImage;
use serde::Deserialize;

use super::summary::{canonical, grid, ways};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;

/// A line of `truth.jsonl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Truth {
    pub file: String,
    pub rows: usize,
    pub cols: usize,
    /// By rows: `.` is an empty cell, `#` none, two equal letters are a pair.
    pub grid: Vec<String>,
    /// Left, top, width and height of the board, to the middles of its border lines, in pixels.
    pub board_xywh: [f64; 4],
    pub state: BoardState,
    /// Pipes, where they were written down.
    #[serde(default)]
    pub drawn: Option<Vec<Flow>>,
}

impl Truth {
    /// Pixels from one grid line to the next.
    pub fn cell(&self) -> f64 {
        self.board_xywh[2] / self.cols as f64
    }
}

/// What a reading is worth.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Exact,
    /// No board was read: at this step, for this reason.
    Refused(String, String),
    /// A board was read that is not what the picture shows: how it differs.
    Wrong(String),
}

impl Verdict {
    pub fn of(truth: &Truth, reading: &Reading) -> Self {
        match reading {
            Reading::Refused { step, reason, .. } => Self::Refused(step.clone(), reason.clone()),
            Reading::Board(board) => difference(truth, board).map_or(Self::Exact, Self::Wrong),
        }
    }
}

/// How a board differs from the truth, if it does.
fn difference(truth: &Truth, board: &SeenBoard) -> Option<String> {
    let [left, top, width, height] = truth.board_xywh;
    let (right, bottom) = (left + width, top + height);
    let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
    let off = |(a, b): ([f64; 2], [f64; 2])| (a[0] - b[0]).hypot(a[1] - b[1]);
    let farthest = corners
        .into_iter()
        .zip(board.geometry.corners)
        .map(off)
        .fold(0.0, f64::max);
    let size = [board.puzzle.board().rows(), board.puzzle.board().cols()];
    let description = board.puzzle.board().description();
    let is_plain = description.walls.is_empty()
        && description.bridges.is_empty()
        && !description.warps
        && description.lattice == Lattice::Square;
    if size != [truth.rows, truth.cols] {
        Some(format!("{size:?} cells"))
    } else if !is_plain {
        // No picture with a truth shows any of it.
        Some(format!("{description:?}"))
    } else if grid(board) != canonical(&truth.grid) {
        Some(format!("terminals:\n{}", grid(board).join("\n")))
    } else if board.state != truth.state {
        Some(format!("{:?}", board.state))
    } else if truth
        .drawn
        .as_ref()
        .is_some_and(|drawn| ways(drawn) != ways(&board.drawn))
    {
        Some(format!("pipes: {:?}", board.drawn))
    } else if farthest > 0.1 * truth.cell() {
        Some(format!("a corner {farthest:.1} pixels off"))
    } else {
        None
    }
}

/// A folder of pictures with their truths.
pub struct Frames {
    folder: PathBuf,
    pub truths: Vec<Truth>,
}

impl Frames {
    /// The project's own.
    pub fn own() -> Self {
        Self::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines/frames"))
    }

    /// Real screenshots, where they are at hand; prints a note where they are not.
    pub fn real() -> Option<Self> {
        let folder = shared_folder().join("frames");
        if !folder.join("truth.jsonl").exists() {
            note!("skipped: no real screenshots at {}", folder.display());
            return None;
        }
        Some(Self::at(&folder))
    }

    /// Those of a folder.
    pub fn at(folder: &Path) -> Self {
        let truths = fs::read_to_string(folder.join("truth.jsonl")).unwrap();
        let truths = truths
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let folder = folder.to_owned();
        Self { folder, truths }
    }

    pub fn picture(&self, truth: &Truth) -> RgbImage {
        // Some pictures have the wrong ending.
        let picture = image::ImageReader::open(self.folder.join(&truth.file))
            .unwrap()
            .with_guessed_format()
            .unwrap();
        picture.decode().unwrap().into_rgb8()
    }
}

/// What a reader that has seen nothing before makes of a picture.
pub fn see(picture: &RgbImage) -> Reading {
    let info = PixelInfo::new(Format::Rgb8, picture.width(), picture.height());
    let picture = Picture::new(picture.as_raw(), info).unwrap();
    Reader::new(Config::default()).read(&picture).unwrap()
}
