//! The search: branch, propagate, go back.

use crate::Ended;
use crate::propagate::{Dead, Propagation};
use crate::shapes::Domain;
use crate::state::{Branch, State};
use crate::topology::Topology;

/// The most causes of trouble that are remembered.
const MOST_TROUBLE: usize = 4;
/// More than the last cause of trouble is heeded on boards with more cells than these: on them it is worth
/// a third of the time, on smaller ones it costs some (measured).
const LARGE: usize = 2500;

/// A search that can pause.
pub struct Sweep<'a, T> {
    propagation: Propagation<'a, T>,
    /// Where the next undecided cell is looked for.
    order: &'a [u32],
    /// In the order.
    place: usize,
    /// The last cells at which both ways failed, newest first: causes of trouble, to be decided first again.
    trouble: [u32; MOST_TROUBLE],
    /// How many of them are heeded.
    heeded: usize,
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
            trouble: [0; MOST_TROUBLE],
            heeded: if order.len() > LARGE { MOST_TROUBLE } else { 1 },
            nodes: 0,
            outcome: None,
        }
    }

    /// Cells handled so far.
    pub fn steps(&self) -> u64 {
        self.propagation.steps
    }

    /// Continues until `enough` accepts a solution, or there are no more. Before each branching
    /// `go_on` is asked, with the number of branchings so far; `None`: it returned `false`.
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
                self.note_trouble(branch.cell);
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
        let heeded = self.trouble[..self.heeded].iter();
        let trouble = heeded.copied().find(|&cell| self.is_open(cell));
        trouble.or_else(|| self.order.get(self.place).copied())
    }

    fn note_trouble(&mut self, cell: u32) {
        let known = self.trouble.iter().position(|&it| it == cell);
        let last = known.unwrap_or(MOST_TROUBLE - 1);
        self.trouble[..=last].rotate_right(1);
        self.trouble[0] = cell;
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
