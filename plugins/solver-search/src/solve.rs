//! Which of the two answers: the search or the SAT solver.

use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, Rules, Solution};
use flowpipe_plugin::solver::Want;
use flowpipe_sat::{Batsat, Options, SolveError};
use flowpipe_search::{Ended, Found, Limits, Search};
use thiserror::Error;

use crate::answer;
use crate::config::Config;

/// Past so many nodes of the board a SAT solver is the better choice.
const LARGEST: usize = 100_000;
/// Branchings after which a board is left to the SAT solver, where the search can answer alone.
const PATIENCE: u64 = 1_000_000;
/// The same where the search only looks for a solution that keeps stricter rules than asked for.
const STRICT_PATIENCE: u64 = 20_000;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum SolvingError {
    /// The work was no longer wanted.
    #[error("cancelled")]
    Cancelled,
    /// The SAT solver failed.
    #[error(transparent)]
    Sat(SolveError),
}

impl From<SolveError> for SolvingError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Cancelled => Self::Cancelled,
            other => Self::Sat(other),
        }
    }
}

/// A verdict and what it cost.
type Answer = (Verdict, Effort);

/// Both solvers, with what was asked.
pub struct Solving {
    config: Config,
    search: Search,
}

impl Solving {
    /// Answers what the config asks.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            search: Search::new(),
        }
    }

    /// Answers one puzzle.
    ///
    /// # Errors
    /// When cancelled, or when the SAT solver fails.
    pub fn solve(
        &mut self,
        puzzle: &Puzzle,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Answer, SolvingError> {
        let mut spent = Effort::default();
        let mut stricter = None;
        if puzzle.board().graph().len() <= LARGEST {
            let tried = if puzzle.rules() == Rules::default() {
                self.strict(puzzle, cancelled)?
            } else {
                let (found, verdict, effort) = self.stricter(puzzle, cancelled)?;
                stricter = found;
                (verdict, effort)
            };
            match tried {
                (Some(verdict), effort) => return Ok((verdict, effort)),
                (None, effort) => spent = effort,
            }
        }
        let options = Options {
            want: self.config.want,
            limit: self.config.limit,
            ..Options::default()
        };
        let answer = flowpipe_sat::solve::<Batsat>(puzzle, &options, cancelled)?;
        let verdict = match (answer.verdict, stricter) {
            // Of several solutions the one that every game accepts.
            (Verdict::Solution { unique, .. }, Some(solution)) => {
                Verdict::solution(solution, unique)
            }
            (verdict, _) => verdict,
        };
        Ok((verdict, sum(spent, answer.effort)))
    }

    /// A puzzle under the rules that the search is made for.
    fn strict(
        &mut self,
        puzzle: &Puzzle,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Option<Verdict>, Effort), SolvingError> {
        let want = self.config.want;
        let limit = self.config.limit.unwrap_or(u64::MAX);
        let limits = match want {
            Want::One => limits(1, 1, Some(PATIENCE)),
            Want::Unique => limits(2, 1, Some(PATIENCE)),
            // Nothing else enumerates as fast.
            Want::Count => limits(limit, 1, None),
            Want::All => limits(limit, usize::MAX, None),
        };
        let found = self.run(puzzle, &limits, cancelled)?;
        let effort = answer::effort(&found);
        let verdict = (found.ended != Ended::Nodes).then(|| answer::verdict(puzzle, found, want));
        Ok((verdict, effort))
    }

    /// A puzzle under laxer rules: a solution that keeps the strict ones is a solution, two of them are a
    /// proof that there is more than one. All else is for the SAT solver. Also returns the one that was found, where it
    /// remains open whether it is the only one.
    fn stricter(
        &mut self,
        puzzle: &Puzzle,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Option<Solution>, Option<Verdict>, Effort), SolvingError> {
        let enough = match self.config.want {
            Want::One => 1,
            Want::Unique => 2,
            Want::Count | Want::All => return Ok((None, None, Effort::default())),
        };
        let limits = limits(enough, 1, Some(STRICT_PATIENCE));
        let found = self.run(puzzle, &limits, cancelled)?;
        let effort = answer::effort(&found);
        let unique = (enough > 1).then_some(false);
        let solution = found.solutions.into_iter().next();
        Ok(match found.ended {
            Ended::Solutions => {
                let verdict = solution.map(|solution| Verdict::solution(solution, unique));
                (None, verdict, effort)
            }
            _ => (solution, None, effort),
        })
    }

    fn run(
        &mut self,
        puzzle: &Puzzle,
        limits: &Limits,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Found, SolvingError> {
        let found = self.search.run(puzzle, limits, cancelled);
        if found.ended == Ended::Cancelled {
            return Err(SolvingError::Cancelled);
        }
        Ok(found)
    }
}

fn limits(solutions: u64, keep: usize, nodes: Option<u64>) -> Limits {
    Limits {
        solutions,
        keep,
        nodes,
    }
}

/// Both efforts as one.
fn sum(mut search: Effort, sat: Effort) -> Effort {
    search.nodes = match (search.nodes, sat.nodes) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    search.figures.extend(sat.figures);
    search
}
