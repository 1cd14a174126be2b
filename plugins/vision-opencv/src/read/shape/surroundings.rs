//! What is beyond the borders of a board.
//!
//! Lines that continue there are those of a larger grid, or the stubs of a board that warps.

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::find::profile::{Orientation, StretchPlace};
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::shape::continuation::Continuation;
use crate::read::shape::line_model::LineAppearance;
use crate::read::shape::stretch::Stretch;
use crate::refuse::refusal::Refusal;

/// What may lie right beyond the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// Nothing that looks like a grid line.
    Empty,
    /// Writing, whose strokes look like one here and there: a board that turns reaches into it.
    Text,
}

/// A line beyond the border stands out by this share, where there are no tints.
const CLEAR: f64 = 0.5;
/// Where cells beyond a border are tinted, lines stand out there by at least this share of what they do inside.
const FAINT: f64 = 0.12;
/// Where so little room is left that it merges with the border's own blurred edge, it stands out by this share.
const CLOSE: f64 = 0.8;
/// That is up to this multiple of a line's thickness from the picture's edge.
const LITTLE_ROOM: f64 = 2.5;
/// From where the border line's own pixels end to the picture's edge, at least: else nothing is seen beyond it.
const LEAST_SEEN: f64 = 0.75;
/// A line that goes on has no gap: every bit of it of this length, in cells, stands out by this share.
const BIT: f64 = 0.02;
const UNBROKEN: f64 = 0.25;
/// No line of a grid is so far from another one, in cells: what goes on there too is the hatch of a page.
const BETWEEN: [f64; 4] = [-0.38, -0.22, 0.22, 0.38];
/// Where it is a hatch, as large a share of the places between lines do so as of the lines, divided by this, and at
/// least one in `HATCHED`.
const LESS: usize = 3;
const HATCHED: usize = 8;
/// Boards that fill the picture do so on both sides, with at most this difference in cells.
const ALIKE_ROOM: f64 = 0.1;
/// Lines of this width, in cells, are not blurred.
const SHARP: f64 = 0.025;
/// Lines are followed this far beyond the border, in cells: a pipe may cover what is beyond that.
const REACH: f64 = 0.3;
/// The least length of the stubs of a board that warps, in cells.
const STUB: f64 = 0.18;
/// And end before this.
const STUB_ENDS: f64 = 0.5;

/// Refuses a board that goes on beyond a border at the picture's edge, or may do so.
///
/// Where the picture ends at the border line nothing is seen beyond. A board with as many rows as columns is taken for
/// whole then, as games fill screens with it: what a cut leaves of one has fewer of the one or the other. Where some
/// pixels beyond are seen, they decide.
///
/// # Errors
/// [`Refusal::GoesOn`], [`Refusal::MayGoOn`].
pub fn check_edges(
    picture: &Picture<'_>,
    grid: &Grid,
    look: &LineAppearance,
) -> Result<(), Refusal> {
    let is_square = grid.rows() == grid.cols();
    let is_blurred = look.thickness > (SHARP * grid.cell).max(3.0);
    if is_blurred {
        return Ok(());
    }
    for border in Border::ALL {
        if !Way::new(picture, grid, border).is_close(look) {
            continue;
        }
        let side = border.name();
        match Continuation::look(picture, grid, border, look.polarity) {
            Continuation::GoesOn => return Err(Refusal::GoesOn { side }),
            Continuation::Unknown if !is_square => return Err(Refusal::MayGoOn { side }),
            Continuation::Unknown => {}
            Continuation::NoLines | Continuation::Ends => {}
        }
    }
    Ok(())
}

/// Which border grid lines cross, if any: the lines inside the board are followed outwards.
#[must_use]
pub fn goes_on(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Surroundings,
    look: &LineAppearance,
) -> Option<Border> {
    Border::ALL.into_iter().find(|&border| {
        let way = Way::new(picture, grid, border);
        let inner = &way.lines[1..way.lines.len() - 1];
        let count = inner.len();
        let goes_on = |place: f64| {
            way.leads(picture, grid, place, (0.0, REACH), look)
                && way.touches(picture, grid, place, look)
        };
        let leading = inner.iter().filter(|&&line| goes_on(line)).count();
        // Close to the picture's edge some letters of a caption may look like stubs of lines, elsewhere one.
        let enough = if beyond == Surroundings::Text || way.room < REACH * grid.cell {
            count.div_ceil(2)
        } else {
            count.div_ceil(4).min(2)
        };
        leading >= enough.max(1) && !is_hatch(inner, grid.cell, leading, goes_on)
    })
}

/// A border that the board goes on beyond, if any: most lines that end at it are seen on its other side as
/// they are on this one, though less between tinted cells. `noise`: what stands out where no line is.
#[must_use]
pub fn hides_cells(
    picture: &Picture<'_>,
    grid: &Grid,
    polarity: Polarity,
    noise: f64,
) -> Option<Border> {
    Border::ALL.into_iter().find(|&border| {
        let way = Way::new(picture, grid, border);
        if way.room < 0.5 * grid.cell {
            return false;
        }
        let contrast = |line: f64, from: f64, to: f64| {
            let place = |at: f64| way.border + at * grid.cell * way.outwards;
            let (from, to) = (place(from), place(to));
            let place = StretchPlace::along(way.run, line, (from.min(to), from.max(to)), polarity);
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
        // What begins only behind a gap is another thing that lies beside the board.
        near.retain(|&line| contrast(line, 0.04, 0.1) >= least);
        let far = || {
            near.iter()
                .filter(|&&line| contrast(line, 0.73, 0.92) >= least)
        };
        are_most(near.len())
            && are_most(far().count())
            && !is_hatch(inner, grid.cell, near.len(), |place| {
                contrast(place, 0.08, 0.27) >= least
            })
    })
}

/// Whether what goes on beyond a border does so between its lines too: it is the hatch of a page. `leading`: how many
/// of the lines do.
fn is_hatch(lines: &[f64], cell: f64, leading: usize, goes_on: impl Fn(f64) -> bool) -> bool {
    let places = lines
        .iter()
        .flat_map(|line| BETWEEN.map(|share| line + share * cell));
    let alike = places.filter(|&place| goes_on(place)).count();
    let all = BETWEEN.len() * lines.len();
    HATCHED * alike >= all && LESS * alike >= BETWEEN.len() * leading
}

/// For each line that meets a border whether it goes on for a stub's length and ends there.
#[must_use]
pub fn stubs(
    picture: &Picture<'_>,
    grid: &Grid,
    border: Border,
    look: &LineAppearance,
) -> Vec<bool> {
    let way = Way::new(picture, grid, border);
    let is_stub = |line: usize| {
        way.room >= STUB * grid.cell
            && way.leads(picture, grid, way.lines[line], (0.0, STUB), look)
            && !way.leads(
                picture,
                grid,
                way.lines[line],
                (STUB_ENDS, STUB_ENDS + REACH),
                look,
            )
    };
    (0..way.lines.len()).map(is_stub).collect()
}

/// A way out over a border.
struct Way<'a> {
    run: Orientation,
    lines: &'a [f64],
    border: f64,
    /// Pixels to the picture's edge.
    room: f64,
    /// Whether there are no more at the opposite border, as where a board fills the picture.
    fills: bool,
    outwards: f64,
}

impl<'a> Way<'a> {
    fn new(picture: &Picture<'_>, grid: &'a Grid, border: Border) -> Self {
        let [left, top, across, down] = grid.bounds();
        let (right, bottom) = (left + across, top + down);
        let rooms = [
            top,
            picture.width() as f64 - right,
            picture.height() as f64 - bottom,
            left,
        ];
        let index = border as usize;
        let (run, lines, at, outwards) = match border {
            Border::Upper => (Orientation::Vertical, &grid.xs, top, -1.0),
            Border::Right => (Orientation::Horizontal, &grid.ys, right, 1.0),
            Border::Lower => (Orientation::Vertical, &grid.xs, bottom, 1.0),
            Border::Left => (Orientation::Horizontal, &grid.ys, left, -1.0),
        };
        Self {
            run,
            lines,
            border: at,
            room: rooms[index],
            fills: rooms[(index + 2) % rooms.len()] < rooms[index] + ALIKE_ROOM * grid.cell,
            outwards,
        }
    }

    /// How far from the border the line's own pixels end.
    fn start(&self, look: &LineAppearance) -> f64 {
        look.thickness / 2.0 + 0.75
    }

    /// Whether so little room is left beyond the border that it merges with the border's own blurred edge.
    fn is_close(&self, look: &LineAppearance) -> bool {
        self.room < LITTLE_ROOM * look.thickness + 2.0
    }

    /// Whether a line is seen beyond the border, from one distance in cells to another, or to the picture's edge
    /// where that comes first.
    fn leads(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
        line: f64,
        ends: (f64, f64),
        look: &LineAppearance,
    ) -> bool {
        let is_close = self.is_close(look);
        if is_close && self.fills {
            return false;
        }
        let clear = if is_close { CLOSE } else { CLEAR };
        let part = (0.08 * grid.cell).max(1.0);
        self.all_stand_out(picture, grid, line, ends, look, (part, clear))
    }

    /// Whether a line has no gap right beyond the border, as there is below a letter's stem.
    fn touches(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
        line: f64,
        look: &LineAppearance,
    ) -> bool {
        let bits = ((BIT * grid.cell).max(1.5), UNBROKEN);
        self.all_stand_out(picture, grid, line, (0.0, REACH), look, bits)
    }

    /// Whether each of the parts of a path, of a least number of pixels, stands out by a share of what lines do.
    fn all_stand_out(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
        line: f64,
        (from, to): (f64, f64),
        look: &LineAppearance,
        (part, share): (f64, f64),
    ) -> bool {
        let start = from * grid.cell + self.start(look);
        let end = (to * grid.cell).min(self.room);
        let parts = ((end - start) / part).floor().max(1.0);
        let length = (end - start) / parts;
        length >= LEAST_SEEN
            && (0..parts as u32).all(|index| {
                let near = self.border + (start + length * f64::from(index)) * self.outwards;
                let far = near + length * self.outwards;
                let ends = (near.min(far), near.max(far));
                let place = StretchPlace::along(self.run, line, ends, look.polarity);
                let stretch = Stretch::look(picture, &place, grid.cell);
                stretch.contrast >= share * look.contrast && alike(stretch.colour, look.colour)
            })
    }
}

/// Whether two lines have one hue, the first not much brighter.
fn alike(a: [f64; 3], b: [f64; 3]) -> bool {
    let product = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a_length, b_length) = (product(a, a).sqrt(), product(b, b).sqrt());
    product(a, b) >= 0.9 * a_length * b_length && a_length <= 1.7 * b_length
}
