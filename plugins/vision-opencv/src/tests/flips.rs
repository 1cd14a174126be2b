//! Boards that flip over, each picture read by itself: nothing is known of where a board is.

use std::f64::consts::PI;
use std::sync::Arc;

use flowpipe_game::render::{Layout, Painter, Style, Theme};
use flowpipe_game::session::{Face, Flip};
use flowpipe_plugin::puzzle::Point;
use flowpipe_plugin::puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_plugin::{Format, PixelInfo};

use super::game::{FRAMES, Game, fresh, same, solved};
use super::summary::pairs;
use crate::config::Config;
use crate::find::perspective::flip_axis::FlipAxis;
use crate::picture::Picture;
use crate::picture::rotation::RotatedPicture;
use crate::track::reader::Reader;

/// How far away the game's eye is, in widths of the board.
const EYE: f64 = 2.5;

/// What became of the pictures of flips.
#[derive(Default)]
struct Counts {
    read: u32,
    refused: u32,
    wrong: Vec<String>,
    /// How far corners that are more than two pixels from where they should be are at most, in cells at rest.
    off: f64,
}

/// Where a board's corners are seen at a share of a flip.
fn corners(face: &Face, size: (u32, u32), share: f64) -> [Point; 4] {
    let layout = Layout::new(Style::Window, face.puzzle.board(), size.0, size.1);
    let [[left, top], _, [right, bottom], _] = layout.geometry.corners;
    let middle = [f64::midpoint(left, right), f64::midpoint(top, bottom)];
    let turned = if share >= 0.5 { share - 1.0 } else { share };
    let (sin, cos) = (turned * PI).sin_cos();
    let eye = EYE * (right - left);
    layout.geometry.corners.map(|[x, y]| {
        let (along, down) = (x - middle[0], y - middle[1]);
        let nearer = eye / (eye + along * sin);
        [middle[0] + along * cos * nearer, middle[1] + down * nearer]
    })
}

/// Reads every picture of a flip by itself: as it is, or lying on its side, so that it turns about a horizontal line.
fn flip(game: &mut Game, faces: [&Face; 2], axis: FlipAxis, counts: &mut Counts) {
    let [from, to] = faces;
    let shared = Arc::new(from.clone());
    for frame in 1..FRAMES {
        let share = f64::from(frame) / f64::from(FRAMES);
        let flip = Flip {
            from: Arc::clone(&shared),
            share,
        };
        let face = if 2 * frame >= FRAMES { to } else { from };
        let pixels = game.paint(to, Some(flip));
        let info = PixelInfo::new(Format::Rgba8, pixels.width, pixels.height);
        let picture = Picture::new(&pixels.rgba, info).unwrap();
        let quarter = RotatedPicture::clockwise(&picture);
        let seen = match axis {
            FlipAxis::Vertical => picture,
            FlipAxis::Horizontal => quarter.picture().unwrap(),
        };
        let reading = Reader::new(Config::default()).read(&seen).unwrap();
        let Reading::Board(board) = reading else {
            counts.refused += 1;
            continue;
        };
        if !is_exact(&board, face, axis) || board.state != BoardState::Moving {
            let state = board.state;
            let text = crate::tests::summary::of(&board);
            counts
                .wrong
                .push(format!("frame {frame}, {state:?}:\n{text}"));
            continue;
        }
        counts.read += 1;
        let (width, height) = game.size;
        let cell = Layout::new(Style::Window, face.puzzle.board(), width, height).cell[0];
        let mut places = corners(face, game.size, share);
        if axis == FlipAxis::Horizontal {
            places = places.map(|[x, y]| [f64::from(height) - y, x]);
            places.rotate_right(1);
        }
        for (seen, real) in board.geometry.corners.iter().zip(places) {
            let off = (seen[0] - real[0]).hypot(seen[1] - real[1]);
            // Two pixels are more than that where cells are small.
            if off > 2.0 {
                counts.off = counts.off.max(off / cell);
            }
        }
    }
}

/// Whether a board was seen as it is, or as it is when it lies on its side: what was on the left is on top.
fn is_exact(seen: &SeenBoard, face: &Face, axis: FlipAxis) -> bool {
    if axis == FlipAxis::Vertical {
        return same(seen, face);
    }
    let board = face.puzzle.board();
    let (rows, cols) = (board.rows(), board.cols());
    let turned = |cell: usize| cell % cols * rows + (rows - 1 - cell / cols);
    let mut real = pairs(&face.puzzle);
    for pair in &mut real {
        *pair = pair.iter().map(|&cell| turned(cell)).collect();
        pair.sort_unstable();
    }
    real.sort_unstable();
    let seen_board = seen.puzzle.board();
    (seen_board.rows(), seen_board.cols()) == (cols, rows) && pairs(&seen.puzzle) == real
}

/// The sizes of all boards that flip.
const SIZES: [(usize, usize); 5] = [(4, 4), (5, 5), (7, 7), (8, 8), (12, 12)];

/// Flips from boards of these sizes with all flows drawn to new ones, and how many pictures of each are read at least.
fn check(axis: FlipAxis, sizes: &[(usize, usize)], windows: &[(Theme, (u32, u32), u32)]) {
    let (mut read, mut refused) = (0, 0);
    for &(theme, window, least) in windows {
        for &size in sizes {
            let mut game = Game {
                painter: Painter::new(size.0 as u64).with_theme(theme),
                size: window,
            };
            let mut counts = Counts::default();
            let (from, to) = (solved(size, 1), fresh(size, 2));
            flip(&mut game, [&from, &to], axis, &mut counts);
            let name = format!("{theme:?}, {window:?}, {size:?}");
            println!(
                "{name}: {} read, {} refused, corners off {:.3}",
                counts.read, counts.refused, counts.off
            );
            assert!(counts.wrong.is_empty(), "{name}: {:#?}", counts.wrong);
            // Of many columns the narrowest are too narrow sooner.
            let least = if size.1 == 12 { least - 3 } else { least };
            assert!(counts.read >= least, "{name}: {} read", counts.read);
            assert!(counts.off <= 0.03, "{name}: {}", counts.off);
            read += counts.read;
            refused += counts.refused;
        }
    }
    println!("{axis:?}: {read} read, {refused} refused");
}

/// Beyond some 70 degrees there is too little to read, and a phone's board reaches out of the picture while it is
/// hardly turned.
#[test]
fn single_pictures_of_some_flips_are_read_exactly_or_not_at_all() {
    check(
        FlipAxis::Vertical,
        &[(5, 5), (12, 12)],
        &[
            (Theme::Dark, (600, 1067), 15),
            (Theme::Light, (1920, 1080), 16),
        ],
    );
    check(
        FlipAxis::Horizontal,
        &[(8, 8)],
        &[(Theme::Dark, (600, 1067), 15)],
    );
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn single_pictures_of_a_flip_are_read_exactly_or_not_at_all() {
    check(
        FlipAxis::Vertical,
        &SIZES,
        &[
            (Theme::Dark, (1920, 1080), 16),
            (Theme::Light, (1920, 1080), 16),
            (Theme::Dark, (600, 1067), 15),
            (Theme::Light, (600, 1067), 15),
        ],
    );
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn so_are_those_of_a_flip_about_a_horizontal_line() {
    check(
        FlipAxis::Horizontal,
        &SIZES,
        &[
            (Theme::Dark, (600, 1067), 15),
            (Theme::Light, (1920, 1080), 16),
        ],
    );
}

/// However much of a column the picture's edge cuts off.
#[test]
fn a_board_that_turns_beyond_the_edge_is_refused() {
    for (size, frame) in [((5, 5), 7), ((5, 5), 22), ((8, 8), 6), ((8, 8), 24)] {
        let mut game = Game {
            painter: Painter::new(3),
            size: (600, 1067),
        };
        let (from, to) = (solved(size, 1), solved(size, 2));
        let share = f64::from(frame) / f64::from(FRAMES);
        let flip = Flip {
            from: Arc::new(from.clone()),
            share,
        };
        let face = if share >= 0.5 { &to } else { &from };
        let pixels = game.paint(&to, Some(flip));
        let places = corners(face, game.size, share).map(|[x, _]| x);
        let (left, right) = (places[0], places[1]);
        let column = (right - left) / size.1 as f64;
        for cut in [0.1, 0.3, 0.7, 0.9, 1.2, 1.5] {
            let (first, last) = (
                (left + cut * column) as usize,
                (right - cut * column) as usize,
            );
            for columns in [first..600, 0..last] {
                let rows = pixels.rgba.chunks_exact(600 * 4);
                let rows = rows.flat_map(|row| &row[4 * columns.start..4 * columns.end]);
                let bytes: Vec<u8> = rows.copied().collect();
                let info = PixelInfo::new(Format::Rgba8, columns.len() as u32, pixels.height);
                let picture = Picture::new(&bytes, info).unwrap();
                let reading = Reader::new(Config::default()).read(&picture).unwrap();
                assert!(
                    matches!(reading, Reading::Refused { .. }),
                    "{size:?}, frame {frame}, columns {columns:?}: {reading:?}"
                );
            }
        }
    }
}
