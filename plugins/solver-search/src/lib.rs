//! Solver stage: the dedicated search of [`flowpipe_search`], with a SAT solver behind it for what
//! that search is not made for.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`solve`](mod@solve): which of the two answers, and how far the search goes before the other one is asked.
//! - [`answer`]: what the search found as a verdict.

mod answer;
mod config;
mod solve;

#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::solver::Supports;
use flowpipe_plugin::{Cancel, Effect, Error, Host, Result, Solver};

use config::Config;
use solve::{Solving, SolvingError};

/// The stage.
struct SolverSearch {
    solving: Solving,
    effort: Effort,
}

impl Solver for SolverSearch {
    const NAME: &'static str = "solver-search";
    const DOC: &'static str = "Solves any kind of board by a search made for Flow Free's rules: in microseconds, \
         with a proof that there is no solution or no other, counted or listed where that is wanted. Under other rules, on very \
         large boards, and where the search meets a board that it finds too hard, the SAT solver batsat answers. Effort: \
         branchings of the search plus conflicts of the SAT solver; `steps` are cells handled by the search.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const SUPPORTS: Supports = Supports::EVERYTHING;
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self {
            solving: Solving::new(config),
            effort: Effort::default(),
        })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.effort = Effort::default();
        match self.solving.solve(puzzle, &|| cancel.is_cancelled()) {
            Ok((verdict, effort)) => {
                self.effort = effort;
                Ok(verdict)
            }
            Err(SolvingError::Cancelled) => Err(Error::cancelled()),
            Err(error) => Err(error.into()),
        }
    }

    fn effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}

flowpipe_plugin::export!(SolverSearch);
