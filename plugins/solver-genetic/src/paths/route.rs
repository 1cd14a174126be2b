//! New paths, the better way: planned at random prices, checked against arc consistency at every step.
//!
//! A path is laid from the flow's first terminal on. Where the domains leave a choice, the cheapest
//! way to the other terminal is planned, its next step is fixed and arc consistency looks at what
//! follows for the whole board. A step that leaves some node without a value is refused: it would
//! cut another flow off or isolate a cell, a dead end. Then the path is replanned around it. Steps
//! taken are never taken back, so this is no search: a path that can't go on is given up, and one
//! that arrives is only known to be no dead end by itself.

use std::rc::Rc;

use fastrand::Rng;
use flowpipe_plugin::puzzle::Node;

use super::Path;
use super::plan::Planner;
use crate::cancelled::Cancelled;
use crate::consistency::{Domains, Propagator};
use crate::network::{Flow, Network, Way};

/// How many steps may be refused before a path is given up.
const REFUSALS: usize = 24;

/// Lays paths.
pub struct Router<'a> {
    network: &'a Network,
    propagator: Propagator<'a>,
    planner: Planner,
    /// What is left of the puzzle before any path is laid.
    root: Domains,
    domains: Domains,
    saved: Domains,
}

impl<'a> Router<'a> {
    /// A router within domains.
    pub fn new(network: &'a Network, propagator: Propagator<'a>, root: &Domains) -> Self {
        Self {
            network,
            propagator,
            planner: Planner::new(network),
            root: root.clone(),
            domains: root.clone(),
            saved: root.clone(),
        }
    }

    /// A path of a flow that tries to be cheap; `None`: given up. The price of a node is what entering
    /// it costs. So likely, from 0 to 1, a step strays from the plan: paths that touch themselves are
    /// never the cheapest.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn path(
        &mut self,
        flow: Flow,
        prices: &[u32],
        stray: f64,
        rng: &mut Rng,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Path>, Cancelled> {
        if cancelled() {
            return Err(Cancelled);
        }
        let [start, end] = self.network.ends[flow];
        self.domains.clone_from(&self.root);
        self.planner.clear();
        let mut path = vec![start];
        let (mut node, mut came) = (start, None);
        let mut refusals = 0;
        while node != end {
            if path.len() > self.network.len() {
                return Ok(None);
            }
            let way = match self.domains.only_way(node, came, flow) {
                Some(way) => way,
                None => loop {
                    if cancelled() {
                        return Err(Cancelled);
                    }
                    let planned = if stray > 0.0 && rng.f64() < stray {
                        let ways: Vec<Way> = self.domains.ways(node, came, flow).collect();
                        rng.choice(ways)
                    } else {
                        self.planner.way(node, came)
                    };
                    match planned.filter(|&way| self.domains.allow(node, way, flow)) {
                        Some(way) if self.take(node, way, flow) => break way,
                        Some(_) if refusals == REFUSALS => return Ok(None),
                        Some(way) => {
                            refusals += 1;
                            self.domains.forbid(node, way, flow);
                            if self.propagator.from(node, &mut self.domains).is_err() {
                                return Ok(None);
                            }
                            self.planner.clear();
                        }
                        None => {
                            let from = (node, came);
                            let (network, domains) = (self.network, &self.domains);
                            if !self.planner.plan(network, domains, flow, from, prices) {
                                return Ok(None);
                            }
                        }
                    }
                },
            };
            let Some(slot) = way.onward(came) else {
                return Ok(None);
            };
            let next = self.network.beside[node][slot];
            (node, came) = (next.node, Some(next.back));
            path.push(node);
        }
        Ok(Some(Rc::from(path)))
    }

    /// Fixes a step. `false`: it is a dead end, and all is as it was.
    fn take(&mut self, node: Node, way: Way, flow: Flow) -> bool {
        self.saved.clone_from(&self.domains);
        self.domains.fix(node, way, flow);
        let is_consistent = self.propagator.from(node, &mut self.domains).is_ok();
        if !is_consistent {
            std::mem::swap(&mut self.domains, &mut self.saved);
        }
        is_consistent
    }
}
