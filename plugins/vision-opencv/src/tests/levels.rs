//! Real levels of every kind, drawn by the practice game in every theme: all read exactly.

use std::thread;

use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::level::{Level, parse};
use flowpipe_plugin::puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Board, Cell, Flow, Lattice, Puzzle};
use flowpipe_plugin::{Format, PixelInfo};

use super::summary::{pairs, ways};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;
use flowpipe_testing::{note, shared_puzzles};

/// Real levels, where they are at hand; prints a note where they are not.
pub(super) fn levels() -> Vec<Level> {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return Vec::new();
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| trimmed(parse(line).unwrap())).collect()
}

/// The same without rows and columns at the edges that have no cells: no picture shows them.
fn trimmed(mut level: Level) -> Level {
    let board = level.puzzle.board();
    let (cols, mut description) = (board.cols(), board.description().clone());
    let bounds = |place: &dyn Fn(Cell) -> usize| {
        let places: Vec<usize> = board.cells().map(place).collect();
        *places.iter().min().unwrap()..=*places.iter().max().unwrap()
    };
    let (rows, columns) = (bounds(&|cell| cell / cols), bounds(&|cell| cell % cols));
    let (top, left) = (*rows.start(), *columns.start());
    let wide = columns.end() + 1 - left;
    let moved = |cell: Cell| (cell / cols - top) * wide + cell % cols - left;
    let inside = |cell: Cell| rows.contains(&(cell / cols)) && columns.contains(&(cell % cols));
    if description.lattice != Lattice::Square || wide * rows.clone().count() == board.len() {
        return level;
    }
    (description.rows, description.cols) = (rows.clone().count(), wide);
    description.holes.retain(|&cell| inside(cell));
    for cell in description.holes.iter_mut().chain(&mut description.bridges) {
        *cell = moved(*cell);
    }
    // Walls to what is not there are none.
    description.walls.retain(|&(a, b)| inside(a) && inside(b));
    for wall in &mut description.walls {
        *wall = (moved(wall.0), moved(wall.1));
    }
    let mut terminals = level.puzzle.terminals().to_vec();
    for terminal in &mut terminals {
        terminal.cell = moved(terminal.cell);
    }
    for flow in &mut level.solution.flows {
        flow.cells.iter_mut().for_each(|cell| *cell = moved(*cell));
    }
    let board = Board::new(description).unwrap();
    level.puzzle = Puzzle::new(board, terminals, level.puzzle.rules()).unwrap();
    level
}

/// At most this share of the pictures may be refused, none may be misread.
const REFUSED: f64 = 0.002;

/// How far a board is played.
#[derive(Clone, Copy, Debug)]
pub(super) enum Played {
    Nothing,
    Half,
    All,
}

pub(super) const PLAYED: [Played; 3] = [Played::Nothing, Played::Half, Played::All];

/// What flows are drawn: of a half played board every third one is left out, and the one after it ends
/// early.
pub(super) fn drawn(level: &Level, played: Played) -> Vec<Flow> {
    let flows = level.solution.flows.iter().enumerate();
    flows
        .filter_map(|(index, flow)| match (played, index % 3) {
            (Played::Nothing, _) | (Played::Half, 0) => None,
            (Played::Half, 1) => {
                let mut flow = flow.clone();
                flow.cells.truncate((flow.cells.len() / 2).max(2));
                Some(flow)
            }
            _ => Some(flow.clone()),
        })
        .collect()
}

fn see(puzzle: &Puzzle, flows: &[Flow], theme: Theme, (width, height): (u32, u32)) -> Reading {
    let scene = Scene {
        puzzle,
        flows,
        style: Style::Phone,
        theme,
        palette: &[],
        line: [86, 107, 74],
        lights: puzzle.board().len() as u64,
        header: Header::default(),
    };
    let pixels = render(&scene, width, height).unwrap();
    let info = PixelInfo::new(Format::Rgba8, width, height);
    let picture = Picture::new(&pixels.rgba, info).unwrap();
    Reader::new(Config::default()).read(&picture).unwrap()
}

/// How a board differs from what was drawn.
pub(super) fn difference(
    puzzle: &Puzzle,
    flows: &[Flow],
    played: Played,
    seen: &SeenBoard,
) -> Option<String> {
    let state = match played {
        Played::Nothing => BoardState::Empty,
        Played::Half => BoardState::Partial,
        Played::All => BoardState::Solved,
    };
    let (real, own) = (
        puzzle.board().description(),
        seen.puzzle.board().description(),
    );
    if real != own {
        Some(format!("{own:?} for {real:?}"))
    } else if pairs(puzzle) != pairs(&seen.puzzle) {
        Some(format!(
            "pairs {:?} for {:?}",
            pairs(&seen.puzzle),
            pairs(puzzle)
        ))
    } else if seen.state != state {
        Some(format!("{:?}", seen.state))
    } else if ways(flows) != ways(&seen.drawn) {
        Some(format!(
            "pipes {:?} for {:?}",
            ways(&seen.drawn),
            ways(flows)
        ))
    } else {
        None
    }
}

/// Reads some levels in several themes each, and prints the outcomes.
fn check(looks: impl Fn(usize) -> Vec<(Theme, Played)> + Sync) {
    let levels = levels();
    let squares: Vec<(usize, &Level)> = levels
        .iter()
        .enumerate()
        .filter(|(_, level)| level.puzzle.board().description().lattice == Lattice::Square)
        .collect();
    let one = |&(index, level): &(usize, &Level)| -> Vec<Option<(bool, String)>> {
        let looks = looks(index).into_iter();
        let read = looks.map(|(theme, played)| {
            let flows = drawn(level, played);
            let outcome = match see(&level.puzzle, &flows, theme, (600, 1067)) {
                Reading::Refused { step, reason, .. } => Some((false, format!("{step}: {reason}"))),
                Reading::Board(board) => {
                    difference(&level.puzzle, &flows, played, &board).map(|text| (true, text))
                }
            };
            outcome.map(|(wrong, text)| {
                (
                    wrong,
                    format!("line {}, {theme:?}, {played:?}: {text}", index + 1),
                )
            })
        });
        read.collect()
    };
    let half = squares.len() / 2;
    let outcomes: Vec<Option<(bool, String)>> = thread::scope(|scope| {
        let parts = [&squares[..half], &squares[half..]];
        let threads =
            parts.map(|part| scope.spawn(|| part.iter().flat_map(one).collect::<Vec<_>>()));
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let failed: Vec<&(bool, String)> = outcomes.iter().flatten().collect();
    let wrong = failed.iter().filter(|(wrong, _)| *wrong).count();
    note!(
        "{} pictures of {} real levels of squares: {} exact, {} refused, {wrong} wrong",
        outcomes.len(),
        squares.len(),
        outcomes.len() - failed.len(),
        failed.len() - wrong
    );
    let texts: Vec<&str> = failed.iter().map(|(_, text)| text.as_str()).collect();
    let texts = texts.join("\n");
    note!("{texts}");
    assert_eq!(wrong, 0, "{texts}");
    assert!(
        failed.len() as f64 <= REFUSED * outcomes.len() as f64,
        "{texts}"
    );
}

/// One style of the level, another one for each of its neighbours.
fn style(index: usize) -> (Theme, Played) {
    let themes = Theme::all();
    let played = PLAYED[index / themes.len() % PLAYED.len()];
    (themes[index % themes.len()], played)
}

#[test]
fn every_eighth_level_in_one_style() {
    check(|index| match index % 8 {
        0 => vec![style(index / 8)],
        _ => Vec::new(),
    });
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn each_level_in_one_style() {
    check(|index| vec![style(index)]);
}

/// `cargo test --release -p vision-opencv levels -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn every_level_in_every_style() {
    check(|_| {
        let themes = Theme::all().into_iter();
        themes
            .flat_map(|theme| PLAYED.map(|played| (theme, played)))
            .collect()
    });
}
