//! Where a session's boards come from.

use std::fmt;
use std::str::FromStr;

pub use flowpipe_generate::SizeError;
use flowpipe_generate::{GenerateError, Generator, Random, usual_flows};
use flowpipe_puzzle::{Board, Puzzle};

/// A board to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What its file calls it; generated boards have no title.
    pub title: Option<String>,
    /// The puzzle.
    pub puzzle: Puzzle,
}

/// The boards of a session, one after the other.
#[derive(Clone, Debug)]
pub enum Levels {
    /// These, in their order.
    Given(Vec<Level>),
    /// New ones without end, of each size in turn.
    Generated {
        /// The sizes, at least one.
        sizes: Vec<Size>,
        /// The same seed gives the same boards.
        seed: u64,
    },
}

impl Levels {
    /// The board at a place in the order, from 0; `None` beyond the last.
    ///
    /// # Errors
    /// [`GenerateError`], which the sizes that [`Size`] admits are not known to meet.
    pub fn get(&self, place: usize) -> Result<Option<Level>, GenerateError> {
        match self {
            Self::Given(levels) => Ok(levels.get(place).cloned()),
            Self::Generated { sizes, seed } => {
                let Some(size) = place
                    .checked_rem(sizes.len())
                    .and_then(|place| sizes.get(place))
                else {
                    return Ok(None);
                };
                size.level(Random::seed_of(*seed, place as u64)).map(Some)
            }
        }
    }
}

/// The size of a generated board. As text `5` or `15x18`, columns before rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size(flowpipe_generate::Size);

impl Size {
    /// The fewest cells of a side.
    pub const SHORTEST: usize = 4;
    /// The most cells of a side.
    pub const LONGEST: usize = 18;

    /// A size in cells.
    ///
    /// # Errors
    /// [`SizeError::Range`].
    pub fn new(cols: usize, rows: usize) -> Result<Self, SizeError> {
        let sides = Self::SHORTEST..=Self::LONGEST;
        flowpipe_generate::Size::within(cols, rows, sides).map(Self)
    }

    /// A board of about as many flows as the real game's of this size have.
    fn level(self, seed: u64) -> Result<Level, GenerateError> {
        let board = Board::rectangle(self.0.rows(), self.0.cols())
            .map_err(|error| GenerateError::Puzzle(error.into()))?;
        let generated = Generator::new().on_board(&board, usual_flows(&board), seed)?;
        Ok(Level {
            title: None,
            puzzle: generated.puzzle,
        })
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        flowpipe_generate::Size::parse(text, Self::SHORTEST..=Self::LONGEST).map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!("7".parse(), Size::new(7, 7));
        assert_eq!("15x18".parse(), Size::new(15, 18));
        for text in ["", "x", "5x", "5x5x5", "-5", "five"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Form), "{text}");
        }
        for text in ["3", "19x5", "5x0"] {
            assert_eq!(
                text.parse::<Size>(),
                Err(SizeError::Range(4..=18)),
                "{text}"
            );
        }
        assert_eq!(
            Size::new(15, 18).expect("a size").to_string(),
            "15x18",
            "it is written as it is read"
        );
    }

    #[test]
    fn every_size_is_generated_in_turn() {
        let sizes: Vec<Size> = (Size::SHORTEST..=Size::LONGEST)
            .flat_map(|side| [(side, side), (side, Size::LONGEST), (Size::LONGEST, side)])
            .map(|(cols, rows)| Size::new(cols, rows).expect("a size"))
            .collect();
        let levels = Levels::Generated {
            sizes: sizes.clone(),
            seed: 3,
        };
        for (place, size) in sizes.iter().cycle().enumerate().take(sizes.len() + 2) {
            let level = levels.get(place).expect("a board").expect("one more");
            let board = level.puzzle.board();
            assert_eq!((board.cols(), board.rows()), (size.0.cols(), size.0.rows()));
        }
    }

    #[test]
    fn seeds_repeat_and_differ() {
        let level = |seed, place| {
            let sizes = vec![Size::new(6, 6).expect("a size")];
            let levels = Levels::Generated { sizes, seed };
            levels.get(place).expect("a board").expect("one more")
        };
        assert_eq!(level(1, 4), level(1, 4));
        assert_ne!(level(1, 4), level(1, 5));
        assert_ne!(level(1, 5), level(2, 4));
    }

    #[test]
    fn given_levels_end() {
        let level = Size::new(5, 5).expect("a size").level(0).expect("a board");
        let levels = Levels::Given(vec![level.clone()]);
        assert_eq!(levels.get(0), Ok(Some(level)));
        assert_eq!(levels.get(1), Ok(None));
    }
}
