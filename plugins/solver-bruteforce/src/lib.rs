//! Solver stage: all paths of each colour, then all combinations of them. For small boards.
//!
//! The method is that of a published Python program ("Solver for Flow game", C. T. Wong), which
//! walks every path of every colour on the board without pipes and then goes through the product of
//! these lists. What it could not do, several pairs of one colour, this one can: every pairing is
//! tried. And it gives a combination up at the first two paths that meet, where that program checks
//! whole combinations only.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`paths`]: all paths of each colour, as [`mask`]s of the nodes that they take.
//! - [`combine`]: combinations of paths. [`answer`]: the one after the other.

mod answer;
mod combine;
mod config;
mod mask;
mod paths;

#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, Result, Solver, Supports};

use config::Config;

/// The stage.
struct SolverBruteforce {
    config: Config,
    effort: Effort,
}

impl Solver for SolverBruteforce {
    const NAME: &'static str = "solver-bruteforce";
    const DOC: &'static str = "Walks every path of every colour on the empty board, then tries the \
         combinations of these paths. Exact, and for small boards only. Its effort: combinations \
         tried (whole or given up half-way), `paths`: all paths of all colours, `product`: how many \
         combinations the product of these lists has.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const SUPPORTS: Supports = Supports::EVERYTHING.with_max_cells(mask::MOST_CELLS);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self {
            config,
            effort: Effort::default(),
        })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.effort = Effort::default();
        let (verdict, effort) = answer::answer(puzzle, &self.config, *cancel)?;
        self.effort = effort;
        Ok(verdict)
    }

    fn effort(&mut self) -> Effort {
        self.effort.clone()
    }
}

flowpipe_plugin::export!(SolverBruteforce);
