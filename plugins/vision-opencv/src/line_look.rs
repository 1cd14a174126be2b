//! How a stretch of a line looks: how far it stands out from both of its sides.

use crate::picture::Picture;

/// How wide lines are thought to be, in cells to each side of their place: single ones first, then
/// those that are drawn double.
const REACHES: [f64; 2] = [0.02, 0.05];
/// What lies beside a line is searched up to this far from it, in cells.
const BESIDE: f64 = 0.14;
/// One stretch of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// Levels above the brighter side of it.
    pub contrast: f64,
    /// Levels above its surroundings, summed across it: brightness times pixels.
    mass: f64,
    /// Red, green and blue where it stands out most.
    pub colour: [f64; 3],
    /// The channel in which it does, from 0.
    channel: usize,
    /// The level of its surroundings in that channel.
    level: f64,
    /// The brighter side of it, by channel.
    beside: [f64; 3],
}

/// Where a stretch is, in frame pixels.
pub struct Place {
    /// Which way the line runs.
    pub run: Run,
    /// The line's y when it runs across, its x when down.
    pub line: f64,
    /// Where it begins along the line.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// On which side of it the board ends.
    pub outside: Outside,
}

/// On which side of a line the board ends.
#[derive(Clone, Copy)]
pub enum Outside {
    /// It is inside the board.
    Neither,
    /// To the left or above.
    Before,
    /// To the right or below.
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
    /// The mean colours along the stretch, moved sideways by each number of pixels up to `far`, to both
    /// sides. `None` where that lies outside of the picture.
    #[must_use]
    pub fn profile(&self, picture: &Picture<'_>, far: i32) -> Vec<Option<[f64; 3]>> {
        let first = self.from.round() as i64;
        let length = (self.to.round() as i64 - first).max(1);
        // More than a dozen points along a stretch tell nothing new.
        let stride = (length + 11) / 12;
        let count = (length + stride - 1) / stride;
        let share = 1.0 / count as f64;
        let line = self.line.floor() as i64;
        let mean = |off: i32| {
            let across = line + i64::from(off);
            let sum = match self.run {
                Run::Across => picture.sum([first, across], [stride, 0], count as u32),
                Run::Down => picture.sum([across, first], [0, stride], count as u32),
            };
            sum.map(|sum| sum.map(|sum| f64::from(sum) * share))
        };
        (-far..=far).map(mean).collect()
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
                let mass = line().map(|value| (value[channel] - level).max(0.0)).sum();
                let Some(peak) = line().max_by(|a, b| a[channel].total_cmp(&b[channel])) else {
                    continue;
                };
                let contrast = peak[channel] - beside[channel];
                if contrast > best.contrast {
                    best = Self {
                        contrast,
                        mass,
                        colour: peak,
                        channel,
                        level,
                        beside,
                    };
                }
            }
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
