//! A corridor's pieces, built from its cells.

use flowpipe_puzzle::{Direction, Lattice, place};
use num_bigint::{BigInt, Sign};

use super::exact::{Point, Scale, Span};
use crate::corridor::Corridor;
use crate::leg::End;

/// A convex polygon, widened: what is on the inner side of all its lines.
pub(super) struct Piece {
    /// `[a, b, c]`: inside, `a * x + b * y <= c`.
    lines: Vec<[BigInt; 3]>,
    /// A box around it, in cells, rounded generously: to pass over what is far away.
    surroundings: [[f64; 2]; 2],
}

/// A cell's corners in sixths of its side, clockwise from the north-west (`y` downwards).
fn sixths(lattice: Lattice) -> &'static [[i64; 2]] {
    match lattice {
        Lattice::Square => &[[-3, -3], [3, -3], [3, 3], [-3, 3]],
        Lattice::Hex => &[[-2, -3], [2, -3], [4, 0], [2, 3], [-2, 3], [-4, 0]],
    }
}

/// All pieces in their order: cells and what joins them.
pub(super) fn of(corridor: &Corridor, scale: &Scale, slack: f64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for index in 0..=corridor.last() {
        let cell = cell(corridor, scale, index);
        if index > 0 {
            let from = facing(corridor, scale, index - 1, corridor.ways[index - 1], 1);
            let to = facing(corridor, scale, index, corridor.ways[index - 1], -1);
            let [a, b] = from;
            let [c, d] = to;
            // Around the join, so that no sides cross.
            let alike = [&c[0] - &a[0], &c[1] - &a[1]] == [&d[0] - &b[0], &d[1] - &b[1]];
            let corners = if alike { [a, b, d, c] } else { [a, b, c, d] };
            pieces.push(Piece::new(corridor, scale, slack, &corners, index));
        }
        pieces.push(Piece::new(corridor, scale, slack, &cell, index));
    }
    pieces
}

/// Where the way may end.
pub(super) fn goal(corridor: &Corridor, scale: &Scale, slack: f64) -> Piece {
    let last = corridor.last();
    let cell = cell(corridor, scale, last);
    let mut goal = Piece::new(corridor, scale, slack, &cell, last);
    if corridor.end == End::BesideTerminal {
        let centre = centre(corridor, scale, last);
        let way = corridor.ways[last];
        let [a, b] = facing(corridor, scale, last, way, 1);
        // The line through the centre along the border, with the border on its inner side.
        let along = [&b[0] - &a[0], &b[1] - &a[1]];
        let through = [&centre[0] + &along[0], &centre[1] + &along[1]];
        goal.lines
            .push(line(&centre, &through, &a, &scale.value(slack)));
    }
    goal
}

fn centre(corridor: &Corridor, scale: &Scale, index: usize) -> Point {
    let [x, y] = corridor.centres[index];
    let up = match corridor.lattice {
        Lattice::Square => f64::from(y),
        Lattice::Hex => f64::from(y) / 2.0,
    };
    let [left, top] = corridor.origin;
    scale.point([left + f64::from(x), top - up])
}

fn cell(corridor: &Corridor, scale: &Scale, index: usize) -> Vec<Point> {
    let [x, y] = centre(corridor, scale, index);
    let corner = |&[dx, dy]: &[i64; 2]| {
        [
            &x + scale.sixths_of_share(corridor, dx),
            &y + scale.sixths_of_share(corridor, dy),
        ]
    };
    sixths(corridor.lattice).iter().map(corner).collect()
}

/// The two corners of a cell that lie farthest in a direction (`sign` 1) or against it (-1).
fn facing(corridor: &Corridor, scale: &Scale, index: usize, way: u8, sign: i64) -> [Point; 2] {
    let offset = place::offset(corridor.lattice, Direction(way));
    let [dx, dy] = offset.map(|value| (2.0 * value) as i64 * sign);
    let mut corners: Vec<(i64, Point)> = sixths(corridor.lattice)
        .iter()
        .zip(cell(corridor, scale, index))
        .map(|(&[x, y], corner)| (x * dx + y * dy, corner))
        .collect();
    corners.sort_by_key(|corner| -corner.0);
    let mut farthest = corners.into_iter().map(|corner| corner.1);
    [(); 2].map(|()| farthest.next().unwrap_or_default())
}

/// The line through two points, with a third on its inner side, moved outwards by the slack in `x` and in `y`.
fn line(a: &Point, b: &Point, inner: &Point, slack: &BigInt) -> [BigInt; 3] {
    let mut normal = [&b[1] - &a[1], &a[0] - &b[0]];
    let beyond = |normal: &Point, point: &Point| &normal[0] * &point[0] + &normal[1] * &point[1];
    if beyond(&normal, inner) > beyond(&normal, a) {
        normal = normal.map(|value| -value);
    }
    let size: BigInt = normal
        .iter()
        .map(|value| BigInt::from(value.magnitude().clone()))
        .sum();
    let most = beyond(&normal, a) + slack * size;
    let [x, y] = normal;
    [x, y, most]
}

impl Piece {
    fn new(
        corridor: &Corridor,
        scale: &Scale,
        slack: f64,
        corners: &[Point],
        index: usize,
    ) -> Self {
        let slack_exact = scale.value(slack);
        let lines = (0..corners.len())
            .map(|from| {
                let corner = |after: usize| &corners[(from + after) % corners.len()];
                line(corner(0), corner(1), corner(2), &slack_exact)
            })
            .collect();
        let [x, y] = place_of(corridor, index);
        let reach = 2.0 + slack;
        Self {
            lines,
            surroundings: [[x - reach, y - reach], [x + reach, y + reach]],
        }
    }

    pub fn contains(&self, [x, y]: &Point) -> bool {
        self.lines.iter().all(|[a, b, c]| a * x + b * y <= *c)
    }

    /// Whether a segment is certainly outside.
    pub fn is_far_from(&self, a: [f64; 2], b: [f64; 2]) -> bool {
        let [least, most] = self.surroundings;
        (0..2).any(|axis| a[axis].max(b[axis]) < least[axis] || a[axis].min(b[axis]) > most[axis])
    }

    /// The part of a segment that lies inside.
    pub fn clip(&self, segment: usize, from: &Point, to: &Point) -> Option<Span> {
        let step = [&to[0] - &from[0], &to[1] - &from[1]];
        let mut begin = [BigInt::ZERO, BigInt::from(1)];
        let mut end = [BigInt::from(1), BigInt::from(1)];
        for [a, b, c] in &self.lines {
            // Inside while `speed * passed <= room`.
            let speed = a * &step[0] + b * &step[1];
            let room = c - (a * &from[0] + b * &from[1]);
            match speed.sign() {
                Sign::NoSign if room.sign() == Sign::Minus => return None,
                Sign::NoSign => {}
                Sign::Plus => end = earlier(end, [room, speed]),
                Sign::Minus => begin = later(begin, [-room, -speed]),
            }
        }
        let empty = &begin[0] * &end[1] > &end[0] * &begin[1];
        (!empty).then(|| Span::segment(segment, begin, end))
    }
}

fn place_of(corridor: &Corridor, index: usize) -> [f64; 2] {
    let [x, y] = corridor.centres[index].map(f64::from);
    let [left, top] = corridor.origin;
    match corridor.lattice {
        Lattice::Square => [left + x, top - y],
        Lattice::Hex => [left + x, top - y / 2.0],
    }
}

fn earlier(a: [BigInt; 2], b: [BigInt; 2]) -> [BigInt; 2] {
    if &a[0] * &b[1] <= &b[0] * &a[1] { a } else { b }
}

fn later(a: [BigInt; 2], b: [BigInt; 2]) -> [BigInt; 2] {
    if &a[0] * &b[1] >= &b[0] * &a[1] { a } else { b }
}
