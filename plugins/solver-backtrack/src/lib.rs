//! Solver stage: colours in order, all paths of each, with trimming by rows and columns.
//!
//! The method is that of a C program written for a physics course ("flowsolver", S. Monaco). The
//! pairs are put in order. As soon as the first has a path, the second looks for one with that path as
//! an obstacle, and so on; a pair that finds none sends the one before it on to its next path. A path
//! tries up, left, down, right. So all solutions come up, each once.
//!
//! That program trims: a row or a column with fewer free cells than there are pairs on either side of
//! it can't be crossed by all of them. Here [`lanes`] decides where that is sound, which is on every board
//! but those that wrap around, and on these for the direction that does not wrap. New are boards of
//! any kind, several pairs of one colour, and rules: that program's solutions may touch themselves and
//! leave cells empty (`cover` and `touch` of the puzzle's rules).
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`lanes`]: rows and columns, and what must still cross them.
//! - [`search`]: one step after the other. [`answer`]: begins it, and words the answer.

mod answer;
mod config;
mod lanes;
mod search;

#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, Result, Solver};

use config::Config;

/// The stage.
struct SolverBacktrack {
    config: Config,
    effort: Effort,
}

impl Solver for SolverBacktrack {
    const NAME: &'static str = "solver-backtrack";
    const DOC: &'static str = "Goes through the paths of the first colour, for each of them through \
         those of the second, and so on; goes back where a row or a column is too full for what must \
         cross it. Exact, all solutions, any kind of board; slow on large ones. Its effort: moves \
         made, `trimmed`: moves that trimming forbade, `paths`: pairs joined on the way.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
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

flowpipe_plugin::export!(SolverBacktrack);
