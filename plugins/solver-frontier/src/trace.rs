//! Where each state came from, so that solutions can be read off backwards.

use crate::layer::Index;

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// For each state the first way that led there: enough for one solution.
    First,
    /// For each state all ways that led there: enough for every solution.
    Every,
}

/// A state of the layer before, and the move from there (see [`Step`](crate::plan::Step)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The state.
    pub state: Index,
    /// The move.
    pub chosen: u8,
}

/// The origins of the states of one layer.
#[derive(Default)]
pub struct Origins {
    /// By state: where it came from first.
    first: Vec<Index>,
    /// By state: by which move.
    chosen: Vec<u8>,
    /// By state: one more than the index of another origin, 0 for none. Only where all are kept.
    next: Vec<u32>,
    others: Vec<(Origin, u32)>,
}

impl Origins {
    /// Remembers how a state was reached.
    pub fn add(&mut self, keep: Keep, state: Index, is_new: bool, origin: Origin) {
        if is_new {
            self.first.push(origin.state);
            self.chosen.push(origin.chosen);
            if keep == Keep::Every {
                self.next.push(0);
            }
        } else if keep == Keep::Every {
            let next = &mut self.next[state as usize];
            self.others.push((origin, *next));
            // The limits on memory end the work long before this overflows.
            *next = self.others.len() as u32;
        }
    }

    /// How a state was reached first, and a mark to go on with in [`Origins::next`].
    pub fn first(&self, state: Index) -> (Origin, u32) {
        let index = state as usize;
        let origin = Origin {
            state: self.first[index],
            chosen: self.chosen[index],
        };
        (origin, self.next.get(index).copied().unwrap_or(0))
    }

    /// The next way in which a state was reached, by the mark of the last one.
    pub fn next(&self, mark: u32) -> Option<(Origin, u32)> {
        self.others.get((mark as usize).checked_sub(1)?).copied()
    }

    /// How much memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.first.len() * 5 + self.next.len() * 4 + self.others.len() * 12
    }
}
