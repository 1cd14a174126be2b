//! What puzzles are asked for.

use std::ops::RangeInclusive;

use flowpipe_puzzle::{Board, BoardError, Lattice, board::Description};
use thiserror::Error;

use crate::difficulty::Difficulty;
use crate::kind::Kind;
use crate::size::Size;
use crate::tiling::SHORTEST;

/// The puzzles to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    size: Size,
    kinds: Vec<Kind>,
    difficulty: Option<Difficulty>,
}

/// Why there are no such puzzles.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecipeError {
    /// A board that can't be.
    #[error(transparent)]
    Board(#[from] BoardError),
}

impl Recipe {
    /// Puzzles of a size, with every one of the kinds, of any difficulty or of one.
    ///
    /// # Errors
    /// [`RecipeError`], where no board of that size can be of these kinds.
    pub fn new(
        size: Size,
        kinds: &[Kind],
        difficulty: Option<Difficulty>,
    ) -> Result<Self, RecipeError> {
        let mut kinds = kinds.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        let lattice = if kinds.contains(&Kind::Hexes) {
            Lattice::Hex
        } else {
            Lattice::Square
        };
        Board::new(Description {
            rows: size.rows(),
            cols: size.cols(),
            lattice,
            warps: kinds.contains(&Kind::Warps),
            ..Description::default()
        })?;
        Ok(Self {
            size,
            kinds,
            difficulty,
        })
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// What the boards have besides plain squares, each kind once.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Whether a board has this size, and each of the kinds and no other one.
    #[must_use]
    pub fn admits(&self, board: &Board) -> bool {
        let has = |kind| self.kinds.contains(&kind);
        let made = board.description();
        // Walls close some edges of boards that warp.
        let may_have_walls = has(Kind::Walls) || has(Kind::Warps);
        (made.cols, made.rows) == (self.size.cols(), self.size.rows())
            && (made.lattice == Lattice::Hex) == has(Kind::Hexes)
            && made.warps == has(Kind::Warps)
            && made.holes.is_empty() != has(Kind::Holes)
            && made.bridges.is_empty() != has(Kind::Bridges)
            && (made.walls.is_empty() || may_have_walls)
            && (!made.walls.is_empty() || !has(Kind::Walls))
    }

    /// The difficulty asked for; `None` for any.
    #[must_use]
    pub fn difficulty(&self) -> Option<Difficulty> {
        self.difficulty
    }
}

/// About as many flows as the real game's boards have, and more on larger boards than it has.
///
/// There the number grows with the side of the board: 3 to 6 on 5x5, 4 to 10 on 9x9, 11 to 16 on 15x18,
/// on most boards 0.6 to 1.1 times the square root of the number of cells. It never has more than 16, so that the
/// colours can be distinguished; no more do boards of up to 18x18 here. On larger ones flows may be as short as they
/// are there.
#[must_use]
pub fn usual_flows(board: &Board) -> RangeInclusive<usize> {
    const FEWEST: f64 = 0.6;
    const MOST: f64 = 1.1;
    const COLOURS: usize = 16;
    const COLOURED_CELLS: usize = 18 * 18;

    let cells = board.cells().count();
    let side = (cells as f64).sqrt();
    let most = if cells <= COLOURED_CELLS {
        ((side * MOST).round() as usize).min(COLOURS)
    } else {
        (cells * COLOURS).div_ceil(COLOURED_CELLS)
    };
    let most = most.min(cells / SHORTEST).max(1);
    let fewest = ((side * FEWEST).round() as usize).clamp(1, most);
    fewest..=most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_as_many_as_in_the_real_game() {
        let flows = |rows, cols| usual_flows(&Board::rectangle(rows, cols).expect("a board"));
        assert_eq!(flows(5, 5), 3..=6);
        assert_eq!(flows(9, 9), 5..=10);
        assert_eq!(flows(18, 15), 10..=16);
        assert_eq!(flows(3, 3), 2..=3);
        assert_eq!(flows(40, 40), 24..=80);
    }

    #[test]
    fn boards_that_cannot_be_are_refused() {
        let recipe =
            |cols, kinds: &[Kind]| Recipe::new(Size::new(cols, 5).expect("a size"), kinds, None);
        let hexes = [Kind::Warps, Kind::Hexes];
        assert!(matches!(
            recipe(5, &hexes),
            Err(RecipeError::Board(BoardError::HexWarps {
                rows: 5,
                cols: 5
            }))
        ));
        assert!(recipe(6, &hexes).is_ok());
        assert!(recipe(5, &Kind::ALL[..1]).is_ok());
    }
}
