//! Where a pointer is safe: each cell shrunk about its centre, neighbours joined across their border.
//!
//! The corridor is closed: to touch a wall is allowed. It is a sequence of convex pieces, each joined
//! to the next along a *gate*, so it may cross itself (on a bridge). Its corners are whole multiples of a
//! small fraction of a cell.

mod frame;
mod inner;

use flowpipe_puzzle::geometry::Point;
use flowpipe_puzzle::{Board, Lattice, place};

use crate::leg::{End, Leg};

pub(crate) use frame::Frame;
pub use inner::{Inner, InnerError};

/// The corridor of a leg.
///
/// On squares: the cells' inner squares, with the rectangles between facing sides of neighbours. On hexes:
/// the hexagons of [`place`] shrunk alike, with the parallelograms between facing sides.
#[derive(Clone, Debug)]
pub struct Corridor {
    pub(crate) lattice: Lattice,
    /// Share of the side that is left of a cell, as a fraction.
    pub(crate) share: [i64; 2],
    /// The first cell's centre, in board units.
    pub(crate) origin: Point,
    /// The cells' centres from the first, `x` in cells to the right, `y` upwards: in cells on squares,
    /// in half cells on hexes.
    pub(crate) centres: Vec<[i32; 2]>,
    /// The direction from each cell to the next, as in [`flowpipe_puzzle::Direction`].
    pub(crate) ways: Vec<u8>,
    pub(crate) end: End,
    /// Where the pieces meet, in order; the last is where the way has arrived. On squares those of
    /// corner cells only, since a straight run is one rectangle.
    pub(crate) gates: Vec<Gate>,
    /// Whether it passes a cell twice (a bridge).
    pub(crate) crosses_itself: bool,
    /// What replaces the last gate, where one is not enough to define what is to be reached.
    pub(crate) fork: Option<Fork>,
}

/// A segment that the way crosses, by corners of a cell (see [`Frame::corner`]), as seen by who goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Index of the cell in the leg.
    pub cell: usize,
    /// Its left and its right end.
    pub ends: [u8; 2],
}

/// The half of a square beside the border to the terminal, where the way comes in at a right angle: it
/// is reached at once through one half of the entry, or through the other half and the middle line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    pub near: Gate,
    pub far: [Gate; 2],
}

impl Corridor {
    /// The most of a hexagon's side that is used: at 3/4 its tips reach the unit squares of other cells.
    const MOST_OF_A_HEX: [i64; 2] = [7, 10];

    /// Into how many steps a corridor's width is divided, see [`Corridor::narrowed`].
    pub const STEPS: u32 = 16;

    /// The corridor of a leg. On hexes at most 7/10 of a cell's side are used.
    ///
    /// # Panics
    /// If the leg has fewer than two cells, fewer than two to be [dragged](Leg::dragged), or cells that
    /// are not neighbours. [`legs`](crate::leg::legs) makes no such leg.
    #[must_use]
    pub fn of(board: &Board, leg: &Leg, inner: Inner) -> Self {
        let lattice = board.description().lattice;
        assert!(leg.dragged().len() > 1, "a leg of too few cells");
        let [numerator, denominator] = inner.fraction();
        let [most, of] = Self::MOST_OF_A_HEX;
        let share = if lattice == Lattice::Hex && numerator * of > most * denominator {
            Self::MOST_OF_A_HEX
        } else {
            [numerator, denominator]
        };
        let rows = frame::rows(lattice);
        let origin = leg.centres[0];
        let from_origin = |&[x, y]: &Point| {
            [
                (x - origin[0]).round() as i32,
                ((origin[1] - y) * rows).round() as i32,
            ]
        };
        let centres: Vec<[i32; 2]> = leg.centres.iter().map(from_origin).collect();
        let ways = centres.windows(2).map(|pair| way(lattice, pair)).collect();
        let mut corridor = Self {
            lattice,
            share,
            origin,
            centres,
            ways,
            end: leg.end,
            gates: Vec::with_capacity(2 * leg.cells.len()),
            crosses_itself: false,
            fork: None,
        };
        corridor.crosses_itself = corridor.crosses_itself();
        corridor.lay_gates();
        corridor
    }

    /// The same with `steps` of [`Corridor::STEPS`] of its width; 0 is taken for 1, more than all for all.
    #[must_use]
    pub fn narrowed(&self, steps: u32) -> Self {
        let mut narrowed = self.clone();
        narrowed.share = self.share_narrowed(steps.clamp(1, Self::STEPS));
        narrowed
    }

    /// The share of a cell's side that is used: on hexes it may be less than was asked for.
    #[must_use]
    pub fn inner(&self) -> f64 {
        self.share[0] as f64 / self.share[1] as f64
    }

    /// Segments of the way through the centres with turns only.
    #[must_use]
    pub fn turns(&self) -> usize {
        let dragged = &self.ways[..self.last()];
        1 + dragged.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Index of the cell where the way ends.
    pub(crate) fn last(&self) -> usize {
        self.centres.len() - 1 - usize::from(self.end == End::BesideTerminal)
    }

    pub(crate) fn share_narrowed(&self, steps: u32) -> [i64; 2] {
        let [numerator, denominator] = self.share;
        [
            numerator * i64::from(steps),
            denominator * i64::from(Self::STEPS),
        ]
    }

    /// To come back to a cell takes three right angles in one sense; on hexes, four sixths of a turn.
    fn crosses_itself(&self) -> bool {
        let sides = i32::from(frame::sides(self.lattice));
        let (mut turned, mut least, mut most) = (0, 0, 0);
        for pair in self.ways.windows(2) {
            let turn = i32::from(pair[1]) - i32::from(pair[0]);
            turned += (turn + sides / 2).rem_euclid(sides) - sides / 2;
            (least, most) = (turned.min(least), turned.max(most));
        }
        let enough = match self.lattice {
            Lattice::Square => 3,
            Lattice::Hex => 4,
        };
        let dragged = &self.centres[..=self.last()];
        most - least >= enough
            && (1..dragged.len()).any(|cell| dragged[..cell].contains(&dragged[cell]))
    }

    fn lay_gates(&mut self) {
        let last = self.last();
        self.gates.push(self.exit(0));
        for cell in 1..last {
            let turns = self.ways[cell - 1] != self.ways[cell];
            if turns || self.lattice == Lattice::Hex {
                self.gates.push(self.entry(cell));
                self.gates.push(self.exit(cell));
            }
        }
        let entry = self.entry(last);
        if self.end == End::InLast {
            self.gates.push(entry);
            return;
        }
        let gate = |left, right| Gate {
            cell: last,
            ends: [left, right],
        };
        let way = self.ways[last];
        let turned =
            (way + frame::sides(self.lattice) - self.ways[last - 1]) % frame::sides(self.lattice);
        match (self.lattice, turned) {
            // Straight on: to the middle line.
            (Lattice::Square, 0) => {
                let [left, right] = [frame::middle(way + 3), frame::middle(way + 1)];
                self.gates.push(gate(left, right));
            }
            (Lattice::Square, _) => {
                let [left, right] = entry.ends;
                let behind = self.ways[last - 1] + 2;
                let middle = frame::middle(behind);
                let opposite = frame::middle(behind + 2);
                let to_the_left = turned == 3;
                self.gates.push(entry);
                self.fork = Some(if to_the_left {
                    Fork {
                        near: gate(left, middle),
                        far: [gate(middle, right), gate(middle, opposite)],
                    }
                } else {
                    Fork {
                        near: gate(middle, right),
                        far: [gate(left, middle), gate(opposite, middle)],
                    }
                });
            }
            // By two sixths of a turn: the whole side belongs to the half.
            (Lattice::Hex, 2 | 4) => self.gates.push(entry),
            (Lattice::Hex, _) => {
                self.gates.push(entry);
                self.gates.push(gate((way + 5) % 6, (way + 2) % 6));
            }
        }
    }

    /// The side where the way leaves a cell.
    fn exit(&self, cell: usize) -> Gate {
        let way = self.ways[cell];
        let sides = frame::sides(self.lattice);
        Gate {
            cell,
            ends: [way, (way + 1) % sides],
        }
    }

    /// The side where the way enters a cell.
    fn entry(&self, cell: usize) -> Gate {
        let sides = frame::sides(self.lattice);
        let behind = (self.ways[cell - 1] + sides / 2) % sides;
        Gate {
            cell,
            ends: [(behind + 1) % sides, behind],
        }
    }
}

fn way(lattice: Lattice, pair: &[[i32; 2]]) -> u8 {
    let rows = frame::rows(lattice);
    let step = [
        f64::from(pair[1][0] - pair[0][0]),
        f64::from(pair[0][1] - pair[1][1]) / rows,
    ];
    let found = (0..frame::sides(lattice))
        .find(|&way| place::offset(lattice, flowpipe_puzzle::Direction(way)) == step);
    found.unwrap_or_else(|| panic!("a leg of cells that are not neighbours: {pair:?}"))
}

#[cfg(test)]
mod tests;
