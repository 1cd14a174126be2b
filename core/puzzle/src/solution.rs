//! A solution: one flow for each pair of terminals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::Cell;
use crate::colour::Colour;

/// A path of one colour. Complete when both ends are terminals.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Its colour.
    pub colour: Colour,
    /// Its cells from one end to the other, both ends included.
    pub cells: Vec<Cell>,
}

impl Flow {
    /// A path of a colour through cells, both ends included.
    #[must_use]
    pub fn new(colour: Colour, cells: Vec<Cell>) -> Self {
        Self { colour, cells }
    }
}

/// The flows of a whole puzzle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Solution {
    /// In canonical order: each flow begins at its end with the smaller index, flows by their
    /// first cell. See [`Solution::canonical`].
    pub flows: Vec<Flow>,
}

impl Solution {
    /// These flows, in any order; see [`Solution::canonical`].
    #[must_use]
    pub fn new(flows: Vec<Flow>) -> Self {
        Self { flows }
    }

    /// The same solution with every flow beginning at its end with the smaller index, and the flows
    /// ordered by first cell: two solutions are the same exactly when their canonical forms are equal.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        for flow in &mut self.flows {
            if flow.cells.last() < flow.cells.first() {
                flow.cells.reverse();
            }
        }
        self.flows
            .sort_by(|a, b| (&a.cells, a.colour).cmp(&(&b.cells, b.colour)));
        self
    }

    /// Returns the flows that are not drawn yet. A flow is drawn if a pipe passes through all of its cells in their
    /// order, from either end.
    #[must_use]
    pub fn missing(&self, drawn: &[Flow]) -> Self {
        let is_valid = |flow: &&Flow| {
            drawn.iter().any(|pipe| {
                pipe.colour == flow.colour
                    && (pipe.cells == flow.cells || pipe.cells.iter().rev().eq(&flow.cells))
            })
        };
        Self {
            flows: self
                .flows
                .iter()
                .filter(|flow| !is_valid(flow))
                .cloned()
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
