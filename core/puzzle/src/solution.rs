//! A solution: one flow for each pair of terminals.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::board::Cell;
use crate::colour::Colour;

/// A path of one colour. Complete when both ends are terminals.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Its colour.
    pub colour: Colour,
    /// Its cells from one end to the other, both ends included.
    #[serde(deserialize_with = "path")]
    pub cells: Vec<Cell>,
}

/// Reads a path. Its length is not known before, so it is gathered on the stack: most paths are allocated once.
fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Cell>, D::Error> {
    struct Path;

    impl<'de> Visitor<'de> for Path {
        type Value = Vec<Cell>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Vec<Cell>, A::Error> {
            let mut first = [0; 48];
            for (length, place) in first.iter_mut().enumerate() {
                match cells.next_element()? {
                    Some(cell) => *place = cell,
                    None => return Ok(first[..length].to_vec()),
                }
            }
            let mut path = first.to_vec();
            while let Some(cell) = cells.next_element()? {
                path.push(cell);
            }
            Ok(path)
        }
    }

    from.deserialize_seq(Path)
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
