//! Holds a grid against the picture: every side of every cell must be drawn, as thin as the others,
//! and nothing may go on beyond the border.
//!
//! A side is looked at near its two ends, where no pipe and no terminal can hide it. What counts is
//! how far the line stands out from both sides of it in the colour channel that shows it best, so
//! that tinted cells of a drawn pipe do not matter.

use crate::grid_lines::Grid;
use crate::line_look::{Outside, Place, Run, Stretch};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// The stretches of a side that are looked at, in cells from one of its ends.
const STRETCHES: [(f64, f64); 2] = [(0.08, 0.27), (0.73, 0.92)];
/// A line stands out by at least this share of what the middle one does: little is left of it between
/// two cells of a light tint.
const DRAWN: f64 = 0.12;
/// Where a line would stand out by less than this many times what it must, had it whole pixels to
/// itself, it may be lost.
const HIDDEN: f64 = 4.0;
/// One in so many stretches may be lost: a bright flow fills up to a fifth of a large board.
const UNSEEN: usize = 5;
/// A line beyond the border stands out by this share, where there are no tints.
const CLEAR: f64 = 0.5;
/// A line inside the board has at most this many times the thickness of the middle one.
const THICK: f64 = 2.1;

/// Lines are followed this far beyond the border, in cells: a pipe may cover what is beyond that.
const REACH: f64 = 0.3;

/// What may lie right beyond the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing that looks like a grid line.
    Nothing,
    /// Writing, whose strokes look like one here and there: a board that turns reaches into it.
    Writing,
}

/// How grid lines look on this board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineLook {
    /// How far the middle one stands out, in levels of its best channel.
    pub contrast: f64,
    /// The faintest one, as a share of that.
    pub faintest: f64,
    /// How many pixels wide the middle one is.
    pub thickness: f64,
    /// Its red, green and blue.
    pub colour: [f64; 3],
}

/// Checks all sides.
///
/// # Errors
/// [`Refusal::SidesMissing`], [`Refusal::Wall`], [`Refusal::GoesOn`].
pub fn check(picture: &Picture<'_>, grid: &Grid, beyond: Beyond) -> Result<LineLook, Refusal> {
    let sides = sides(picture, grid);
    let middle = |value: &dyn Fn(&Stretch) -> f64| {
        median(sides.iter().flat_map(|side| &side.stretches).map(value))
    };
    let contrast = middle(&|stretch| stretch.contrast);
    let colour = [0, 1, 2].map(|channel| middle(&|stretch| stretch.colour[channel]));
    let faintest = sides
        .iter()
        .flat_map(|side| side.stretches)
        .map(|stretch| stretch.contrast / contrast.max(1.0))
        .fold(f64::INFINITY, f64::min);
    // Two levels are what compression leaves on a flat surface.
    let least = (DRAWN * contrast).max(2.0);
    let seen = |stretch: &Stretch| stretch.contrast >= least;
    let stretches = || sides.iter().flat_map(|side| &side.stretches);
    let unseen = stretches().filter(|stretch| !seen(stretch)).count();
    // Beside a cell of a bright tint with a light behind it hardly anything of a line is left.
    let no_room = |stretch: &Stretch| stretch.room_for(colour) < HIDDEN * least;
    let hidden = |stretch: &Stretch| unseen <= stretches().count() / UNSEEN && no_room(stretch);
    let drawn = |side: &Side| {
        let mut stretches = side.stretches.iter();
        stretches.all(|stretch| seen(stretch) || hidden(stretch))
    };
    if let Some(first) = sides.iter().find(|side| !drawn(side)) {
        return Err(Refusal::SidesMissing {
            missing: sides.iter().filter(|side| !drawn(side)).count(),
            all: sides.len(),
            rows: grid.rows(),
            cols: grid.cols(),
            row: first.row + 1,
            col: first.col + 1,
        });
    }
    let thickness = middle(&|stretch| stretch.thickness(colour));
    let thick = |side: &Side| {
        side.stretches
            .iter()
            .all(|stretch| stretch.thickness(colour) > THICK * thickness && !no_room(stretch))
    };
    if let Some(wall) = sides.iter().find(|side| !side.border && thick(side)) {
        return Err(Refusal::Wall {
            row: wall.row + 1,
            col: wall.col + 1,
        });
    }
    let look = LineLook {
        contrast,
        faintest,
        thickness,
        colour,
    };
    match goes_on(picture, grid, beyond, &look) {
        Some(side) => Err(Refusal::GoesOn { side }),
        None => Ok(look),
    }
}

/// A side of a cell: of the cell below it or right of it, but for the last row and column.
struct Side {
    row: usize,
    col: usize,
    border: bool,
    stretches: [Stretch; 2],
}

fn sides(picture: &Picture<'_>, grid: &Grid) -> Vec<Side> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let look = |run: Run, line: f64, start: f64, outside: Outside| {
        STRETCHES.map(|(from, to)| {
            let (from, to) = (start + from * grid.cell, start + to * grid.cell);
            Stretch::look(
                picture,
                &Place {
                    run,
                    line,
                    from,
                    to,
                    outside,
                },
                grid.cell,
            )
        })
    };
    let outside = |line: usize, last: usize| match line {
        0 => Outside::Before,
        _ if line == last => Outside::After,
        _ => Outside::Neither,
    };
    let mut sides = Vec::with_capacity(2 * rows * cols + rows + cols);
    for (line, &y) in grid.ys.iter().enumerate() {
        for col in 0..cols {
            sides.push(Side {
                row: line.min(rows - 1),
                col,
                border: line == 0 || line == rows,
                stretches: look(Run::Across, y, grid.xs[col], outside(line, rows)),
            });
        }
    }
    for (line, &x) in grid.xs.iter().enumerate() {
        for row in 0..rows {
            sides.push(Side {
                row,
                col: line.min(cols - 1),
                border: line == 0 || line == cols,
                stretches: look(Run::Down, x, grid.ys[row], outside(line, cols)),
            });
        }
    }
    sides
}

/// Which border grid lines cross, if any: the lines inside the board are followed outwards.
fn goes_on(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Beyond,
    look: &LineLook,
) -> Option<&'static str> {
    let [left, top, across, down] = grid.bounds();
    let (width, height) = (picture.width() as f64, picture.height() as f64);
    let crossed = |run: Run, lines: &[f64], border: f64, room: f64, outwards: f64| {
        let inner = &lines[1..lines.len() - 1];
        let cell = outwards * grid.cell;
        let leading = inner
            .iter()
            .filter(|&&line| leads_out(picture, run, line, border, room, cell, look));
        // Close to the picture's edge a letter of a caption may look like the stub of a line.
        let enough = if beyond == Beyond::Writing || room < REACH * grid.cell {
            inner.len().div_ceil(2)
        } else {
            1
        };
        leading.count() >= enough
    };
    let (right, bottom) = (left + across, top + down);
    [
        ("upper", crossed(Run::Down, &grid.xs, top, top, -1.0)),
        (
            "lower",
            crossed(Run::Down, &grid.xs, bottom, height - bottom, 1.0),
        ),
        ("left", crossed(Run::Across, &grid.ys, left, left, -1.0)),
        (
            "right",
            crossed(Run::Across, &grid.ys, right, width - right, 1.0),
        ),
    ]
    .into_iter()
    .find_map(|(side, crossed)| crossed.then_some(side))
}

/// Whether a line goes on unbroken for a good part of a cell beyond the border, or to the picture's
/// edge where that comes first, which is `room` pixels away. `cell`: pixels, negative to the left and
/// upwards.
fn leads_out(
    picture: &Picture<'_>,
    run: Run,
    line: f64,
    border: f64,
    room: f64,
    cell: f64,
    look: &LineLook,
) -> bool {
    // From where the border line's own pixels end.
    let start = look.thickness / 2.0 + 0.75;
    let end = (REACH * cell.abs()).min(room);
    let steps = ((end - start) / (0.08 * cell.abs()).max(1.0))
        .floor()
        .max(1.0);
    let length = (end - start) / steps;
    if length < 0.75 {
        return false;
    }
    (0..steps as u32).all(|step| {
        let near = border + (start + length * f64::from(step)) * cell.signum();
        let far = near + length * cell.signum();
        let (from, to) = (near.min(far), near.max(far));
        let place = Place {
            run,
            line,
            from,
            to,
            outside: Outside::Neither,
        };
        let stretch = Stretch::look(picture, &place, cell.abs());
        stretch.contrast >= CLEAR * look.contrast && alike(stretch.colour, look.colour)
    })
}

/// Whether two lines have one hue, the first not much brighter.
fn alike(a: [f64; 3], b: [f64; 3]) -> bool {
    let product = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a_length, b_length) = (product(a, a).sqrt(), product(b, b).sqrt());
    product(a, b) >= 0.9 * a_length * b_length && a_length <= 1.7 * b_length
}

/// The middle one; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
