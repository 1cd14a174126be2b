//! Illustrations of the steps, for people: what each step saw, drawn over the picture.
//!
//! Nothing is drawn unless the config asks for it.

use flowpipe_plugin::puzzle::{Flow, Terminal};

use crate::find::grid::Grid;
use crate::find::lines::segment::Segment;
use crate::picture::top_hat::TopHat;
use crate::picture::{Picture, Rgb};
use crate::steps::Steps;
use crate::steps::sketch::Sketch;

/// What is pointed at.
const MARKED: Rgb = [255, 0, 255];
const LIGHT: Rgb = [255; 3];

/// The vertical and horizontal lines that were found.
pub fn lines(
    picture: &Picture<'_>,
    vertical: &[Segment],
    horizontal: &[Segment],
    steps: &mut Steps,
) {
    steps.picture("lines", || {
        let mut sketch = Sketch::of_picture(picture)?.dimmed()?;
        for run in vertical {
            sketch.line([run.at, run.from], [run.at, run.to], MARKED, 1.0)?;
        }
        for run in horizontal {
            sketch.line([run.from, run.at], [run.to, run.at], MARKED, 1.0)?;
        }
        Ok(sketch)
    });
}

/// How much each pixel stands out where a board may turn, the most as white.
pub fn thin(thin: &TopHat, steps: &mut Steps) {
    steps.picture("thin", || {
        let (mat, origin) = thin.mat();
        Sketch::of_grey(mat, 1.0, origin)?.brightened()
    });
}

/// A grid that may be a board's.
pub fn grid_lines(picture: &Picture<'_>, grid: &Grid, steps: &mut Steps) {
    steps.picture("grid lines", || {
        let mut sketch = Sketch::of_picture(picture)?.dimmed()?;
        let [left, top, width, height] = grid.bounds();
        for &x in &grid.xs {
            sketch.line([x, top], [x, top + height], MARKED, 2.0)?;
        }
        for &y in &grid.ys {
            sketch.line([left, y], [left + width, y], MARKED, 2.0)?;
        }
        Ok(sketch)
    });
}

/// The terminals in the colours that they were given, with the colours' numbers.
pub fn terminals(
    picture: &Picture<'_>,
    grid: &Grid,
    terminals: &[Terminal],
    palette: &[Rgb],
    steps: &mut Steps,
) {
    steps.picture("terminals", || {
        let mut sketch = Sketch::of_picture(picture)?.dimmed()?;
        for terminal in terminals {
            let [x, y] = grid.centre_of(terminal.cell);
            let paint = palette.get(usize::from(terminal.colour)).copied();
            let width = (grid.cell / 12.0).max(1.0);
            sketch.ring([x, y], 0.4 * grid.cell, paint.unwrap_or(MARKED), width)?;
            let number = terminal.colour.to_string();
            let height = 0.25 * grid.cell;
            let left = x - 0.4 * height * number.len() as f64;
            sketch.text(&number, [left, y + 0.5 * height], height, LIGHT)?;
        }
        Ok(sketch)
    });
}

/// The pipes that are drawn, through the centres of their cells.
pub fn pipes(picture: &Picture<'_>, grid: &Grid, flows: &[Flow], steps: &mut Steps) {
    steps.picture("pipes", || {
        let mut sketch = Sketch::of_picture(picture)?.dimmed()?;
        let width = (grid.cell / 12.0).max(1.0);
        for flow in flows {
            for pair in flow.cells.windows(2) {
                let [from, to] = [pair[0], pair[1]].map(|cell| grid.centre_of(cell));
                sketch.line(from, to, LIGHT, width)?;
            }
        }
        Ok(sketch)
    });
}
