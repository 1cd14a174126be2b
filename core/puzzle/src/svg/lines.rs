//! The lines between cells, the board's edge, walls and bridges.

use super::{CELL, Picture, number, step};
use crate::board::{Cell, Lattice};
use crate::graph::{self, Direction, directions};
use crate::place::{centre, corners, offset};

const LINE: &str = "#4d4d3f";
const EDGE: &str = "#8c8c73";
const WALL: &str = "#f2eedc";

/// How far from its middle a bridge's rails run.
const RAIL: f64 = 0.32;

/// What lies on a cell's side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A passage to the next cell.
    Passage,
    /// A passage around the board's edge.
    Around,
    /// The board's edge, or a hole.
    Edge,
    Wall,
}

pub(super) fn lines(picture: &Picture<'_>, svg: &mut String) {
    for (side, colour, width, dashes) in [
        (Side::Passage, LINE, 1.5, ""),
        (Side::Around, EDGE, 2.5, " stroke-dasharray=\"6 6\""),
        (Side::Edge, EDGE, 2.5, ""),
    ] {
        let path = sides(picture, side);
        if !path.is_empty() {
            svg.push_str(&format!(
                "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\"{dashes} d=\"{path}\"/>\n"
            ));
        }
    }
}

pub(super) fn walls(picture: &Picture<'_>, svg: &mut String) {
    let path = sides(picture, Side::Wall);
    if !path.is_empty() {
        svg.push_str(&format!(
            "<path fill=\"none\" stroke=\"{WALL}\" stroke-width=\"6\" stroke-linecap=\"round\" d=\"{path}\"/>\n"
        ));
    }
}

/// All sides of a kind, each once.
fn sides(picture: &Picture<'_>, wanted: Side) -> String {
    let board = picture.puzzle.board();
    let lattice = board.description().lattice;
    let around = corners(lattice);
    let mut path = String::new();
    for cell in board.cells() {
        for way in (0..directions(lattice)).map(Direction) {
            let (side, shared) = side(picture, cell, way);
            if side != wanted || shared {
                continue;
            }
            let from = usize::from(way.0);
            step(&mut path, 'M', picture.at(cell, around[from]));
            step(
                &mut path,
                'L',
                picture.at(cell, around[(from + 1) % around.len()]),
            );
        }
    }
    path
}

/// What lies on a side, and whether the cell before, to which it belongs too, has drawn it.
fn side(picture: &Picture<'_>, cell: Cell, way: Direction) -> (Side, bool) {
    let board = picture.puzzle.board();
    let Some(to) = graph::step(board.description(), cell, way) else {
        return (Side::Edge, false);
    };
    let here = centre(board, cell);
    let there = centre(board, to);
    let [dx, dy] = offset(board.description().lattice, way);
    let adjoins = [here[0] + dx, here[1] + dy] == there;
    let walled = board
        .description()
        .walls
        .binary_search(&(cell.min(to), cell.max(to)))
        .is_ok();
    let side = match (board.exists(to), walled, adjoins) {
        (_, true, _) => Side::Wall,
        (false, ..) => Side::Edge,
        (true, false, true) => Side::Passage,
        (true, false, false) => Side::Around,
    };
    (side, adjoins && board.exists(to) && to < cell)
}

/// The upper way of each bridge with its rails, which hides what passes below; beside it the rails
/// of the lower way. Of hexes only a ring, since three ways cross there.
pub(super) fn bridges(picture: &Picture<'_>, svg: &mut String) {
    let board = picture.puzzle.board();
    let (mut path, mut decks) = (String::new(), String::new());
    for &bridge in &board.description().bridges {
        if board.description().lattice == Lattice::Hex {
            let [x, y] = picture.at(bridge, [0.0, 0.0]);
            let radius = number(RAIL * CELL);
            svg.push_str(&format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" fill=\"none\" stroke=\"{EDGE}\" stroke-width=\"2.5\"/>\n",
                number(x),
                number(y),
            ));
            continue;
        }
        for (letter, corner) in [
            ('M', [-RAIL, -0.5]),
            ('L', [RAIL, -0.5]),
            ('L', [RAIL, 0.5]),
            ('L', [-RAIL, 0.5]),
        ] {
            step(&mut decks, letter, picture.at(bridge, corner));
        }
        decks.push('Z');
        for side in [-RAIL, RAIL] {
            step(&mut path, 'M', picture.at(bridge, [side, -0.5]));
            step(&mut path, 'L', picture.at(bridge, [side, 0.5]));
            for end in [-0.5, 0.5] {
                let cut = RAIL.copysign(end);
                step(&mut path, 'M', picture.at(bridge, [end, side]));
                step(&mut path, 'L', picture.at(bridge, [cut, side]));
            }
        }
    }
    if !path.is_empty() {
        svg.push_str(&format!(
            "<path fill=\"#000\" d=\"{decks}\"/>\n<path fill=\"none\" stroke=\"{EDGE}\" stroke-width=\"2.5\" d=\"{path}\"/>\n"
        ));
    }
}
