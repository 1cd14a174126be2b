//! Boards that lie otherwise than upright: on either side, or upside down. What counts is that each cell that is
//! read lies where it was drawn, touches what it touches there and holds what it holds.

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Layout, Pixels, Style, Theme};
use flowpipe_plugin::puzzle::level::{Level, Tag};
use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};
use flowpipe_plugin::puzzle::place::{cell_at, centre};
use flowpipe_plugin::puzzle::{Board, Cell, Flow, Geometry, Point};
use image::{RgbImage, RgbaImage, imageops};

use super::hexes::{own, paint, real};
use super::levels::{PLAYED, Played, drawn};
use super::robust::scene::Scene;
use super::summary::{pairs, ways};
use super::truth::{Frames, Verdict, see};
use flowpipe_testing::note;

/// The least number of boards of numbers that must be read: those upside down. Digits on their side are none.
const NUMBERS_READ: u32 = 8;
/// Quarters that a picture is turned by, clockwise.
const QUARTERS: [u32; 3] = [1, 2, 3];

fn turned(picture: &RgbImage, quarters: u32) -> RgbImage {
    match quarters {
        1 => imageops::rotate90(picture),
        2 => imageops::rotate180(picture),
        _ => imageops::rotate270(picture),
    }
}

/// Where a point of a turned picture was in the picture as it was, which is so wide and high.
fn back([x, y]: Point, quarters: u32, (width, height): (u32, u32)) -> Point {
    let (width, height) = (f64::from(width), f64::from(height));
    match quarters {
        1 => [y, height - x],
        2 => [width - x, height - y],
        _ => [width - y, x],
    }
}

fn rgb(pixels: Pixels) -> RgbImage {
    let picture = RgbaImage::from_raw(pixels.width, pixels.height, pixels.rgba).unwrap();
    image::DynamicImage::from(picture).into_rgb8()
}

/// The cells that touch a cell.
fn beside(board: &Board, cell: Cell) -> Vec<Cell> {
    let nodes = board.graph().nodes_of(cell);
    let links = nodes.iter().flat_map(|&node| board.graph().links(node));
    let mut cells: Vec<Cell> = links.map(|link| board.graph().cell_of(link.node)).collect();
    cells.sort_unstable();
    cells
}

/// How a board that was read in a turned picture differs from what was drawn, `place` giving where a point of the
/// turned picture was.
fn difference(
    seen: &SeenBoard,
    level: &Level,
    flows: &[Flow],
    geometry: &Geometry,
    place: impl Fn(Point) -> Point,
) -> Option<String> {
    let (own, real) = (seen.puzzle.board(), level.puzzle.board());
    let cell = |cell: Cell| {
        let point = place(seen.geometry.to_frame(centre(own, cell)));
        cell_at(real, geometry.to_board(point)?)
    };
    let cells: Vec<(Cell, Option<Cell>)> = own.cells().map(|own| (own, cell(own))).collect();
    let mut there: Vec<Cell> = cells.iter().filter_map(|(_, real)| *real).collect();
    there.sort_unstable();
    if there != real.cells().collect::<Vec<_>>() || there.len() != cells.len() {
        return Some(format!("cells {cells:?}"));
    }
    let named = |own: Cell| cell(own).unwrap();
    let all = |lists: Vec<Vec<Cell>>| {
        let lists = lists.into_iter().map(|list| {
            let mut list: Vec<Cell> = list.into_iter().map(named).collect();
            list.sort_unstable();
            list
        });
        let mut lists: Vec<Vec<Cell>> = lists.collect();
        lists.sort();
        lists
    };
    let sorted = |mut lists: Vec<Vec<Cell>>| {
        lists.iter_mut().for_each(|list| list.sort_unstable());
        lists.sort();
        lists
    };
    for &(own_cell, real_cell) in &cells {
        let mut touching: Vec<Cell> = beside(own, own_cell).into_iter().map(named).collect();
        touching.sort_unstable();
        if touching != beside(real, real_cell?) {
            return Some(format!("{touching:?} touch {real_cell:?}"));
        }
    }
    if all(pairs(&seen.puzzle)) != sorted(pairs(&level.puzzle)) {
        return Some("other pairs".to_owned());
    }
    (all(ways(&seen.drawn)) != sorted(ways(flows))).then(|| "other pipes".to_owned())
}

/// Reads levels of hexagons in turned pictures.
fn check(
    kind: &str,
    levels: &[Level],
    quarters: &[u32],
    looks: impl Fn(usize) -> Vec<(Theme, Played)>,
) {
    let (mut count, mut failed, mut wrong) = (0, Vec::new(), 0);
    for (index, level) in levels.iter().enumerate() {
        for &quarters in quarters {
            for (theme, played) in looks(index) {
                count += 1;
                let picture = rgb(paint(level, played, theme, 44.0));
                let size = picture.dimensions();
                let board = level.puzzle.board();
                let layout = Layout::new(Style::Phone, board, size.0, size.1);
                let text = match see(&turned(&picture, quarters)) {
                    Reading::Refused { step, reason, .. } => Some(format!("{step}: {reason}")),
                    Reading::Board(seen) => {
                        let place = |point| back(point, quarters, size);
                        let flows = drawn(level, played);
                        let text = difference(&seen, level, &flows, &layout.geometry, place);
                        wrong += usize::from(text.is_some());
                        text
                    }
                };
                failed.extend(text.map(|text| {
                    format!("number {index}, {theme}, {played:?}, {quarters} quarters: {text}")
                }));
            }
        }
    }
    note!(
        "{count} turned pictures of {} {kind} levels of hexagons: {} exact, {} refused, {wrong} wrong",
        levels.len(),
        count - failed.len(),
        failed.len() - wrong
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn own_hexagons() {
    let themes = [Theme::Dark, Theme::Light, Theme::Blocks];
    check("own", &own(), &QUARTERS, |index| {
        let played = PLAYED.into_iter().enumerate();
        let looks = played.map(|(turn, played)| (themes[(index + turn) % themes.len()], played));
        looks.collect()
    });
}

#[test]
fn real_hexagons() {
    let themes = [Theme::Dark, Theme::Light, Theme::Blocks];
    for quarters in QUARTERS {
        check("real", &real(), &[quarters], |index| {
            let turn = index + quarters as usize;
            let is_taken = index % QUARTERS.len() == quarters as usize % QUARTERS.len();
            let look = (themes[turn % themes.len()], PLAYED[turn / 3 % PLAYED.len()]);
            is_taken.then_some(look).into_iter().collect()
        });
    }
}

/// Every how many of the real screenshots is turned: the whole table of disturbances turns all of them.
const EVERY: usize = 8;

#[test]
fn screenshots() {
    let mut count = 0;
    let mut misread = Vec::new();
    let folders = [(Some(Frames::own()), 1), (Frames::real(), EVERY)];
    for (frames, every) in folders {
        let Some(frames) = frames else { continue };
        for (index, truth) in frames.truths.iter().step_by(every).enumerate() {
            let scene = Scene {
                picture: frames.picture(truth),
                truth: truth.clone(),
            };
            let scene = match index % QUARTERS.len() {
                0 => scene.turn(true),
                1 => scene.turn(true).turn(true),
                _ => scene.turn(false),
            };
            count += 1;
            match Verdict::of(&scene.truth, &see(&scene.picture)) {
                Verdict::Exact => {}
                other => misread.push(format!("{}, turn {}: {other:?}", truth.file, index % 3)),
            }
        }
    }
    note!("{count} turned screenshots read exactly");
    assert!(misread.is_empty(), "{}", misread.join("\n"));
}

/// Some digits are others on their heads: they are paired by their pictures, so that it does not matter.
#[test]
fn numbers_are_paired_or_refused_whichever_way_up() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..8 {
        let board = Board::rectangle(7, 7).unwrap();
        let (puzzle, solution) = generate(&board, 9, seed).unwrap();
        let level = Level::new(Tag::default(), &puzzle, &solution).unwrap();
        let picture = rgb(paint(&level, Played::Nothing, Theme::Numbers, 44.0));
        let size = picture.dimensions();
        let layout = Layout::new(Style::Phone, &board, size.0, size.1);
        for quarters in QUARTERS {
            match see(&turned(&picture, quarters)) {
                Reading::Refused { .. } => refused += 1,
                Reading::Board(seen) => {
                    let place = |point| back(point, quarters, size);
                    let text = difference(&seen, &level, &[], &layout.geometry, place);
                    assert_eq!(text, None, "seed {seed}, {quarters} quarters");
                    read += 1;
                }
            }
        }
    }
    note!("turned boards of numbers: {read} read, {refused} refused");
    assert!(read >= NUMBERS_READ, "{read} read, {refused} refused");
}
