//! The search: branch, propagate, go back.

use crate::Ended;
use crate::propagate::{Dead, Propagation};
use crate::shapes::Domain;
use crate::state::{Branch, State};
use crate::topology::Topology;

/// A search that can pause.
pub struct Sweep<'a, T> {
    propagation: Propagation<'a, T>,
    /// Where the next undecided cell is looked for.
    order: &'a [u32],
    /// In the order.
    place: usize,
    /// The cell at which the last two ways failed both: a cause of trouble, to be decided first again.
    trouble: u32,
    /// Branchings so far.
    pub nodes: u64,
    outcome: Option<Result<(), Dead>>,
}

impl<'a, T: Topology> Sweep<'a, T> {
    /// A search from the start. No undecided cell may be missing in the order.
    pub fn new(propagation: Propagation<'a, T>, order: &'a [u32]) -> Self {
        Self {
            propagation,
            order,
            place: 0,
            trouble: 0,
            nodes: 0,
            outcome: None,
        }
    }

    /// Cells handled so far.
    pub fn steps(&self) -> u64 {
        self.propagation.steps
    }

    /// Goes on until `enough` says so of a solution, or there are no more. Before each branching
    /// `go_on` is asked, with the number of branchings so far; `None`: it said no.
    pub fn run(
        &mut self,
        enough: &mut dyn FnMut(&State) -> bool,
        go_on: &dyn Fn(u64) -> bool,
    ) -> Option<Ended> {
        let mut outcome = match self.outcome.take() {
            Some(outcome) => outcome,
            None => self.propagation.start(),
        };
        loop {
            if self.propagation.stopped {
                return Some(Ended::Cancelled);
            }
            if outcome.is_ok() {
                if let Some(cell) = self.next_undecided() {
                    if !go_on(self.nodes) {
                        self.outcome = Some(outcome);
                        return None;
                    }
                    outcome = self.branch(cell);
                    continue;
                }
                if enough(self.propagation.state) {
                    return Some(Ended::Solutions);
                }
            }
            let Some(branch) = self.propagation.state.branches.pop() else {
                return Some(Ended::Complete);
            };
            outcome = self.take_back(branch);
            if outcome.is_err() {
                self.trouble = branch.cell;
            }
        }
    }

    fn is_open(&self, cell: u32) -> bool {
        let domain = self.propagation.state.cells[cell as usize].domain;
        domain & domain.wrapping_sub(1) != 0
    }

    fn next_undecided(&mut self) -> Option<u32> {
        while !self.is_open(*self.order.get(self.place)?) {
            self.place += 1;
        }
        if self.is_open(self.trouble) {
            return Some(self.trouble);
        }
        self.order.get(self.place).copied()
    }

    fn branch(&mut self, cell: u32) -> Result<(), Dead> {
        self.nodes += 1;
        let state = &mut *self.propagation.state;
        let domain = state.cells[cell as usize].domain;
        let chosen = domain & domain.wrapping_neg();
        state.branches.push(Branch {
            cell,
            chosen,
            mark: state.mark(),
            place: self.place,
        });
        state.logging = true;
        self.choose(cell, chosen)
    }

    fn take_back(&mut self, branch: Branch) -> Result<(), Dead> {
        let state = &mut *self.propagation.state;
        state.undo::<T::Shapes>(branch.mark);
        state.logging = !state.branches.is_empty();
        self.place = branch.place;
        self.choose(branch.cell, !branch.chosen)
    }

    fn choose(&mut self, cell: u32, allowed: Domain) -> Result<(), Dead> {
        self.propagation.restrict(cell as usize, allowed)?;
        self.propagation.run()
    }
}
