//! A rectangle of the screen.

/// A rectangle in screen pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Its left edge.
    pub x: i32,
    /// Its upper edge.
    pub y: i32,
    /// How many pixels it is wide.
    pub width: u32,
    /// How many pixels it is high.
    pub height: u32,
}

impl Rect {
    /// What both cover; `None`: nothing.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        let (x, width) = overlap((self.x, self.width), (other.x, other.width))?;
        let (y, height) = overlap((self.y, self.height), (other.y, other.height))?;
        Some(Self {
            x,
            y,
            width,
            height,
        })
    }

    /// What it has in common with that of some others with which it has most in common, such as the part on one monitor,
    /// and what comes with that one.
    pub(crate) fn largest_part<T>(
        self,
        others: impl Iterator<Item = (Self, T)>,
    ) -> Option<(Self, T)> {
        let parts = others.filter_map(|(other, of)| Some((self.intersection(other)?, of)));
        parts.max_by_key(|(part, _)| u64::from(part.width) * u64::from(part.height))
    }

    /// The smallest one that contains both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let (x, width) = hull((self.x, self.width), (other.x, other.width));
        let (y, height) = hull((self.y, self.height), (other.y, other.height));
        Self {
            x,
            y,
            width,
            height,
        }
    }

    /// Whether a pixel lies in it.
    #[must_use]
    pub fn contains(self, [x, y]: [i32; 2]) -> bool {
        let is_within = |at: i32, from: i32, length: u32| {
            at >= from && i64::from(at) < i64::from(from) + i64::from(length)
        };
        is_within(x, self.x, self.width) && is_within(y, self.y, self.height)
    }
}

/// Where two stretches (begin, length) overlap.
fn overlap(one: (i32, u32), other: (i32, u32)) -> Option<(i32, u32)> {
    let end = |(begin, length): (i32, u32)| i64::from(begin) + i64::from(length);
    let begin = one.0.max(other.0);
    let length = end(one).min(end(other)) - i64::from(begin);
    // It is no longer than the shorter of the two.
    let length = u32::try_from(length).ok()?;
    (length > 0).then_some((begin, length))
}

/// The stretch (begin, length) from where the first of two begins to where the last one ends.
fn hull(one: (i32, u32), other: (i32, u32)) -> (i32, u32) {
    let end = |(begin, length): (i32, u32)| i64::from(begin) + i64::from(length);
    let begin = one.0.min(other.0);
    let length = end(one).max(end(other)) - i64::from(begin);
    (begin, u32::try_from(length).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rects() -> impl Strategy<Value = Rect> {
        (-9..9, -9..9, 0u32..9, 0u32..9).prop_map(|(x, y, width, height)| Rect {
            x,
            y,
            width,
            height,
        })
    }

    proptest! {
        #[test]
        fn an_intersection_holds_what_both_hold(one in rects(), other in rects()) {
            let both = one.intersection(other);
            prop_assert_eq!(both, other.intersection(one));
            for point in (-9..18).flat_map(|x| (-9..18).map(move |y| [x, y])) {
                prop_assert_eq!(
                    both.is_some_and(|both| both.contains(point)),
                    one.contains(point) && other.contains(point)
                );
            }
        }
    }

    #[test]
    fn the_largest_do_not_overflow() {
        let far = Rect {
            x: i32::MAX,
            y: i32::MIN,
            width: u32::MAX,
            height: u32::MAX,
        };
        assert_eq!(far.intersection(far), Some(far));
        assert!(far.contains([i32::MAX, 0]));
    }
}
