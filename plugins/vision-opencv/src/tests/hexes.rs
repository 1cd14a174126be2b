//! Boards of hexagons as the practice game draws them, real levels where they are at hand and puzzles of our own:
//! all read exactly; cut off by the picture's edge: refused.

use std::ops::Range;

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Layout, Pixels, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::level::{Level, Tag};
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::puzzle::{Board, Lattice};
use flowpipe_plugin::{Format, PixelInfo};

use super::levels::{PLAYED, Played, difference, drawn, levels};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;
use flowpipe_testing::note;

const THEMES: [Theme; 4] = [Theme::Dark, Theme::Light, Theme::Blocks, Theme::Letters];
/// Pixels from column to column.
const CELLS: [f64; 2] = [28.0, 60.0];

/// Real levels of hexagons, where they are at hand.
pub(super) fn real() -> Vec<Level> {
    let is_hex = |level: &Level| level.puzzle.board().description().lattice == Lattice::Hex;
    levels().into_iter().filter(is_hex).collect()
}

/// Puzzles of our own: with and without holes and walls.
pub(super) fn own() -> Vec<Level> {
    let plain = |rows, cols| Description {
        rows,
        cols,
        lattice: Lattice::Hex,
        ..Description::default()
    };
    let boards = [
        plain(5, 5),
        Description {
            holes: vec![0, 14],
            walls: vec![(7, 8), (15, 21)],
            ..plain(5, 6)
        },
        Description {
            holes: vec![1, 3, 5, 24],
            walls: vec![(10, 17)],
            ..plain(7, 7)
        },
        Description {
            walls: vec![(12, 13)],
            ..plain(4, 9)
        },
    ];
    let levels = boards.into_iter().map(|description| {
        let board = Board::new(description).unwrap();
        let (puzzle, solution) = generate(&board, board.rows() + 3, 1).unwrap();
        Level::new(Tag::default(), &puzzle, &solution).unwrap()
    });
    levels.collect()
}

/// A board whose columns are `cell` pixels apart.
pub(super) fn paint(level: &Level, played: Played, theme: Theme, cell: f64) -> Pixels {
    let board = level.puzzle.board();
    let is_wide = |width: &u32| Layout::new(Style::Phone, board, *width, 2 * width).cell[0] >= cell;
    let width = (64..4096).find(is_wide).unwrap();
    let scene = Scene {
        puzzle: &level.puzzle,
        flows: &drawn(level, played),
        style: Style::Phone,
        theme,
        palette: &[],
        line: [86, 107, 74],
        lights: board.len() as u64,
        header: Header::default(),
    };
    render(&scene, width, 2 * width).unwrap()
}

/// What is seen in some columns of a picture, the others cut off.
fn see(pixels: &Pixels, columns: Range<u32>) -> Reading {
    let (pixel, width) = (4, columns.end - columns.start);
    let [first, last] = [columns.start, columns.end].map(|column| column as usize * pixel);
    let rows = pixels.rgba.chunks_exact(pixels.width as usize * pixel);
    let bytes: Vec<u8> = rows.flat_map(|row| &row[first..last]).copied().collect();
    let info =
        PixelInfo::new(Format::Rgba8, width, pixels.height).with_stride(width as usize * pixel);
    let picture = Picture::new(&bytes, info).unwrap();
    Reader::new(Config::default()).read(&picture).unwrap()
}

/// Reads levels in several themes, and prints the outcomes.
fn check(kind: &str, levels: &[Level], themes: impl Fn(usize) -> Vec<Theme>) {
    let (mut count, mut failed, mut wrong) = (0, Vec::new(), 0);
    for (index, level) in levels.iter().enumerate() {
        for (turn, cell) in CELLS.into_iter().enumerate() {
            for (part, played) in PLAYED.into_iter().enumerate() {
                for theme in themes(index + turn + part) {
                    count += 1;
                    let pixels = paint(level, played, theme, cell);
                    let text = match see(&pixels, 0..pixels.width) {
                        Reading::Refused { step, reason, .. } => Some(format!("{step}: {reason}")),
                        Reading::Board(board) => {
                            let flows = drawn(level, played);
                            let text = difference(&level.puzzle, &flows, played, &board);
                            wrong += usize::from(text.is_some());
                            text
                        }
                    };
                    failed.extend(text.map(|text| {
                        format!("number {index}, {theme}, {played:?}, cells of {cell}: {text}")
                    }));
                }
            }
        }
    }
    note!(
        "{count} pictures of {} {kind} levels of hexagons: {} exact, {} refused, {wrong} wrong",
        levels.len(),
        count - failed.len(),
        failed.len() - wrong
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn real_levels() {
    check("real", &real(), |turn| vec![THEMES[turn % THEMES.len()]]);
}

#[test]
fn own_levels() {
    check("own", &own(), |_| THEMES.to_vec());
}

/// `cargo test --release -p vision-opencv hexes -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn real_levels_in_all_themes() {
    check("real", &real(), |_| THEMES.to_vec());
}

#[test]
fn a_board_cut_off_by_the_edge_is_refused() {
    for (level, theme) in own().iter().zip(THEMES) {
        for played in [Played::Nothing, Played::All] {
            let pixels = paint(level, played, theme, CELLS[0]);
            let width = pixels.width;
            // From where the outline is gone to where two columns are left.
            for cut in (10..width - 60).step_by(9) {
                for columns in [cut..width, 0..width - cut] {
                    let reading = see(&pixels, columns.clone());
                    assert!(
                        matches!(reading, Reading::Refused { .. }),
                        "{theme}, {played:?}, columns {columns:?}: {reading:?}"
                    );
                }
            }
        }
    }
}
