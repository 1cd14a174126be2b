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
#[derive(Clone, Copy, PartialEq)]
pub enum Run {
    /// From left to right.
    Across,
    /// From top to bottom.
    Down,
}

impl Stretch {
    /// Looks at a stretch of a line.
    ///
    /// What lies outside of the board does not matter where it is brighter than the border: it may be a
    /// window or a caption.
    pub fn look(picture: &Picture<'_>, place: &Place, cell: f64) -> Self {
        let far = (BESIDE * cell).max(3.5).ceil() as i32;
        let profile: Vec<Option<[f64; 3]>> = (-far..=far)
            .map(|off| mean_along(picture, place, off))
            .collect();
        let at = |off: i32| profile.get((off + far) as usize).copied().flatten();
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
            for channel in 0..3 {
                let level = f64::midpoint(before[channel], after[channel]);
                let line = || (-reach..=reach).filter_map(at);
                let mass = line().map(|value| (value[channel] - level).max(0.0)).sum();
                let Some(peak) = line().max_by(|a, b| a[channel].total_cmp(&b[channel])) else {
                    continue;
                };
                let contrast = peak[channel] - before[channel].max(after[channel]);
                if contrast > best.contrast {
                    best = Self {
                        contrast,
                        mass,
                        colour: peak,
                        channel,
                        level,
                    };
                }
            }
        }
        best
    }

    /// How many pixels wide it is, if it has the colour that is given: whatever lies behind the line,
    /// and however its edges fall between pixels.
    pub fn thickness(&self, colour: [f64; 3]) -> f64 {
        let full = colour[self.channel];
        // Behind a bright tint too little is left to measure by.
        self.mass / (full - self.level).max(0.3 * full).max(1.0)
    }
}

/// The mean colour along a line's stretch, moved sideways by some pixels. `None` where that lies
/// outside of the picture.
fn mean_along(picture: &Picture<'_>, place: &Place, off: i32) -> Option<[f64; 3]> {
    let first = place.from.round();
    let last = place.to.round().max(first + 1.0);
    // More than a dozen points along a stretch tell nothing new.
    let stride = ((last - first) / 12.0).ceil().max(1.0);
    let across = place.line + f64::from(off);
    let (mut sum, mut count) = ([0.0; 3], 0.0);
    let mut along = first + 0.5;
    while along < last {
        let colour = match place.run {
            Run::Across => picture.at(along, across),
            Run::Down => picture.at(across, along),
        }?;
        for (sum, value) in sum.iter_mut().zip(colour) {
            *sum += f64::from(value);
        }
        count += 1.0;
        along += stride;
    }
    Some(sum.map(|sum| sum / count))
}

/// Whether a colour is brighter in every channel than another one.
fn brighter(a: [f64; 3], b: Option<[f64; 3]>) -> bool {
    b.is_some_and(|b| a.iter().zip(b).all(|(a, b)| *a > b))
}

fn darkest(values: impl Iterator<Item = [f64; 3]>) -> Option<[f64; 3]> {
    values.reduce(|a, b| std::array::from_fn(|channel| a[channel].min(b[channel])))
}
