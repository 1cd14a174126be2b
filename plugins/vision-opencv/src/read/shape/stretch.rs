//! The appearance of a stretch of a line: its contrast with both sides, its width and colour.
//!
//! The profile of a dark line is inverted, so that a line is always brighter than its sides.

use crate::find::profile::{OuterSide, StretchPlace};
use crate::picture::Picture;
use crate::picture::cache::Measurement;

/// How wide lines are thought to be, in cells to each side of their place: single ones first, then
/// those that are drawn double.
const REACHES: [f64; 2] = [0.02, 0.05];
/// Lines are at most so thick to each side of their place, in cells.
const THICKEST: f64 = 0.06;
/// What lies beside a line is searched up to this far from it, in cells.
const BESIDE: f64 = 0.14;
/// Channels in which a line stands out by this share of its best one show its width.
const SHOWN: f64 = 0.5;

/// What lies outside of a board hides its border where that stands out from it by this share of what it does from
/// the inside.
const HIDES: f64 = 0.5;

/// One stretch of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// Levels above the brighter side of it.
    pub contrast: f64,
    /// Levels above its surroundings, summed across it: brightness times pixels.
    pub mass: f64,
    /// How wide it is where it is brighter than its brighter side.
    pub widths: LineWidths,
    /// Red, green and blue where it stands out most.
    pub colour: [f64; 3],
    /// The channel in which it does, from 0.
    channel: usize,
    /// The level of its surroundings in that channel.
    level: f64,
    /// The brighter side of it, by channel.
    beside: [f64; 3],
}

impl Measurement for Stretch {
    type Value = Self;
}

/// How many pixels wide a line is, in the channel that shows least of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineWidths {
    /// Had all of it the brightness of its peak.
    pub whole: f64,
    /// Of what is brighter than half of that alone: what a glow around the line leaves as it is.
    pub core: f64,
}

impl Stretch {
    /// Examines a stretch of a line.
    ///
    /// What lies outside of the board does not matter where it hides the border: it may be a window, a caption, or
    /// the desktop around a phone's screen.
    pub fn look(picture: &Picture<'_>, place: &StretchPlace, cell: f64) -> Self {
        let far = (BESIDE * cell).max(3.5).ceil() as i32;
        picture.recall::<Stretch>(
            || (place.key(cell), place.area(far)),
            || Self::measure(picture, place, cell, far),
        )
    }

    fn measure(picture: &Picture<'_>, place: &StretchPlace, cell: f64, far: i32) -> Self {
        let profile = place.profile(picture, far);
        let mut best = Self::default();
        for reach in REACHES {
            let reach = (reach * cell).max(1.0).round() as i32;
            // A caption close to the border is brighter than the gap between: the darkest counts.
            let before = darkest(profile.range(-far..-reach));
            let after = darkest(profile.range(reach + 1..far + 1));
            // What lies outside of the picture counts as what lies on the line's other side.
            let (Some(before), Some(after)) = (before.or(after), after.or(before)) else {
                continue;
            };
            let (before, after) = match place.outside {
                OuterSide::Before if hides(before, after, profile.at(0)) => (after, after),
                OuterSide::After if hides(after, before, profile.at(0)) => (before, before),
                _ => (before, after),
            };
            let beside = [0, 1, 2].map(|channel: usize| before[channel].max(after[channel]));
            if best.contrast <= 0.0 {
                best.beside = beside;
            }
            let line = profile.range(-reach..reach + 1);
            let Some(mut peaks) = line.first().map(|first| [*first; 3]) else {
                continue;
            };
            for colour in line {
                for (channel, peak) in peaks.iter_mut().enumerate() {
                    if colour[channel] >= peak[channel] {
                        *peak = *colour;
                    }
                }
            }
            for (channel, peak) in peaks.into_iter().enumerate() {
                let contrast = peak[channel] - beside[channel];
                if contrast > best.contrast {
                    best = Self {
                        contrast,
                        mass: 0.0,
                        widths: LineWidths::default(),
                        colour: peak,
                        channel,
                        level: f64::midpoint(before[channel], after[channel]),
                        beside,
                    };
                }
            }
        }
        // An outline may be some times as thick as the lines inside.
        let wide = ((THICKEST * cell).round() as i32).clamp(2, far - 1);
        let before = darkest(profile.range(-far..-wide));
        let after = darkest(profile.range(wide + 1..far + 1));
        if let Some((before, after)) = before.or(after).zip(after.or(before)) {
            let channel = best.channel;
            for (offs, behind) in [
                (-wide..0, before[channel]),
                (0..1, best.level),
                (1..wide + 1, after[channel]),
            ] {
                for value in profile.range(offs) {
                    best.mass += (value[channel] - behind).max(0.0);
                }
            }
            let brighter = [0, 1, 2].map(|channel: usize| before[channel].max(after[channel]));
            best.widths = widths(profile.range(-wide..wide + 1), brighter);
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

/// The widths of a line over what is beside it. A light of another colour does not show in all channels.
fn widths(line: &[[f64; 3]], beside: [f64; 3]) -> LineWidths {
    let channels = [0, 1, 2].map(|channel: usize| {
        let over = move |colour: &[f64; 3]| (colour[channel] - beside[channel]).max(0.0);
        (line.iter().map(over).fold(0.0, f64::max), over)
    });
    let most = channels
        .iter()
        .fold(1.0, |most: f64, (peak, _)| most.max(*peak));
    let shown = channels.iter().filter(|(peak, _)| *peak >= SHOWN * most);
    let widths = shown.map(|(peak, over)| LineWidths {
        whole: line.iter().map(|colour| over(colour) / peak).sum(),
        core: line
            .iter()
            .map(|colour| (2.0 * over(colour) / peak - 1.0).max(0.0))
            .sum(),
    });
    let least = widths.reduce(|a, b| LineWidths {
        whole: a.whole.min(b.whole),
        core: a.core.min(b.core),
    });
    least.unwrap_or_default()
}

/// Whether a border line stands out much less from what lies outside of a board than from what lies inside.
fn hides(outside: [f64; 3], inside: [f64; 3], line: Option<[f64; 3]>) -> bool {
    let over = |line: [f64; 3], side: [f64; 3]| {
        let over = line.into_iter().zip(side).map(|(line, side)| line - side);
        over.fold(0.0, f64::max)
    };
    line.is_some_and(|line| over(line, outside) <= HIDES * over(line, inside))
}

fn darkest(values: &[[f64; 3]]) -> Option<[f64; 3]> {
    let (first, rest) = values.split_first()?;
    let mut darkest = *first;
    for value in rest {
        for (least, value) in darkest.iter_mut().zip(value) {
            // `min` minds what is no number, which nothing here can be.
            *least = if value < least { *value } else { *least };
        }
    }
    Some(darkest)
}
