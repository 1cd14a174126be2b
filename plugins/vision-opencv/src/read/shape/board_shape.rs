//! The shape of a board: its cells, and the walls between them.

use std::iter;

use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::{Board, BoardError, Cell, Lattice};

use crate::find::grid::Grid;

/// The shape of a board, by its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardShape {
    /// Cells that are not there, ascending.
    pub holes: Vec<Cell>,
    /// Pairs of cells with a wall between, each ascending, ascending.
    pub walls: Vec<(Cell, Cell)>,
    /// Whether its edges wrap around.
    pub warps: bool,
}

impl BoardShape {
    /// Whether a cell is there.
    #[must_use]
    pub fn has(&self, cell: Cell) -> bool {
        self.holes.binary_search(&cell).is_err()
    }

    /// How many cells are there.
    #[must_use]
    pub fn cells(&self, grid: &Grid) -> usize {
        grid.len() - self.holes.len()
    }

    /// The same without the rows and columns at the grid's edges that have no cells.
    #[must_use]
    pub fn trimmed(self, grid: &Grid) -> (Grid, Self) {
        let there = || (0..grid.len()).filter(|&cell| self.has(cell));
        let cols = grid.cols();
        let first_column = there().map(|cell| cell % cols).min();
        if grid.lattice == Lattice::Hex && first_column.is_some_and(|col| col % 2 == 1) {
            let (grid, shape) = self.turned_over(grid);
            return shape.trimmed(&grid);
        }
        let bounds = |place: &dyn Fn(Cell) -> usize| {
            let (first, last) = (there().map(place).min(), there().map(place).max());
            first.zip(last)
        };
        let rows = bounds(&|cell| cell / cols);
        let columns = bounds(&|cell| cell % cols);
        let (Some((top, bottom)), Some((left, right))) = (rows, columns) else {
            return (grid.clone(), self);
        };
        let trimmed = Grid {
            xs: grid.xs[left..=right + 1].to_vec(),
            ys: grid.ys[top..=bottom + 1].to_vec(),
            ..grid.clone()
        };
        let moved = |cell: Cell| (cell / cols - top) * trimmed.cols() + cell % cols - left;
        let mut is_there = vec![false; trimmed.len()];
        for cell in there() {
            is_there[moved(cell)] = true;
        }
        let shape = Self {
            holes: (0..trimmed.len()).filter(|&cell| !is_there[cell]).collect(),
            walls: self
                .walls
                .iter()
                .map(|&(a, b)| (moved(a), moved(b)))
                .collect(),
            warps: self.warps,
        };
        (trimmed, shape)
    }

    /// The same on a grid of hexagons with one column more on the left, so that the even columns become the odd
    /// ones, which lie half a row higher.
    fn turned_over(&self, grid: &Grid) -> (Grid, Self) {
        let step = |lines: &[f64]| lines[1] - lines[0];
        let (column, row) = (step(&grid.xs), step(&grid.ys));
        // A line more above, for the cells of the columns that were higher lie in a row lower now.
        let above = grid.ys.iter().map(|y| y - row / 2.0);
        let last = grid.ys[grid.rows()] + row / 2.0;
        let wider = Grid {
            xs: iter::once(grid.xs[0] - column)
                .chain(grid.xs.iter().copied())
                .collect(),
            ys: above.chain([last]).collect(),
            ..grid.clone()
        };
        let moved = |cell: Cell| {
            let (row, col) = (cell / grid.cols(), cell % grid.cols());
            // What was lowered is not now, and lies a row further down.
            (row + 1 - col % 2) * wider.cols() + col + 1
        };
        let mut is_there = vec![false; wider.len()];
        for cell in (0..grid.len()).filter(|&cell| self.has(cell)) {
            is_there[moved(cell)] = true;
        }
        let wall = |&(a, b): &(Cell, Cell)| (moved(a).min(moved(b)), moved(a).max(moved(b)));
        let mut walls: Vec<_> = self.walls.iter().map(wall).collect();
        walls.sort_unstable();
        let shape = Self {
            holes: (0..wider.len()).filter(|&cell| !is_there[cell]).collect(),
            walls,
            warps: self.warps,
        };
        (wider, shape)
    }

    /// The board, with the cells that two flows cross on.
    ///
    /// # Errors
    /// [`BoardError`] for what is no board.
    pub fn board(self, grid: &Grid, bridges: Vec<Cell>) -> Result<Board, BoardError> {
        Board::new(Description {
            rows: grid.rows(),
            cols: grid.cols(),
            lattice: grid.lattice,
            warps: self.warps,
            holes: self.holes,
            bridges,
            walls: self.walls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexagons_stay_where_they_are_when_empty_columns_are_left_out() {
        let line = |index: usize| 10.0 * index as f64;
        let grid = Grid::hexes((0..=6).map(line).collect(), (0..=5).map(line).collect());
        for kept in [[7, 8, 13], [8, 9, 15], [7, 13, 20], [14, 21, 16]] {
            let middles = |grid: &Grid, shape: &BoardShape| {
                let mut middles: Vec<_> = (0..grid.len())
                    .filter(|&cell| shape.has(cell))
                    .map(|cell| grid.centre_of(cell).map(|place| place as i64))
                    .collect();
                middles.sort_unstable();
                middles
            };
            let shape = BoardShape {
                holes: (0..grid.len())
                    .filter(|cell| !kept.contains(cell))
                    .collect(),
                walls: vec![(kept[0].min(kept[1]), kept[0].max(kept[1]))],
                warps: false,
            };
            let before = middles(&grid, &shape);
            let wall = shape.walls[0];
            let wall = [wall.0, wall.1].map(|cell| grid.centre_of(cell));
            let (trimmed, shape) = shape.trimmed(&grid);
            assert_eq!(middles(&trimmed, &shape), before);
            let (a, b) = shape.walls[0];
            let mut moved = [a, b].map(|cell| trimmed.centre_of(cell));
            moved.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let mut expected = wall;
            expected.sort_by(|a, b| a[0].total_cmp(&b[0]));
            assert_eq!(moved, expected);
            assert!((0..trimmed.rows()).any(|row| shape.has(row * trimmed.cols())));
        }
    }
}
