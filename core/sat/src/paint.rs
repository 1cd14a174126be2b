//! Colours of nodes as truth values.
//!
//! A node carries a row of truth values, by which it has one of the *paints* 0, 1, 2, …: the digits
//! of the paint's number in binary, or one truth value for each paint. The constraints on them
//! reads the same for both.

use flowpipe_puzzle::Node;

use crate::clauses::{Clauses, Truth};

/// The number that distinguishes a flow, or all flows of a colour, from the others.
pub type Paint = usize;

/// How paints are written as truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// As binary numbers.
    Binary,
    /// One truth value for each paint.
    OneEach,
}

/// The paint of every node.
pub struct Paints {
    code: Code,
    nodes: Vec<Vec<Truth>>,
}

impl Paints {
    /// Truth values for every node: known ones where a paint is given, new unknowns elsewhere, of which
    /// some are `likely` of a paint.
    pub fn new(
        clauses: &mut Clauses,
        code: Code,
        paints: usize,
        given: &[Option<Paint>],
        likely: &[Option<Paint>],
    ) -> Self {
        let width = match code {
            Code::Binary => paints.next_power_of_two().trailing_zeros() as usize,
            Code::OneEach => paints,
        };
        let nodes = given
            .iter()
            .zip(likely)
            .map(|(given, likely)| match given {
                Some(paint) => (0..width)
                    .map(|at| Truth::Known(value(code, *paint, at)))
                    .collect(),
                None => (0..width)
                    .map(|at| likely.map(|paint| value(code, paint, at)))
                    .map(|phase| Truth::Open(clauses.literal(phase)))
                    .collect(),
            })
            .collect();
        Self { code, nodes }
    }

    /// With one truth value for each paint: a node has at most one, and one when it is `used`.
    pub fn exactly_one(&self, clauses: &mut Clauses, node: Node, used: Truth) {
        if self.code == Code::OneEach {
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
            let then = if value(self.code, paint, at) {
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
        match self.code {
            Code::OneEach => {
                for (one, other) in pairs {
                    some.extend([!one, !other]);
                    clauses.any(&some);
                    some.truncate(excuses.len());
                }
            }
            Code::Binary => {
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

/// The truth value at a place in the row of a paint.
fn value(code: Code, paint: Paint, at: usize) -> bool {
    match code {
        Code::Binary => paint >> at & 1 == 1,
        Code::OneEach => paint == at,
    }
}
