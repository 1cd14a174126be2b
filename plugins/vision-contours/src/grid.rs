//! Finds the cells of a board, and from them its rows, its columns and where its lines are.

use std::ops::RangeInclusive;

use flowpipe_plugin::puzzle::Geometry;
use opencv::core::{Mat, Rect, bitwise_not_def};
use opencv::imgproc;

use crate::error::{ReadError, refuse};
use crate::find::outer;

/// The shortest side of a cell's inside, in pixels.
const SHORTEST: i32 = 6;
/// The number of rows and of columns.
const COUNTS: RangeInclusive<usize> = 3..=64;

/// Finds the cells within the bounds of a board. Refuses a board of which not each cell is found once.
pub fn find(lines: &Mat, bounds: Rect) -> Result<Geometry, ReadError> {
    let cells = insides(lines, bounds)?;
    let middle = |start: i32, length: i32| f64::from(start) + f64::from(length) / 2.0;
    let across = cells
        .iter()
        .map(|cell| middle(cell.x + bounds.x, cell.width));
    let down = cells
        .iter()
        .map(|cell| middle(cell.y + bounds.y, cell.height));
    let (left, width, cols) = axis(across.collect())?;
    let (top, height, rows) = axis(down.collect())?;
    let found = cells.len();
    if found != rows * cols {
        return refuse("grid", format!("{found} cells found of {rows} x {cols}"));
    }
    let (wide, high) = (width / cols as f64, height / rows as f64);
    if (wide - high).abs() > 0.1 * wide {
        return refuse("grid", "the cells are no squares");
    }
    Ok(Geometry::axis_aligned(left, top, width, height, rows, cols))
}

/// Returns the bounding boxes of what is between the lines, of those that have about the size of the middle one.
fn insides(lines: &Mat, bounds: Rect) -> Result<Vec<Rect>, ReadError> {
    let mut between = Mat::default();
    bitwise_not_def(&Mat::roi(lines, bounds)?, &mut between)?;
    let mut boxes = Vec::new();
    // Of a cell with a disc this is the cell: the edge of the disc lies inside.
    for contour in outer(&between)? {
        let inside = imgproc::bounding_rect(&contour)?;
        if inside.width.min(inside.height) >= SHORTEST {
            boxes.push(inside);
        }
    }
    boxes.sort_by_key(|inside| inside.width);
    let side = boxes.get(boxes.len() / 2).map_or(0, |inside| inside.width);
    let is_like = |length: i32| (length - side).abs() * 5 <= side;
    boxes.retain(|inside| is_like(inside.width) && is_like(inside.height));
    Ok(boxes)
}

/// Returns the first line, the length and the number of the cells whose centres these are, along one side, in pixels.
fn axis(mut centres: Vec<f64>) -> Result<(f64, f64, usize), ReadError> {
    centres.sort_by(f64::total_cmp);
    let steps = centres.windows(2).map(|pair| pair[1] - pair[0]);
    // The centres in one row or column differ by a pixel or two.
    let mut steps: Vec<f64> = steps.filter(|&step| step > f64::from(SHORTEST)).collect();
    steps.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (centres.first(), centres.last()) else {
        return refuse("grid", "there are no cells");
    };
    let count = steps.len() + 1;
    if !COUNTS.contains(&count) {
        return refuse("grid", format!("{count} rows or columns of cells"));
    }
    let side = (last - first) / steps.len() as f64;
    if steps[steps.len() - 1] - steps[0] > side / 4.0 {
        return refuse("grid", "the cells are not at equal distances");
    }
    Ok((first - side / 2.0, side * count as f64, count))
}
