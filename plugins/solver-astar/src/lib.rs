//! Solver stage: A* over partial boards.
//!
//! The method is that of a published notebook ("Flow Free Solver", a course project on A* in Python).
//! A state is a partial board; one colour is chosen in it, and its children are the cells into which
//! that colour's pipe can grow by one. The notebook has three heuristics and grows the colour whose
//! ends are closest. It proposes to grow the most constrained end instead, and to know the goal when
//! it is seen rather than have it given: both stand here.
//!
//! With `{"prune": false, "ties": "heap", "choice": "closest"}` this solver expands the very states
//! that the notebook does, in the same order, with each of its heuristics (`misplaced-first` is its
//! third one as its code computes it). A test holds the figures side by side.
//!
//! What is new: any board, several pairs of one colour, rules under which a flow may go on beside its
//! end, dead states that are dropped at once, a heuristic that knows what is left to do, and a proof
//! that there is no solution when no state is left.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`goal`]: a goal given to compare with.
//! - [`problem`]: the puzzle in the tables that the search needs.
//! - [`partial`]: a partial board and its moves. [`tree`]: all that were reached, in little memory.
//! - [`heuristic`]: what is left to do. [`choice`]: where to grow. [`dead`]: when to give up.
//! - [`queue`]: the frontier. [`search`]: A* itself. [`answer`]: the verdict in words.

mod answer;
mod choice;
mod config;
mod dead;
mod goal;
mod heuristic;
mod partial;
mod problem;
mod queue;
mod search;
mod tree;

#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, Result, Solver, Supports};

use config::Config;
use goal::Goal;

/// The stage.
struct SolverAstar {
    config: Config,
    goal: Option<Goal>,
    effort: Effort,
}

impl Solver for SolverAstar {
    const NAME: &'static str = "solver-astar";
    const DOC: &'static str = "A* over partial boards: grows one flow by one cell at a time, the \
         most promising board first. Finds one solution, or proves that there is none. Its effort: \
         boards expanded, `frontier`: boards still waiting at the end, `states`: boards kept in memory.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const SUPPORTS: Supports = Supports::EVERYTHING.with_max_cells(problem::MOST_CELLS);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        let goal = Goal::of(&config)?;
        Ok(Self {
            config,
            goal,
            effort: Effort::default(),
        })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.effort = Effort::default();
        let (verdict, effort) = answer::answer(puzzle, &self.config, self.goal.as_ref(), *cancel)?;
        self.effort = effort;
        Ok(verdict)
    }

    fn effort(&mut self) -> Effort {
        self.effort.clone()
    }
}

flowpipe_plugin::export!(SolverAstar);
