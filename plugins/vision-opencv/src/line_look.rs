//! How a stretch of a line looks: how far it stands out from both of its sides.
//!
//! Dark lines are seen as bright ones in a picture turned round: all colours here are as bright as the line's
//! ink is strong.

use flowpipe_plugin::puzzle::Point;

use crate::picture::Picture;
use crate::runs::Ink;

/// How wide lines are thought to be, in cells to each side of their place: single ones first, then
/// those that are drawn double.
const REACHES: [f64; 2] = [0.02, 0.05];
/// Lines are at most so thick to each side of their place, in cells.
const THICKEST: f64 = 0.06;
/// What lies beside a line is searched up to this far from it, in cells.
const BESIDE: f64 = 0.14;
/// One stretch of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// Levels above the brighter side of it.
    pub contrast: f64,
    /// Levels above its surroundings, summed across it: brightness times pixels.
    pub mass: f64,
    /// How many pixels wide it is as far as it is brighter than its brighter side, had all of them the peak's
    /// brightness.
    pub width: f64,
    /// Red, green and blue where it stands out most.
    pub colour: [f64; 3],
    /// The channel in which it does, from 0.
    channel: usize,
    /// The level of its surroundings in that channel.
    level: f64,
    /// The brighter side of it, by channel.
    beside: [f64; 3],
}

/// Where a stretch is: from one point to another, in frame pixels.
///
/// *Before* it is above a level one and left of an upright one; of one aslant, left of somebody who walks
/// along it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it begins; the upper or left end of one that is upright or level.
    pub from: Point,
    /// Where it ends.
    pub to: Point,
    /// On which side of it the board ends.
    pub outside: Outside,
    /// Whether the line is brighter or darker than its sides.
    pub ink: Ink,
}

/// On which side of a line the board ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It is inside the board, or nobody knows.
    Neither,
    /// Before it.
    Before,
    /// After it.
    After,
}

/// Which way a line runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Run {
    /// From left to right.
    Across,
    /// From top to bottom.
    Down,
}

impl Place {
    /// A stretch of a level or upright line, with nothing known of its sides. `line`: the line's y when it
    /// runs across, its x when down.
    #[must_use]
    pub fn along(run: Run, line: f64, (from, to): (f64, f64), ink: Ink) -> Self {
        let point = |at: f64| match run {
            Run::Across => [at, line],
            Run::Down => [line, at],
        };
        Self {
            from: point(from),
            to: point(to),
            outside: Outside::Neither,
            ink,
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

    /// The mean colours along the stretch, moved sideways by each number of pixels up to `far`, to both
    /// sides, turned round for dark ink so that lines are always bright. `None` where that lies outside of
    /// the picture.
    #[must_use]
    pub fn profile(&self, picture: &Picture<'_>, far: i32) -> Vec<Option<[f64; 3]>> {
        let [dx, dy] = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        let axis = usize::from(dx == 0.0);
        let means: Vec<Option<[f64; 3]>> = if dx == 0.0 || dy == 0.0 {
            let first = self.from[axis].round() as i64;
            let length = (self.to[axis].round() as i64 - first).max(1);
            // More than a dozen points along a stretch tell nothing new.
            let stride = (length + 11) / 12;
            let count = (length + stride - 1) / stride;
            let share = 1.0 / count as f64;
            let line = self.from[1 - axis].floor() as i64;
            let mean = |off: i32| {
                let across = line + i64::from(off);
                let sum = match axis {
                    0 => picture.sum([first, across], [stride, 0], count as u32),
                    _ => picture.sum([across, first], [0, stride], count as u32),
                };
                sum.map(|sum| sum.map(|sum| f64::from(sum) * share))
            };
            (-far..=far).map(mean).collect()
        } else {
            let length = dx.hypot(dy);
            let count = length.ceil().clamp(1.0, 12.0);
            let (along, aside) = ([dx / length, dy / length], [-dy / length, dx / length]);
            let mean = |off: i32| {
                let mut sum = [0.0; 3];
                for index in 0..count as u32 {
                    let far = (f64::from(index) + 0.5) / count * length;
                    let at = |axis: usize| {
                        self.from[axis] + far * along[axis] + f64::from(off) * aside[axis]
                    };
                    let colour = picture.between(at(0), at(1))?;
                    for (sum, value) in sum.iter_mut().zip(colour) {
                        *sum += f64::from(value) / count;
                    }
                }
                Some(sum)
            };
            (-far..=far).map(mean).collect()
        };
        let turned = |mean: Option<[f64; 3]>| match self.ink {
            Ink::Bright => mean,
            Ink::Dark => mean.map(|mean| mean.map(|value| 255.0 - value)),
        };
        means.into_iter().map(turned).collect()
    }
}

impl Stretch {
    /// Looks at a stretch of a line.
    ///
    /// What lies outside of the board does not matter where it is brighter than the border: it may be a
    /// window or a caption.
    pub fn look(picture: &Picture<'_>, place: &Place, cell: f64) -> Self {
        let far = (BESIDE * cell).max(3.5).ceil() as i32;
        let profile = place.profile(picture, far);
        let at = |off: i32| profile[(off + far) as usize];
        let mut best = Self::default();
        for reach in REACHES {
            let reach = (reach * cell).max(1.0).round() as i32;
            // A caption close to the border is brighter than the gap between: the darkest counts.
            let before = darkest((-far..-reach).filter_map(at));
            let after = darkest((reach + 1..=far).filter_map(at));
            // What lies outside of the picture counts as what lies on the line's other side.
            let (Some(before), Some(after)) = (before.or(after), after.or(before)) else {
                continue;
            };
            let (before, after) = match place.outside {
                Outside::Before if brighter(before, at(0)) => (after, after),
                Outside::After if brighter(after, at(0)) => (before, before),
                _ => (before, after),
            };
            let beside = [0, 1, 2].map(|channel: usize| before[channel].max(after[channel]));
            if best.contrast <= 0.0 {
                best.beside = beside;
            }
            for channel in 0..3 {
                let level = f64::midpoint(before[channel], after[channel]);
                let line = || (-reach..=reach).filter_map(at);
                let Some(peak) = line().max_by(|a, b| a[channel].total_cmp(&b[channel])) else {
                    continue;
                };
                let contrast = peak[channel] - beside[channel];
                if contrast > best.contrast {
                    best = Self {
                        contrast,
                        mass: 0.0,
                        width: 0.0,
                        colour: peak,
                        channel,
                        level,
                        beside,
                    };
                }
            }
        }
        // An outline may be some times as thick as the lines inside.
        let wide = ((THICKEST * cell).round() as i32).clamp(2, far - 1);
        let (before, after) = (
            darkest((-far..-wide).filter_map(at)),
            darkest((wide + 1..=far).filter_map(at)),
        );
        if let Some((before, after)) = before.or(after).zip(after.or(before)) {
            let channel = best.channel;
            let behind = |off: i32| match off.signum() {
                -1 => before[channel],
                0 => best.level,
                _ => after[channel],
            };
            let over =
                |off: i32| at(off).map_or(0.0, |value| (value[channel] - behind(off)).max(0.0));
            best.mass = (-wide..=wide).map(over).sum();
            let brighter = before[channel].max(after[channel]);
            let peak = (-wide..=wide).filter_map(at).map(|value| value[channel]);
            let height = peak.clone().fold(brighter, f64::max) - brighter;
            let area: f64 = peak.map(|value| (value - brighter).max(0.0)).sum();
            best.width = area / height.max(1.0);
        }
        best
    }

    /// By how much a line of a colour would stand out here, in levels of its best channel.
    pub fn room_for(&self, colour: [f64; 3]) -> f64 {
        let room = colour.iter().zip(self.beside);
        room.map(|(line, beside)| line - beside)
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// How many pixels wide it is, if it has the colour that is given: whatever lies behind the line,
    /// and however its edges fall between pixels.
    pub fn thickness(&self, colour: [f64; 3]) -> f64 {
        let full = colour[self.channel];
        // Behind a bright tint too little is left to measure by.
        self.mass / (full - self.level).max(0.3 * full).max(1.0)
    }
}

/// Whether a colour is brighter in every channel than another one.
fn brighter(a: [f64; 3], b: Option<[f64; 3]>) -> bool {
    b.is_some_and(|b| a.iter().zip(b).all(|(a, b)| *a > b))
}

fn darkest(values: impl Iterator<Item = [f64; 3]>) -> Option<[f64; 3]> {
    values.reduce(|a, b| std::array::from_fn(|channel| a[channel].min(b[channel])))
}
