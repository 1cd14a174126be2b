//! Rectangles of whole pixels.

/// A rectangle of whole pixels of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Area {
    /// First column.
    pub left: u32,
    /// First row.
    pub top: u32,
    /// Columns, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
}

impl Area {
    /// All of a picture of a width and height in pixels.
    #[must_use]
    pub fn whole((width, height): (u32, u32)) -> Self {
        Self {
            left: 0,
            top: 0,
            width,
            height,
        }
    }

    /// The pixels from left to right and top to bottom, whose borders are rounded to whole pixels,
    /// within a picture of a width and height. `None` where there are none.
    pub(super) fn between(
        [left, top]: [f64; 2],
        [right, bottom]: [f64; 2],
        (width, height): (u32, u32),
    ) -> Option<Self> {
        // The casts saturate.
        let across = [left, right].map(|x| (x.round() as u32).min(width));
        let down = [top, bottom].map(|y| (y.round() as u32).min(height));
        let area = Self {
            left: across[0],
            top: down[0],
            width: across[1].saturating_sub(across[0]),
            height: down[1].saturating_sub(down[0]),
        };
        (area.width > 0 && area.height > 0).then_some(area)
    }

    /// The column past the last.
    #[must_use]
    pub fn right(self) -> u32 {
        self.left + self.width
    }

    /// The row past the last.
    #[must_use]
    pub fn bottom(self) -> u32 {
        self.top + self.height
    }

    /// Whether both have pixels in common.
    pub(super) fn touches(self, other: Self) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_rounded_and_stay_inside() {
        let between = |a, b| Area::between(a, b, (10, 10));
        let area = |left, top, width, height| Area {
            left,
            top,
            width,
            height,
        };
        assert_eq!(between([1.4, 2.5], [4.6, 5.4]), Some(area(1, 3, 4, 2)));
        assert_eq!(between([-3.0, 8.0], [2.0, 99.0]), Some(area(0, 8, 2, 2)));
        assert_eq!(between([3.1, 3.0], [3.4, 9.0]), None);
        assert_eq!(between([12.0, 0.0], [14.0, 2.0]), None);
        assert!(area(1, 3, 4, 2).touches(area(0, 4, 2, 3)));
        assert!(!area(1, 3, 4, 2).touches(area(0, 5, 9, 3)));
        assert_eq!(Area::whole((10, 10)), area(0, 0, 10, 10));
    }
}
