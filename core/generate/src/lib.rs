//! Makes puzzles with exactly one solution: plain ones and every other kind of Flow Free's, as many flows
//! as its boards have, graded by difficulty, the same for the same seed.
//!
//! # How it works
//! A board is covered with flows that do not touch themselves, by a random walk (`tiling`) that comes
//! down to the number of flows asked for; the ends of the flows are the terminals. The dedicated search
//! then proves whether the puzzle has another solution, and how hard it is. If it has one, or is not of
//! the difficulty asked for, the next board begins from nothing.
//!
//! That is enough, because another solution is rare: where every cell is covered and no flow touches itself,
//! of random plain boards from 5x5 to 40x40 some 99 of 100 had one solution, the same with hexes, walls
//! and holes; 92 with bridges on 9x9, 83 on 15x18 and 20 on 40x40; 82 on 5x5 that warps. To mend
//! a board, by changing the flows where two solutions differ, could save one part in a hundred.
//!
//! What takes the time is the walk: from a path for each cell down to few paths, some thousand steps of a tenth of a
//! microsecond on 9x9. Low temperatures serve best: at 0.3 boards of 15x18 take three times as long
//! as at 0.2, at 0.4 eighty times. Not every number of flows can be reached on boards with holes and walls (the
//! colours of a chessboard show why), so a walk that has not come down to the number drawn for it
//! after a while takes any usual one.
//!
//! The generators of thomasahle/numberlink differ in this: the one in Go shuffles dominoes and joins ends that meet,
//! which leaves more and shorter flows, and proves nothing about other solutions; the one in Python
//! draws random loops of turns along the diagonals (every turn of such a tiling lies on a diagonal
//! from a terminal), and throws away what has closed loops, squares or pairs side by side. Neither knows other boards
//! than rectangles.
//!
//! # Layout
//! - [`recipe`]: what is asked for: a [`size`], [`kind`]s, a [`difficulty`].
//! - [`generator`]: puts it together. `shape`: boards of a kind. `tiling`: flows that cover a board.
//! - [`random`]: the numbers behind it.

pub mod difficulty;
pub mod generator;
pub mod kind;
mod net;
pub mod random;
pub mod recipe;
mod shape;
pub mod size;
mod tiling;

pub use difficulty::{Difficulty, Rating};
pub use generator::{GenerateError, Generated, Generator};
pub use kind::Kind;
pub use random::Random;
pub use recipe::{Recipe, RecipeError, usual_flows};
pub use size::{Size, SizeError};
