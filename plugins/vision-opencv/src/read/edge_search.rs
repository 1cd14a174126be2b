//! Searches for boards whose borders are at the picture's edge, which may cut their outline in half or off.
//!
//! What is missing of the outline is completed beyond the edge: a line that is seen is as wide to both sides of its
//! middle, and one that is not looks as the lines inside do. Then the board is read like any other.
//!
//! A picture that ends at a line inside of a board looks the same. So such a board must have as many rows as columns,
//! as what a cut leaves of a square board does not, unless the picture shows that its lines end there; and it must have
//! a solution.

use flowpipe_plugin::puzzle::message::SeenBoard;

use crate::config::Config;
use crate::find::border::Border;
use crate::find::border_line::BorderLine;
use crate::find::candidates::{CandidateFinder, EDGE_ATTEMPTS};
use crate::find::edge_grid::EdgeGrid;
use crate::find::grid::Grid;
use crate::find::profile::Orientation;
use crate::find::square_grid;
use crate::numerics::quantile::quantile;
use crate::picture::margin::PictureWithMargin;
use crate::picture::polarity::Polarity;
use crate::picture::{Picture, Rgb};
use crate::read::board::{BoardReading, read_board};
use crate::read::error::ReadError;
use crate::read::shape::continuation::Continuation;
use crate::read::shape::surroundings::Surroundings;
use crate::refuse::refusal::Refusal;
use crate::refuse::{size, solvability};
use crate::steps::Steps;

/// Grids examined for one attempt.
const MOST_GRIDS: usize = 6;
/// The margin, in cells: what is beyond a border is examined up to this far.
const MARGIN: f64 = 1.1;
/// A line is at most this wide to each side of its middle, in cells, and at least in pixels.
const HALF_WIDTH: (f64, f64) = (0.06, 3.0);
/// A border line is seen at the picture's edge if it stands out there by this share of what lines inside do.
const SEEN: f64 = 0.6;

/// The board in the picture whose samples were taken last, if the picture's edge is a border of it, or why it can't be
/// known whether that is so. `None` where there is none.
///
/// # Errors
/// [`ReadError`]; a picture without such a board is none.
pub fn read(
    picture: &Picture<'_>,
    candidates: &mut CandidateFinder,
    config: &Config,
    steps: &mut Steps,
) -> Result<Option<Result<Box<SeenBoard>, Refusal>>, ReadError> {
    let mut refused = None;
    let size = [picture.width(), picture.height()].map(|side| side as f64);
    // Both outermost lines may be cut off.
    let narrow = Config {
        min_cells: config.min_cells.saturating_sub(2).max(1),
        ..config.clone()
    };
    for attempt in EDGE_ATTEMPTS {
        let criteria = candidates.criteria(config, attempt);
        let [vertical, horizontal] = candidates.lines(&criteria);
        let grids = square_grid::find(&vertical, &horizontal, &narrow);
        steps.done("edge");
        for grid in grids.into_iter().take(MOST_GRIDS) {
            let Some(found) = EdgeGrid::find(&grid, size) else {
                continue;
            };
            if size::check(&found.grid, config).is_err() {
                continue;
            }
            if !candidates.budget.take(&found.grid) {
                break;
            }
            match complete(picture, &found, criteria.polarity, steps)? {
                Some(Ok(board)) => return Ok(Some(Ok(board))),
                Some(Err(refusal)) => refused = refused.or(Some(refusal)),
                None => {}
            }
        }
    }
    Ok(refused.map(Err))
}

/// Reads a board with its outline completed. `None` where it is none, or goes on beyond the picture's edge.
fn complete(
    picture: &Picture<'_>,
    found: &EdgeGrid,
    polarity: Polarity,
    steps: &mut Steps,
) -> Result<Option<Result<Box<SeenBoard>, Refusal>>, ReadError> {
    let EdgeGrid { grid, at_edge } = found;
    let looks = at_edge
        .iter()
        .map(|&border| Continuation::look(picture, grid, border, polarity));
    let looks: Vec<Continuation> = looks.collect();
    if looks.contains(&Continuation::GoesOn) || looks.contains(&Continuation::NoLines) {
        return Ok(None);
    }
    // In the copy with a margin the lines beyond the other borders would end at the picture's edge.
    let mut others = Border::ALL.into_iter().filter(|it| !at_edge.contains(it));
    if others.any(|it| Continuation::look(picture, grid, it, polarity) == Continuation::GoesOn) {
        return Ok(None);
    }
    // Beyond the others enough is seen.
    let unknown = at_edge.iter().zip(&looks);
    let unknown = unknown.filter(|(_, look)| **look == Continuation::Unknown);
    let unknown: Vec<Border> = unknown.map(|(border, _)| *border).collect();
    if grid.rows() != grid.cols()
        && let Some(border) = unknown.first()
    {
        let side = border.name();
        return Ok(Some(Err(Refusal::MayGoOn { side })));
    }
    // Else the picture shows all that there is to see.
    if unknown.is_empty() {
        return Ok(None);
    }
    let Some(outlined) = Outlined::new(picture, grid, &unknown, polarity) else {
        return Ok(None);
    };
    steps.done("edge");
    let margin = outlined.picture.margin() as f64;
    let moved = |lines: &[f64]| lines.iter().map(|at| at + margin).collect();
    let moved = Grid::squares(moved(&grid.xs), moved(&grid.ys), grid.cell);
    let seen = outlined.picture.picture()?;
    let read = read_board(&seen, &moved, Surroundings::Empty, polarity, steps)?;
    let Ok(BoardReading {
        mut board,
        grid: read,
        ..
    }) = read
    else {
        return Ok(None);
    };
    let shape = board.puzzle.board().description();
    let is_whole = (read.rows(), read.cols()) == (grid.rows(), grid.cols())
        && !shape.warps
        && (shape.holes.is_empty() || !outlined.is_guessed);
    if !is_whole || !solvability::has_solution(&board.puzzle) {
        return Ok(None);
    }
    for corner in &mut board.geometry.corners {
        *corner = corner.map(|at| at - margin);
    }
    steps.done("edge");
    Ok(Some(Ok(board)))
}

/// A picture with the whole outline of a board.
struct Outlined {
    picture: PictureWithMargin,
    /// Whether a border line is drawn of which nothing was seen.
    is_guessed: bool,
}

impl Outlined {
    /// `None` where a border line should be seen and is not.
    fn new(
        picture: &Picture<'_>,
        grid: &Grid,
        at_edge: &[Border],
        polarity: Polarity,
    ) -> Option<Self> {
        let margin = (MARGIN * grid.cell).ceil() as usize + 2;
        let mut outlined = Self {
            picture: PictureWithMargin::new(picture, margin, background(picture, grid)),
            is_guessed: false,
        };
        for &border in at_edge {
            outlined.draw(picture, grid, border, polarity)?;
        }
        Some(outlined)
    }

    /// Completes the line of a border.
    fn draw(
        &mut self,
        picture: &Picture<'_>,
        grid: &Grid,
        border: Border,
        polarity: Polarity,
    ) -> Option<()> {
        let half = (HALF_WIDTH.0 * grid.cell).max(HALF_WIDTH.1).ceil();
        let line = BorderLine::new(picture, grid, border);
        let inside = profile(&line, picture, grid, half as i32, polarity)?;
        let is_seen = is_seen(&line, picture, grid, &inside, polarity);
        let room = (line.edge - line.at) * line.outwards;
        if !is_seen && room >= 1.0 {
            return None;
        }
        self.is_guessed |= !is_seen;
        let margin = self.picture.margin() as i64;
        let [from, to] = line.range(half).map(|at| (at + margin) as usize);
        let out = line.outwards as i64;
        // From the first pixel outside of the picture to where the line ends.
        let first = match out {
            1 => line.edge as i64,
            _ => line.edge as i64 - 1,
        };
        let mut pixel = first;
        while ((pixel as f64 + 0.5) - line.at) * line.outwards <= half {
            let off = pixel as f64 + 0.5 - line.at;
            let across = (pixel + margin) as usize;
            for along in from..to {
                let place = |across: usize| match line.run {
                    Orientation::Horizontal => [along, across],
                    Orientation::Vertical => [across, along],
                };
                let colour = if is_seen {
                    // As on the other side of the line's middle, as far as that is in the picture.
                    let mirrored = (line.at - off).floor() as i64;
                    let seen = if (first - mirrored) * out > 0 {
                        mirrored
                    } else {
                        first - out
                    };
                    self.picture.pixel(place((seen + margin) as usize))
                } else {
                    inside[(off.round() as i64 + half as i64).clamp(0, 2 * half as i64) as usize]
                        .map(|value| value.round() as u8)
                };
                self.picture.set(place(across), colour);
            }
            pixel += out;
        }
        Some(())
    }
}

/// The middle colours across the lines inside, from `half` pixels before them to `half` pixels after them.
fn profile(
    line: &BorderLine<'_>,
    picture: &Picture<'_>,
    grid: &Grid,
    half: i32,
    polarity: Polarity,
) -> Option<Vec<[f64; 3]>> {
    let inner = line.beside.iter();
    let profiles = inner.flat_map(|&inner| line.stretches(inner, polarity));
    let profiles: Vec<_> = profiles.map(|place| place.profile(picture, half)).collect();
    if profiles.is_empty() || grid.len() < 4 {
        return None;
    }
    let middle = |off: i32| {
        [0, 1, 2].map(|channel: usize| {
            let seen = profiles.iter().filter_map(|it| it.at(off));
            let value = quantile(seen.map(|colour| colour[channel]), 0.5);
            match polarity {
                Polarity::Bright => value,
                Polarity::Dark => 255.0 - value,
            }
        })
    };
    Some((-half..=half).map(middle).collect())
}

/// Whether the line is seen in the last pixels of the picture. `inside`: the profile of lines inside.
fn is_seen(
    line: &BorderLine<'_>,
    picture: &Picture<'_>,
    grid: &Grid,
    inside: &[[f64; 3]],
    polarity: Polarity,
) -> bool {
    let half = inside.len() / 2;
    let off = |a: [f64; 3], b: [f64; 3]| {
        let off = (0..3).map(|channel| match polarity {
            Polarity::Bright => a[channel] - b[channel],
            Polarity::Dark => b[channel] - a[channel],
        });
        off.fold(0.0, f64::max)
    };
    let usual = off(inside[half], inside[0]).max(off(inside[half], inside[2 * half]));
    let edge = line.edge - 0.5 * line.outwards;
    let depth = (0.12 * grid.cell).max(4.0);
    let stretches = line.stretches(edge, polarity);
    let seen = stretches.filter_map(|place| {
        let level = |by: f64| {
            let colour = place.moved(by).profile(picture, 0).at(0)?;
            Some(match polarity {
                Polarity::Bright => colour,
                Polarity::Dark => colour.map(|value| 255.0 - value),
            })
        };
        Some(off(level(0.0)?, level(-line.outwards * depth)?))
    });
    quantile(seen, 0.5) >= SEEN * usual
}

/// The middle colour of the cells' corners beside lines.
fn background(picture: &Picture<'_>, grid: &Grid) -> Rgb {
    let aside = 0.37 * grid.cell;
    let colours = (0..grid.len()).filter_map(|cell| {
        let [x, y] = grid.centre_of(cell);
        picture.at(x - aside, y - aside)
    });
    let colours: Vec<Rgb> = colours.collect();
    [0, 1, 2].map(|channel: usize| {
        quantile(colours.iter().map(|colour| f64::from(colour[channel])), 0.5) as u8
    })
}
