//! Boards of squares as characters.

use super::canvas::Canvas;
use super::{Drawing, EAST, NORTH, SOUTH, WEST};
use crate::board::Cell;

pub(super) fn squares(drawing: &Drawing<'_>) -> Canvas {
    let (rows, cols) = (drawing.board.rows(), drawing.board.cols());
    let wraps = drawing.board.description().warps;
    let tall = drawing.board.cells().any(|cell| drawing.walled(cell, 2));
    let height = if tall { 2 } else { 1 };
    let cell_width = drawing.name_width + if tall { 3 } else { 1 };
    // What comes around an edge enters from the margins.
    let over_the_top = |cell: Cell| cell < cols && drawing.arm(cell, 0).is_some();
    let top = wraps && (tall || drawing.board.cells().any(over_the_top));
    let (left, top) = (usize::from(wraps), usize::from(top));
    // Below the last row there is something to see only where the board wraps around.
    let last = if tall { usize::from(!wraps) } else { 0 };
    let bottom = if tall { 0 } else { top };
    let mut canvas = Canvas::new(
        top + rows * height + bottom - last,
        left + cols * cell_width,
    );
    let (along, across) = (drawing.glyph(EAST | WEST), drawing.glyph(NORTH | SOUTH));
    let (wall_along, wall_across) = if drawing.style.ascii {
        ('=', '!')
    } else {
        ('━', '┃')
    };

    for cell in drawing.board.cells() {
        let (row, col) = drawing.board.row_col(cell);
        let (y, x) = (top + row * height, left + col * cell_width);
        let end = x + cell_width - 1;
        square(drawing, &mut canvas, cell, y, x);
        if let Some(colour) = drawing.arm(cell, 1) {
            for x in x + 1..=end {
                canvas.put_if_free(y, x, along, Some(colour));
            }
        } else if drawing.walled(cell, 1) {
            canvas.put(y, end, wall_across, None);
        }
        if tall || (bottom == 1 && row + 1 == rows) {
            if let Some(colour) = drawing.arm(cell, 2) {
                canvas.put(y + 1, x, across, Some(colour));
            } else if drawing.walled(cell, 2) {
                (x..end).for_each(|x| canvas.put(y + 1, x, wall_along, None));
            }
        }
        if wraps && col == 0 {
            if let Some(colour) = drawing.arm(cell, 3) {
                canvas.put(y, 0, along, Some(colour));
            } else if drawing.walled(cell, 3) {
                canvas.put(y, 0, wall_across, None);
            }
        }
        if top == 1 && row == 0 {
            if let Some(colour) = drawing.arm(cell, 0) {
                canvas.put(0, x, across, Some(colour));
            } else if drawing.walled(cell, 0) {
                (x..end).for_each(|x| canvas.put(0, x, wall_along, None));
            }
        }
    }
    canvas
}

/// The inside of one square cell.
fn square(drawing: &Drawing<'_>, canvas: &mut Canvas, cell: Cell, y: usize, x: usize) {
    if let Some(colour) = drawing.puzzle.terminal_at(cell) {
        canvas.write(y, x, &drawing.terminal(colour), Some(colour));
        return;
    }
    let arms = (0..4).filter(|&way| drawing.arm(cell, way).is_some());
    let arms = arms.fold(0, |arms, way| arms | (1 << way));
    if drawing.board.is_bridge(cell) {
        // The pipe that goes down lies over the one that goes across, whose colour is behind it.
        let down = drawing.arm(cell, 0).or(drawing.arm(cell, 2));
        let across = drawing.arm(cell, 1).or(drawing.arm(cell, 3));
        let behind = across.filter(|_| down.is_some());
        canvas.put_over(y, x, drawing.glyph(15), down.or(across), behind);
    } else {
        let colour = drawing.colour_of.get(&cell).copied();
        canvas.put(y, x, drawing.glyph(arms), colour);
    }
}
