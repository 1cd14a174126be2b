//! Pipes, and how they cross on bridges.

use super::{CELL, Picture, number, step};
use crate::graph::directions;
use crate::place::{direction, offset, pipe};
use crate::solution::Flow;

/// How far from a cell's centre a pipe ends that wraps around the board's edge.
const BEYOND: f64 = 0.7;
/// What is left free beside the upper pipe of a bridge.
const GAP: f64 = 0.08;

pub(super) fn pipes(picture: &Picture<'_>, svg: &mut String) {
    for flow in picture.flows {
        let path = path(picture, flow);
        if !path.is_empty() {
            let (width, colour) = picture.pipe(flow.colour);
            let width = number(width * CELL);
            svg.push_str(&format!(
                "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\" stroke-linejoin=\"round\" d=\"{path}\"/>\n"
            ));
        }
    }
}

/// Draws the pipes that go down over bridges a second time, above what they cross.
pub(super) fn upper_pipes(picture: &Picture<'_>, svg: &mut String) {
    for flow in picture.flows {
        upper(picture, svg, flow);
    }
}

fn path(picture: &Picture<'_>, flow: &Flow) -> String {
    let mut path = String::new();
    for line in pipe(picture.puzzle.board(), &flow.cells, BEYOND) {
        for (index, point) in line.into_iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            step(&mut path, letter, point.map(|it| it * CELL));
        }
    }
    path
}

fn upper(picture: &Picture<'_>, svg: &mut String, flow: &Flow) {
    let board = picture.puzzle.board();
    let lattice = board.description().lattice;
    let (width, colour) = picture.pipe(flow.colour);
    for pair in flow.cells.windows(2) {
        let [from, to] = [pair[0], pair[1]];
        let Some(way) = direction(board, from, to).filter(|_| board.exists(from)) else {
            continue;
        };
        if way.0 % (directions(lattice) / 2) != 0 {
            continue;
        }
        let [dx, dy] = offset(lattice, way);
        for (bridge, sign) in [(from, 1.0), (to, -1.0)] {
            if !board.is_bridge(bridge) {
                continue;
            }
            // From the middle to the border, for the half on this side of the bridge.
            let line = |length: f64, width: f64, colour: &str| {
                let mut path = String::new();
                step(&mut path, 'M', picture.at(bridge, [0.0, 0.0]));
                step(
                    &mut path,
                    'L',
                    picture.at(bridge, [dx * sign * length, dy * sign * length]),
                );
                let width = number(width * CELL);
                format!(
                    "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" d=\"{path}\"/>\n"
                )
            };
            svg.push_str(&line(width / 2.0 + GAP, width + 2.0 * GAP, "#000"));
            svg.push_str(&line(0.5, width, &colour));
        }
    }
}
