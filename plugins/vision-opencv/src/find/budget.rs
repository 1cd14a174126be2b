//! The budget of a search.
//!
//! Textures have more lines than boards, and many that are evenly spaced. The candidates most similar to a board are
//! examined first; when the budget is spent, the rest is not examined.

use crate::find::grid::Grid;
use crate::find::lines::segment::Segment;

/// What a search may cost, in pixels of lines that are examined. Those of a board of 15 by 18 cells that fills a screen
/// of 1920 by 1080 pixels are 36,000. A search for boards that turn or are tilted costs more than ten of them.
const MOST: f64 = 600_000.0;
/// What finding a line and comparing it with others costs, in the same unit: as was measured.
const LINE: f64 = 6.0;

/// What is left of a search's effort.
#[derive(Clone, Copy, Debug)]
pub struct SearchBudget {
    /// Pixels of lines.
    left: f64,
}

impl SearchBudget {
    /// For one search.
    #[must_use]
    pub fn new() -> Self {
        Self { left: MOST }
    }

    /// Takes what examining a grid costs. False where nothing was left before: it is not to be examined.
    #[must_use]
    pub fn take(&mut self, grid: &Grid) -> bool {
        let may = !self.is_spent();
        let [.., width, height] = grid.bounds();
        self.left -= width * grid.ys.len() as f64 + height * grid.xs.len() as f64;
        may
    }

    /// Takes what it costs to compare lines with those beside them.
    pub fn spend_on(&mut self, lines: &[Segment]) {
        self.left -= LINE * lines.len() as f64;
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left <= 0.0
    }
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_grid_is_looked_at_however_large_it_is() {
        let lines = |count: u32| (0..count).map(|line| 10.0 * f64::from(line)).collect();
        let large = Grid::squares(lines(400), lines(400), 10.0);
        let mut effort = SearchBudget::new();
        assert!(effort.take(&large));
        assert!(effort.is_spent() && !effort.take(&large));
    }

    #[test]
    fn many_boards_that_fill_a_picture_are_looked_at() {
        let lines = |count: u32| (0..count).map(|line| 100.0 * f64::from(line)).collect();
        let board = Grid::squares(lines(16), lines(19), 100.0);
        let mut effort = SearchBudget::new();
        let looks = (0..100).take_while(|_| effort.take(&board)).count();
        assert!((10..20).contains(&looks), "{looks}");
    }
}
