//! What one, two, three … segments can reach.

use std::cmp::Ordering;

use super::stab::Stab;
use crate::corridor::{Corridor, Frame};
use crate::number::{Number, Triple, line as line_through, point};

/// The windows of a corridor, from the start to the goal.
///
/// The first window is the side where the way leaves the first cell. From each, lines are followed
/// through the gates until one lies wholly on one side of all of them. The extreme line on that side,
/// from the last end that it touches to where it leaves the piece before that gate, is the next window:
/// the goal's side of it can't be seen from the one before.
///
/// A window may cross several pieces, and the next segment may begin in any of them. That takes no more
/// than to keep, of the gates that the window crosses, the ends on the goal's side: a line that
/// crosses the window in a later piece has them on their side by itself. The parts of the gates on
/// the other side of the window lie behind it.
///
/// It has, that is, in the plane: were such an end on the line's other side, the corridor would have to
/// cross itself. Where it does (on a bridge), the window is taken apart, each part is tried, and the one
/// from which the segment gets farthest is kept.
pub(super) struct Windows<N> {
    /// The ends of the gates in whole units.
    gates: Vec<[Triple<N>; 2]>,
    stab: Stab<N>,
    /// The segments' lines.
    pub links: Vec<Link<N>>,
    /// Whether one more segment leads from the last gate to the goal, since no line does both.
    pub turns_in_goal: bool,
}

/// All lines of one segment.
pub(super) struct Link<N> {
    /// The two extreme ones.
    pub extremes: [Triple<N>; 2],
    /// The side on which the next gate was out of reach, so whose extreme line has the next window.
    pub side: usize,
    /// The next window crosses the pieces behind these gates, first and last.
    pub pieces: [usize; 2],
}

/// Where a segment begins.
#[derive(Clone)]
struct Window<N> {
    /// The side of the goal.
    side: usize,
    /// It begins in the piece behind this gate.
    from: usize,
    /// It ends before this gate.
    before: usize,
    /// The first is an end of a gate on `side`, or lies on a gate.
    ends: [Triple<N>; 2],
}

/// How far a segment gets.
struct Reach<N> {
    /// The gate that is out of reach; beyond the last: the goal.
    gate: usize,
    /// The side, the line of the window before that gate, and two points of it: on the wall, and where it
    /// touches an end.
    window: Option<(usize, Triple<N>, [Triple<N>; 2])>,
}

impl<N: Number> Reach<N> {
    /// Whether more is reached than by another.
    fn is_beyond(&self, other: &Self) -> Option<bool> {
        if self.gate != other.gate {
            return Some(self.gate > other.gate);
        }
        let (Some((_, _, points)), Some((side, line, _))) = (&self.window, &other.window) else {
            return Some(false);
        };
        let beyond = [Ordering::Greater, Ordering::Less][*side];
        // Two windows before one gate do not cross: one end decides, or both lie on the other's line.
        for point in points {
            let place = N::side(line, point)?;
            if place != Ordering::Equal {
                return Some(place == beyond);
            }
        }
        Some(false)
    }
}

impl<N: Number> Default for Windows<N> {
    fn default() -> Self {
        Self {
            gates: Vec::new(),
            stab: Stab::default(),
            links: Vec::new(),
            turns_in_goal: false,
        }
    }
}

impl<N: Number> Windows<N> {
    /// Finds the windows, and returns whether `most` segments or fewer lead to the goal; gives up beyond.
    /// `None` if a number gets too long.
    pub fn open(&mut self, corridor: &Corridor, frame: &Frame, most: usize) -> Option<bool> {
        self.gates.clear();
        for &gate in &corridor.gates {
            let [left, right] = frame.gate(corridor, gate);
            self.gates.push([point(left), point(right)]);
        }
        self.links.clear();
        self.turns_in_goal = false;
        self.stab.begin(self.gates[0].clone(), 0)?;
        let mut next = 1;
        loop {
            let Some(side) = self.follow(&mut next, corridor, frame)? else {
                return Some(self.count() <= most);
            };
            if self.links.len() + 1 >= most {
                return Some(false);
            }
            self.turn(side, next, corridor, frame)?;
        }
    }

    /// How many segments lead to the goal.
    pub fn count(&self) -> usize {
        self.links.len() + usize::from(self.turns_in_goal)
    }

    /// Follows lines through the gates until they reach the goal, or a gate that lies on one side.
    fn follow(
        &mut self,
        next: &mut usize,
        corridor: &Corridor,
        frame: &Frame,
    ) -> Option<Option<usize>> {
        let last = self.gates.len() - 1;
        while *next <= last {
            if *next == last && self.reach_fork(corridor, frame)? {
                self.push_link(0, [last, last]);
                return Some(None);
            }
            let gate = &self.gates[*next];
            if let Some(side) = self.stab.blocked(gate)? {
                return Some(Some(side));
            }
            self.stab.pass(gate, *next)?;
            *next += 1;
        }
        self.turns_in_goal = corridor.fork.is_some();
        self.push_link(0, [last, last]);
        Some(None)
    }

    /// Whether lines reach the goal through either part of the last gate. If so, keeps to them.
    fn reach_fork(&mut self, corridor: &Corridor, frame: &Frame) -> Option<bool> {
        let Some(fork) = &corridor.fork else {
            return Some(false);
        };
        let last = self.gates.len() - 1;
        let near = frame.gate(corridor, fork.near).map(point);
        if self.stab.blocked(&near)?.is_none() {
            self.stab.pass(&near, last)?;
            return Some(true);
        }
        let [beside, middle] = fork.far.map(|gate| frame.gate(corridor, gate).map(point));
        if self.stab.blocked(&beside)?.is_some() {
            return Some(false);
        }
        let mark = self.stab.mark();
        self.stab.pass(&beside, last)?;
        if self.stab.blocked(&middle)?.is_some() {
            self.stab.go_back(mark);
            return Some(false);
        }
        self.stab.pass(&middle, last)?;
        Some(true)
    }

    /// Ends a segment at its window and begins the next one there.
    fn turn(&mut self, side: usize, next: usize, corridor: &Corridor, frame: &Frame) -> Option<()> {
        let (pivot, first) = self.stab.touched[side].clone();
        let exit = self.leave(side, next - 1, corridor, frame)?;
        self.push_link(side, [first, next - 1]);
        let mut window = Window {
            side,
            from: first,
            before: next,
            ends: [pivot, exit],
        };
        if corridor.crosses_itself {
            window = self.best_part(&window, corridor, frame)?;
        }
        self.begin(&window)
    }

    /// Begins a segment at a window.
    fn begin(&mut self, window: &Window<N>) -> Option<()> {
        let side = window.side;
        let mut ends = window.ends.clone();
        if side == 1 {
            ends.reverse();
        }
        self.stab.begin(ends, window.from)?;
        for gate in window.from + 1..window.before {
            self.stab.keep(side, &self.gates[gate][side], gate)?;
        }
        Some(())
    }

    /// The part of a window in one piece from which a segment gets farthest. Each of them is tried.
    fn best_part(
        &mut self,
        window: &Window<N>,
        corridor: &Corridor,
        frame: &Frame,
    ) -> Option<Window<N>> {
        let line = N::cross(&window.ends[0], &window.ends[1])?;
        let links = self.links.len();
        let mut best: Option<(Reach<N>, Window<N>)> = None;
        let mut end = window.ends[1].clone();
        for piece in (window.from..window.before).rev() {
            let mut begin = window.ends[0].clone();
            if piece > window.from {
                let [left, right] = frame.gate(corridor, corridor.gates[piece]);
                begin = N::finite(N::cross(&line, &line_through(left, right))?)?;
            }
            let part = Window {
                from: piece,
                ends: [begin.clone(), end],
                ..*window
            };
            end = begin;
            if N::is_nowhere(&N::cross(&part.ends[0], &part.ends[1])?) {
                // A corner of two gates: part of the next piece too.
                continue;
            }
            self.begin(&part)?;
            let reach = self.reach(part.before, corridor, frame)?;
            self.links.truncate(links);
            let is_better = match &best {
                Some((best, _)) => reach.is_beyond(best)?,
                None => true,
            };
            if is_better {
                best = Some((reach, part));
            }
        }
        best.map(|best| best.1)
    }

    /// How far lines get, from a gate on.
    fn reach(&mut self, mut next: usize, corridor: &Corridor, frame: &Frame) -> Option<Reach<N>> {
        let window = match self.follow(&mut next, corridor, frame)? {
            None => None,
            Some(side) => {
                let exit = self.leave(side, next - 1, corridor, frame)?;
                let line = self.stab.extremes[side].clone();
                Some((side, line, [exit, self.stab.touched[side].0.clone()]))
            }
        };
        let direct = window.is_none() && !std::mem::take(&mut self.turns_in_goal);
        let gate = if direct { usize::MAX } else { next };
        Some(Reach { gate, window })
    }

    /// Where the extreme line on a side leaves a piece: on the wall of the other side.
    fn leave(
        &self,
        side: usize,
        piece: usize,
        corridor: &Corridor,
        frame: &Frame,
    ) -> Option<Triple<N>> {
        let line = &self.stab.extremes[side];
        let beyond = if side == 0 {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        let other = 1 - side;
        let [mut from, end] =
            [0, 1].map(|next| frame.gate(corridor, corridor.gates[piece + next])[other]);
        let mut to = end;
        for corner in frame.wall(corridor, piece, other) {
            if N::side(line, &point(corner))? == beyond {
                to = corner;
                break;
            }
            from = corner;
        }
        N::finite(N::cross(line, &line_through(from, to))?)
    }

    fn push_link(&mut self, side: usize, pieces: [usize; 2]) {
        self.links.push(Link {
            extremes: self.stab.extremes.clone(),
            side,
            pieces,
        });
    }
}
