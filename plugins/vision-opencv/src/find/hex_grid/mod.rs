//! Finds grids of hexagons by the horizontal sides of flat-topped hexagons.
//!
//! Each horizontal side has another one a row below, and one half a row lower in each neighbouring column. Connected
//! sides form a candidate. The heights of lines are exact to a part of a pixel. Columns are sampled, so their positions
//! are refined at the slanted sides.
//!
//! A board of hexagons that is on its side is searched in the picture turned clockwise. Its cells are named as they are
//! seen there; the corners of its geometry define their positions in the picture.

mod dashes;
mod refinement;

use crate::find::grid::Grid;
use crate::find::hex_grid::dashes::{Dashes, FEWEST_DASHES, heights, mended};
use crate::find::hex_grid::refinement::refined;
use crate::find::lines::segment::Segment;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;

/// Rows and columns that a grid has more than were seen, on every side.
pub const AROUND: usize = 2;

/// The number of short lines from which on a picture is a page of text.
const MOST_DASHES: usize = 8000;

/// The grids of hexagons that horizontal lines may be sides of, those with the most sides first, to a pixel or two.
/// Each has [`AROUND`] columns and rows more on every side than were seen. `stride`: pixels from one sampled column to
/// the next.
#[must_use]
pub fn find(horizontal: &[Segment], stride: usize) -> Vec<Grid> {
    if horizontal.len() < FEWEST_DASHES || horizontal.len() > MOST_DASHES {
        return Vec::new();
    }
    let stride = stride as f64;
    let horizontal = &mended(horizontal);
    let mut found: Vec<(usize, Grid)> = Vec::new();
    for height in heights(horizontal, stride) {
        for dashes in Dashes::all(horizontal, height, stride) {
            if let Some(fit) = dashes.fit() {
                found.push((dashes.members.len(), fit.grid(&dashes)));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    // To place one costs more than all else here.
    distinct(found.into_iter().map(|(_, grid)| grid))
}

/// Grids of hexagons with their columns where they are seen in the picture, each one once.
#[must_use]
pub fn placed(grids: Vec<Grid>, picture: &Picture<'_>, polarity: Polarity) -> Vec<Grid> {
    let refined = grids
        .into_iter()
        .map(|grid| refined(grid, picture, polarity));
    distinct(refined)
}

/// Those that are not the same as one before.
fn distinct(grids: impl Iterator<Item = Grid>) -> Vec<Grid> {
    let mut distinct: Vec<Grid> = Vec::new();
    for grid in grids {
        if !distinct.iter().any(|other| same(other, &grid)) {
            distinct.push(grid);
        }
    }
    distinct
}

fn same(a: &Grid, b: &Grid) -> bool {
    let near = |(a, b): (f64, f64)| (a - b).abs() < 2.0;
    a.bounds().into_iter().zip(b.bounds()).all(near)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Lattice;

    use super::dashes::{COLUMN, HEIGHT};
    use super::*;

    /// The horizontal sides of a board of hexagons, 40 pixels wide from column to column.
    fn dashes(rows: usize, cols: usize) -> Vec<Segment> {
        let side = 40.0 / COLUMN;
        let height = side * HEIGHT;
        let mut runs = Vec::new();
        for col in 0..cols {
            for row in 0..=rows {
                let lowered = if col % 2 == 0 { 0.5 } else { 0.0 };
                let middle = 100.0 + 40.0 * col as f64;
                runs.push(Segment {
                    at: 100.0 + (row as f64 + lowered) * height,
                    from: middle - side / 2.0,
                    to: middle + side / 2.0,
                    width: 2.0,
                    contrast: 50.0,
                });
            }
        }
        runs.sort_by(|a, b| a.at.total_cmp(&b.at));
        runs
    }

    #[test]
    fn a_lattice_is_found_among_other_lines() {
        let mut horizontal = dashes(4, 5);
        // One is lost, one is parted by a pipe, and there are others.
        horizontal.remove(7);
        let parted = horizontal.remove(9);
        for (from, to) in [(0.0, 0.25), (0.75, 1.0)] {
            horizontal.push(Segment {
                from: parted.from + from * parted.length(),
                to: parted.from + to * parted.length(),
                ..parted
            });
        }
        for at in [20.0, 333.0, 500.0] {
            horizontal.push(Segment {
                at,
                from: 0.0,
                to: 30.0,
                ..parted
            });
        }
        horizontal.sort_by(|a, b| a.at.total_cmp(&b.at));
        let grids = find(&horizontal, 2);
        let grid = grids.first().unwrap();
        let middle = |x: f64, y: f64| {
            (0..grid.len()).any(|cell| {
                let [cell_x, cell_y] = grid.centre_of(cell);
                (cell_x - x).hypot(cell_y - y) < 0.5
            })
        };
        let height = 40.0 / COLUMN * HEIGHT;
        assert!(middle(100.0, 100.0 + height));
        assert!(middle(140.0, 100.0 + 0.5 * height));
        assert!(!middle(140.0, 100.0 + height));
        assert_eq!((grid.lattice, grid.cols()), (Lattice::Hex, 9));
    }

    #[test]
    fn lines_of_squares_are_none() {
        let horizontal: Vec<Segment> = (0..8)
            .map(|index| Segment {
                at: 50.0 * f64::from(index),
                from: 10.0,
                to: 410.0,
                width: 2.0,
                contrast: 50.0,
            })
            .collect();
        assert_eq!(find(&horizontal, 2), []);
        assert_eq!(find(&[], 2), []);
    }
}
