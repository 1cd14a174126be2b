//! Boards of squares as characters.

use super::canvas::Canvas;
use super::{Drawing, EAST, NORTH, SOUTH, WEST};
use crate::board::Cell;

impl Drawing<'_> {
    pub(super) fn squares(&self) -> Canvas {
        let (rows, cols) = (self.board.rows(), self.board.cols());
        let wraps = self.board.description().warps;
        let tall = self.board.cells().any(|cell| self.walled(cell, 2));
        let height = if tall { 2 } else { 1 };
        let cell_width = self.name_width + if tall { 3 } else { 1 };
        // What comes around an edge enters from the margins.
        let over_the_top = |cell: Cell| cell < cols && self.arm(cell, 0).is_some();
        let top = wraps && (tall || self.board.cells().any(over_the_top));
        let (left, top) = (usize::from(wraps), usize::from(top));
        // Below the last row there is something to see only where the board wraps around.
        let last = if tall { usize::from(!wraps) } else { 0 };
        let bottom = if tall { 0 } else { top };
        let mut canvas = Canvas::new(
            top + rows * height + bottom - last,
            left + cols * cell_width,
        );
        let (along, across) = (self.glyph(EAST | WEST), self.glyph(NORTH | SOUTH));
        let (wall_along, wall_across) = if self.style.ascii {
            ('=', '!')
        } else {
            ('━', '┃')
        };

        for cell in self.board.cells() {
            let (row, col) = self.board.row_col(cell);
            let (y, x) = (top + row * height, left + col * cell_width);
            let end = x + cell_width - 1;
            self.square(&mut canvas, cell, y, x);
            if let Some(colour) = self.arm(cell, 1) {
                for x in x + 1..=end {
                    canvas.put_if_free(y, x, along, Some(colour));
                }
            } else if self.walled(cell, 1) {
                canvas.put(y, end, wall_across, None);
            }
            if tall || (bottom == 1 && row + 1 == rows) {
                if let Some(colour) = self.arm(cell, 2) {
                    canvas.put(y + 1, x, across, Some(colour));
                } else if self.walled(cell, 2) {
                    (x..end).for_each(|x| canvas.put(y + 1, x, wall_along, None));
                }
            }
            if wraps && col == 0 {
                if let Some(colour) = self.arm(cell, 3) {
                    canvas.put(y, 0, along, Some(colour));
                } else if self.walled(cell, 3) {
                    canvas.put(y, 0, wall_across, None);
                }
            }
            if top == 1 && row == 0 {
                if let Some(colour) = self.arm(cell, 0) {
                    canvas.put(0, x, across, Some(colour));
                } else if self.walled(cell, 0) {
                    (x..end).for_each(|x| canvas.put(0, x, wall_along, None));
                }
            }
        }
        canvas
    }

    /// The inside of one square cell.
    fn square(&self, canvas: &mut Canvas, cell: Cell, y: usize, x: usize) {
        if let Some(colour) = self.puzzle.terminal_at(cell) {
            canvas.write(y, x, &self.terminal(colour), Some(colour));
            return;
        }
        let arms = (0..4).filter(|&way| self.arm(cell, way).is_some());
        let arms = arms.fold(0, |arms, way| arms | (1 << way));
        if self.board.is_bridge(cell) {
            // The pipe that goes down lies over the one that goes across, whose colour is behind it.
            let down = self.arm(cell, 0).or(self.arm(cell, 2));
            let across = self.arm(cell, 1).or(self.arm(cell, 3));
            let behind = across.filter(|_| down.is_some());
            canvas.put_over(y, x, self.glyph(15), down.or(across), behind);
        } else {
            let colour = self.colour_of.get(&cell).copied();
            canvas.put(y, x, self.glyph(arms), colour);
        }
    }
}
