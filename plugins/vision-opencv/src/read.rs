//! Joins the steps: a board that passes them all, or the reason why there is none.

use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Board, Geometry, Puzzle, Rules};
use thiserror::Error;

use crate::cells;
use crate::colours;
use crate::config::Config;
use crate::contents;
use crate::find_board::ThinLines;
use crate::grid_lines::{self, Grid};
use crate::picture::{Picture, PictureError};
use crate::pipes;
use crate::refusal::Refusal;
use crate::terminals;

/// How much a line must stand out, as shares of the picture's contrast, in the order tried.
const LEVELS: [f64; 3] = [0.05, 0.12, 0.022];
/// Pictures with a longer side than this are made smaller first.
const LARGE: usize = 2600;

/// What has nothing to do with what the picture shows.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Bytes that are no picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// OpenCV failed.
    #[error("OpenCV: {0}")]
    OpenCv(#[from] opencv::Error),
    /// A board that the puzzle model does not take, which the steps should not have let pass.
    #[error("a reading that is no puzzle: {0}")]
    Puzzle(#[from] flowpipe_plugin::puzzle::PuzzleError),
}

/// Reads boards, one picture after the other.
#[derive(Default)]
pub struct Reader {
    config: Config,
    lines: ThinLines,
}

impl Reader {
    /// With nothing seen yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            lines: ThinLines::default(),
        }
    }

    /// Reads one picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    pub fn read(&mut self, picture: &Picture<'_>) -> Result<Reading, ReadError> {
        let longer = picture.width().max(picture.height());
        // Half size is enough for most boards and much faster; small ones need every pixel.
        let scales: &[u32] = if longer > LARGE { &[2, 1] } else { &[1] };
        let mut refusal = Refusal::NoShape;
        for &scale in scales {
            self.lines.look(picture, scale)?;
            for level in LEVELS {
                match self.try_level(picture, level)? {
                    Ok(board) => return Ok(Reading::Board(board)),
                    Err(new @ Refusal::TwoBoards) => return Ok(refused(&new)),
                    Err(new) if new.progress() > refusal.progress() => refusal = new,
                    Err(_) => {}
                }
            }
        }
        Ok(refused(&refusal))
    }

    /// All shapes at one level.
    fn try_level(
        &mut self,
        picture: &Picture<'_>,
        level: f64,
    ) -> Result<Result<Box<SeenBoard>, Refusal>, ReadError> {
        let scale = self.lines.scale();
        let min_side =
            self.config.min_cells as f64 * f64::from(self.config.min_cell_pixels) / scale;
        let shapes = self.lines.shapes(level, min_side as i32)?;
        let mut refusal = Refusal::NoShape;
        let mut found: Option<(Box<SeenBoard>, [f64; 4])> = None;
        for shape in shapes {
            let grids = grid_lines::find(self.lines.mask(), shape, scale, &self.config)?;
            if grids.is_empty() && refusal.progress() < Refusal::NoGrid.progress() {
                refusal = Refusal::NoGrid;
            }
            for grid in grids {
                let bounds = grid.bounds();
                if found
                    .as_ref()
                    .is_some_and(|(_, other)| overlap(bounds, *other))
                {
                    continue;
                }
                match (self.try_grid(picture, &grid)?, &found) {
                    (Ok(board), None) => found = Some((board, bounds)),
                    (Ok(_), Some((_, first))) if area(bounds) > 0.5 * area(*first) => {
                        return Ok(Err(Refusal::TwoBoards));
                    }
                    (Err(new), _) if new.progress() > refusal.progress() => refusal = new,
                    _ => {}
                }
            }
        }
        Ok(found.map(|(board, _)| board).ok_or(refusal))
    }

    /// One grid.
    fn try_grid(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
    ) -> Result<Result<Box<SeenBoard>, Refusal>, ReadError> {
        let (rows, cols) = (grid.rows(), grid.cols());
        let (min, max) = (self.config.min_cells, self.config.max_cells);
        if rows.min(cols) < min || rows.max(cols) > max {
            return Ok(Err(Refusal::Size {
                rows,
                cols,
                min,
                max,
            }));
        }
        let thin = self.lines.thin()?;
        let steps = || {
            let lines = cells::check(picture, grid)?;
            let looks = terminals::look(picture, grid)?;
            let found: Vec<_> = looks
                .cells
                .iter()
                .enumerate()
                .filter_map(|(cell, look)| Some((cell, look.terminal?)))
                .collect();
            let paints = colours::pair(&found, grid)?;
            let contents = contents::contents(&looks, &paints, &thin, grid)?;
            let drawn = pipes::trace(picture, grid, &looks.cells, &contents, &paints)?;
            Ok((lines, paints, drawn))
        };
        let (lines, paints, drawn) = match steps() {
            Ok(seen) => seen,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let board =
            Board::rectangle(rows, cols).map_err(flowpipe_plugin::puzzle::PuzzleError::from)?;
        let [x, y, width, height] = grid.bounds();
        Ok(Ok(Box::new(SeenBoard {
            puzzle: Puzzle::new(board, paints.terminals, Rules::default())?,
            geometry: Geometry::upright(x, y, width, height, rows, cols),
            palette: paints.palette,
            drawn: drawn.flows,
            state: drawn.state,
            confidence: paints.clearness.min(lines.faintest.min(1.0)),
        })))
    }
}

fn refused(refusal: &Refusal) -> Reading {
    Reading::Refused {
        step: refusal.step().to_owned(),
        reason: format!("not a board that I can read: {refusal}"),
    }
}

fn area([_, _, width, height]: [f64; 4]) -> f64 {
    width * height
}

/// Whether two rectangles share more than their rims.
fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    let shared =
        |axis: usize| (a[axis] + a[axis + 2]).min(b[axis] + b[axis + 2]) - a[axis].max(b[axis]);
    let rim = 0.02 * (a[2] + b[2]);
    shared(0) > rim && shared(1) > rim
}
