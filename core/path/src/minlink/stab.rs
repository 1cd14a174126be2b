//! All lines that pass a sequence of gates, by the two extreme ones.

use std::cmp::Ordering;

use crate::number::{Number, Triple};

/// The left and the right side of who goes along, as indices.
pub(super) const SIDES: [usize; 2] = [0, 1];

/// Gates that are passed in their order, and the lines that do so.
///
/// A line passes a gate when the gate's left end is not to its right and the right end not to its left:
/// to touch an end is to pass. Of the lines that pass all gates so far, the one that is turned farthest
/// to the left goes by an earlier right end and then by a left end; the one farthest to the right the
/// other way round. A gate that lies wholly on the left of the former can't be passed any more, nor
/// can one on the right of the latter.
pub(super) struct Stab<N> {
    /// The ends so far, left and right.
    ends: [Vec<Triple<N>>; 2],
    /// The extreme lines to the left and to the right, directed ahead.
    pub extremes: [Triple<N>; 2],
    /// The last end that each of them touches on its own side, and the index of that end's gate.
    pub touched: [(Triple<N>, usize); 2],
}

/// A state of a [`Stab`] to go back to.
pub(super) struct Mark<N> {
    lengths: [usize; 2],
    extremes: [Triple<N>; 2],
    touched: [(Triple<N>, usize); 2],
}

impl<N: Number> Default for Stab<N> {
    fn default() -> Self {
        let nothing = || [N::of(0), N::of(0), N::of(0)];
        Self {
            ends: [Vec::new(), Vec::new()],
            extremes: [nothing(), nothing()],
            touched: [(nothing(), 0), (nothing(), 0)],
        }
    }
}

/// Whether a point is on that side of a line (greater), on the line, or on the other side (less).
fn to<N: Number>(side: usize, line: &Triple<N>, point: &Triple<N>) -> Option<Ordering> {
    let left = N::side(line, point)?;
    Some(if side == 0 { left } else { left.reverse() })
}

impl<N: Number> Stab<N> {
    /// Begins with one gate: all lines that cross it.
    pub fn begin(&mut self, [left, right]: [Triple<N>; 2], index: usize) -> Option<()> {
        self.extremes = [N::cross(&right, &left)?, N::cross(&left, &right)?];
        for (side, end) in [left, right].into_iter().enumerate() {
            self.ends[side].clear();
            self.ends[side].push(end.clone());
            self.touched[side] = (end, index);
        }
        Some(())
    }

    /// The side on which a gate lies wholly beyond the extreme line, if it can't be passed.
    pub fn blocked(&self, ends: &[Triple<N>; 2]) -> Option<Option<usize>> {
        for side in SIDES {
            if to(side, &self.extremes[side], &ends[1 - side])? == Ordering::Greater {
                return Some(Some(side));
            }
        }
        Some(None)
    }

    /// Keeps to lines that pass one more gate, which [is not blocked](Stab::blocked).
    pub fn pass(&mut self, ends: &[Triple<N>; 2], index: usize) -> Option<()> {
        for side in SIDES {
            self.tighten(side, &ends[side], index)?;
        }
        for side in SIDES {
            self.ends[side].push(ends[side].clone());
        }
        Some(())
    }

    /// Keeps to lines that have one more end on that side, before more gates are passed.
    pub fn keep(&mut self, side: usize, end: &Triple<N>, index: usize) -> Option<()> {
        self.tighten(side, end, index)?;
        self.ends[side].push(end.clone());
        Some(())
    }

    fn tighten(&mut self, side: usize, end: &Triple<N>, index: usize) -> Option<()> {
        match to(side, &self.extremes[side], end)? {
            Ordering::Greater => return Some(()),
            Ordering::Equal => {}
            Ordering::Less => self.extremes[side] = self.tangent(side, end)?,
        }
        self.touched[side] = (end.clone(), index);
        Some(())
    }

    /// The line to a new end that has all ends of the other side on their side.
    fn tangent(&self, side: usize, end: &Triple<N>) -> Option<Triple<N>> {
        let mut others = self.ends[1 - side].iter().rev();
        let mut line = N::cross(others.next()?, end)?;
        for other in others {
            if to(side, &line, other)? == Ordering::Greater {
                line = N::cross(other, end)?;
            }
        }
        Some(line)
    }

    pub fn mark(&self) -> Mark<N> {
        Mark {
            lengths: [self.ends[0].len(), self.ends[1].len()],
            extremes: self.extremes.clone(),
            touched: self.touched.clone(),
        }
    }

    pub fn go_back(&mut self, mark: Mark<N>) {
        for side in SIDES {
            self.ends[side].truncate(mark.lengths[side]);
        }
        self.extremes = mark.extremes;
        self.touched = mark.touched;
    }
}
