//! A puzzle from question to answer.

use flowpipe_plugin::Want;
use flowpipe_plugin::puzzle::message::{Count, Effort, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, check};
use num_bigint::BigUint;
use thiserror::Error;

use crate::config::Config;
use crate::domains::{NoDomains, propagate};
use crate::list;
use crate::network::Network;
use crate::race::Race;
use crate::sweep::{Cost, Layers, Limits};
use crate::trace::Keep;
use crate::watch::{Stop, Watch};

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum SolveError {
    /// It is no longer wanted.
    #[error("cancelled")]
    Cancelled,
    /// The program is wrong: a solution that the checker refuses.
    #[error("found a solution that breaks a rule: {0}")]
    Wrong(String),
}

/// Solves one puzzle after the other.
pub struct Frontier {
    config: Config,
    layers: Layers,
    effort: Effort,
}

impl Frontier {
    /// A solver.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            layers: Layers::new(),
            effort: Effort::default(),
        }
    }

    /// What the last answer cost, see [`crate`].
    pub fn effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }

    /// Answers one puzzle.
    ///
    /// # Errors
    /// See [`SolveError`].
    pub fn solve(
        &mut self,
        puzzle: &Puzzle,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Verdict, SolveError> {
        self.effort = Effort::nodes(0);
        let watch = Watch::new(cancelled);
        let answer = self.answer(puzzle, &watch);
        if !matches!(answer, Err(Stop::Cancelled)) {
            self.layers.shrink();
        }
        match answer {
            Ok(verdict) => {
                checked(puzzle, &verdict, &watch)?;
                Ok(verdict)
            }
            Err(Stop::Cancelled) => Err(SolveError::Cancelled),
            Err(limit) => Ok(Verdict::unknown(limit.to_string())),
        }
    }

    fn answer(&mut self, puzzle: &Puzzle, watch: &Watch) -> Result<Verdict, Stop> {
        let network = Network::new(puzzle, watch)?;
        let domains = match propagate(&network, watch) {
            Ok(domains) => domains,
            Err(NoDomains::Stop(stop)) => return Err(stop),
            Err(NoDomains::Impossible(node)) => {
                let (row, col) = puzzle.board().row_col(network.cells[node]);
                return Ok(Verdict::unsolvable(Some(format!(
                    "row {}, column {}: no way through this cell is left",
                    row + 1,
                    col + 1
                ))));
            }
        };
        let keep = match self.config.want {
            Want::All => Keep::Every,
            Want::One | Want::Unique | Want::Count => Keep::First,
        };
        let limits = Limits {
            states: self.config.max_states.unwrap_or(u64::MAX),
            bytes: usize::try_from(self.config.max_mebibytes.saturating_mul(1 << 20))
                .unwrap_or(usize::MAX),
        };
        let mut cost = Cost::default();
        let swept = Race {
            network: &network,
            domains: &domains,
            keep,
            limits,
            layers: &mut self.layers,
            cost: &mut cost,
            watch,
        }
        .run(puzzle.board());
        self.effort = Effort::nodes(cost.states)
            .with("frontier", cost.frontier as f64)
            .with("states", cost.widest as f64);
        let (plan, count) = swept?;
        if count == BigUint::ZERO {
            return Ok(Verdict::unsolvable(None));
        }
        let most = self.most_listed(&count, network.len())?;
        let origins = self.layers.origins();
        let solutions = list::solutions(puzzle, &network, &plan, origins, most, watch)?;
        let mut solutions = solutions.into_iter();
        let Some(solution) = solutions.next() else {
            return Ok(Verdict::unsolvable(None));
        };
        Ok(
            Verdict::solution(solution, Some(count == BigUint::from(1_u32)))
                .with_count(Some(Count::exactly(&count)))
                .with_others(solutions.collect()),
        )
    }

    /// How many solutions to list.
    fn most_listed(&self, count: &BigUint, cells: usize) -> Result<usize, Stop> {
        if self.config.want != Want::All {
            return Ok(1);
        }
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let most = count.min(self.config.limit.unwrap_or(u64::MAX));
        let bytes = most.saturating_mul(cells as u64 * 8);
        if bytes >> 20 > self.config.max_mebibytes {
            return Err(Stop::List(self.config.max_mebibytes));
        }
        Ok(usize::try_from(most).unwrap_or(usize::MAX).max(1))
    }
}

/// Checks every solution against the rules.
fn checked(puzzle: &Puzzle, verdict: &Verdict, watch: &Watch) -> Result<(), SolveError> {
    let Verdict::Solution {
        solution, others, ..
    } = verdict
    else {
        return Ok(());
    };
    for solution in std::iter::once(solution).chain(others) {
        watch.tick().map_err(|_| SolveError::Cancelled)?;
        check(puzzle, solution).map_err(|refusals| {
            let first = refusals.first().map(ToString::to_string);
            SolveError::Wrong(first.unwrap_or_default())
        })?;
    }
    Ok(())
}
