//! Exact arithmetic for points and lines of the plane, in integers of three sizes.
//!
//! A point is `(x, y, w)` with `w > 0` and means `(x / w, y / w)`; a line is `(a, b, c)`, the points
//! with `ax + by + cw = 0`. The line through two points and the point on two lines are both a cross
//! product, and the side of a line on which a point lies is the sign of a dot product: three
//! operations are all there is. Points that derive from lines through derived points have ever longer
//! coordinates (Kahan and Snoeyink, "The bit complexity of minimum link paths: superquadratic
//! algorithms for problems solvable in linear time", 1999), so no fixed size is enough. Each
//! operation reports when its result does not fit, and the caller starts again with the next size.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

/// A point or a line, see the module.
pub(crate) type Triple<N> = [N; 3];

/// An integer that notices when it gets too long. `None` means that.
pub(crate) trait Number: Clone {
    /// One with room for the point on two lines.
    type Wide: Number;

    /// The same, wider.
    fn wide(triple: &Triple<Self>) -> Triple<Self::Wide>;

    /// An integer of the corridor: a corner's coordinate or a weight.
    fn of(value: i64) -> Self;

    /// The line through two points, directed from `a` to `b`, or the point on two lines.
    fn cross(a: &Triple<Self>, b: &Triple<Self>) -> Option<Triple<Self>>;

    /// Of a directed line and a point: greater is to the line's left (`y` upwards), equal is on it.
    fn side(line: &Triple<Self>, point: &Triple<Self>) -> Option<Ordering>;

    /// `weights[0] * a + weights[1] * b`.
    fn sum(a: &Triple<Self>, b: &Triple<Self>, weights: [i64; 2]) -> Option<Triple<Self>>;

    /// Whether two lines were parallel that gave this point.
    fn is_infinite(point: &Triple<Self>) -> bool {
        point[2].is_zero()
    }

    /// Whether two points were the same that gave this line.
    fn is_nowhere(line: &Triple<Self>) -> bool {
        line.iter().all(Self::is_zero)
    }

    /// Whether it is zero.
    fn is_zero(&self) -> bool;

    /// The same point, with `w > 0`. It must not be [infinite](Number::is_infinite).
    fn finite(point: Triple<Self>) -> Option<Triple<Self>>;

    /// The fraction `numerator / denominator`, nearly.
    fn ratio(numerator: &Self, denominator: &Self) -> f64;
}

/// A point with whole coordinates.
#[inline]
pub(crate) fn point<N: Number>([x, y]: [i64; 2]) -> Triple<N> {
    [N::of(x), N::of(y), N::of(1)]
}

/// The line through two points with whole coordinates, with small coefficients where it is vertical or horizontal.
pub(crate) fn line<N: Number>(from: [i64; 2], to: [i64; 2]) -> Triple<N> {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let [a, b] = if dx == 0 || dy == 0 {
        [-dy.signum(), dx.signum()]
    } else {
        [-dy, dx]
    };
    [N::of(a), N::of(b), N::of(-(a * from[0] + b * from[1]))]
}

/// The bound within which three products of two numbers can be added.
const LONGEST: u64 = 1 << 62;

fn narrow(value: i128) -> Option<i64> {
    let narrow = i64::try_from(value).ok()?;
    (narrow.unsigned_abs() < LONGEST).then_some(narrow)
}

/// Products in 128 bits, results in 63.
impl Number for i64 {
    type Wide = i128;

    fn wide(triple: &Triple<Self>) -> Triple<i128> {
        triple.map(i128::from)
    }

    fn of(value: i64) -> Self {
        value
    }

    #[inline]
    fn cross(a: &Triple<Self>, b: &Triple<Self>) -> Option<Triple<Self>> {
        let minor = |i: usize, j: usize| {
            narrow(i128::from(a[i]) * i128::from(b[j]) - i128::from(a[j]) * i128::from(b[i]))
        };
        Some([minor(1, 2)?, minor(2, 0)?, minor(0, 1)?])
    }

    #[inline]
    fn side(line: &Triple<Self>, point: &Triple<Self>) -> Option<Ordering> {
        let product = |i: usize| i128::from(line[i]) * i128::from(point[i]);
        Some((product(0) + product(1) + product(2)).cmp(&0))
    }

    fn sum(a: &Triple<Self>, b: &Triple<Self>, weights: [i64; 2]) -> Option<Triple<Self>> {
        let [first, second] = weights.map(i128::from);
        let sum = |i: usize| narrow(first * i128::from(a[i]) + second * i128::from(b[i]));
        Some([sum(0)?, sum(1)?, sum(2)?])
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }

    #[inline]
    fn finite(point: Triple<Self>) -> Option<Triple<Self>> {
        // Within 63 bits nothing overflows.
        Some(if point[2] < 0 {
            point.map(|value| -value)
        } else {
            point
        })
    }

    fn ratio(numerator: &Self, denominator: &Self) -> f64 {
        *numerator as f64 / *denominator as f64
    }
}

impl Number for i128 {
    type Wide = BigInt;

    fn wide(triple: &Triple<Self>) -> Triple<BigInt> {
        triple.map(BigInt::from)
    }

    fn of(value: i64) -> Self {
        value.into()
    }

    fn cross(a: &Triple<Self>, b: &Triple<Self>) -> Option<Triple<Self>> {
        let minor = |i: usize, j: usize| {
            let (left, right) = (a[i].checked_mul(b[j])?, a[j].checked_mul(b[i])?);
            left.checked_sub(right)
        };
        Some([minor(1, 2)?, minor(2, 0)?, minor(0, 1)?])
    }

    fn side(line: &Triple<Self>, point: &Triple<Self>) -> Option<Ordering> {
        let product = |i: usize| line[i].checked_mul(point[i]);
        let sum = product(0)?.checked_add(product(1)?)?;
        Some(sum.checked_add(product(2)?)?.cmp(&0))
    }

    fn sum(a: &Triple<Self>, b: &Triple<Self>, weights: [i64; 2]) -> Option<Triple<Self>> {
        let sum = |i: usize| {
            let left = a[i].checked_mul(weights[0].into())?;
            left.checked_add(b[i].checked_mul(weights[1].into())?)
        };
        Some([sum(0)?, sum(1)?, sum(2)?])
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }

    fn finite(point: Triple<Self>) -> Option<Triple<Self>> {
        let [x, y, w] = point;
        if w < 0 {
            Some([x.checked_neg()?, y.checked_neg()?, w.checked_neg()?])
        } else {
            Some(point)
        }
    }

    fn ratio(numerator: &Self, denominator: &Self) -> f64 {
        *numerator as f64 / *denominator as f64
    }
}

/// Never too long.
impl Number for BigInt {
    type Wide = Self;

    fn wide(triple: &Triple<Self>) -> Triple<Self> {
        triple.clone()
    }

    fn of(value: i64) -> Self {
        value.into()
    }

    fn cross(a: &Triple<Self>, b: &Triple<Self>) -> Option<Triple<Self>> {
        let minor = |i: usize, j: usize| &a[i] * &b[j] - &a[j] * &b[i];
        Some([minor(1, 2), minor(2, 0), minor(0, 1)])
    }

    fn side(line: &Triple<Self>, point: &Triple<Self>) -> Option<Ordering> {
        let sum = &line[0] * &point[0] + &line[1] * &point[1] + &line[2] * &point[2];
        Some(sum.cmp(&Self::ZERO))
    }

    fn sum(a: &Triple<Self>, b: &Triple<Self>, weights: [i64; 2]) -> Option<Triple<Self>> {
        let sum = |i: usize| &a[i] * weights[0] + &b[i] * weights[1];
        Some([sum(0), sum(1), sum(2)])
    }

    fn is_zero(&self) -> bool {
        self.sign() == Sign::NoSign
    }

    fn finite(point: Triple<Self>) -> Option<Triple<Self>> {
        Some(if point[2].sign() == Sign::Minus {
            point.map(|value| -value)
        } else {
            point
        })
    }

    fn ratio(numerator: &Self, denominator: &Self) -> f64 {
        // Both are cut to what a float can hold: the quotient stays good to its last few bits.
        let excess = numerator.bits().max(denominator.bits()).saturating_sub(900);
        let float = |value: &Self| (value >> excess).to_f64().unwrap_or(f64::NAN);
        float(numerator) / float(denominator)
    }
}

#[cfg(test)]
mod tests;
