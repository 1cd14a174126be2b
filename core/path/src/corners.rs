//! A way by way of corners: the fifth version of the pathfinding that the best known bot (M. Gao's
//! flow-solver) describes.
//!
//! A breadth-first search over few points: in the first cell the centre and the corners of the
//! corridor's inner square, in the cells where the pipe turns the same, in all others the centre, and in
//! the last what lies near the border to the terminal. Two of them are joined where the segment between
//! lies in the corridor. It finds the fewest segments among these points, not the fewest that
//! there are: see [`minlink`](crate::minlink).
//!
//! Whether a segment lies in the corridor is asked by looking forward from a point through the
//! corridor's gates, in whole numbers.

use flowpipe_puzzle::{Lattice, Point};

use crate::corridor::{Corridor, Frame};
use crate::leg::End;

/// The way with the fewest segments through corners and centres. Its points lie in the corridor, most of
/// them on its walls.
#[must_use]
pub fn corners(corridor: &Corridor) -> Vec<Point> {
    let frame = Frame::new(corridor, corridor.share);
    let spots = Spots::new(corridor, &frame);
    let gates: Vec<[Units; 2]> = corridor
        .gates
        .iter()
        .map(|&gate| frame.gate(corridor, gate))
        .collect();
    let way = search(&spots, &gates);
    way.into_iter()
        .map(|[x, y]| frame.place([x as f64, y as f64]))
        .collect()
}

/// A point or a step in a corridor's units, `y` upwards.
type Units = [i64; 2];

/// A point that a way may have.
#[derive(Clone, Copy)]
struct Spot {
    at: Units,
    /// How many gates lie behind it. From one spot to another as many gates have to be passed as these
    /// differ; none: they lie in one convex piece.
    behind: usize,
}

/// The points that a way may have, in the order of their cells.
struct Spots {
    all: Vec<Spot>,
    /// How many of the first lie in the first cell.
    sources: usize,
    /// How many of the last are where a way may end.
    targets: usize,
}

impl Spots {
    fn new(corridor: &Corridor, frame: &Frame) -> Self {
        let sides = match corridor.lattice {
            Lattice::Square => 4,
            Lattice::Hex => 6,
        };
        let last = corridor.last();
        let mut all = Vec::with_capacity(2 * last + 4 * usize::from(sides));
        let mut add = |cell: usize, behind: usize, corners: &mut dyn Iterator<Item = u8>| {
            let corner = |corner: u8| frame.corner(corridor, cell, corner % sides);
            let (one, opposite) = (corner(0), corner(sides / 2));
            let centre = [0, 1].map(|axis| (one[axis] + opposite[axis]) / 2);
            let first = all.len();
            let points = std::iter::once(centre).chain(corners.map(corner));
            all.extend(points.map(|at| Spot { at, behind }));
            all.len() - first
        };
        let sources = add(0, 0, &mut (0..sides));
        // Behind the first cell's exit. Further gates stand in pairs about cells, if any.
        let mut behind = 1;
        for cell in 1..last {
            let gated = corridor.gates[behind].cell == cell;
            behind += usize::from(gated);
            add(cell, behind, &mut outline(corridor, cell, sides));
            behind += usize::from(gated);
        }
        // The next gate is the last cell's entry, or a line through its middle that has to be reached.
        let mut near = match corridor.end {
            End::InLast => 0..sides,
            End::BesideTerminal => corridor.ways[last]..corridor.ways[last] + 2,
        };
        let targets = add(last, behind + 1, &mut near);
        Self {
            all,
            sources,
            targets,
        }
    }

    fn first_target(&self) -> usize {
        self.all.len() - self.targets
    }
}

/// The corners of the corridor's outline in a cell, where the way turns in it: on squares the one that the
/// way goes round and the opposite one.
fn outline(corridor: &Corridor, cell: usize, sides: u8) -> impl Iterator<Item = u8> {
    let (comes, goes) = (corridor.ways[cell - 1], corridor.ways[cell]);
    let side_behind = (comes + sides / 2) % sides;
    let gone_round = if goes == (side_behind + 1) % sides {
        goes
    } else {
        side_behind
    };
    let every = if corridor.lattice == Lattice::Square {
        2
    } else {
        1
    };
    let corners = if comes == goes { 0..0 } else { 0..sides };
    corners.filter(move |corner| corner % every == gone_round % every)
}

/// The shortest chain of spots, each seen from the one before, from a source to a target.
fn search(spots: &Spots, gates: &[[Units; 2]]) -> Vec<Units> {
    const UNSEEN: usize = usize::MAX;
    let all = &spots.all;
    let mut seen_from = vec![UNSEEN; all.len()];
    let mut queue: Vec<usize> = (0..spots.sources).collect();
    for &source in &queue {
        seen_from[source] = source;
    }
    let mut next = 0;
    while let Some(&from) = queue.get(next) {
        next += 1;
        let mut view = View::new(all[from].at);
        let mut passed = all[from].behind;
        for (index, spot) in all.iter().enumerate().skip(from + 1) {
            while passed < spot.behind && view.narrow(gates[passed]) {
                passed += 1;
            }
            if passed < spot.behind {
                break;
            }
            if seen_from[index] != UNSEEN || !view.sees(spot.at) {
                continue;
            }
            seen_from[index] = from;
            if index >= spots.first_target() {
                return chain(all, &seen_from, index);
            }
            queue.push(index);
        }
    }
    // The centres are a chain, so that this is not reached.
    all.iter().map(|spot| spot.at).collect()
}

/// Back from a spot to the source that it was reached from, turned round.
fn chain(all: &[Spot], seen_from: &[usize], mut index: usize) -> Vec<Units> {
    let mut way = vec![all[index].at];
    while seen_from[index] != index {
        index = seen_from[index];
        way.push(all[index].at);
    }
    way.reverse();
    way
}

/// What is seen from a point through one gate after the other: all between two lines of sight, which are
/// nowhere more than half a turn apart.
struct View {
    from: Units,
    /// The lines of sight to the left and to the right; none: no gate yet.
    between: Option<[Units; 2]>,
}

impl View {
    fn new(from: Units) -> Self {
        Self {
            from,
            between: None,
        }
    }

    /// Looks through one more gate. Returns whether anything is left to be seen.
    fn narrow(&mut self, gate: [Units; 2]) -> bool {
        const HERE: Units = [0, 0];
        let [left, right] = gate.map(|end| minus(end, self.from));
        let Some([most_left, most_right]) = &mut self.between else {
            // At one end of the gate everything before it is seen.
            self.between = Some(match (left == HERE, right == HERE) {
                (true, _) => [minus(HERE, right), right],
                (_, true) => [left, minus(HERE, left)],
                _ => [left, right],
            });
            return true;
        };
        if left != HERE && cross(*most_left, left) < 0 {
            if cross(*most_right, left) < 0 {
                return false;
            }
            *most_left = left;
        }
        if right != HERE && cross(*most_right, right) > 0 {
            if cross(*most_left, right) > 0 {
                return false;
            }
            *most_right = right;
        }
        true
    }

    fn sees(&self, point: Units) -> bool {
        let sight = minus(point, self.from);
        self.between
            .is_none_or(|[left, right]| cross(sight, left) >= 0 && cross(right, sight) >= 0)
    }
}

fn minus(a: Units, b: Units) -> Units {
    [a[0] - b[0], a[1] - b[1]]
}

/// More than 0 where the second points to the left of the first.
fn cross(a: Units, b: Units) -> i64 {
    a[0] * b[1] - a[1] * b[0]
}

#[cfg(test)]
mod tests;
