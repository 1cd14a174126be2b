//! What lies beyond a board's border: lines that go on there are those of a larger grid, or the stubs of a
//! board that warps.

use crate::grid::Grid;
use crate::line_look::{Place, Run, Stretch};
use crate::measure::LineLook;
use crate::picture::Picture;
use crate::runs::Ink;

/// What may lie right beyond the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing that looks like a grid line.
    Nothing,
    /// Writing, whose strokes look like one here and there: a board that turns reaches into it.
    Writing,
}

/// The ways out of a grid of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Upwards.
    Upper,
    /// To the right.
    Right,
    /// Downwards.
    Lower,
    /// To the left.
    Left,
}

impl Border {
    /// All of them, by the direction that leads out.
    pub const ALL: [Self; 4] = [Self::Upper, Self::Right, Self::Lower, Self::Left];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upper => "upper",
            Self::Right => "right",
            Self::Lower => "lower",
            Self::Left => "left",
        }
    }
}

/// A line beyond the border stands out by this share, where there are no tints.
const CLEAR: f64 = 0.5;
/// Where cells beyond a border are tinted, lines stand out there by at least this share of what they do inside.
const FAINT: f64 = 0.12;
/// So many times a line's thickness from the picture's edge nothing can be said of what lies beyond.
const LEAST_ROOM: f64 = 2.5;
/// Lines are followed this far beyond the border, in cells: a pipe may cover what is beyond that.
const REACH: f64 = 0.3;
/// The stubs of a board that warps are at least so long, in cells.
const STUB: f64 = 0.18;
/// And end before this.
const STUB_ENDS: f64 = 0.5;

/// Which border grid lines cross, if any: the lines inside the board are followed outwards.
#[must_use]
pub fn goes_on(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Beyond,
    look: &LineLook,
) -> Option<Border> {
    Border::ALL.into_iter().find(|&border| {
        let way = Way::new(picture, grid, border);
        let inner = 1..way.lines.len() - 1;
        let count = inner.len();
        let leading = inner.filter(|&line| way.leads(picture, grid, line, 0.0, REACH, look));
        // Close to the picture's edge some letters of a caption may look like stubs of lines, elsewhere one.
        let enough = if beyond == Beyond::Writing || way.room < REACH * grid.cell {
            count.div_ceil(2)
        } else {
            count.div_ceil(4).min(2)
        };
        leading.count() >= enough.max(1)
    })
}

/// A border that the board goes on beyond, if any: most lines that end at it are seen on its other side as
/// they are on this one, though less between tinted cells. `noise`: what stands out where no line is.
#[must_use]
pub fn hides_cells(picture: &Picture<'_>, grid: &Grid, ink: Ink, noise: f64) -> Option<Border> {
    Border::ALL.into_iter().find(|&border| {
        let way = Way::new(picture, grid, border);
        if way.room < 0.5 * grid.cell {
            return false;
        }
        let contrast = |line: f64, from: f64, to: f64| {
            let place = |at: f64| way.border + at * grid.cell * way.outwards;
            let (from, to) = (place(from), place(to));
            let place = Place::along(way.run, line, (from.min(to), from.max(to)), ink);
            Stretch::look(picture, &place, grid.cell).contrast
        };
        let inner = &way.lines[1..way.lines.len() - 1];
        let here = inner.iter().map(|&line| contrast(line, -0.27, -0.08));
        let mut here: Vec<f64> = here.collect();
        here.sort_by(f64::total_cmp);
        let here = here.get(here.len() / 2).copied().unwrap_or(f64::INFINITY);
        let least = (FAINT * here).max(2.0 * noise).max(4.0);
        let are_most = |count: usize| count > 1 && 2 * count > inner.len();
        // Far out it is looked only where that matters: there is much there that changes.
        let mut near: Vec<f64> = inner.to_vec();
        near.retain(|&line| contrast(line, 0.08, 0.27) >= least);
        let far = || {
            near.iter()
                .filter(|&&line| contrast(line, 0.73, 0.92) >= least)
        };
        are_most(near.len()) && are_most(far().count())
    })
}

/// For each line that meets a border whether it goes on for a stub's length and ends there.
#[must_use]
pub fn stubs(picture: &Picture<'_>, grid: &Grid, border: Border, look: &LineLook) -> Vec<bool> {
    let way = Way::new(picture, grid, border);
    let is_stub = |line: usize| {
        way.room >= STUB * grid.cell
            && way.leads(picture, grid, line, 0.0, STUB, look)
            && !way.leads(picture, grid, line, STUB_ENDS, STUB_ENDS + REACH, look)
    };
    (0..way.lines.len()).map(is_stub).collect()
}

/// A way out over a border.
struct Way<'a> {
    run: Run,
    lines: &'a [f64],
    border: f64,
    /// Pixels to the picture's edge.
    room: f64,
    outwards: f64,
}

impl<'a> Way<'a> {
    fn new(picture: &Picture<'_>, grid: &'a Grid, border: Border) -> Self {
        let [left, top, across, down] = grid.bounds();
        let (right, bottom) = (left + across, top + down);
        let (run, lines, border, room, outwards) = match border {
            Border::Upper => (Run::Down, &grid.xs, top, top, -1.0),
            Border::Right => {
                let room = picture.width() as f64 - right;
                (Run::Across, &grid.ys, right, room, 1.0)
            }
            Border::Lower => {
                let room = picture.height() as f64 - bottom;
                (Run::Down, &grid.xs, bottom, room, 1.0)
            }
            Border::Left => (Run::Across, &grid.ys, left, left, -1.0),
        };
        Self {
            run,
            lines,
            border,
            room,
            outwards,
        }
    }

    /// Whether a line goes on unbroken beyond the border, from one distance in cells to another, or to the
    /// picture's edge where that comes first.
    fn leads(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
        line: usize,
        from: f64,
        to: f64,
        look: &LineLook,
    ) -> bool {
        // From where the border line's own pixels end.
        let start = from * grid.cell + look.thickness / 2.0 + 0.75;
        let end = (to * grid.cell).min(self.room);
        // So close to the picture's edge the blurred border itself is all that can be seen.
        if self.room < LEAST_ROOM * look.thickness + 2.0 {
            return false;
        }
        let steps = ((end - start) / (0.08 * grid.cell).max(1.0))
            .floor()
            .max(1.0);
        let length = (end - start) / steps;
        if length < 0.75 {
            return false;
        }
        (0..steps as u32).all(|step| {
            let near = self.border + (start + length * f64::from(step)) * self.outwards;
            let far = near + length * self.outwards;
            let ends = (near.min(far), near.max(far));
            let place = Place::along(self.run, self.lines[line], ends, look.ink);
            let stretch = Stretch::look(picture, &place, grid.cell);
            stretch.contrast >= CLEAR * look.contrast && alike(stretch.colour, look.colour)
        })
    }
}

/// Whether two lines have one hue, the first not much brighter.
fn alike(a: [f64; 3], b: [f64; 3]) -> bool {
    let product = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a_length, b_length) = (product(a, a).sqrt(), product(b, b).sqrt());
    product(a, b) >= 0.9 * a_length * b_length && a_length <= 1.7 * b_length
}
