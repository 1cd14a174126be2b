//! splr as a back end.
//!
//! splr 0.17 cannot be interrupted, and its time limit, whole seconds, is checked only at the end of a *stage*, of
//! which each is longer than the one before. But with a limit of no seconds it stops at the end of its first stage,
//! after 32 conflicts, with all that it has learnt, and a second call goes on from there. So it is called
//! again and again, and asked for no more than one stage each time. What it does between stages and misses by this,
//! forgetting clauses that did not help and going back to its best assignment, is done from here. Its long
//! simplifications (vivification, elimination) are left out of the build: they ask for no time limit either.
//!
//! So a stage is the time between two checks of the cancel token: 1 to 6 ms were measured on all boards that are solved
//! within a second, and up to 18 ms after several seconds on a busy machine.

use flowpipe_sat::Rules;
use flowpipe_sat::{Backend, BackendError, Encoding, Literal, Work};
use splr::assign::{VarSelectIF, property::Tusize};
use splr::cdb::{ClauseDBIF, ReductionType};
use splr::types::{CNFDescription, Instantiate};
use splr::{Certificate, Config, PropertyDereference, SatSolverIF, SolveIF, Solver, SolverError};

/// The SAT solver [splr](https://github.com/shnarazk/splr).
pub struct Splr<'a> {
    solver: Solver,
    cancelled: &'a dyn Fn() -> bool,
    clause: Vec<i32>,
    /// The clauses are known to contradict each other.
    contradiction: bool,
    /// The last model, by variable.
    model: Vec<i32>,
}

/// The number of stages between two deletions of clauses.
const STAGES: usize = 8;

impl<'a> Backend<'a> for Splr<'a> {
    fn best_encoding(rules: Rules) -> Encoding {
        if rules.cover && !rules.touch {
            Encoding::Edges
        } else {
            Encoding::Binary
        }
    }

    fn new(phases: &[Option<bool>], cancelled: &'a dyn Fn() -> bool) -> Self {
        let config = Config {
            c_timeout: 0.0,
            quiet_mode: true,
            ..Config::default()
        };
        let description = CNFDescription {
            num_of_variables: phases.len(),
            ..CNFDescription::default()
        };
        Self {
            solver: Solver::instantiate(&config, &description),
            cancelled,
            clause: Vec::new(),
            contradiction: false,
            model: Vec::new(),
        }
    }

    fn add_clause(&mut self, clause: &[Literal]) {
        self.clause.clear();
        self.clause.extend(clause.iter().copied().map(lit));
        match self.solver.add_clause(&self.clause) {
            Ok(_) => {}
            // It is also returned for clauses that contradict the known ones.
            Err(_) => self.contradiction = true,
        }
    }

    fn solve(&mut self) -> Result<bool, BackendError> {
        let mut stages = 0_usize;
        loop {
            if self.contradiction {
                return Ok(false);
            }
            if (self.cancelled)() {
                return Err(BackendError::Cancelled);
            }
            match self.solver.solve() {
                Ok(Certificate::SAT(model)) => {
                    self.model = model;
                    // Back to where clauses can be added.
                    self.solver.reset();
                    return Ok(true);
                }
                Ok(Certificate::UNSAT) => {
                    self.contradiction = true;
                    return Ok(false);
                }
                Err(SolverError::TimeOut) => {
                    stages += 1;
                    self.between_stages(stages);
                }
                Err(error) => return Err(BackendError::Failed(error.to_string())),
            }
        }
    }

    fn is_true(&self, literal: Literal) -> bool {
        let value = self.model.get(literal.variable() as usize);
        value.is_some_and(|&value| (value > 0) == literal.is_positive())
    }

    fn work(&self) -> Work {
        let figure_of = |figure| Some(self.solver.asg.derefer(figure) as u64);
        Work {
            conflicts: figure_of(Tusize::NumConflict),
            decisions: figure_of(Tusize::NumDecision),
            propagations: figure_of(Tusize::NumPropagation),
        }
    }
}

impl Splr<'_> {
    /// What splr does after a stage, had it not been stopped.
    fn between_stages(&mut self, stages: usize) {
        let Solver { asg, cdb, state } = &mut self.solver;
        asg.select_rephasing_target();
        if stages.is_multiple_of(STAGES) {
            let span = 32 * STAGES;
            let keep = (span as f64).powf(1.0 - state.config.cls_rdc_rm1) as usize;
            cdb.reduce(asg, ReductionType::RASonADD(span - keep));
        }
    }
}

/// splr counts variables from 1; a negated one is negative.
#[expect(clippy::cast_possible_wrap, reason = "memory ends earlier")]
fn lit(literal: Literal) -> i32 {
    let variable = literal.variable() as i32 + 1;
    if literal.is_positive() {
        variable
    } else {
        -variable
    }
}
