//! varisat as a back end.

use flowpipe_sat::Rules;
use flowpipe_sat::{Backend, BackendError, Encoding, Literal, Work};
use varisat::solver::SolverError;
use varisat::{ExtendFormula, Lit, ProofFormat, Solver, Var};

use super::interrupt::Interrupt;

/// The SAT solver [varisat](https://github.com/jix/varisat).
pub struct Varisat<'a> {
    solver: Solver<'a>,
    cancelled: &'a dyn Fn() -> bool,
    clause: Vec<Lit>,
    /// The last model, by variable.
    model: Vec<bool>,
}

impl<'a> Backend<'a> for Varisat<'a> {
    fn best_encoding(rules: Rules) -> Encoding {
        if rules.cover && !rules.touch {
            Encoding::Edges
        } else {
            Encoding::Binary
        }
    }

    fn new(phases: &[Option<bool>], cancelled: &'a dyn Fn() -> bool) -> Self {
        let mut solver = Solver::new();
        solver.write_proof(Interrupt { cancelled }, ProofFormat::Varisat);
        Self {
            solver,
            cancelled,
            clause: Vec::new(),
            model: vec![false; phases.len()],
        }
    }

    fn add_clause(&mut self, clause: &[Literal]) {
        self.clause.clear();
        self.clause.extend(clause.iter().map(|literal| {
            Lit::from_var(
                Var::from_index(literal.variable() as usize),
                literal.is_positive(),
            )
        }));
        self.solver.add_clause(&self.clause);
    }

    fn solve(&mut self) -> Result<bool, BackendError> {
        match self.solver.solve() {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(_) if (self.cancelled)() => return Err(BackendError::Cancelled),
            Err(SolverError::ProofProcessorError { cause }) => {
                return Err(BackendError::Failed(cause.to_string()));
            }
            Err(error) => return Err(BackendError::Failed(error.to_string())),
        }
        self.model.fill(false);
        for literal in self.solver.model().unwrap_or_default() {
            if let Some(value) = self.model.get_mut(literal.index()) {
                *value = literal.is_positive();
            }
        }
        Ok(true)
    }

    fn is_true(&self, literal: Literal) -> bool {
        self.model.get(literal.variable() as usize) == Some(&literal.is_positive())
    }

    /// varisat reports no figures.
    fn work(&self) -> Work {
        Work::default()
    }
}
