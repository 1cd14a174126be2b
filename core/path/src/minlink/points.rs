//! Where the segments meet.

use std::cmp::Ordering;

use flowpipe_puzzle::geometry::Point;
use flowpipe_puzzle::{Direction, place};

use super::Way;
use super::windows::{Link, Windows};
use crate::corridor::{Corridor, Frame};
use crate::leg::End;
use crate::number::{Number, Triple, line as line_through, point};

/// How far from the middle of a segment's two extreme lines it is moved towards the window, tried in this
/// order: the middle is taken where the next segment's line meets it inside the corridor.
const TOWARDS_WINDOW: [i64; 4] = [1, 3, 9, 27];

/// The largest weight of a line in a sum of two.
const HEAVIEST: f64 = (1u64 << 48) as f64;

/// The way with right angles (on hexes: turns) only, through the centres.
pub(super) fn through_centres(corridor: &Corridor) -> Way {
    let last = corridor.last();
    let frame = Frame::new(corridor, corridor.share);
    let turns =
        |&cell: &usize| cell == 0 || cell == last || corridor.ways[cell - 1] != corridor.ways[cell];
    let mut points: Vec<Point> = (0..=last)
        .filter(turns)
        .map(|cell| frame.centre(corridor, cell))
        .collect();
    let goes_on =
        corridor.end == End::BesideTerminal && corridor.ways[last - 1] == corridor.ways[last];
    if let (true, Some([x, y])) = (goes_on, points.last_mut()) {
        let [dx, dy] = place::offset(corridor.lattice, Direction(corridor.ways[last]));
        let share = corridor.share[0] as f64 / corridor.share[1] as f64;
        *x += dx * share / 4.0;
        *y += dy * share / 4.0;
    }
    Way { points, width: 0 }
}

/// The points of a way through the [windows](Windows), from the last segment to the first: each segment
/// lies in the middle of its extreme lines, or as near to it as it can meet the next one. `None` if a
/// number gets too long.
pub(super) fn choose<N: Number>(
    windows: &Windows<N>,
    corridor: &Corridor,
    frame: &Frame,
) -> Option<Vec<Point>> {
    let (link, before) = windows.links.split_last()?;
    let wide = |link: &Link<N>| [N::wide(&link.extremes[0]), N::wide(&link.extremes[1])];
    let [left, right] = wide(link);
    let mut line = between(&left, &right, 1)?;
    let mut points = Vec::with_capacity(windows.count() + 1);
    let goal = frame.goal(corridor);
    let middle = middle(&goal, frame);
    if windows.turns_in_goal {
        points.push(middle);
        let cell = frame.cell(corridor, corridor.last());
        points.push(nearest(middle, &crossings(&line, &cell, frame)?));
    } else {
        points.push(nearest(middle, &crossings(&line, &goal, frame)?));
    }
    let mut corners = Vec::new();
    for link in before.iter().rev() {
        let mut extremes = wide(link);
        if link.side == 1 {
            extremes.reverse();
        }
        let [window, other] = extremes;
        let on_window = N::Wide::finite(N::Wide::cross(&window, &line)?)?;
        frame.piece(
            corridor,
            piece_of(link, &on_window, corridor, frame)?,
            &mut corners,
        );
        let behind = |meeting: &_| is_inside(meeting, &corners, &window, link.side);
        let meeting = meet([&window, &other], &line, behind)?;
        let (before, meeting) = meeting.unwrap_or((window, on_window));
        points.push(frame.place(place_of(&meeting)));
        line = before;
    }
    let start = crossings(&line, &frame.cell(corridor, 0), frame)?;
    points.push(nearest(frame.centre(corridor, 0), &start));
    points.reverse();
    Some(points)
}

/// A line that meets the next segment's line at a place that fits, and that place. The window's line
/// does so at the window; those beside it do so behind the window.
fn meet<N: Number>(
    [window, other]: [&Triple<N>; 2],
    next: &Triple<N>,
    fits: impl Fn(&Triple<N>) -> Option<bool>,
) -> Option<Option<(Triple<N>, Triple<N>)>> {
    for towards in TOWARDS_WINDOW {
        let line = between(window, other, towards)?;
        let meeting = N::cross(&line, next)?;
        if N::is_infinite(&meeting) {
            continue;
        }
        let meeting = N::finite(meeting)?;
        if fits(&meeting)? {
            return Some(Some((line, meeting)));
        }
    }
    Some(None)
}

/// The last of a link's pieces that begins before a point of its window.
fn piece_of<N: Number, M: Number>(
    link: &Link<N>,
    on_window: &Triple<M>,
    corridor: &Corridor,
    frame: &Frame,
) -> Option<usize> {
    let [first, last] = link.pieces;
    for gate in (first + 1..=last).rev() {
        let [left, right] = frame.gate(corridor, corridor.gates[gate]);
        if M::side(&line_through(left, right), on_window)? != Ordering::Less {
            return Some(gate);
        }
    }
    Some(first)
}

/// A line between two, through their common point: any sum with positive weights is one that passes
/// all gates which both pass. The weights are floats rounded, which changes nothing about that.
fn between<N: Number>(a: &Triple<N>, b: &Triple<N>, towards_a: i64) -> Option<Triple<N>> {
    let size = |line: &Triple<N>| {
        let one = N::of(1);
        N::ratio(&line[0], &one).abs() + N::ratio(&line[1], &one).abs()
    };
    let ratio = size(b) / size(a);
    let weight = |ratio: f64| (4.0 * ratio).round().min(HEAVIEST) as i64;
    // Sizes beyond what a float holds weigh the same.
    let weights = match ratio {
        _ if !(ratio.is_finite() && ratio > 0.0) => [1, 1],
        1.0.. => [weight(ratio), 4],
        _ => [4, weight(1.0 / ratio)],
    };
    N::sum(a, b, [weights[0] * towards_a, weights[1]])
}

/// Whether a point is in a piece and not beyond the window.
fn is_inside<N: Number>(
    point: &Triple<N>,
    clockwise: &[[i64; 2]],
    window: &Triple<N>,
    side: usize,
) -> Option<bool> {
    let beyond = [Ordering::Greater, Ordering::Less][side];
    for (index, &corner) in clockwise.iter().enumerate() {
        let next = clockwise[(index + 1) % clockwise.len()];
        if N::side(&line_through(corner, next), point)? == Ordering::Greater {
            return Some(false);
        }
    }
    Some(N::side(window, point)? != beyond)
}

/// Where a line crosses the border of a convex polygon, in board units.
fn crossings<N: Number>(
    line: &Triple<N>,
    corners: &[[i64; 2]],
    frame: &Frame,
) -> Option<Vec<Point>> {
    let mut found = Vec::with_capacity(4);
    for (index, &corner) in corners.iter().enumerate() {
        let next = corners[(index + 1) % corners.len()];
        match (N::side(line, &point(corner))?, N::side(line, &point(next))?) {
            (Ordering::Equal, _) => found.push(frame.place(corner.map(|value| value as f64))),
            (Ordering::Less, Ordering::Greater) | (Ordering::Greater, Ordering::Less) => {
                let crossing = N::cross(line, &line_through(corner, next))?;
                found.push(frame.place(place_of(&crossing)));
            }
            _ => {}
        }
    }
    Some(found)
}

/// A point in units.
fn place_of<N: Number>([x, y, w]: &Triple<N>) -> [f64; 2] {
    [N::ratio(x, w), N::ratio(y, w)]
}

/// The point nearest to one, of the segment between points on one line: from the first to the one
/// farthest from it.
fn nearest(to: Point, on_line: &[Point]) -> Point {
    let Some(&from) = on_line.first() else {
        return to;
    };
    let minus = |a: Point, b: Point| [a[0] - b[0], a[1] - b[1]];
    let dot = |a: Point, b: Point| a[0] * b[0] + a[1] * b[1];
    let lengths = on_line.iter().map(|&point| minus(point, from));
    let along = lengths
        .max_by(|&a, &b| dot(a, a).total_cmp(&dot(b, b)))
        .unwrap_or_default();
    let share = (dot(minus(to, from), along) / dot(along, along)).clamp(0.0, 1.0);
    if share.is_nan() {
        return from;
    }
    [from[0] + share * along[0], from[1] + share * along[1]]
}

fn middle(corners: &[[i64; 2]; 4], frame: &Frame) -> Point {
    let sum = |axis: usize| corners.iter().map(|corner| corner[axis]).sum::<i64>() as f64;
    frame.place([sum(0) / 4.0, sum(1) / 4.0])
}
