//! How a stretch of a line looks: how far it stands out from both of its sides.
//!
//! Dark lines are seen as bright ones in a picture turned round: all colours here are as bright as the line's
//! ink is strong.

use std::ops::Range;

use flowpipe_plugin::puzzle::Point;

use crate::find::lines::Ink;
use crate::picture::Picture;
use crate::picture::cache::{Area, Key};

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
    pub widths: Widths,
    /// Red, green and blue where it stands out most.
    pub colour: [f64; 3],
    /// The channel in which it does, from 0.
    channel: usize,
    /// The level of its surroundings in that channel.
    level: f64,
    /// The brighter side of it, by channel.
    beside: [f64; 3],
}

/// How many pixels wide a line is, in the channel that shows least of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widths {
    /// Had all of it the brightness of its peak.
    pub whole: f64,
    /// Of what is brighter than half of that alone: what a glow around the line leaves as it is.
    pub core: f64,
}

/// Where a stretch is: from one point to another, in frame pixels.
///
/// *Before* it is above a horizontal one and left of a vertical one; of one aslant, left of somebody who walks
/// along it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it begins; the upper or left end of one that is vertical or horizontal.
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
    /// It is inside the board, or that is unknown.
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
    /// A stretch of a horizontal or vertical line, with nothing known of its sides. `line`: the line's y when it
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

    /// The same so many pixels downwards where it is horizontal, to the right where it is vertical.
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
    pub fn key(&self, cell: f64) -> Key {
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
        let kind = f64::from(3 * self.ink as u8 + self.outside as u8);
        Key::new([from[0], from[1], to[0], to[1], cell, kind])
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

    /// 0 of a horizontal one, 1 of a vertical one, `None` of one aslant.
    #[must_use]
    pub fn axis(&self) -> Option<usize> {
        match [0, 1].map(|axis| self.to[axis] == self.from[axis]) {
            [true, _] => Some(1),
            [_, true] => Some(0),
            _ => None,
        }
    }

    /// The mean colours along the stretch, moved sideways by each number of pixels up to `far`, to both
    /// sides, turned round for dark ink so that lines are always bright.
    #[must_use]
    pub fn profile(&self, picture: &Picture<'_>, far: i32) -> Profile {
        let mut profile = match self.axis() {
            Some(axis) => self.straight(picture, far, axis),
            None => self.aslant(picture, far),
        };
        if self.ink == Ink::Dark {
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

    /// Of one aslant.
    fn aslant(&self, picture: &Picture<'_>, far: i32) -> Profile {
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

impl Stretch {
    /// Examines a stretch of a line.
    ///
    /// What lies outside of the board does not matter where it hides the border: it may be a window, a caption, or
    /// the desktop around a phone's screen.
    pub fn look(picture: &Picture<'_>, place: &Place, cell: f64) -> Self {
        let far = (BESIDE * cell).max(3.5).ceil() as i32;
        picture.recall(
            |memory| &memory.stretches,
            || (place.key(cell), place.area(far)),
            || Self::measure(picture, place, cell, far),
        )
    }

    fn measure(picture: &Picture<'_>, place: &Place, cell: f64, far: i32) -> Self {
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
                Outside::Before if hides(before, after, profile.at(0)) => (after, after),
                Outside::After if hides(after, before, profile.at(0)) => (before, before),
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
                        widths: Widths::default(),
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

    /// By how much of its own contrast a colour stands out here.
    pub fn share_of(&self, colour: [f64; 3]) -> f64 {
        (colour[self.channel] - self.beside[self.channel]) / self.contrast.max(1.0)
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
fn widths(line: &[[f64; 3]], beside: [f64; 3]) -> Widths {
    let channels = [0, 1, 2].map(|channel: usize| {
        let over = move |colour: &[f64; 3]| (colour[channel] - beside[channel]).max(0.0);
        (line.iter().map(over).fold(0.0, f64::max), over)
    });
    let most = channels
        .iter()
        .fold(1.0, |most: f64, (peak, _)| most.max(*peak));
    let shown = channels.iter().filter(|(peak, _)| *peak >= SHOWN * most);
    let widths = shown.map(|(peak, over)| Widths {
        whole: line.iter().map(|colour| over(colour) / peak).sum(),
        core: line
            .iter()
            .map(|colour| (2.0 * over(colour) / peak - 1.0).max(0.0))
            .sum(),
    });
    let least = widths.reduce(|a, b| Widths {
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
