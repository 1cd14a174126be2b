//! Solver stage: arc consistency, then a genetic algorithm over paths.
//!
//! After a genetic-algorithm project in Python by S. Bar and N. Wolfgor ("Flow Free Solver", on the
//! EC-KitY tool kit).
//! Arc consistency first settles what must be. What is left is bred: an individual has a path, or none,
//! for each flow; its fitness counts collisions, bare cells and missing paths, and 0 is a solution.
//! Where a run does not converge, another follows with twice the population.
//!
//! It is no complete search: it cannot prove that a puzzle has no solution, or only one, unless arc
//! consistency alone proves it; then it reports that, and evaluates no individual. The better operators check each new
//! path against arc consistency and try a bounded number of mutations of each child (a memetic algorithm); they never
//! take back more than one step of one path.
//!
//! What it answers with as effort: steps are individuals evaluated; the figures `generations`,
//! `population` (of the last run), `runs` and `fixed_cells` (cells settled by arc consistency);
//! the series `best`, `average` and `worst`, the fitness by generation, all runs one after the other.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`network`]: the puzzle as nodes and ways through them; [`consistency`]: what is left of these.
//! - [`paths`]: genes, and how new ones are laid; [`individual`]: all genes together, and fitness.
//! - [`operators`]: creation, crossover and mutation, as published and better.
//! - [`evolution`]: one run; [`solve`]: all runs, and the answer.

mod cancelled;
mod config;
mod consistency;
mod evolution;
mod individual;
mod network;
mod operators;
mod paths;
mod solve;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Error, Host, Result, Solver, Supports};

use config::Config;
use solve::SolveError;

/// The stage.
struct SolverGenetic {
    config: Config,
    effort: Effort,
}

impl Solver for SolverGenetic {
    const NAME: &'static str = "solver-genetic";
    const DOC: &'static str = "Settles by arc consistency what must be and breeds the rest: a genetic \
         algorithm over paths, after a Python project by S. Bar and N. Wolfgor. It may not find a \
         solution that there is, and proves nothing that arc consistency alone does not prove. Its \
         effort counts individuals and has the best, average and worst fitness of each generation.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const SUPPORTS: Supports = Supports::EVERYTHING.with_pairs(false).with_max_cells(400);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self {
            config,
            effort: Effort::default(),
        })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        let cancelled = || cancel.is_cancelled();
        match solve::solve(puzzle, &self.config, &cancelled, &mut self.effort) {
            Err(SolveError::Cancelled(_)) => Err(Error::cancelled()),
            Err(error) => Err(Error::new(error.to_string())),
            Ok(verdict) => Ok(verdict),
        }
    }

    fn effort(&mut self) -> Effort {
        self.effort.clone()
    }
}

flowpipe_plugin::export!(SolverGenetic);
