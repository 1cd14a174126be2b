//! Solves the clauses, cuts stray rings, and solves again until there are none.

use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Puzzle, Refusal, Rules, check};
use thiserror::Error;
use varisat::solver::SolverError;
use varisat::{ExtendFormula, Lit, ProofFormat, Solver};

use crate::config::Config;
use crate::decode::{Decoded, decode};
use crate::encode::{Encoded, Goal, encode};
use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::reason;

/// Why there is no verdict.
#[derive(Debug, Error)]
pub enum SolveError {
    /// The work was not wanted any more.
    #[error("cancelled")]
    Cancelled,
    /// varisat failed by itself.
    #[error("varisat failed: {0}")]
    Varisat(#[source] SolverError),
    /// A mistake in the encoding: what it let through breaks the rules.
    #[error("the encoding let a wrong solution through: {0:?}")]
    Wrong(Vec<Refusal>),
}

/// What there is to say of a puzzle. Asks `cancelled` every few milliseconds.
///
/// # Errors
/// See [`SolveError`].
pub fn solve(
    puzzle: &Puzzle,
    config: &Config,
    cancelled: &dyn Fn() -> bool,
) -> Result<Verdict, SolveError> {
    let network = Network::new(puzzle);
    if let Some(reason) = reason::unsolvable(puzzle, &network) {
        return Ok(Verdict::Unsolvable {
            reason: Some(reason),
        });
    }
    // Where cells may stay empty, a flow that touches itself can be cut short: if there is any
    // solution, there is one without.
    let Rules { cover, touch } = puzzle.rules();
    let strict = network.with_rules(Rules {
        cover,
        touch: touch && cover,
    });
    let mut search = Search::new(puzzle, &strict, config, Goal::One, cancelled)?;
    let Some(found) = search.next()? else {
        return Ok(Verdict::Unsolvable { reason: None });
    };
    let unique = if config.prove_unique {
        if !cover {
            search = Search::new(puzzle, &network, config, Goal::All, cancelled)?;
        }
        search.exclude(&found);
        Some(search.next()?.is_none())
    } else {
        None
    };
    Ok(Verdict::Solution {
        solution: found.solution,
        unique,
    })
}

/// A solver at work on one puzzle.
struct Search<'a> {
    puzzle: &'a Puzzle,
    network: &'a Network,
    edges: Vec<Lit>,
    solver: Solver<'a>,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Search<'a> {
    fn new(
        puzzle: &'a Puzzle,
        network: &'a Network,
        config: &Config,
        goal: Goal,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Result<Self, SolveError> {
        let Encoded { formula, edges } =
            encode(network, config.encoding, goal, cancelled).ok_or(SolveError::Cancelled)?;
        let mut solver = Solver::new();
        solver.write_proof(Interrupt { cancelled }, ProofFormat::Varisat);
        for (at, clause) in formula.iter().enumerate() {
            if at % 1024 == 0 && cancelled() {
                return Err(SolveError::Cancelled);
            }
            solver.add_clause(clause);
        }
        Ok(Self {
            puzzle,
            network,
            edges,
            solver,
            cancelled,
        })
    }

    /// A solution that was not excluded, if there is one. It has been checked.
    fn next(&mut self) -> Result<Option<Decoded>, SolveError> {
        loop {
            if (self.cancelled)() {
                return Err(SolveError::Cancelled);
            }
            let solved = self.solver.solve().map_err(|error| {
                if (self.cancelled)() {
                    SolveError::Cancelled
                } else {
                    SolveError::Varisat(error)
                }
            })?;
            if !solved {
                return Ok(None);
            }
            let decoded = decode(self.puzzle, self.network, &self.chosen());
            if self.network.rules.cover && !decoded.rings.is_empty() {
                self.cut(&decoded);
                continue;
            }
            // Where cells may stay empty, a ring is simply not drawn.
            check(self.puzzle, &decoded.solution).map_err(SolveError::Wrong)?;
            return Ok(Some(decoded));
        }
    }

    /// The edges that are true in the model.
    fn chosen(&self) -> Vec<bool> {
        let model = self.solver.model().unwrap_or_default();
        let mut positive = vec![false; model.iter().map(|lit| lit.index() + 1).max().unwrap_or(0)];
        for literal in model {
            positive[literal.index()] = literal.is_positive();
        }
        // Edges are written as positive literals; one that no clause names is free.
        self.edges
            .iter()
            .map(|edge| positive.get(edge.index()) == Some(&true))
            .collect()
    }

    /// Cuts rings: from the nodes of each, which hold no terminal, some flow must lead out.
    fn cut(&mut self, decoded: &Decoded) {
        let mut inside = vec![false; self.network.len()];
        for ring in &decoded.rings {
            for &node in ring {
                inside[node] = true;
            }
            let out: Vec<Lit> = ring
                .iter()
                .flat_map(|&node| &self.network.ways[node])
                .filter(|way| !inside[way.node])
                .map(|way| self.edges[way.edge])
                .collect();
            self.solver.add_clause(&out);
            for &node in ring {
                inside[node] = false;
            }
        }
    }

    /// Leaves a solution out of what comes next. All solutions with these edges are the same one: the
    /// edges of its flows leave no terminal for another.
    fn exclude(&mut self, solution: &Decoded) {
        let not: Vec<Lit> = solution
            .edges
            .iter()
            .map(|&edge| !self.edges[edge])
            .collect();
        self.solver.add_clause(&not);
    }
}
