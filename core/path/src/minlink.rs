//! The way with the fewest straight segments that a corridor has: the minimum-link path.
//!
//! The method is Suri's ("A linear time algorithm for minimum link paths inside a simple polygon", 1986):
//! what one segment from the start can reach ends at a *window*, a line across the corridor; what two
//! can reach is what one segment from that window can reach, and so on (`windows`). A corridor is a
//! sequence of gates, so a segment is a line that passes them in their order, and of all such lines two
//! extreme ones bound what can still be reached (`stab`; Guibas, Hershberger, Mitchell and Snoeyink,
//! "Approximating polygons and subdivisions with minimum-link paths", 1993). Nothing is asked about what
//! lies beside the corridor, so it may cross itself.
//!
//! Points follow from the last segment to the first (`points`).
//!
//! Of the ways with as few segments, one that keeps far from the walls is taken: the corridor is
//! narrowed as far as its count stays the same, by bisection, in steps of 1/16 of its width (with the usual
//! 2/3 of a cell, of a fiftieth of a cell on each side). If the count is that of the turns-only way, the
//! way leads through the centres.
//!
//! All is decided in whole numbers (`number`), the narrower corridors too. Only finished points
//! are rounded, by 10⁻¹⁵ or so of a cell.

mod points;
mod stab;
mod windows;

use flowpipe_puzzle::geometry::Point;
use num_bigint::BigInt;

use crate::corridor::{Corridor, Frame};
use crate::number::Number;
use windows::Windows;

/// A way to drag: press at the first point, go straight from each to the next, release at the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// In board units. One more than there are segments.
    pub points: Vec<Point>,
    /// How many of the [`Corridor::STEPS`] of the corridor's width suffice for it, so how far it keeps from
    /// the walls; 0 for a way through the centres. Its ends keep within as much.
    pub width: u32,
}

impl Way {
    /// How many straight segments it has.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.points.len().saturating_sub(1)
    }
}

/// The way with the fewest segments, and of these one that keeps far from the walls, see the
/// [module](self). For many corridors use one [`Minlink`].
#[must_use]
pub fn fewest(corridor: &Corridor) -> Way {
    Minlink::default().fewest(corridor)
}

/// How many segments the way has that has fewest.
#[must_use]
pub fn count(corridor: &Corridor) -> usize {
    Minlink::default().count(corridor)
}

/// Finds ways, and keeps its memory from one to the next.
#[derive(Default)]
pub struct Minlink {
    small: Windows<i64>,
    large: Windows<i128>,
    any: Windows<BigInt>,
}

impl Minlink {
    /// See [`count`].
    pub fn count(&mut self, corridor: &Corridor) -> usize {
        let turns = corridor.turns();
        self.count_within(corridor, Corridor::STEPS, turns)
            .unwrap_or(turns)
    }

    /// See [`fewest`].
    pub fn fewest(&mut self, corridor: &Corridor) -> Way {
        let fewest = self.count(corridor);
        self.fewest_of(corridor, fewest)
    }

    /// The same, when the corridor's [count](Minlink::count) is known. It is not asked for again.
    pub fn fewest_of(&mut self, corridor: &Corridor, fewest: usize) -> Way {
        if fewest == corridor.turns() {
            return points::through_centres(corridor);
        }
        // No way as short is that narrow, and one is that wide.
        let (mut too_narrow, mut enough) = (0, Corridor::STEPS);
        // Many ways need all of the width, few less than three quarters of it.
        let mut probes = [enough - 1, enough * 3 / 4 - 1].into_iter();
        while too_narrow + 1 < enough {
            let probe = match probes.next() {
                Some(probe) if probe > too_narrow => probe,
                _ => u32::midpoint(too_narrow, enough),
            };
            if self.count_within(corridor, probe, fewest).is_some() {
                enough = probe;
            } else {
                too_narrow = probe;
            }
        }
        Way {
            points: self.points_within(corridor, enough),
            width: enough,
        }
    }

    /// The count in a part of the width, if it is `most` or less.
    fn count_within(&mut self, corridor: &Corridor, steps: u32, most: usize) -> Option<usize> {
        let frame = &Frame::new(corridor, corridor.share_narrowed(steps));
        fn attempt<N: Number>(
            windows: &mut Windows<N>,
            corridor: &Corridor,
            frame: &Frame,
            most: usize,
        ) -> Option<Option<usize>> {
            let arrived = windows.open(corridor, frame, most)?;
            Some(arrived.then(|| windows.count()))
        }
        attempt(&mut self.small, corridor, frame, most)
            .or_else(|| attempt(&mut self.large, corridor, frame, most))
            .or_else(|| attempt(&mut self.any, corridor, frame, most))
            .unwrap_or_else(|| unreachable!("numbers of any length do not get too long"))
    }

    fn points_within(&mut self, corridor: &Corridor, steps: u32) -> Vec<Point> {
        let frame = &Frame::new(corridor, corridor.share_narrowed(steps));
        fn attempt<N: Number>(
            windows: &mut Windows<N>,
            corridor: &Corridor,
            frame: &Frame,
        ) -> Option<Vec<Point>> {
            windows.open(corridor, frame, usize::MAX)?;
            points::choose(windows, corridor, frame)
        }
        attempt(&mut self.small, corridor, frame)
            .or_else(|| attempt(&mut self.large, corridor, frame))
            .or_else(|| attempt(&mut self.any, corridor, frame))
            .unwrap_or_else(|| unreachable!("numbers of any length do not get too long"))
    }
}

#[cfg(test)]
mod tests;
