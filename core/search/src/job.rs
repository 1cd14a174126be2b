//! One puzzle, made ready: one sweep, and on large boards a second one from the opposite corner.
//!
//! Which of two sweeps is the shorter one can't be known before, and they differ by factors. So when the first one has
//! not ended after [`ALONE`] branchings, a second thread sweeps from the other end. The sweep that
//! needs fewer branchings (in rounds of [`ROUND`]; the first one on a tie) gives the answer. That does not depend on
//! how fast the threads run: a sweep is given up only when the other one has ended in an
//! earlier round.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flowpipe_puzzle::{Puzzle, Solution};

use crate::extract::extract;
use crate::propagate::Propagation;
use crate::state::State;
use crate::sweep::Sweep;
use crate::topology::Topology;
use crate::{Ended, Found, Limits};

/// Branchings of the first sweep before a second one begins: some milliseconds.
const ALONE: u64 = 512;
/// Branchings in a round.
const ROUND: u64 = 64;
/// Enumerations are as long from either end: with a higher limit of solutions one sweep does.
const RACED_SOLUTIONS: u64 = 2;

/// One puzzle, made ready.
pub struct Job<'a, T, A, R> {
    pub puzzle: &'a Puzzle,
    pub limits: &'a Limits,
    /// See [`Propagation::groups`].
    pub groups: &'a [u32],
    pub topology: &'a T,
    /// Cell of the board by cell of the search.
    pub board_cell: &'a [u32],
    /// Cell of the search by cell of the board.
    pub at: A,
    /// Makes a state ready for a sweep.
    pub set_up: R,
    /// The cells in the order of the sweep.
    pub order: &'a [u32],
}

/// What one sweep has found.
#[derive(Default)]
struct Findings {
    solutions: Vec<Solution>,
    count: u64,
}

impl<T, A, R> Job<'_, T, A, R>
where
    T: Topology + Sync,
    A: Fn(usize) -> usize + Sync,
    R: Fn(&mut State) + Sync,
{
    /// Answers the puzzle. `rival` is the memory of the second sweep.
    pub fn run(&self, state: &mut State, rival: &mut State, cancelled: &dyn Fn() -> bool) -> Found {
        let nodes = self.limits.nodes.unwrap_or(u64::MAX);
        let alone = match self.limits.solutions {
            ..=RACED_SOLUTIONS => nodes.min(ALONE),
            _ => nodes,
        };
        (self.set_up)(state);
        let mut findings = Findings::default();
        let mut sweep = Sweep::new(self.propagation(state, cancelled), self.order);
        let mut enough = |state: &State| self.collect(&mut findings, state);
        match sweep.run(&mut enough, &|so_far| so_far < alone) {
            Some(ended) => self.found(ended, findings, &sweep),
            None if alone == nodes => self.found(Ended::Nodes, findings, &sweep),
            None => self.race(sweep, findings, rival, cancelled),
        }
    }

    /// Goes on with a second sweep beside the first.
    fn race(
        &self,
        mut sweep: Sweep<'_, T>,
        mut findings: Findings,
        rival: &mut State,
        cancelled: &dyn Fn() -> bool,
    ) -> Found {
        let nodes = self.limits.nodes.unwrap_or(u64::MAX);
        // The round in which a sweep has ended, times two, plus one for the second sweep.
        let best = AtomicU64::new(u64::MAX);
        let stop = AtomicBool::new(false);
        let compete = |sweep: &mut Sweep<'_, T>, findings: &mut Findings, which: u64| {
            let key = |so_far: u64| so_far / ROUND * 2 + which;
            let mut enough = |state: &State| self.collect(findings, state);
            let can_win = |so_far| so_far < nodes && key(so_far) < best.load(Ordering::Relaxed);
            let ended = sweep.run(&mut enough, &can_win);
            if matches!(ended, Some(Ended::Complete | Ended::Solutions)) {
                best.fetch_min(key(sweep.nodes), Ordering::Relaxed);
            }
            (ended, key(sweep.nodes))
        };
        (self.set_up)(rival);
        let backwards: Vec<u32> = self.order.iter().rev().copied().collect();
        let second = || {
            let stopped = || stop.load(Ordering::Relaxed);
            let mut findings = Findings::default();
            let mut sweep = Sweep::new(self.propagation(rival, &stopped), &backwards);
            let (ended, key) = compete(&mut sweep, &mut findings, 1);
            let found = ended.map(|ended| self.found(ended, findings, &sweep));
            (found, key)
        };
        thread::scope(|scope| {
            let second = thread::Builder::new().spawn_scoped(scope, second);
            let (ended, key) = compete(&mut sweep, &mut findings, 0);
            let mut gave_up = ended == Some(Ended::Cancelled);
            let second = second.ok().and_then(|second| {
                while !second.is_finished() {
                    gave_up = gave_up || cancelled();
                    stop.store(gave_up, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(100));
                }
                second.join().ok()
            });
            let first = |ended| self.found(ended, findings, &sweep);
            if gave_up {
                return first(Ended::Cancelled);
            }
            match (ended, second) {
                (Some(ended), Some((Some(second), second_key))) => {
                    if key < second_key {
                        first(ended)
                    } else {
                        second
                    }
                }
                (None, Some((Some(second), _))) => second,
                (ended, _) => first(ended.unwrap_or(Ended::Nodes)),
            }
        })
    }

    fn propagation<'s>(
        &'s self,
        state: &'s mut State,
        cancelled: &'s dyn Fn() -> bool,
    ) -> Propagation<'s, T> {
        Propagation {
            topology: self.topology,
            state,
            groups: self.groups,
            steps: 0,
            cancelled,
            stopped: false,
        }
    }

    /// Adds a solution and returns whether that is enough.
    fn collect(&self, findings: &mut Findings, state: &State) -> bool {
        findings.count += 1;
        if findings.solutions.len() < self.limits.keep {
            let solution = extract(self.puzzle, self.topology, state, &self.at, self.board_cell);
            findings.solutions.push(solution);
        }
        findings.count >= self.limits.solutions
    }

    fn found(&self, ended: Ended, findings: Findings, sweep: &Sweep<'_, T>) -> Found {
        let Findings {
            mut solutions,
            count,
        } = findings;
        if ended == Ended::Complete {
            solutions.sort_by(|a, b| cells(a).cmp(cells(b)));
        }
        Found {
            solutions,
            count,
            ended,
            nodes: sweep.nodes,
            steps: sweep.steps(),
        }
    }
}

/// A solution's cells, flow by flow.
fn cells(solution: &Solution) -> impl Iterator<Item = &Vec<usize>> {
    solution.flows.iter().map(|flow| &flow.cells)
}
