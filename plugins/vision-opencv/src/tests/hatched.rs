//! Boards on pages whose background is hatched: read exactly or refused, never wrong.

use std::f64::consts::PI;

use fastrand::Rng;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Flow, Puzzle};
use flowpipe_testing::note;
use image::{RgbImage, imageops};

use super::game::puzzle;
use super::levels::{Played, difference};
use super::robust::table::in_parallel;
use super::truth::see;

/// Pixels of a page.
const PAGE: (u32, u32) = (1920, 1080);
const THEMES: [Theme; 7] = [
    Theme::Dark,
    Theme::Light,
    Theme::Blocks,
    Theme::Letters,
    Theme::Tiles,
    Theme::Flat,
    Theme::Digits,
];
/// Degrees: of one set of lines, or of two that cross.
const ANGLES: [&[f64]; 9] = [
    &[0.0],
    &[90.0],
    &[45.0],
    &[135.0],
    &[30.0],
    &[60.0],
    &[10.0],
    &[45.0, 135.0],
    &[0.0, 90.0],
];
/// Pixels from one line to the next, measured across them.
const SPACINGS: [f64; 7] = [4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0];
/// How much brighter or darker lines are than the page, in levels.
const CONTRASTS: [f64; 5] = [6.0, 12.0, 25.0, 60.0, 120.0];
/// Pixels of the board's ground around it.
const PADDINGS: [u32; 4] = [0, 3, 12, 40];

/// The least share of pages that must be read exactly. What is measured today.
const EXACT: f64 = 0.96;

/// One page.
#[derive(Clone, Debug)]
struct Page {
    seed: u64,
    side: usize,
    theme: Theme,
    is_drawn: bool,
    cell: u32,
    padding: u32,
    ground: u8,
    angles: &'static [f64],
    spacing: f64,
    contrast: f64,
    at: [u32; 2],
}

impl Page {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let side = rng.usize(5..=9);
        let cell = rng.u32(36..=(900 / side as u32).min(100));
        let padding = *rng.choice(&PADDINGS).unwrap();
        let theme = *rng.choice(&THEMES).unwrap();
        let size = side as u32 * cell + 2 * padding + 4;
        let room = [PAGE.0 - size, PAGE.1 - size];
        Self {
            seed,
            side,
            theme,
            // Numbers below lines are not seen.
            is_drawn: rng.bool() && theme != Theme::Digits,
            cell,
            padding,
            ground: *rng.choice(&[12, 40, 128, 200, 240]).unwrap(),
            angles: *rng.choice(&ANGLES).unwrap(),
            spacing: *rng.choice(&SPACINGS).unwrap(),
            contrast: *rng.choice(&CONTRASTS).unwrap(),
            at: room.map(|room| rng.u32(0..=room)),
        }
    }

    /// It with its board.
    fn paint(&self, puzzle: &Puzzle, flows: &[Flow]) -> RgbImage {
        let ground = f64::from(self.ground);
        let line = if self.ground > 127 {
            ground - self.contrast
        } else {
            ground + self.contrast
        };
        let mut page = RgbImage::from_fn(PAGE.0, PAGE.1, |x, y| {
            let share = self.ink(f64::from(x), f64::from(y));
            let value = (ground + share * (line - ground)).round().clamp(0.0, 255.0);
            image::Rgb([value as u8; 3])
        });
        let board = self.board(puzzle, flows);
        let size = [board.width(), board.height()].map(|side| side + 2 * self.padding);
        let card = RgbImage::from_pixel(size[0], size[1], self.card());
        let [x, y] = self.at.map(i64::from);
        imageops::replace(&mut page, &card, x, y);
        let padding = i64::from(self.padding);
        imageops::replace(&mut page, &board, x + padding, y + padding);
        page
    }

    /// What of a pixel a line covers: it is one pixel wide, with smooth edges where it is slanted.
    fn ink(&self, x: f64, y: f64) -> f64 {
        let covered = self.angles.iter().map(|degrees| {
            let angle = degrees * PI / 180.0;
            let across = -x * angle.sin() + y * angle.cos();
            let off = across.rem_euclid(self.spacing);
            let off = off.min(self.spacing - off);
            (1.0 - off).max(0.0)
        });
        covered.fold(0.0, f64::max)
    }

    /// The colour around the board.
    fn card(&self) -> image::Rgb<u8> {
        image::Rgb(match self.theme {
            Theme::Light | Theme::Digits => [245; 3],
            _ => [0; 3],
        })
    }

    /// The board alone.
    fn board(&self, puzzle: &Puzzle, flows: &[Flow]) -> RgbImage {
        let side = self.side as u32 * self.cell + 4;
        let scene = Scene {
            puzzle,
            flows,
            style: Style::EdgeToEdge { is_cut: false },
            theme: self.theme,
            palette: &[],
            line: [100, 104, 70],
            lights: self.seed,
            header: Header::default(),
        };
        let pixels = render(&scene, side, side).unwrap();
        let rgb = pixels
            .rgba
            .chunks_exact(4)
            .flat_map(|rgba| rgba[..3].to_vec());
        RgbImage::from_raw(side, side, rgb.collect()).unwrap()
    }

    fn read(&self) -> Read {
        let (puzzle, solution) = puzzle((self.side, self.side), self.seed);
        let (played, flows) = if self.is_drawn {
            let flows = solution.flows.into_iter().step_by(2).collect();
            (Played::Half, flows)
        } else {
            (Played::Nothing, Vec::new())
        };
        let picture = self.paint(&puzzle, &flows);
        match see(&picture) {
            Reading::Refused { reason, .. } => Read::Refused(reason),
            Reading::Board(board) => self.compare(&puzzle, &flows, played, &board),
        }
    }

    fn compare(&self, puzzle: &Puzzle, flows: &[Flow], played: Played, seen: &SeenBoard) -> Read {
        let corner = seen.geometry.corners[0];
        let off = [0, 1].map(|axis| corner[axis] - f64::from(self.at[axis] + self.padding) - 2.0);
        if off[0].hypot(off[1]) > 0.1 * f64::from(self.cell) {
            return Read::Wrong(format!("a corner at {corner:?}"));
        }
        difference(puzzle, flows, played, seen).map_or(Read::Exact, Read::Wrong)
    }
}

/// What became of a page.
#[derive(Clone, Debug, PartialEq)]
enum Read {
    Exact,
    Refused(String),
    Wrong(String),
}

/// Reads pages: none is misread, and most are read exactly.
fn check(seeds: std::ops::Range<u64>) {
    let seeds: Vec<u64> = seeds.collect();
    let read = in_parallel(seeds.len(), |task| {
        let page = Page::new(seeds[task]);
        let read = page.read();
        vec![(page, read)]
    });
    let exact = read.iter().filter(|(_, read)| *read == Read::Exact).count();
    note!("hatched pages: {exact} of {} exact", read.len());
    let others = read.iter().filter(|(_, read)| *read != Read::Exact);
    let others: Vec<String> = others
        .map(|(page, read)| format!("{page:?}: {read:?}"))
        .collect();
    let is_wrong = |(_, read): &(Page, Read)| matches!(read, Read::Wrong(_));
    assert!(!read.iter().any(is_wrong), "{others:#?}");
    assert!(exact as f64 >= EXACT * read.len() as f64, "{others:#?}");
}

#[test]
fn boards_on_hatched_pages() {
    check(0..30);
}

/// More of them: `cargo test --release -p vision-opencv every_hatched_page -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn every_hatched_page() {
    check(0..400);
}
