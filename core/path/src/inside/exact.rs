//! Floating numbers as whole ones, and moments of a way as fractions.

use std::cmp::Ordering;

use num_bigint::BigInt;

use crate::corridor::Corridor;

/// A point in units of a [`Scale`].
pub(super) type Point = [BigInt; 2];

/// A unit so small that all numbers of a corridor and of a way are whole.
pub(super) struct Scale {
    /// Bits behind the point of the longest number.
    bits: u32,
    /// `6 * denominator`: thirds and halves of the corridor's share are whole.
    parts: i64,
}

impl Scale {
    pub fn new<'a>(corridor: &Corridor, values: impl Iterator<Item = &'a f64>) -> Self {
        Self {
            bits: values
                .map(|&value| split(value).1)
                .max()
                .unwrap_or(0)
                .max(1),
            parts: 6 * corridor.share[1],
        }
    }

    pub fn value(&self, value: f64) -> BigInt {
        let (mantissa, behind) = split(value);
        (BigInt::from(mantissa) * self.parts) << (self.bits - behind)
    }

    pub fn point(&self, [x, y]: [f64; 2]) -> Point {
        [self.value(x), self.value(y)]
    }

    /// The number of sixths of the corridor's share of a cell.
    pub fn sixths_of_share(&self, corridor: &Corridor, sixths: i64) -> BigInt {
        BigInt::from(sixths * corridor.share[0]) << self.bits
    }
}

/// A finite number as `mantissa / 2^behind`.
fn split(value: f64) -> (i64, u32) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mut mantissa, mut power) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = i64::from(mantissa.trailing_zeros()).min((-power).max(0));
    mantissa >>= zeros;
    power += zeros;
    if value < 0.0 {
        mantissa = -mantissa;
    }
    // A corridor lies near the origin: what is beyond 2^62 is far outside wherever exactly it is.
    match u32::try_from(-power) {
        Ok(behind) => (mantissa, behind),
        Err(_) => (mantissa.signum() << 62, 0),
    }
}

/// A moment of a way: the segment and how much of it has passed, as a fraction with a positive denominator.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    segment: usize,
    passed: [BigInt; 2],
}

/// A span of time of a way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    from: Moment,
    to: Moment,
}

impl Moment {
    /// The end of a segment is the beginning of the next.
    fn in_all(&self) -> [BigInt; 2] {
        let [numerator, denominator] = &self.passed;
        [numerator + denominator * self.segment, denominator.clone()]
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        let ([a, b], [c, d]) = (self.in_all(), other.in_all());
        (a * d).cmp(&(c * b))
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Moment {}

impl Span {
    /// The span of a way that is one point.
    pub fn point() -> Self {
        Self::segment(0, [0.into(), 1.into()], [0.into(), 1.into()])
    }

    /// A part of a segment.
    pub fn segment(segment: usize, from: [BigInt; 2], to: [BigInt; 2]) -> Self {
        let moment = |passed| Moment { segment, passed };
        Self {
            from: moment(from),
            to: moment(to),
        }
    }

    /// Whether it begins with the way.
    pub fn begins(&self) -> bool {
        self.from.in_all()[0] == BigInt::ZERO
    }

    /// Whether it goes on to the way's last point.
    pub fn ends(&self, last: usize) -> bool {
        let [numerator, denominator] = self.to.in_all();
        numerator == denominator * last
    }

    /// Whether the next span begins where this one ends.
    pub fn joins(&self, next: &Self) -> bool {
        self.to == next.from
    }

    pub fn extend(&mut self, next: Self) {
        self.to = next.to;
    }

    /// What is left of this span for who comes from another that is reached.
    pub fn after(&self, before: &Self) -> Option<Self> {
        let from = self.from.clone().max(before.from.clone());
        let both = from <= self.to && from <= before.to;
        both.then(|| Self {
            from,
            to: self.to.clone(),
        })
    }

    /// The index of the point that ends the segment in which it ends.
    pub fn last_point(&self) -> usize {
        self.to.segment + 1
    }
}
