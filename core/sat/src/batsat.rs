//! The back end batsat.

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use flowpipe_puzzle::Rules;

use crate::backend::{Backend, BackendError, Work};
use crate::literal::Literal;
use crate::options::Encoding;

/// The SAT solver [batsat](https://github.com/c-cube/batsat), a MiniSat in Rust. It asks whether to stop at
/// every choice that it makes.
pub struct Batsat<'a> {
    solver: Solver<Stop<'a>>,
    /// Variables that mean the opposite in batsat.
    flipped: Vec<bool>,
    clause: Vec<Lit>,
}

struct Stop<'a>(&'a dyn Fn() -> bool);

impl Callbacks for Stop<'_> {
    fn stop(&self) -> bool {
        (self.0)()
    }
}

impl<'a> Backend<'a> for Batsat<'a> {
    fn best_encoding(rules: Rules) -> Encoding {
        if rules.cover && !rules.touch {
            Encoding::Edges
        } else {
            Encoding::Binary
        }
    }

    fn new(phases: &[Option<bool>], cancelled: &'a dyn Fn() -> bool) -> Self {
        let mut solver = Solver::new(SolverOpts::default(), Stop(cancelled));
        for _ in phases {
            solver.new_var_default();
        }
        Self {
            solver,
            // A variable's own phase would hold for good. But batsat first tries false, and later what it tried last:
            // so a variable that is likelier true goes to it the other way around.
            flipped: phases.iter().map(|phase| *phase == Some(true)).collect(),
            clause: Vec::new(),
        }
    }

    fn add_clause(&mut self, clause: &[Literal]) {
        self.clause.clear();
        for &literal in clause {
            let literal = self.lit(literal);
            self.clause.push(literal);
        }
        self.solver.add_clause_reuse(&mut self.clause);
    }

    fn solve(&mut self) -> Result<bool, BackendError> {
        let answer = self.solver.solve_limited(&[]);
        if answer == lbool::TRUE || answer == lbool::FALSE {
            Ok(answer == lbool::TRUE)
        } else {
            // It gives up for no other reason.
            Err(BackendError::Cancelled)
        }
    }

    fn is_true(&self, literal: Literal) -> bool {
        self.solver.value_lit(self.lit(literal)) == lbool::TRUE
    }

    fn work(&self) -> Work {
        Work {
            conflicts: Some(self.solver.num_conflicts()),
            decisions: Some(self.solver.num_decisions()),
            propagations: Some(self.solver.num_propagations()),
        }
    }
}

impl Batsat<'_> {
    fn lit(&self, literal: Literal) -> Lit {
        let variable = literal.variable();
        let flipped = self.flipped.get(variable as usize) == Some(&true);
        // batsat numbers its variables from 0 as they are made.
        Lit::new(
            Var::unsafe_from_idx(variable),
            literal.is_positive() != flipped,
        )
    }
}
