//! The positions of the lines of a board, to a fraction of a pixel: whether it is where it was, and whether it is
//! upright.
//!
//! A line is placed by how much of each pixel it covers, not by how bright the pixel is. So the tints beside a line,
//! which differ from side to side and change as pipes are drawn, move it by a small part of a pixel at most.

use flowpipe_plugin::puzzle::{Lattice, Point};

use crate::find::grid::Grid;
use crate::find::profile::{Orientation, StretchPlace};
use crate::numerics::quantile::median;
use crate::picture::Picture;
use crate::picture::cache::Measurement;
use crate::read::shape::line_model::LineAppearance;

/// A line is where it was when it is so within this many pixels.
pub const STILL: f64 = 0.3;
/// It is upright when its ends are, from each other: lights behind a compressed picture move an end by half a
/// pixel.
pub const UPRIGHT: f64 = 0.7;
/// Blurred lines by this share of their thickness more.
pub const BLURRED: f64 = 0.08;
/// How many times further aside one line of a pair alone may be.
const ALONE: f64 = 2.5;
/// The stretch of a side that is examined, in cells from the side's end that is nearer to the line's.
const STRETCH: (f64, f64) = (0.08, 0.27);
/// Sides of a border line that are examined near each of its ends.
const NEAR_END: usize = 3;
/// A line stands out from both of its sides by this many levels, or it can't be placed.
const CLEAR: f64 = 12.0;

/// Where the lines of a board lie.
#[derive(Clone, Debug)]
pub struct LinePositions {
    marks: Vec<LineStretch>,
    look: LineAppearance,
}

/// A short stretch of a line.
#[derive(Clone, Copy, Debug)]
struct LineStretch {
    run: Orientation,
    line: LineKind,
    /// Where the stretch begins and ends along the line, in frame pixels.
    along: (f64, f64),
    /// Where the line is there, across it, in frame pixels.
    at: f64,
}

/// Which line a mark is on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LineKind {
    /// The first or last one of its direction, towards its first or last end.
    Border { last: bool, far_end: bool },
    /// One between.
    Inner,
}

/// All border lines' ends.
const BORDERS: [(Orientation, bool, bool); 8] = [
    (Orientation::Horizontal, false, false),
    (Orientation::Horizontal, false, true),
    (Orientation::Horizontal, true, false),
    (Orientation::Horizontal, true, true),
    (Orientation::Vertical, false, false),
    (Orientation::Vertical, false, true),
    (Orientation::Vertical, true, false),
    (Orientation::Vertical, true, true),
];

impl LinePositions {
    /// Finds the lines of a grid of squares. `None` where a border line can't be placed near both of its ends.
    #[must_use]
    pub fn find(picture: &Picture<'_>, grid: &Grid, look: LineAppearance) -> Option<Self> {
        if grid.lattice != Lattice::Square {
            return None;
        }
        let marks = marks(grid).into_iter().filter_map(|mark| {
            let at = place(picture, &mark, &look)?;
            Some(LineStretch { at, ..mark })
        });
        let places = Self {
            marks: marks.collect(),
            look,
        };
        let placed = |(run, last, far_end)| places.border(run, last, far_end).next().is_some();
        BORDERS.into_iter().all(placed).then_some(places)
    }

    /// Whether all lines are in their places in another picture.
    #[must_use]
    pub fn hold(&self, picture: &Picture<'_>) -> bool {
        let shift = |mark: &LineStretch| Some(place(picture, mark, &self.look)? - mark.at);
        let still = |shifts: Vec<f64>| median(shifts).is_some_and(|shift| shift.abs() <= STILL);
        let borders_hold = BORDERS.into_iter().all(|(run, last, far_end)| {
            still(self.border(run, last, far_end).filter_map(shift).collect())
        });
        if !borders_hold {
            return false;
        }
        let inner = || {
            self.marks
                .iter()
                .filter(|mark| mark.line == LineKind::Inner)
        };
        let shifts: Vec<f64> = inner().filter_map(shift).collect();
        let off = shifts.iter().filter(|shift| shift.abs() > 2.0 * STILL);
        inner().count() <= 2 * shifts.len() && 4 * off.count() <= shifts.len() && still(shifts)
    }

    /// The corners, top left, top right, bottom right, bottom left, in frame pixels.
    #[must_use]
    pub fn corners(&self) -> [Point; 4] {
        let line = |run, last| {
            let [a, b] = [false, true].map(|far_end| {
                let marks = || self.border(run, last, far_end);
                let along = marks().map(|mark| f64::midpoint(mark.along.0, mark.along.1));
                let (along, at) = (along.collect(), marks().map(|mark| mark.at).collect());
                [median(along).unwrap_or(0.0), median(at).unwrap_or(0.0)]
            });
            let slope = (b[1] - a[1]) / (b[0] - a[0]).max(1.0);
            (a[1] - slope * a[0], slope)
        };
        // y = a + b x meets x = c + d y.
        let meet = |(a, b): (f64, f64), (c, d): (f64, f64)| {
            let y = (a + b * c) / (1.0 - b * d);
            [c + d * y, y]
        };
        let (top, bottom) = (
            line(Orientation::Horizontal, false),
            line(Orientation::Horizontal, true),
        );
        let (left, right) = (
            line(Orientation::Vertical, false),
            line(Orientation::Vertical, true),
        );
        [
            meet(top, left),
            meet(top, right),
            meet(bottom, right),
            meet(bottom, left),
        ]
    }

    /// Whether the border lines are horizontal and vertical. Perspective slants both lines of a pair; where one alone
    /// seems to lie aside, a little, it is rather what shines beside its end.
    #[must_use]
    pub fn upright(&self) -> bool {
        let slant = |run, last| {
            let end = |far_end| {
                let marks = self.border(run, last, far_end);
                median(marks.map(|mark| mark.at).collect())
            };
            Some((end(false)? - end(true)?).abs())
        };
        let bound = UPRIGHT + BLURRED * self.look.thickness;
        [Orientation::Horizontal, Orientation::Vertical]
            .into_iter()
            .all(|run| {
                let slants = slant(run, false).zip(slant(run, true));
                slants.is_some_and(|(a, b)| a.min(b) <= bound && a.max(b) <= ALONE * bound)
            })
    }

    fn border(
        &self,
        run: Orientation,
        last: bool,
        far_end: bool,
    ) -> impl Iterator<Item = &LineStretch> {
        let line = LineKind::Border { last, far_end };
        let is_on_it = move |mark: &&LineStretch| mark.run == run && mark.line == line;
        self.marks.iter().filter(is_on_it)
    }
}

/// Where to look for the lines of a grid.
fn marks(grid: &Grid) -> Vec<LineStretch> {
    let mut marks = Vec::new();
    for (run, lines, ends) in [
        (Orientation::Horizontal, &grid.ys, &grid.xs),
        (Orientation::Vertical, &grid.xs, &grid.ys),
    ] {
        let sides = ends.len() - 1;
        for (index, &at) in lines.iter().enumerate() {
            let is_border = index == 0 || index + 1 == lines.len();
            let reach = if is_border { NEAR_END } else { 1 };
            for side in 0..sides {
                let (near, far) = (
                    side < reach.min(sides / 2),
                    side + reach.min(sides / 2) >= sides,
                );
                if !near && !far {
                    continue;
                }
                let (start, end) = (ends[side], ends[side + 1]);
                let inwards = |share: f64| {
                    let share = if far { 1.0 - share } else { share };
                    start + share * (end - start)
                };
                let (a, b) = (inwards(STRETCH.0), inwards(STRETCH.1));
                let line = match is_border {
                    true => LineKind::Border {
                        last: index > 0,
                        far_end: far,
                    },
                    false => LineKind::Inner,
                };
                marks.push(LineStretch {
                    run,
                    line,
                    along: (a.min(b), a.max(b)),
                    at,
                });
            }
        }
    }
    marks
}

/// Where the line is now that was at a mark. `None` where nothing like it is near.
fn place(picture: &Picture<'_>, mark: &LineStretch, look: &LineAppearance) -> Option<f64> {
    let stretch = StretchPlace::along(mark.run, mark.at, mark.along, look.polarity);
    Some(mark.at + shift(picture, &stretch, look)?)
}

/// How many pixels a line lies aside of its place.
struct LineShift;

impl Measurement for LineShift {
    type Value = Option<f64>;
}

/// How many pixels a line lies aside of its place. `None` where nothing like it is near.
pub fn shift(picture: &Picture<'_>, stretch: &StretchPlace, look: &LineAppearance) -> Option<f64> {
    let far = (look.thickness / 2.0).ceil() as i32 + 3;
    picture.recall::<LineShift>(
        // What is remembered is of one board, whose lines look alike.
        || (stretch.key(0.0), stretch.area(far)),
        || measure_shift(picture, stretch, look, far),
    )
}

fn measure_shift(
    picture: &Picture<'_>,
    stretch: &StretchPlace,
    look: &LineAppearance,
    far: i32,
) -> Option<f64> {
    let profile = stretch.profile(picture, far);
    // Beside the picture's edge there may be nothing on one side of the line.
    let (before, after) = (profile.at(-far), profile.at(far));
    let (before, after) = (before.or(after)?, after.or(before)?);
    let clear = |channel: usize| look.colour[channel] - before[channel].max(after[channel]);
    let channel = (0..3).max_by(|&a, &b| clear(a).total_cmp(&clear(b)))?;
    if clear(channel) < CLEAR {
        return None;
    }
    let (mut covered, mut moment) = (0.0, 0.0);
    for off in -far..=far {
        let Some(colour) = profile.at(off) else {
            continue;
        };
        let behind = match off.signum() {
            -1 => before[channel],
            0 => f64::midpoint(before[channel], after[channel]),
            _ => after[channel],
        };
        let share = (colour[channel] - behind) / (look.colour[channel] - behind);
        let share = share.clamp(0.0, 1.5);
        covered += share;
        moment += share * f64::from(off);
    }
    let like_it = covered >= 0.5 * look.thickness && covered <= 1.7 * look.thickness + 0.5;
    // Of horizontal and vertical ones whole pixels are examined.
    let middle = stretch.axis().map_or(0.0, |axis| {
        let line = stretch.from[1 - axis];
        line.floor() + 0.5 - line
    });
    like_it.then(|| middle + moment / covered)
}
