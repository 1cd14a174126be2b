//! Colours of nodes as truth values.
//!
//! A node carries a row of truth values, by which it has one of the *paints* 0, 1, 2, …: the digits
//! of the paint's number in binary, or one truth value for each paint. What must be said of them
//! reads the same for both.

use flowpipe_plugin::puzzle::Node;

use crate::clauses::{Clauses, Truth};
use crate::config::Encoding;

/// The number by which a flow, or all flows of a colour, are told from the others.
pub type Paint = usize;

/// The paint of every node.
pub struct Paints {
    encoding: Encoding,
    nodes: Vec<Vec<Truth>>,
}

impl Paints {
    /// Truth values for every node: known ones where a paint is given, new unknowns elsewhere.
    pub fn new(
        clauses: &mut Clauses,
        encoding: Encoding,
        paints: usize,
        given: &[Option<Paint>],
    ) -> Self {
        let width = match encoding {
            Encoding::Binary => paints.next_power_of_two().trailing_zeros() as usize,
            Encoding::VertexEdge => paints,
        };
        let nodes = given
            .iter()
            .map(|given| match given {
                Some(paint) => (0..width)
                    .map(|at| Truth::Known(value(encoding, *paint, at)))
                    .collect(),
                None => (0..width).map(|_| clauses.unknown()).collect(),
            })
            .collect();
        Self { encoding, nodes }
    }

    /// With one truth value for each paint: a node has at most one, and one when it is `used`.
    pub fn exactly_one(&self, clauses: &mut Clauses, node: Node, used: Truth) {
        if self.encoding == Encoding::VertexEdge {
            let row = &self.nodes[node];
            for (at, &one) in row.iter().enumerate() {
                for &other in &row[at + 1..] {
                    clauses.not_all(&[one, other]);
                }
            }
            let mut some = row.clone();
            some.push(!used);
            clauses.any(&some);
        }
    }

    /// Where `condition`, the node has the paint.
    pub fn is_if(&self, clauses: &mut Clauses, condition: Truth, node: Node, paint: Paint) {
        for (at, &truth) in self.nodes[node].iter().enumerate() {
            let then = if value(self.encoding, paint, at) {
                truth
            } else {
                !truth
            };
            clauses.implies(condition, then);
        }
    }

    /// Where `condition`, both nodes have the same paint.
    pub fn same_if(&self, clauses: &mut Clauses, condition: Truth, a: Node, b: Node) {
        for (&one, &other) in self.nodes[a].iter().zip(&self.nodes[b]) {
            clauses.any(&[!condition, !one, other]);
            clauses.any(&[!condition, one, !other]);
        }
    }

    /// Unless one of `excuses` is true, the nodes have different paints.
    pub fn differ_unless(&self, clauses: &mut Clauses, excuses: &[Truth], a: Node, b: Node) {
        let pairs = self.nodes[a]
            .iter()
            .copied()
            .zip(self.nodes[b].iter().copied());
        let mut some: Vec<Truth> = excuses.to_vec();
        match self.encoding {
            Encoding::VertexEdge => {
                for (one, other) in pairs {
                    some.extend([!one, !other]);
                    clauses.any(&some);
                    some.truncate(excuses.len());
                }
            }
            Encoding::Binary => {
                for (one, other) in pairs {
                    some.push(match (one, other) {
                        (Truth::Known(known), open) | (open, Truth::Known(known)) => {
                            if known {
                                !open
                            } else {
                                open
                            }
                        }
                        (one, other) => {
                            let differ = clauses.unknown();
                            clauses.any(&[!differ, one, other]);
                            clauses.any(&[!differ, !one, !other]);
                            differ
                        }
                    });
                }
                clauses.any(&some);
            }
        }
    }
}

/// The truth value at a place in the row that stands for a paint.
fn value(encoding: Encoding, paint: Paint, at: usize) -> bool {
    match encoding {
        Encoding::Binary => paint >> at & 1 == 1,
        Encoding::VertexEdge => paint == at,
    }
}
