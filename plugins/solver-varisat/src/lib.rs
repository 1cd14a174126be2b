//! Solver stage: a SAT encoding solved by [varisat](https://github.com/jix/varisat).
//!
//! The encodings, the cutting of stray rings and the checks are those of [`flowpipe_sat`]; this is varisat as its
//! back end ([`varisat`](mod@varisat)), and how it is stopped in the middle ([`interrupt`]).
//!
//! Source of `encoding = "vertex-edge"`: M. Gao's flow-solver, a bot in Python, whose encoding it is.

mod interrupt;
mod varisat;

use crate::varisat::Varisat;

flowpipe_sat::solver_stage!(
    SolverVarisat,
    Varisat,
    "solver-varisat",
    "Solves any kind of board by the SAT solver varisat: exact, with a proof that there is no solution or no other, and \
     fast on the boards of the game. Checks each solution before it reports it."
);

#[cfg(test)]
mod tests {
    use super::{SolverVarisat, Varisat};

    flowpipe_sat::back_end_tests!(Varisat);
    flowpipe_sat::stage_tests!(SolverVarisat);
}
