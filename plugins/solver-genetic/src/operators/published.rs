//! The published operators.

use fastrand::Rng;

use super::{Cancelled, OperatorSet};
use crate::individual::{Genes, Individual};
use crate::network::{Flow, Network};
use crate::paths::Path;
use crate::paths::walk::Walker;

/// How likely a mutation gives a missing path another try, where one is missing.
const MISSING_FIRST: f64 = 0.8;

/// Creation by random walks, smart crossover, both smart mutations.
pub struct Published<'a> {
    network: &'a Network,
    walker: Walker<'a>,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Published<'a> {
    /// Operators that lay paths by a walker.
    pub fn new(network: &'a Network, walker: Walker<'a>, cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            network,
            walker,
            cancelled,
        }
    }

    fn path(&self, flow: Flow, rng: &mut Rng) -> Result<Option<Path>, Cancelled> {
        if (self.cancelled)() {
            return Err(Cancelled);
        }
        Ok(self.walker.path(flow, rng, self.cancelled))
    }
}

impl OperatorSet for Published<'_> {
    fn create(&mut self, rng: &mut Rng) -> Result<Genes, Cancelled> {
        (0..self.network.flows())
            .map(|flow| self.path(flow, rng))
            .collect()
    }

    /// Each path from either parent; where only one has a path, from that one.
    fn cross(&mut self, mother: &Individual, father: &Individual, rng: &mut Rng) -> Genes {
        let genes = mother.genes.iter().zip(&father.genes);
        let child = genes.map(|(mother, father)| match (mother, father) {
            (Some(_), Some(_)) if rng.bool() => mother,
            (_, Some(_)) => father,
            _ => mother,
        });
        child.cloned().collect()
    }

    /// One or two flows get a new path: most likely a missing one (version 1), else a colliding one
    /// (version 2).
    fn mutate(&mut self, individual: &Individual, rng: &mut Rng) -> Result<Genes, Cancelled> {
        let mut genes = individual.genes.clone();
        for _ in 0..rng.usize(1..=2) {
            let mut from = individual.missing();
            if from.is_empty() || rng.f64() >= MISSING_FIRST {
                from = individual.colliding(self.network);
            }
            let any = rng.usize(0..self.network.flows());
            let flow = rng.choice(from).unwrap_or(any);
            if let Some(path) = self.path(flow, rng)? {
                genes[flow] = Some(path);
            }
        }
        Ok(genes)
    }
}
