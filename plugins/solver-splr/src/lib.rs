//! Solver stage: a SAT encoding solved by [splr](https://github.com/shnarazk/splr).
//!
//! The encodings, the cutting of stray rings and the checks are those of [`flowpipe_sat`]; this is splr as its
//! back end, and how it is stopped in the middle ([`splr`](mod@splr)).

mod splr;

use crate::splr::Splr;

flowpipe_sat::solver_stage!(
    SolverSplr,
    Splr,
    "solver-splr",
    "Solves any kind of board by the SAT solver splr: exact, with a proof that there is no solution or no other. Checks \
     each solution before it reports it."
);

#[cfg(test)]
mod tests {
    use super::{SolverSplr, Splr};

    flowpipe_sat::back_end_tests!(Splr);
    flowpipe_sat::stage_tests!(SolverSplr);
}
