//! Profiles: the mean colours across a stretch of a line.
//!
//! The profile of a dark line is inverted, so that a line is always brighter than its sides.

use std::ops::Range;

use flowpipe_plugin::puzzle::Point;

use crate::picture::Picture;
use crate::picture::cache::{Area, CacheKey};
use crate::picture::polarity::Polarity;

/// Where a stretch is: from one point to another, in frame pixels.
///
/// *Before* it is above a horizontal one and left of a vertical one; of a slanted one, left of somebody who walks
/// along it.
#[derive(Clone, Copy, Debug)]
pub struct StretchPlace {
    /// Where it begins; the upper or left end of one that is vertical or horizontal.
    pub from: Point,
    /// Where it ends.
    pub to: Point,
    /// On which side of it the board ends.
    pub outside: OuterSide,
    /// Whether the line is brighter or darker than its sides.
    pub polarity: Polarity,
}

/// On which side of a line the board ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterSide {
    /// It is inside the board, or that is unknown.
    Neither,
    /// Before it.
    Before,
    /// After it.
    After,
}

/// Which way a line runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Orientation {
    /// From left to right.
    Horizontal,
    /// From top to bottom.
    Vertical,
}

impl StretchPlace {
    /// A stretch of a horizontal or vertical line, with nothing known of its sides. `line`: the line's y when it
    /// runs across, its x when down.
    #[must_use]
    pub fn along(run: Orientation, line: f64, (from, to): (f64, f64), polarity: Polarity) -> Self {
        let point = |at: f64| match run {
            Orientation::Horizontal => [at, line],
            Orientation::Vertical => [line, at],
        };
        Self {
            from: point(from),
            to: point(to),
            outside: OuterSide::Neither,
            polarity,
        }
    }

    /// The part of it from one share of its length to another.
    #[must_use]
    pub fn part(&self, (from, to): (f64, f64)) -> Self {
        let point = |share: f64| {
            let along = |axis: usize| self.from[axis] + share * (self.to[axis] - self.from[axis]);
            [along(0), along(1)]
        };
        Self {
            from: point(from),
            to: point(to),
            ..*self
        }
    }

    /// The same, moved by `by` pixels: downwards where it is horizontal, to the right where it is vertical.
    #[must_use]
    pub fn moved(&self, by: f64) -> Self {
        let axis = self.axis().map_or(0, |axis| 1 - axis);
        let mut moved = *self;
        for point in [&mut moved.from, &mut moved.to] {
            point[axis] += by;
        }
        moved
    }

    /// What its reading depends on besides pixels. `cell`: how large cells are, in pixels.
    #[must_use]
    pub fn key(&self, cell: f64) -> CacheKey {
        let [from, to] = match self.axis() {
            // Of horizontal and vertical ones whole pixels are examined.
            Some(axis) => {
                let (from, to) = (self.from[axis].round(), self.to[axis].round());
                let line = self.from[1 - axis].floor();
                match axis {
                    0 => [[from, line], [to, line]],
                    _ => [[line, from], [line, to]],
                }
            }
            None => [self.from, self.to],
        };
        let kind = f64::from(3 * self.polarity as u8 + self.outside as u8);
        CacheKey::new([from[0], from[1], to[0], to[1], cell, kind])
    }

    /// All pixels that its profile is taken of. `far`: to both sides.
    #[must_use]
    pub fn area(&self, far: i32) -> Area {
        let middle = [0, 1].map(|axis| f64::midpoint(self.from[axis], self.to[axis]));
        // A pixel more, for places between pixels are mixed of those around.
        let reach = |axis: usize| (self.to[axis] - self.from[axis]).abs() / 2.0 + 1.0;
        let far = f64::from(far);
        let aside = match self.axis() {
            Some(axis) => [[0.0, far], [far, 0.0]][axis],
            None => [far; 2],
        };
        Area::around(middle, [reach(0) + aside[0], reach(1) + aside[1]])
    }

    /// 0 of a horizontal one, 1 of a vertical one, `None` of a slanted one.
    #[must_use]
    pub fn axis(&self) -> Option<usize> {
        match [0, 1].map(|axis| self.to[axis] == self.from[axis]) {
            [true, _] => Some(1),
            [_, true] => Some(0),
            _ => None,
        }
    }

    /// The mean colours along the stretch, moved sideways by each number of pixels up to `far`, to both
    /// sides, inverted for dark lines so that lines are always bright.
    #[must_use]
    pub fn profile(&self, picture: &Picture<'_>, far: i32) -> Profile {
        let mut profile = match self.axis() {
            Some(axis) => self.straight(picture, far, axis),
            None => self.slanted(picture, far),
        };
        if self.polarity == Polarity::Dark {
            for value in profile.colours.iter_mut().flatten() {
                *value = 255.0 - *value;
            }
        }
        profile
    }

    /// Of a horizontal or vertical one. `axis`: 0 of a horizontal one.
    fn straight(&self, picture: &Picture<'_>, far: i32, axis: usize) -> Profile {
        let first = self.from[axis].round() as i64;
        let length = (self.to[axis].round() as i64 - first).max(1);
        // More than a dozen points along a stretch add nothing.
        let stride = (length + 11) / 12;
        let count = (length + stride - 1) / stride;
        let line = self.from[1 - axis].floor() as i64;
        let edge = [picture.height(), picture.width()][axis] as i64;
        let from = (line - i64::from(far)).max(0);
        let to = (line + i64::from(far) + 1).min(edge).max(from);
        let point = |along: i64, aside: i64| match axis {
            0 => [along, aside],
            _ => [aside, along],
        };
        let along = (point(stride, 0), count as u32);
        let aside = (point(0, 1), (to - from) as u32);
        let mut sums = Vec::with_capacity((to - from) as usize);
        picture.sums_of_rows(point(first, from), along, aside, &mut sums);
        let share = 1.0 / count as f64;
        let mean = |sum: [u16; 3]| sum.map(|sum| f64::from(sum) * share);
        Profile {
            first: (from - line) as i32,
            colours: sums.into_iter().map(mean).collect(),
        }
    }

    /// Of a slanted one.
    fn slanted(&self, picture: &Picture<'_>, far: i32) -> Profile {
        let [dx, dy] = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        let length = dx.hypot(dy);
        let count = length.ceil().clamp(1.0, 12.0);
        let (along, aside) = ([dx / length, dy / length], [-dy / length, dx / length]);
        let mean = |off: i32| {
            let mut sum = [0_u16; 3];
            for index in 0..count as u32 {
                let far = (f64::from(index) + 0.5) / count * length;
                let at = |axis: usize| {
                    self.from[axis] + far * along[axis] + f64::from(off) * aside[axis]
                };
                let colour = picture.between(at(0), at(1))?;
                for (sum, value) in sum.iter_mut().zip(colour) {
                    *sum += u16::from(value);
                }
            }
            Some(sum.map(|sum| f64::from(sum) / count))
        };
        let mut profile = Profile {
            first: -far,
            colours: Vec::with_capacity(2 * far as usize + 1),
        };
        // What lies in the picture hangs together.
        for off in -far..=far {
            match mean(off) {
                Some(colour) => profile.colours.push(colour),
                None if profile.colours.is_empty() => profile.first = off + 1,
                None => break,
            }
        }
        profile
    }
}

/// Mean colours along a stretch that is moved sideways, as far as it lies in the picture then.
pub struct Profile {
    /// By how many pixels the first one is moved.
    first: i32,
    colours: Vec<[f64; 3]>,
}

impl Profile {
    /// Moved by a number of pixels. `None` where that lies outside of the picture.
    #[must_use]
    pub fn at(&self, off: i32) -> Option<[f64; 3]> {
        let index = usize::try_from(off - self.first).ok()?;
        self.colours.get(index).copied()
    }

    /// Moved by one number of pixels up to, but not with, another one, what lies in the picture.
    #[must_use]
    pub fn range(&self, offs: Range<i32>) -> &[[f64; 3]] {
        let most = self.colours.len() as i32;
        let [from, to] = [offs.start, offs.end].map(|off| (off - self.first).clamp(0, most));
        &self.colours[from as usize..to.max(from) as usize]
    }
}
