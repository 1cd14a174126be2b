//! The fewest segments by exhaustion: slow, simple, and built on nothing of the crate.
//!
//! A corridor is taken as what it is in the plane, a union of convex polygons; there are no gates and
//! no order. What one segment can reach is a set of *chords*, the longest segments inside. Any way can be
//! pushed, without more segments, until each of its lines goes through two critical points: reflex
//! corners of the corridor, corners of the start or of the goal, or an end of the chord before. So
//! all chords through two of these are made, level by level: a chord of the next level is one that
//! meets a chord of this level. The first level with a chord that meets the goal is the answer.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::Hash;

use num_traits::{CheckedAdd, CheckedMul, CheckedSub, Signed};

/// An integer; one of fixed size reports when a result does not fit.
pub trait Whole:
    Clone + Ord + Hash + Signed + CheckedAdd + CheckedMul + CheckedSub + From<i64>
{
}

impl<T: Clone + Ord + Hash + Signed + CheckedAdd + CheckedMul + CheckedSub + From<i64>> Whole
    for T
{
}

/// A point `(x / w, y / w)` or a line `ax + by + cw = 0`, without common divisor.
type Triple<I> = [I; 3];

/// A corridor as polygons with whole corners.
pub struct Polygons {
    /// Cells and joins.
    pub pieces: Vec<Vec<[i64; 2]>>,
    /// The first cell.
    pub start: Vec<[i64; 2]>,
    /// Where the way has to end.
    pub goal: Vec<[i64; 2]>,
    /// Where the border turns inwards.
    pub reflex: Vec<[i64; 2]>,
}

/// A longest segment inside.
#[derive(Clone)]
struct Chord<I> {
    line: Triple<I>,
    ends: [Triple<I>; 2],
    meets_start: bool,
    meets_goal: bool,
    /// The last of the pieces that it meets.
    deepest: usize,
}

/// The fewest segments from start to goal. With `only_deepest`, of each level only those chords go on that
/// meet the last piece that any of the level meets: the border of what is reached lies there.
pub fn fewest<I: Whole>(polygons: &Polygons, only_deepest: bool) -> Option<usize> {
    let whole = |&[x, y]: &[i64; 2]| [I::from(x), I::from(y), I::one()];
    let mut critical: Vec<Triple<I>> = Vec::new();
    for corner in polygons
        .reflex
        .iter()
        .chain(&polygons.start)
        .chain(&polygons.goal)
    {
        let corner = whole(corner);
        if !critical.contains(&corner) {
            critical.push(corner);
        }
    }
    let corridor = Exact {
        pieces: polygons
            .pieces
            .iter()
            .map(|piece| piece.iter().map(whole).collect())
            .collect(),
        start: polygons.start.iter().map(whole).collect(),
        goal: polygons.goal.iter().map(whole).collect(),
    };
    let mut seen = HashSet::new();
    let mut base = Vec::new();
    for (index, a) in critical.iter().enumerate() {
        for b in &critical[..index] {
            base.extend(
                corridor
                    .chord(a, b)?
                    .filter(|chord| seen.insert(chord.name())),
            );
        }
    }
    let (mut level, mut rest): (Vec<_>, Vec<_>) =
        base.into_iter().partition(|chord| chord.meets_start);
    for segments in 1.. {
        if level.iter().any(|chord| chord.meets_goal) {
            return Some(segments);
        }
        assert!(!level.is_empty(), "the corridor is not connected");
        if only_deepest {
            let deepest = level.iter().map(|chord| chord.deepest).max();
            level.retain(|chord| Some(chord.deepest) == deepest);
        }
        let mut next = Vec::new();
        for chord in &level {
            let mut left = Vec::new();
            for other in rest {
                if chord.meets(&other)? {
                    next.push(other);
                } else {
                    left.push(other);
                }
            }
            rest = left;
            for end in &chord.ends {
                for corner in critical.iter().filter(|&corner| corner != end) {
                    next.extend(
                        corridor
                            .chord(end, corner)?
                            .filter(|chord| seen.insert(chord.name())),
                    );
                }
            }
        }
        level = next;
    }
    None
}

struct Exact<I> {
    pieces: Vec<Vec<Triple<I>>>,
    start: Vec<Triple<I>>,
    goal: Vec<Triple<I>>,
}

impl<I: Whole> Exact<I> {
    /// The chord on the line through two points that contains both, if there is one.
    fn chord(&self, a: &Triple<I>, b: &Triple<I>) -> Option<Option<Chord<I>>> {
        let line = cross(a, b)?;
        let mut spans = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Some(span) = clip(&line, piece)? {
                spans.push((span, index));
            }
        }
        // The connected part around the first point, grown until nothing joins it.
        let mut part: Option<[Triple<I>; 2]> = None;
        let mut deepest = 0;
        let mut grown = true;
        while grown {
            grown = false;
            let mut left = Vec::new();
            for (span, index) in spans {
                let joins = match &part {
                    None => is_between(&line, &span, a)?,
                    Some(part) => {
                        is_between(&line, part, &span[0])?
                            || is_between(&line, part, &span[1])?
                            || is_between(&line, &span, &part[0])?
                    }
                };
                if !joins {
                    left.push((span, index));
                    continue;
                }
                grown = true;
                deepest = deepest.max(index);
                part = Some(match part {
                    None => span,
                    Some([from, to]) => {
                        let [begin, end] = span;
                        let from = if along(&line, &begin, &from)? == Ordering::Less {
                            begin
                        } else {
                            from
                        };
                        let to = if along(&line, &end, &to)? == Ordering::Greater {
                            end
                        } else {
                            to
                        };
                        [from, to]
                    }
                });
            }
            spans = left;
        }
        let Some(ends) = part else { return Some(None) };
        if !is_between(&line, &ends, b)? {
            return Some(None);
        }
        let meets = |polygon: &[Triple<I>]| -> Option<bool> {
            Some(match clip(&line, polygon)? {
                None => false,
                Some(span) => is_between(&line, &ends, &span[0])?,
            })
        };
        Some(Some(Chord {
            meets_start: meets(&self.start)?,
            meets_goal: meets(&self.goal)?,
            line,
            ends,
            deepest,
        }))
    }
}

impl<I: Whole> Chord<I> {
    /// What it has to itself.
    fn name(&self) -> (Triple<I>, Triple<I>) {
        (self.line.clone(), self.ends[0].clone())
    }

    fn meets(&self, other: &Self) -> Option<bool> {
        let point = cross(&self.line, &other.line)?;
        if point[2].is_zero() {
            return Some(false);
        }
        Some(
            is_between(&self.line, &self.ends, &point)?
                && is_between(&other.line, &other.ends, &point)?,
        )
    }
}

/// The part of a line inside a convex polygon, its ends in the line's order.
fn clip<I: Whole>(line: &Triple<I>, corners: &[Triple<I>]) -> Option<Option<[Triple<I>; 2]>> {
    let mut span: Option<[Triple<I>; 2]> = None;
    for (index, from) in corners.iter().enumerate() {
        let to = &corners[(index + 1) % corners.len()];
        let sides = [dot(line, from)?.signum(), dot(line, to)?.signum()];
        let crossing = if sides[0].is_zero() {
            from.clone()
        } else if sides[0] == -sides[1].clone() {
            cross(line, &cross(from, to)?)?
        } else {
            continue;
        };
        span = Some(match span {
            None => [crossing.clone(), crossing],
            Some([a, b]) => {
                if along(line, &crossing, &a)? == Ordering::Less {
                    [crossing, b]
                } else if along(line, &crossing, &b)? == Ordering::Greater {
                    [a, crossing]
                } else {
                    [a, b]
                }
            }
        });
    }
    Some(span)
}

fn is_between<I: Whole>(
    line: &Triple<I>,
    ends: &[Triple<I>; 2],
    point: &Triple<I>,
) -> Option<bool> {
    Some(
        along(line, &ends[0], point)? != Ordering::Greater
            && along(line, point, &ends[1])? != Ordering::Greater,
    )
}

/// The order of two points of a line along it.
fn along<I: Whole>(line: &Triple<I>, a: &Triple<I>, b: &Triple<I>) -> Option<Ordering> {
    let place = |point: &Triple<I>| {
        let right = line[1].checked_mul(&point[0])?;
        right.checked_sub(&line[0].checked_mul(&point[1])?)
    };
    Some(
        place(a)?
            .checked_mul(&b[2])?
            .cmp(&place(b)?.checked_mul(&a[2])?),
    )
}

fn dot<I: Whole>(line: &Triple<I>, point: &Triple<I>) -> Option<I> {
    let product = |i: usize| line[i].checked_mul(&point[i]);
    product(0)?
        .checked_add(&product(1)?)?
        .checked_add(&product(2)?)
}

/// The line through two points or the point of two lines, without common divisor; the last number that
/// is not zero is positive.
fn cross<I: Whole>(a: &Triple<I>, b: &Triple<I>) -> Option<Triple<I>> {
    let minor = |i: usize, j: usize| {
        a[i].checked_mul(&b[j])?
            .checked_sub(&a[j].checked_mul(&b[i])?)
    };
    let product = [minor(1, 2)?, minor(2, 0)?, minor(0, 1)?];
    let mut divisor = product
        .iter()
        .fold(I::zero(), |a, b| common_divisor(a, b.abs()));
    let Some(last) = product.iter().rev().find(|value| !value.is_zero()) else {
        // Twice the same line.
        return Some(product);
    };
    if last.is_negative() {
        divisor = -divisor;
    }
    Some(product.map(|value| value / divisor.clone()))
}

fn common_divisor<I: Whole>(mut a: I, mut b: I) -> I {
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a
}
