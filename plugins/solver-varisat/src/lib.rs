//! Solver stage: a SAT encoding solved by varisat.
//!
//! Any board (rectangles, holes, walls, bridges, warps, hexes), any even number of terminals of a
//! colour, any of the rules. What it returns has passed the checker.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`network`]: the puzzle as nodes, edges and terminals; [`turns`]: the corner-chain lemma on it;
//!   [`shortest`]: another lemma, for boards that need not be covered.
//! - [`reason`]: cheap proofs, in words, that there is no solution.
//! - [`encode`]: the puzzle as clauses, made of [`clauses`] and of [`paint`], the nodes' colours.
//! - [`decode`]: what the solver chose, as flows and stray rings.
//! - [`solve`]: solve, cut rings, solve again; [`interrupt`]: how that is stopped in the middle.

mod clauses;
mod config;
mod decode;
mod encode;
mod interrupt;
mod network;
mod paint;
mod reason;
mod shortest;
mod solve;
mod turns;

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::{Cancel, Error, Host, Result, Solver};

use config::Config;
use solve::SolveError;

/// The stage.
struct SolverVarisat {
    config: Config,
}

impl Solver for SolverVarisat {
    const NAME: &'static str = "solver-varisat";
    const DOC: &'static str = "Solves any kind of board by the SAT solver varisat: exact, with a \
         proof that there is no solution or no other, and fast on the boards of the game. Checks \
         what it found before it says so.";
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        match solve::solve(puzzle, &self.config, &|| cancel.is_cancelled()) {
            Err(SolveError::Cancelled) => Err(Error::cancelled()),
            other => Ok(other?),
        }
    }
}

flowpipe_plugin::export!(SolverVarisat);
