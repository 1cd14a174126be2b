//! Segments of vertical and horizontal lines.

/// A straight line, in frame pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its middle, across it.
    pub at: f64,
    /// Where it begins along itself.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// How many pixels it is wide.
    pub width: f64,
    /// How many levels of grey it stands out by.
    pub contrast: f64,
}

impl Segment {
    /// A line two pixels wide that stands out clearly.
    #[cfg(test)]
    pub fn sample(at: f64, from: f64, to: f64) -> Self {
        Self {
            at,
            from,
            to,
            width: 2.0,
            contrast: 50.0,
        }
    }

    /// Pixels from end to end.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.to - self.from
    }

    /// How many pixels long two parallel lines lie beside each other.
    #[must_use]
    pub fn beside(&self, other: &Self) -> f64 {
        self.to.min(other.to) - self.from.max(other.from)
    }
}

/// Horizontal lines of a picture of a height, from top to bottom, as the vertical ones, from left to
/// right, that they are in the picture turned clockwise.
#[must_use]
pub fn vertical(horizontal: &[Segment], height: usize) -> Vec<Segment> {
    let turned = |run: &Segment| Segment {
        at: height as f64 - run.at,
        ..*run
    };
    horizontal.iter().rev().map(turned).collect()
}

/// Vertical lines of a picture of a height, from left to right, as the horizontal ones, from top to
/// bottom, that they are in the picture turned clockwise.
#[must_use]
pub fn horizontal(vertical: &[Segment], height: usize) -> Vec<Segment> {
    let turned = |run: &Segment| Segment {
        from: height as f64 - run.to,
        to: height as f64 - run.from,
        ..*run
    };
    vertical.iter().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::rotation::back;

    #[test]
    fn lines_are_turned_as_pictures_are() {
        let line = Segment {
            at: 10.0,
            from: 20.0,
            to: 50.0,
            width: 2.0,
            contrast: 9.0,
        };
        let (turned, [x, y]) = (vertical(&[line], 80)[0], [70.0, 20.0]);
        assert_eq!([turned.at, turned.from], [x, y]);
        assert_eq!(back([x, y], 80), [line.from, line.at]);
        let turned = horizontal(&[line], 80)[0];
        assert_eq!((turned.at, turned.from, turned.to), (10.0, 30.0, 60.0));
        assert_eq!(back([turned.from, turned.at], 80), [line.at, line.to]);
    }
}
