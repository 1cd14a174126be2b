//! Boards of all kinds in all themes whose grid and shape are given: terminals, bridges and pipes.

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Layout, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::puzzle::{Board, Flow, Lattice, Puzzle, Solution};
use flowpipe_plugin::{Format, PixelInfo};

use super::summary::pairs;
use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::board::read_cells;
use crate::read::shape::board_shape::BoardShape;
use crate::read::shape::grid_check::CheckedGrid;
use crate::read::shape::line_model::LineAppearance;
use crate::steps::Steps;

const SIZE: (u32, u32) = (540, 960);

/// A board, how it is painted and what is done to the picture.
struct Painted<'a> {
    puzzle: &'a Puzzle,
    flows: &'a [Flow],
    theme: Theme,
    size: (u32, u32),
    /// Levels that values deviate by.
    noise: f64,
}

impl Painted<'_> {
    fn read(&self) -> Result<Box<SeenBoard>, String> {
        let scene = Scene {
            puzzle: self.puzzle,
            flows: self.flows,
            style: Style::Phone,
            theme: self.theme,
            palette: &[],
            line: [100, 104, 70],
            lights: 3,
            header: Header::default(),
        };
        let (width, height) = self.size;
        let mut bytes = render(&scene, width, height).unwrap().rgba;
        noise(&mut bytes, self.noise);
        let info = PixelInfo::new(Format::Rgba8, width, height);
        let picture = Picture::new(&bytes, info).unwrap();
        let board = self.puzzle.board();
        let grid = grid(board, &Layout::new(Style::Phone, board, width, height));
        let Description {
            holes,
            walls,
            warps,
            ..
        } = board.description().clone();
        let shape = BoardShape {
            holes,
            walls,
            warps,
        };
        let lines = LineAppearance {
            polarity: Polarity::Bright,
            contrast: 60.0,
            faintest: 1.0,
            thickness: 1.5,
            colour: [100.0, 104.0, 70.0],
        };
        let checked = CheckedGrid {
            lines,
            shape,
            grid,
            unseen: Vec::new(),
        };
        let read = read_cells(&picture, checked, &mut Steps::default()).unwrap();
        read.map(|read| read.board).map_err(|it| it.to_string())
    }

    /// What is read otherwise than it is, if anything.
    fn difference(&self) -> Option<String> {
        let seen = match self.read() {
            Ok(seen) => seen,
            Err(refusal) => return Some(refusal),
        };
        if seen.puzzle.board() != self.puzzle.board() {
            return Some(format!("bridges {:?}", seen.puzzle.board().description()));
        }
        if pairs(&seen.puzzle) != pairs(self.puzzle) {
            return Some("other pairs".to_owned());
        }
        let cells = |flows: &[Flow]| {
            let mut cells: Vec<Vec<usize>> = flows.iter().map(canonical).collect();
            cells.retain(|cells| cells.len() > 1);
            cells.sort();
            cells
        };
        let canonical_flows = (cells(&seen.drawn), cells(self.flows));
        (canonical_flows.0 != canonical_flows.1)
            .then(|| format!("drawn {:?} for {:?}", canonical_flows.0, canonical_flows.1))
    }
}

/// Whichever end it is drawn from.
fn canonical(flow: &Flow) -> Vec<usize> {
    let mut cells = flow.cells.clone();
    cells.sort_unstable();
    cells
}

fn grid(board: &Board, layout: &Layout) -> Grid {
    let [left, top, ..] = layout.board_xywh();
    let lines = |first: f64, step: f64, count: usize| {
        (0..=count).map(|line| first + step * line as f64).collect()
    };
    Grid {
        lattice: board.description().lattice,
        xs: lines(left, layout.cell[0], board.cols()),
        ys: lines(top, layout.cell[1], board.rows()),
        cell: layout.cell[0].min(layout.cell[1]),
    }
}

/// Normal deviates are near enough a sum of even ones.
fn noise(bytes: &mut [u8], deviation: f64) {
    if deviation <= 0.0 {
        return;
    }
    let mut state = 7_u64;
    for value in bytes {
        let mut sum = 0.0;
        for _ in 0..4 {
            // A linear congruence (Knuth, MMIX) is random enough.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
        }
        *value = (f64::from(*value) + deviation * 3.0_f64.sqrt() * sum).clamp(0.0, 255.0) as u8;
    }
}

fn boards() -> Vec<(&'static str, Description)> {
    let plain = Description {
        rows: 7,
        cols: 7,
        ..Description::default()
    };
    vec![
        ("plain", plain.clone()),
        (
            "bridges",
            Description {
                bridges: vec![16, 32],
                ..plain.clone()
            },
        ),
        (
            "holes and walls",
            Description {
                holes: vec![0, 1, 24, 48],
                walls: vec![(9, 10), (30, 37)],
                ..plain.clone()
            },
        ),
        (
            "warps",
            Description {
                warps: true,
                ..plain.clone()
            },
        ),
        (
            "hexes",
            Description {
                lattice: Lattice::Hex,
                ..plain.clone()
            },
        ),
        (
            "hexes with a bridge",
            Description {
                lattice: Lattice::Hex,
                bridges: vec![24],
                ..plain
            },
        ),
    ]
}

fn puzzle(description: &Description, flows: usize, seed: u64) -> (Puzzle, Solution) {
    let board = Board::new(description.clone()).unwrap();
    generate(&board, flows, seed).unwrap()
}

/// Nothing drawn, all but one flow and a part of that, and everything.
fn moments(solution: &Solution) -> Vec<Vec<Flow>> {
    let mut partial = solution.flows.clone();
    if let Some(last) = partial.last_mut() {
        last.cells.truncate(last.cells.len().div_ceil(2));
    }
    vec![Vec::new(), partial, solution.flows.clone()]
}

fn check(noise: f64, size: (u32, u32), kinds: &[&str], themes: &[Theme]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (kind, description) in boards() {
        if !kinds.is_empty() && !kinds.contains(&kind) {
            continue;
        }
        for &theme in themes {
            let (puzzle, solution) = puzzle(&description, 6, 2);
            for (moment, flows) in moments(&solution).iter().enumerate() {
                let painted = Painted {
                    puzzle: &puzzle,
                    flows,
                    theme,
                    size,
                    noise,
                };
                if let Some(difference) = painted.difference() {
                    wrong.push(format!("{kind}, {theme}, moment {moment}: {difference}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn boards_of_all_kinds_in_all_themes() {
    let wrong = check(0.0, SIZE, &[], &Theme::all());
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn boards_under_noise() {
    let kinds = ["plain", "bridges", "holes and walls", "warps", "hexes"];
    let wrong = check(12.0, SIZE, &kinds, &Theme::all());
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn boards_without_thick_lines_with_cells_of_26_pixels() {
    let themes = [Theme::Dark, Theme::Light, Theme::Blocks, Theme::Numbers];
    let wrong = check(0.0, (200, 350), &["plain", "warps"], &themes);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
