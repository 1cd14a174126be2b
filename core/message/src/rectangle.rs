//! A part of a picture.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Point;

/// A part of a picture, its sides parallel to the picture's, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rectangle {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// From the left edge to the right one.
    pub width: f64,
    /// From the upper edge to the lower one.
    pub height: f64,
}

impl Rectangle {
    /// The rectangle with these edges and sizes, in pixels.
    #[must_use]
    pub const fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    /// The smallest rectangle around points. `None`: there are none.
    #[must_use]
    pub fn around(points: &[Point]) -> Option<Self> {
        let &[first, ..] = points else { return None };
        let least = |axis: usize| {
            points
                .iter()
                .fold(first[axis], |it, point| it.min(point[axis]))
        };
        let most = |axis: usize| {
            points
                .iter()
                .fold(first[axis], |it, point| it.max(point[axis]))
        };
        let (x, y) = (least(0), least(1));
        Some(Self::new(x, y, most(0) - x, most(1) - y))
    }

    /// Whether another rectangle lies inside it.
    #[must_use]
    pub fn contains_all_of(&self, other: &Self) -> bool {
        // What rounding adds is less than that, in pixels.
        const ROUNDING: f64 = 1e-6;
        let reaches = |from: f64, length: f64, other_from: f64, other_length: f64| {
            other_from >= from - ROUNDING && other_from + other_length <= from + length + ROUNDING
        };
        reaches(self.x, self.width, other.x, other.width)
            && reaches(self.y, self.height, other.y, other.height)
    }

    /// Its corners: top left, top right, bottom right, bottom left.
    #[must_use]
    pub fn corners(&self) -> [Point; 4] {
        let Self {
            x,
            y,
            width,
            height,
        } = *self;
        [
            [x, y],
            [x + width, y],
            [x + width, y + height],
            [x, y + height],
        ]
    }

    /// Whether both cover a part of the picture.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: (f64, f64), other: (f64, f64)| {
            one.0 < other.0 + other.1 && other.0 < one.0 + one.1
        };
        meet((self.x, self.width), (other.x, other.width))
            && meet((self.y, self.height), (other.y, other.height))
    }

    /// Whether a point lies in it; the right and the lower edge do not belong to it.
    #[must_use]
    pub fn contains(&self, [x, y]: Point) -> bool {
        let inside = |value: f64, from: f64, length: f64| from <= value && value < from + length;
        inside(x, self.x, self.width) && inside(y, self.y, self.height)
    }

    /// Whether all its numbers are finite and it covers some area.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        [self.x, self.y, self.width, self.height]
            .iter()
            .all(|value| value.is_finite())
            && self.width > 0.0
            && self.height > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_it_on_one_side() {
        let it = Rectangle::new(10.0, 20.0, 5.0, 2.0);
        for (point, expected) in [
            ([10.0, 20.0], true),
            ([14.99, 21.99], true),
            ([15.0, 20.0], false),
            ([10.0, 22.0], false),
            ([9.99, 20.0], false),
            ([f64::NAN, 20.0], false),
        ] {
            assert_eq!(it.contains(point), expected, "{point:?}");
        }
        assert!(it.is_valid());
        assert!(!Rectangle::new(0.0, 0.0, 0.0, 1.0).is_valid());
        assert!(!Rectangle::new(0.0, f64::INFINITY, 1.0, 1.0).is_valid());
    }

    #[test]
    fn the_rectangle_around_its_corners_is_itself() {
        let it = Rectangle::new(-3.0, 4.0, 5.0, 2.5);
        assert_eq!(Rectangle::around(&it.corners()), Some(it));
        assert_eq!(Rectangle::around(&[]), None);
    }
}
