//! Solver stage: a SAT encoding solved by [batsat](https://github.com/c-cube/batsat).
//!
//! The encodings, the cutting of stray rings, the checks and batsat's back end are those of [`flowpipe_sat`].

use flowpipe_sat::Batsat;

flowpipe_sat::solver_stage!(
    SolverBatsat,
    Batsat,
    "solver-batsat",
    "Solves any kind of board by the SAT solver batsat, a MiniSat in Rust: exact, with a proof that there is no solution \
     or no other. The fastest of the SAT solvers here. Checks each solution before it reports it."
);

#[cfg(test)]
mod tests {
    use super::SolverBatsat;

    flowpipe_sat::stage_tests!(SolverBatsat);
}
