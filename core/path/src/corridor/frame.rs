//! A corridor's corners as whole numbers, for one width.

use flowpipe_puzzle::Lattice;
use flowpipe_puzzle::geometry::Point;

use super::{Corridor, Gate};
use crate::leg::End;

/// The units in which all corners of a corridor of one width are whole: they may differ between `x` and
/// `y`, since nothing here measures angles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    sides: u8,
    origin: Point,
    /// Units of a step between centres, right and up.
    step: [i64; 2],
    /// Units of a cell.
    cell: [f64; 2],
    /// The corners about the centre, see [`Frame::corner`].
    corners: [[i64; 2]; 8],
}

/// How many sides a cell has.
pub(super) fn sides(lattice: Lattice) -> u8 {
    match lattice {
        Lattice::Square => 4,
        Lattice::Hex => 6,
    }
}

/// How many steps of a centre's `y` make a cell.
pub(super) fn rows(lattice: Lattice) -> f64 {
    match lattice {
        Lattice::Square => 1.0,
        Lattice::Hex => 2.0,
    }
}

/// The corner number of the middle of a square's side.
pub(super) fn middle(side: u8) -> u8 {
    4 + side % 4
}

impl Frame {
    /// The frame for a share of the side.
    pub fn new(corridor: &Corridor, [numerator, denominator]: [i64; 2]) -> Self {
        let (sides, origin) = (sides(corridor.lattice), corridor.origin);
        match corridor.lattice {
            Lattice::Square => {
                let [h, step] = reduced(numerator, 2 * denominator);
                Self {
                    sides,
                    origin,
                    step: [step; 2],
                    cell: [step as f64; 2],
                    corners: [
                        [-h, h],
                        [h, h],
                        [h, -h],
                        [-h, -h],
                        [0, h],
                        [h, 0],
                        [0, -h],
                        [-h, 0],
                    ],
                }
            }
            Lattice::Hex => {
                let [x, right] = reduced(numerator, 3 * denominator);
                let [y, up] = reduced(numerator, denominator);
                Self {
                    sides,
                    origin,
                    step: [right, up],
                    cell: [right as f64, 2.0 * up as f64],
                    corners: [
                        [-x, y],
                        [x, y],
                        [2 * x, 0],
                        [x, -y],
                        [-x, -y],
                        [-2 * x, 0],
                        [0, 0],
                        [0, 0],
                    ],
                }
            }
        }
    }

    /// A corner of a cell: numbered clockwise as in [`flowpipe_puzzle::place::corners`]; on squares 4 to 7
    /// are the middles of the sides, from the north.
    #[inline]
    pub fn corner(&self, corridor: &Corridor, cell: usize, corner: u8) -> [i64; 2] {
        let [x, y] = corridor.centres[cell];
        let [dx, dy] = self.corners[usize::from(corner) % 8];
        [
            i64::from(x) * self.step[0] + dx,
            i64::from(y) * self.step[1] + dy,
        ]
    }

    /// The left and the right end of a gate.
    pub fn gate(&self, corridor: &Corridor, gate: Gate) -> [[i64; 2]; 2] {
        let [left, right] = gate.ends;
        [
            self.corner(corridor, gate.cell, left),
            self.corner(corridor, gate.cell, right),
        ]
    }

    /// The corners of the wall on one side (0 left, 1 right) between a gate and the next, without the
    /// gates' own ends.
    pub fn wall(
        &self,
        corridor: &Corridor,
        gate: usize,
        side: usize,
    ) -> impl Iterator<Item = [i64; 2]> {
        let (from, to) = (corridor.gates[gate], corridor.gates[gate + 1]);
        let sides = self.sides;
        let forward = if side == 0 { 1 } else { sides - 1 };
        let next = move |corner: u8| (corner + forward) % sides;
        let inside = from.cell == to.cell && from.ends[side] != to.ends[side];
        let mut corner = from.ends[side];
        std::iter::from_fn(move || {
            corner = next(corner);
            (inside && corner != to.ends[side]).then(|| self.corner(corridor, from.cell, corner))
        })
    }

    /// The corners of a cell's inner polygon, clockwise; the last of a square is repeated.
    pub fn cell(&self, corridor: &Corridor, cell: usize) -> [[i64; 2]; 6] {
        [0, 1, 2, 3, 4, 5].map(|corner: u8| self.corner(corridor, cell, corner.min(self.sides - 1)))
    }

    /// The corners of what the way has to reach, clockwise; of a hexagon the four to the sides of the way.
    pub fn goal(&self, corridor: &Corridor) -> [[i64; 2]; 4] {
        let last = corridor.last();
        let corners = match (corridor.end, corridor.lattice) {
            (End::InLast, Lattice::Square) => [0, 1, 2, 3],
            (End::InLast, Lattice::Hex) => {
                let way = corridor.ways[last - 1];
                [way % 6, (way + 1) % 6, (way + 3) % 6, (way + 4) % 6]
            }
            (End::BesideTerminal, Lattice::Square) => {
                let way = corridor.ways[last];
                [middle(way + 3), way, (way + 1) % 4, middle(way + 1)]
            }
            (End::BesideTerminal, Lattice::Hex) => {
                let way = corridor.ways[last];
                [(way + 5) % 6, way, (way + 1) % 6, (way + 2) % 6]
            }
        };
        corners.map(|corner| self.corner(corridor, last, corner))
    }

    /// A cell's centre in board units.
    pub fn centre(&self, corridor: &Corridor, cell: usize) -> Point {
        let [x, y] = corridor.centres[cell];
        self.place([
            (i64::from(x) * self.step[0]) as f64,
            (i64::from(y) * self.step[1]) as f64,
        ])
    }

    /// The piece between a gate and the next, its corners clockwise.
    pub fn piece(&self, corridor: &Corridor, gate: usize, corners: &mut Vec<[i64; 2]>) {
        let [from, to] = [gate, gate + 1].map(|gate| self.gate(corridor, corridor.gates[gate]));
        corners.clear();
        for side in [0, 1] {
            let begin = corners.len();
            corners.push(from[side]);
            corners.extend(self.wall(corridor, gate, side));
            corners.push(to[side]);
            if side == 1 {
                corners[begin..].reverse();
            }
        }
    }

    /// A point given in units as one in board units.
    pub fn place(&self, [x, y]: [f64; 2]) -> Point {
        [
            self.origin[0] + x / self.cell[0],
            self.origin[1] - y / self.cell[1],
        ]
    }
}

fn reduced(numerator: i64, denominator: i64) -> [i64; 2] {
    let divisor = super::inner::common_divisor(numerator, denominator);
    [numerator / divisor, denominator / divisor]
}
