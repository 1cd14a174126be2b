//! Boards that flip over, each picture read by itself: nothing is known of where a board is.

use std::f64::consts::PI;
use std::sync::Arc;

use flowpipe_game::render::{Layout, Painter, Style, Theme};
use flowpipe_game::session::{Face, Flip};
use flowpipe_plugin::puzzle::Point;
use flowpipe_plugin::puzzle::message::{BoardState, Reading};

use super::game::{FRAMES, Game, fresh, same, solved};
use crate::config::Config;
use crate::read::Reader;

/// How far away the game's eye is, in widths of the board.
const EYE: f64 = 2.5;

/// What became of the pictures of flips.
#[derive(Default)]
struct Counts {
    read: u32,
    refused: u32,
    wrong: Vec<String>,
    /// How far corners are at most from where they should be, in cells at rest.
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

/// Reads every picture of a flip by itself.
fn flip(game: &mut Game, from: &Face, to: &Face, counts: &mut Counts) {
    let shared = Arc::new(from.clone());
    for frame in 1..FRAMES {
        let share = f64::from(frame) / f64::from(FRAMES);
        let flip = Flip {
            from: Arc::clone(&shared),
            share,
        };
        let face = if 2 * frame >= FRAMES { to } else { from };
        let mut reader = Reader::new(Config::default());
        let Reading::Board(board) = game.read(&mut reader, to, Some(flip)) else {
            counts.refused += 1;
            continue;
        };
        if !same(&board, face) || board.state != BoardState::Moving {
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
        let places = corners(face, game.size, share);
        for (seen, real) in board.geometry.corners.iter().zip(places) {
            let off = (seen[0] - real[0]).hypot(seen[1] - real[1]) / cell;
            counts.off = counts.off.max(off);
        }
    }
}

/// Flips from boards with all flows drawn to new ones. Beyond some 70 degrees there is too little to read, and a
/// phone's board reaches out of the picture while it is hardly turned.
#[test]
fn single_pictures_of_a_flip_are_read_exactly_or_not_at_all() {
    for (theme, window, least) in [
        (Theme::Dark, (1920, 1080), 16),
        (Theme::Light, (1920, 1080), 16),
        (Theme::Dark, (600, 1067), 7),
        (Theme::Light, (600, 1067), 7),
    ] {
        let mut all = Counts::default();
        for side in [4, 5, 7, 8, 12] {
            let mut game = Game {
                painter: Painter::new(side as u64).with_theme(theme),
                size: window,
            };
            let mut counts = Counts::default();
            let (from, to) = (solved((side, side), 1), fresh((side, side), 2));
            flip(&mut game, &from, &to, &mut counts);
            let Counts {
                read,
                refused,
                wrong,
                off,
            } = counts;
            println!(
                "{theme:?}, {window:?}, {side} a side: {read} read, {refused} refused, corners off {off:.3}"
            );
            let name = format!("{theme:?}, {window:?}, {side} a side");
            assert!(wrong.is_empty(), "{name}: {wrong:#?}");
            // The widest columns are the first that may lie beyond a phone's edge.
            let least = if side == 4 { 5 } else { least };
            assert!(read >= least, "{name}: {read} read");
            assert!(off <= 0.03, "{name}: {off}");
            all.read += read;
            all.refused += refused;
        }
        println!(
            "{theme:?}, {window:?}: {} read, {} refused",
            all.read, all.refused
        );
    }
}
