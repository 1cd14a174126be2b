//! Pictures in folders with a `truth.jsonl`: the project's own frames, and real screenshots.

use std::fs;
use std::path::{Path, PathBuf};

use flowpipe_plugin::puzzle::message::{BoardState, Reading};
use flowpipe_plugin::{Format, PixelInfo};
use serde::Deserialize;

use super::summary::{canonical, grid};
use crate::config::Config;
use crate::picture::Picture;
use crate::read::Reader;

/// Says something past the test harness, which shows nothing that a passing test prints.
macro_rules! say {
    ($($text:tt)+) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)+);
    }};
}

/// A line of `truth.jsonl`.
#[derive(Deserialize)]
struct Truth {
    file: String,
    rows: usize,
    cols: usize,
    grid: Vec<String>,
    board_xywh: [f64; 4],
    state: BoardState,
}

impl Truth {
    fn is_rectangle(&self) -> bool {
        !self.grid.iter().any(|row| row.contains('#'))
    }
}

fn see(path: &Path) -> Reading {
    // Some pictures have the wrong ending.
    let picture = image::ImageReader::open(path)
        .unwrap()
        .with_guessed_format()
        .unwrap();
    let picture = picture.decode().unwrap().into_rgb8();
    let info = PixelInfo {
        format: Format::Rgb8,
        width: picture.width(),
        height: picture.height(),
        stride: picture.width() as usize * 3,
    };
    let picture = Picture::new(picture.as_raw(), info).unwrap();
    Reader::new(Config::default()).read(&picture).unwrap()
}

/// What is wrong with a reading, if anything.
fn difference(truth: &Truth, reading: &Reading) -> Option<String> {
    match reading {
        Reading::Refused { reason, .. } if truth.is_rectangle() => Some(reason.clone()),
        Reading::Refused { reason, .. } => {
            let clear = reason.starts_with("not a board that I can read: ");
            (!clear).then(|| format!("an unclear reason: {reason}"))
        }
        Reading::Board(_) if !truth.is_rectangle() => Some("read as a rectangle".to_owned()),
        Reading::Board(board) => {
            let [left, top, width, height] = truth.board_xywh;
            let (right, bottom) = (left + width, top + height);
            let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
            let cell = width / truth.cols as f64;
            let off = |(a, b): ([f64; 2], [f64; 2])| (a[0] - b[0]).hypot(a[1] - b[1]);
            let farthest = corners
                .into_iter()
                .zip(board.geometry.corners)
                .map(off)
                .fold(0.0, f64::max);
            let size = [board.puzzle.board().rows(), board.puzzle.board().cols()];
            if size != [truth.rows, truth.cols] {
                Some(format!("{size:?} cells"))
            } else if grid(board) != canonical(&truth.grid) {
                Some(format!("terminals:\n{}", grid(board).join("\n")))
            } else if board.state != truth.state {
                Some(format!("{:?}", board.state))
            } else if farthest > 0.1 * cell {
                Some(format!("a corner {farthest:.1} pixels off"))
            } else {
                None
            }
        }
    }
}

/// Reads a folder and says how many rectangles and others there were.
fn check(folder: &Path) -> (usize, usize) {
    let truths = fs::read_to_string(folder.join("truth.jsonl")).unwrap();
    let truths: Vec<Truth> = truths
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut wrong = Vec::new();
    for truth in &truths {
        if let Some(difference) = difference(truth, &see(&folder.join(&truth.file))) {
            wrong.push(format!("{}: {difference}", truth.file));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} pictures misread:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let rectangles = truths.iter().filter(|truth| truth.is_rectangle()).count();
    (rectangles, truths.len() - rectangles)
}

#[test]
fn own_frames() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines/frames");
    let (rectangles, _) = check(&folder);
    assert!(rectangles > 0);
}

#[test]
fn real_screenshots() {
    let shared = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("frames");
    if !folder.join("truth.jsonl").exists() {
        say!("skipped: no real screenshots at {}", folder.display());
        return;
    }
    let (rectangles, others) = check(&folder);
    say!("{rectangles} real screenshots read exactly, {others} irregular ones refused");
    assert!(rectangles > 0);
}
