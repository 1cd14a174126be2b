//! Solver stage: counts and lists all solutions by dynamic programming along a frontier.
//!
//! The board is swept node by node. What was swept is summed up in a state: what each node on the frontier
//! can still become, and how the ends of the pipes that reach it belong together. Partial solutions with the same
//! state go on in the same ways, so only their number is kept. After the last node the number of solutions
//! stands there, whatever its size; read backwards, so does every solution. It answers all kinds of
//! puzzles under all rules, and takes time and memory by the number of states, which grows with the width of
//! the frontier: milliseconds for levels of the game up to 11x11, and hardly more the more solutions there are.
//!
//! The method: Yoshinaka, Saitoh, Kawahara, Tsuruma, Iwashita, Minato: "Finding All Solutions and Instances of
//! Numberlink and Slitherlink by ZDDs", Algorithms 5 (2012), and Knuth's Simpath (The Art of Computer
//! Programming, volume 4A, section 7.1.4, exercise 225). Two things are of our own. The states of
//! a node are the minimal automaton of what the reasoning beforehand leaves it. And where flows may not
//! touch themselves, states hold which pipes lie side by side and must never become one.
//!
//! # Effort
//! `nodes` are states, over all layers of all sweeps, those given up included. Figures: `frontier`, the most
//! nodes on the frontier at a time; `states`, the most states in one layer.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`solve`]: from question to answer. [`watch`]: when to stop.
//! - [`network`]: the puzzle as nodes and edges; [`subsets`]: sets of subsets of a node's edges.
//! - [`domains`]: what is known before the sweep, by [`fragments`] of flows and by [`squares`].
//! - [`order`]: in which order the nodes are swept; [`residue`]: what a node can still become;
//!   [`plan`]: the steps of the sweep.
//! - [`states`]: what a state is. [`mates`]: where flows may touch themselves; [`chords`]: where not.
//!   [`fields`] packs them, [`border`] refuses those in which flows would have to cross.
//! - [`race`]: sweeps from several sides; [`sweep`]: from [`layer`] to layer; [`trace`]: where each state came from;
//!   [`list`]: the way back.

mod border;
mod chords;
mod config;
mod domains;
mod fields;
mod fragments;
mod layer;
mod list;
mod mates;
mod network;
mod order;
mod plan;
mod race;
mod residue;
mod solve;
mod squares;
mod states;
mod subsets;
mod sweep;
mod trace;
mod watch;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Error, Host, Result, Solver};

use config::Config;
use solve::{Frontier, SolveError};

/// The stage.
struct SolverFrontier(Frontier);

impl Solver for SolverFrontier {
    const NAME: &'static str = "solver-frontier";
    const DOC: &'static str = "Counts all solutions, however many there are, and lists them: dynamic \
         programming along a frontier that sweeps over the board. Any kind of board and any rules; made \
         for boards up to about 12 cells wide.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self(Frontier::new(config)))
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        match self.0.solve(puzzle, &|| cancel.is_cancelled()) {
            Err(SolveError::Cancelled) => Err(Error::cancelled()),
            Err(error) => Err(Error::new(error.to_string())),
            Ok(verdict) => Ok(verdict),
        }
    }

    fn effort(&mut self) -> Effort {
        self.0.effort()
    }
}

flowpipe_plugin::export!(SolverFrontier);
