//! What the mouse does, and where it may go.

use super::{CELL, MARGIN, Picture, escaped, number, step};
use crate::board::Lattice;
use crate::geometry::Point;

const WIDTH: f64 = 0.055;
const DOT: f64 = 0.065;
const RING: f64 = 0.14;
/// Half the side of the square where a stroke ends.
const SQUARE: f64 = 0.1;
/// How far the rim stands out.
const RIM: f64 = 0.025;
const INK: &str = "#fff";
const RIM_INK: &str = "#111";

/// Strokes go no farther beyond the board than one cell.
const FARTHEST: f64 = 1.0;
/// What is left free around their points.
const AROUND: f64 = 0.25;

/// How much lies around the board, in cells: more where strokes go beyond its edges. Of `below` the
/// board is higher than its rows.
pub(super) fn margin(picture: &Picture<'_>, below: f64) -> f64 {
    let board = picture.puzzle.board();
    let ends = [board.cols() as f64, board.rows() as f64 + below];
    let points = picture
        .style
        .strokes
        .iter()
        .flat_map(|stroke| &stroke.points);
    let beyond = |point: &Point| {
        let beyond = [0, 1].map(|axis| (-point[axis]).max(point[axis] - ends[axis]));
        beyond[0].max(beyond[1])
    };
    // Nothing is more than what is no number.
    let most = points.map(beyond).fold(0.0, f64::max);
    if most > 0.0 {
        MARGIN.max(most.min(FARTHEST) + AROUND)
    } else {
        MARGIN
    }
}

/// All polygons as one area, so that it is nowhere denser where they overlap.
pub(super) fn corridor(picture: &Picture<'_>, svg: &mut String) {
    let mut path = String::new();
    for polygon in picture.style.corridor {
        let mut points = placed(polygon);
        // Turned the other way round, two that overlap would cancel each other out.
        if doubled_area(&points) < 0.0 {
            points.reverse();
        }
        polyline(&mut path, &points);
        if !points.is_empty() {
            path.push('Z');
        }
    }
    if !path.is_empty() {
        svg.push_str(&format!(
            "<path fill=\"{INK}\" fill-opacity=\"0.28\" d=\"{path}\"/>\n"
        ));
    }
}

pub(super) fn strokes(picture: &Picture<'_>, svg: &mut String) {
    let mut held = false;
    for (index, stroke) in picture.style.strokes.iter().enumerate() {
        let goes_on = std::mem::replace(&mut held, stroke.held);
        let points = placed(&stroke.points);
        let (Some(&press), Some(&release)) = (points.first(), points.last()) else {
            continue;
        };
        let mut way = String::new();
        polyline(&mut way, &points);
        for (colour, rim) in [(RIM_INK, RIM), (INK, 0.0)] {
            let width = number((WIDTH + 2.0 * rim) * CELL);
            svg.push_str(&format!(
                "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\" stroke-linejoin=\"round\" d=\"{way}\"/>\n"
            ));
        }
        for &point in points.iter().skip(1).take(points.len().saturating_sub(2)) {
            dot(svg, point);
        }
        // A button that stays down is neither released nor pressed again.
        (if stroke.held { dot } else { square })(svg, release);
        (if goes_on { dot } else { ring })(svg, press);
        if picture.style.letters {
            let board = picture.puzzle.board();
            let first = stroke.cells.first().filter(|&&cell| board.exists(cell));
            let beside = [-aside(picture), -0.29];
            let place = first.map_or(press, |&cell| picture.at(cell, beside));
            small(svg, &(index + 1).to_string(), place, INK);
        }
    }
}

/// How far from a cell's middle two letters stand beside a disc and inside the cell, above or below.
pub(super) fn aside(picture: &Picture<'_>) -> f64 {
    match picture.puzzle.board().description().lattice {
        Lattice::Square => 0.36,
        Lattice::Hex => 0.29,
    }
}

/// Points as points of the picture; what is no place is passed over.
fn placed(points: &[Point]) -> Vec<Point> {
    let points = points.iter().map(|point| point.map(|value| value * CELL));
    points
        .filter(|point| point.iter().all(|value| value.is_finite()))
        .collect()
}

fn polyline(path: &mut String, points: &[Point]) {
    for (index, &point) in points.iter().enumerate() {
        step(path, if index == 0 { 'M' } else { 'L' }, point);
    }
}

fn doubled_area(polygon: &[Point]) -> f64 {
    let next = polygon.iter().cycle().skip(1);
    let cross = |(a, b): (&Point, &Point)| a[0] * b[1] - a[1] * b[0];
    polygon.iter().zip(next).map(cross).sum()
}

fn dot(svg: &mut String, [x, y]: Point) {
    svg.push_str(&format!(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{INK}\" stroke=\"{RIM_INK}\" stroke-width=\"{}\"/>\n",
        number(x),
        number(y),
        number(DOT * CELL),
        number(RIM * CELL),
    ));
}

fn ring(svg: &mut String, [x, y]: Point) {
    for (colour, rim) in [(RIM_INK, RIM), (INK, 0.0)] {
        svg.push_str(&format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/>\n",
            number(x),
            number(y),
            number(RING * CELL),
            number((WIDTH + 2.0 * rim) * CELL),
        ));
    }
}

fn square(svg: &mut String, [x, y]: Point) {
    let side = number(2.0 * SQUARE * CELL);
    svg.push_str(&format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{side}\" height=\"{side}\" fill=\"{INK}\" stroke=\"{RIM_INK}\" stroke-width=\"{}\"/>\n",
        number(x - SQUARE * CELL),
        number(y - SQUARE * CELL),
        number(RIM * CELL),
    ));
}

/// A small text that stands out on everything, beside what is in the middle of a cell.
pub(super) fn small(svg: &mut String, text: &str, [x, y]: Point, ink: &str) {
    // Long names still fit into the cell.
    let size = 0.22_f64.min(0.6 / text.chars().count().max(1) as f64);
    let text = escaped(text);
    svg.push_str(&format!(
        "<text x=\"{}\" y=\"{}\" font-family=\"sans-serif\" font-weight=\"bold\" font-size=\"{}\" text-anchor=\"middle\" fill=\"{ink}\" stroke=\"{RIM_INK}\" stroke-width=\"{}\" paint-order=\"stroke\">{text}</text>\n",
        number(x),
        number(y),
        number(size * CELL),
        number(2.0 * RIM * CELL),
    ));
}
