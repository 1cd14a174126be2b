//! Puzzles as clauses for any SAT solver.
//!
//! Any board (rectangles, holes, walls, bridges, warps, hexes), any even number of terminals of a
//! colour, any of the rules. One call, [`solve`], answers a puzzle with a SAT solver of the caller's choice:
//!
//! ```
//! # #[cfg(feature = "batsat")] {
//! use flowpipe_puzzle::{message::Verdict, text};
//! use flowpipe_sat::{Batsat, Options, Want, solve};
//!
//! let (puzzle, _) = text::read("A.B.C\n..D.E\n.....\n.B.C.\n.ADE.").remove(0).puzzle.unwrap();
//! let options = Options { want: Want::Unique, ..Options::default() };
//! let answer = solve::<Batsat>(&puzzle, &options, &|| false).unwrap();
//! assert!(matches!(answer.verdict, Verdict::Solution { unique: Some(true), .. }));
//! # }
//! ```
//!
//! A SAT solver takes part by [`Backend`]. [`Batsat`] is included here, behind the feature `batsat`; those of the other
//! solver plugins stand with them.
//!
//! # Layout
//! - [`solve`](mod@solve): the answer as it was asked for; [`search`]: solve, [`cut`], solve again;
//!   [`options`], [`answer`]: the input and the output.
//! - [`network`]: the puzzle as nodes, edges and terminals; [`turns`]: the corner-chain lemma on it;
//!   [`shortest`]: another lemma, for boards that need not be covered.
//! - [`reason`]: cheap proofs, in words, that there is no solution.
//! - [`guess`]: solutions of loose boards by other means, before a SAT solver is asked.
//! - [`encode`]: the puzzle as clauses, made of [`clauses`] and of [`paint`], the nodes' colours;
//!   [`formula`], [`literal`]: the clauses themselves. [`decode`]: what the solver chose, as paths and rings.
//! - [`backend`]: what a SAT solver must be able to do; [`batsat`]: one that can. [`stage`]: a plugin around one.
//! - [`testing`] (behind the feature `testing`): what every back end must pass.

pub mod answer;
pub mod backend;
#[cfg(feature = "batsat")]
pub mod batsat;
mod clauses;
mod cut;
mod decode;
mod encode;
pub mod formula;
mod guess;
pub mod literal;
mod network;
pub mod options;
mod paint;
mod reason;
mod search;
mod shortest;
pub mod solve;
mod stage;
mod turns;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::{Answer, SolveError};
pub use backend::{Backend, BackendError, Work};
#[cfg(feature = "batsat")]
pub use batsat::Batsat;
pub use formula::Formula;
pub use literal::Literal;
pub use options::{Encoding, Options, Want};
pub use solve::solve;

pub use flowpipe_puzzle::message::{Effort, Verdict};
pub use flowpipe_puzzle::{Puzzle, Rules};

/// Why a puzzle has no solution, where that is easy to see.
#[must_use]
pub fn reason(puzzle: &flowpipe_puzzle::Puzzle) -> Option<String> {
    reason::unsolvable(puzzle, &network::Network::new(puzzle))
}

#[cfg(all(test, feature = "batsat"))]
mod tests {
    use super::*;

    crate::back_end_tests!(Batsat);
}
