//! The way of a stroke through the squares of its cells.

use super::StrokeProblem;
use crate::board::{Board, Cell};
use crate::geometry::Point;
use crate::message::Stroke;
use crate::place::{centre, direction, offset};

/// Checks the points of a stroke against its cells, which exist and touch each other in their order.
pub(super) fn check(board: &Board, stroke: &Stroke) -> Result<(), StrokeProblem> {
    follow(board, stroke, &squares(board, &stroke.cells)?)
}

/// The unit square in which a pointer is in a cell. Its sides are whole and half numbers, which are
/// exact.
#[derive(Clone, Copy)]
struct Square {
    left: f64,
    top: f64,
}

impl Square {
    fn about([x, y]: Point) -> Self {
        Self {
            left: x - 0.5,
            top: y - 0.5,
        }
    }

    /// Whether a point lies in the open square.
    fn holds(self, [x, y]: Point) -> bool {
        self.left < x && x < self.left + 1.0 && self.top < y && y < self.top + 1.0
    }

    /// What this square shares with the next one.
    fn gate(self, next: Self) -> Gate {
        let ends = [
            [self.left.max(next.left), self.top.max(next.top)],
            [self.left.min(next.left) + 1.0, self.top.min(next.top) + 1.0],
        ];
        // Where squares lie beside each other, even half a square lower, what they share has no width.
        let (across, ahead) = if next.left == self.left {
            (1, next.top > self.top)
        } else {
            (0, next.left > self.left)
        };
        Gate {
            ends,
            across,
            ahead,
        }
    }
}

/// The part of a border that two squares share, and the way over it from the one into the other.
struct Gate {
    ends: [Point; 2],
    /// The axis that the way over it goes along: 0 for x, 1 for y.
    across: usize,
    /// Whether it goes towards higher numbers.
    ahead: bool,
}

impl Gate {
    /// Whether a segment that comes from inside the square before the gate, or through it, goes over
    /// the gate, strictly between its ends.
    fn is_crossed(&self, from: Point, to: Point) -> bool {
        let sides = self.ends.map(|end| side(from, to, end));
        self.is_before(self.line(), to) && matches!(sides, [Some(a), Some(b)] if a != b)
    }

    /// Whether such a segment ends on the gate, strictly between its ends, and does not run along it.
    fn is_reached(&self, from: Point, to: Point) -> bool {
        let [low, high] = self.ends.map(|end| end[1 - self.across]);
        to[self.across] == self.line()
            && (low..high).contains(&to[1 - self.across])
            && to[1 - self.across] != low
            && self.is_before(from[self.across], to)
    }

    /// Where the gate lies on its axis.
    fn line(&self) -> f64 {
        self.ends[0][self.across]
    }

    /// Whether a place on the axis lies before a point, on the way over the gate.
    fn is_before(&self, place: f64, point: Point) -> bool {
        if self.ahead {
            place < point[self.across]
        } else {
            place > point[self.across]
        }
    }
}

/// The squares of a stroke's cells: where they lie on the board, except for the last, which may lie beyond an
/// edge.
fn squares(board: &Board, cells: &[Cell]) -> Result<Vec<Square>, StrokeProblem> {
    let lattice = board.description().lattice;
    let mut squares = Vec::with_capacity(cells.len());
    let first = cells.first().map(|&cell| centre(board, cell));
    squares.extend(first.map(Square::about));
    for (index, pair) in cells.windows(2).enumerate() {
        let [from, to] = [pair[0], pair[1]];
        let way = direction(board, from, to).ok_or(StrokeProblem::Apart { from, to })?;
        let [x, y] = centre(board, from);
        let [dx, dy] = offset(lattice, way);
        let reached = [x + dx, y + dy];
        let is_last = index + 2 == cells.len();
        if reached != centre(board, to) && !is_last {
            return Err(StrokeProblem::Beyond { cell: to });
        }
        squares.push(Square::about(reached));
    }
    Ok(squares)
}

/// Goes along the points and keeps the cell in which the mouse is. A square is convex, so that a segment
/// leaves it at one place only: either it ends inside, or that place must be the gate to the next. A point
/// on the gate counts as in the next cell, and nothing leads back from there.
fn follow(board: &Board, stroke: &Stroke, squares: &[Square]) -> Result<(), StrokeProblem> {
    let place = |at: usize| {
        let (row, col) = board.row_col(stroke.cells[at]);
        (row + 1, col + 1)
    };
    let mut at = 0;
    let press = stroke.points[0];
    if !squares[0].holds(press) {
        let (row, col) = place(0);
        return Err(StrokeProblem::Press {
            point: press,
            row,
            col,
        });
    }
    let mut on_gate = false;
    for (index, segment) in stroke.points.windows(2).enumerate() {
        let (from, to) = (segment[0], segment[1]);
        if from == to {
            continue;
        }
        on_gate = false;
        while !on_gate && !squares[at].holds(to) {
            let gate = squares.get(at + 1).map(|&next| squares[at].gate(next));
            on_gate = gate.as_ref().is_some_and(|gate| gate.is_reached(from, to));
            if !on_gate && !gate.is_some_and(|gate| gate.is_crossed(from, to)) {
                let (row, col) = place(at);
                return Err(StrokeProblem::Leaves {
                    point: index + 1,
                    row,
                    col,
                });
            }
            at += 1;
        }
    }
    // A pointer on the gate has not entered.
    let entered = at - usize::from(on_gate);
    if entered + 1 < squares.len() {
        let (row, col) = place(entered);
        return Err(StrokeProblem::TooShort { row, col });
    }
    Ok(())
}

/// Whether a point lies to the left of a line; `None` if it lies on it or too near to be sure. The
/// bound on the rounding error is Shewchuk's ("Adaptive precision floating-point arithmetic and fast
/// robust geometric predicates", 1997, stage A); the smallest normal number covers underflow.
fn side(from: Point, to: Point, point: Point) -> Option<bool> {
    let left = (from[0] - point[0]) * (to[1] - point[1]);
    let right = (from[1] - point[1]) * (to[0] - point[0]);
    let half_ulp = f64::EPSILON / 2.0;
    let bound = (3.0 + 16.0 * half_ulp) * half_ulp * (left.abs() + right.abs()) + f64::MIN_POSITIVE;
    let determinant = left - right;
    (determinant.abs() > bound).then_some(determinant > 0.0)
}
