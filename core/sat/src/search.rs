//! One formula in one SAT solver: solve, cut, solve again, until the result is a solution.

use flowpipe_puzzle::{Puzzle, Solution, check};

use crate::answer::{Cost, SolveError};
use crate::backend::Backend;
use crate::cut::cuts;
use crate::decode::{Decoded, Path, decode, solution};
use crate::encode::{Encoded, Goal, encode};
use crate::literal::Literal;
use crate::network::Network;
use crate::options::Encoding;

/// A solver at work on one puzzle.
pub struct Search<'p, 'a, B> {
    puzzle: &'p Puzzle,
    network: &'p Network,
    edges: Vec<Literal>,
    backend: B,
    cancelled: &'a dyn Fn() -> bool,
    cost: Cost,
}

/// A solution, and the literals that distinguish it from all others.
pub struct Found {
    /// It has been checked.
    pub solution: Solution,
    /// Its flows.
    pub paths: Vec<Path>,
}

impl Found {
    /// A solution made of paths, if it is one.
    pub fn new(puzzle: &Puzzle, network: &Network, paths: Vec<Path>) -> Result<Self, SolveError> {
        let solution = solution(puzzle, network, &paths);
        check(puzzle, &solution).map_err(SolveError::Wrong)?;
        Ok(Self { solution, paths })
    }
}

impl<'p, 'a, B: Backend<'a>> Search<'p, 'a, B> {
    /// Passes the puzzle to a SAT solver, with a hint to try `likely` paths first.
    pub fn new(
        puzzle: &'p Puzzle,
        network: &'p Network,
        encoding: Encoding,
        goal: Goal,
        likely: &[Path],
        cancelled: &'a dyn Fn() -> bool,
    ) -> Result<Self, SolveError> {
        let encoding = match encoding {
            Encoding::Best => B::best_encoding(network.rules),
            chosen => chosen,
        };
        let Encoded { formula, edges } =
            encode(network, encoding, goal, likely, cancelled).ok_or(SolveError::Cancelled)?;
        let mut backend = B::new(formula.phases(), cancelled);
        for (at, clause) in formula.clauses().enumerate() {
            if at % 1024 == 0 && cancelled() {
                return Err(SolveError::Cancelled);
            }
            backend.add_clause(clause);
        }
        let cost = Cost {
            variables: formula.phases().len(),
            clauses: formula.len(),
            ..Cost::default()
        };
        Ok(Self {
            puzzle,
            network,
            edges,
            backend,
            cancelled,
            cost,
        })
    }

    /// A solution that was not excluded, if there is one.
    pub fn next(&mut self) -> Result<Option<Found>, SolveError> {
        loop {
            if (self.cancelled)() {
                return Err(SolveError::Cancelled);
            }
            if !self.backend.solve()? {
                return Ok(None);
            }
            self.cost.models += 1;
            let decoded = self.decoded();
            let cuts = cuts(self.network, &self.edges, &decoded);
            if cuts.is_empty() {
                return Found::new(self.puzzle, self.network, decoded.paths).map(Some);
            }
            self.cost.cuts += cuts.len() as u64;
            for cut in &cuts {
                self.backend.add_clause(cut);
            }
        }
    }

    /// Excludes a solution from the following results. All choices of edges that contain those of its flows are the
    /// same solution: they leave no terminal for another flow.
    pub fn exclude(&mut self, found: &Found) {
        let edges = found.paths.iter().flat_map(|path| &path.edges);
        let not: Vec<Literal> = edges.map(|&edge| !self.edges[edge]).collect();
        self.backend.add_clause(&not);
    }

    /// What was done so far.
    pub fn cost(&self) -> Cost {
        Cost {
            work: self.backend.work(),
            ..self.cost
        }
    }

    fn decoded(&self) -> Decoded {
        let chosen: Vec<bool> = self
            .edges
            .iter()
            .map(|&edge| self.backend.is_true(edge))
            .collect();
        decode(self.network, &chosen)
    }
}
