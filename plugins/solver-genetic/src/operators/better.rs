//! Operators that look at what the other flows do.

use fastrand::Rng;

use super::{Cancelled, OperatorSet};
use crate::individual::{Cover, Genes, Individual};
use crate::network::{Flow, Network};
use crate::paths::Path;
use crate::paths::route::Router;

/// What entering a node costs for each path that passes it already.
const CROWD: u32 = 64;
/// A free node costs from 1 to one of these, at random: the larger, the more a path winds.
const NOISES: [u32; 4] = [1, 4, 16, 64];
/// How likely each step strays from the plan, one of these, where flows must cover all and may touch
/// themselves.
const STRAYS: [f64; 4] = [0.0, 0.1, 0.3, 0.6];
/// The most flows that a mutation replans.
const MOST_FLOWS: usize = 3;

/// Paths around other paths.
pub struct Better<'a> {
    network: &'a Network,
    router: Router<'a>,
    prices: Vec<u32>,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Better<'a> {
    /// Operators that lay paths by a router.
    pub fn new(network: &'a Network, router: Router<'a>, cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            network,
            router,
            prices: vec![0; network.len()],
            cancelled,
        }
    }

    /// A path around those that are there; nodes in `bare` are cheapest.
    fn path(
        &mut self,
        flow: Flow,
        cover: &Cover,
        bare: &[bool],
        rng: &mut Rng,
    ) -> Result<Option<Path>, Cancelled> {
        let most = NOISES[rng.usize(0..NOISES.len())];
        for (node, price) in self.prices.iter_mut().enumerate() {
            let noise = rng.u32(1..=most);
            *price = if bare[node] {
                1
            } else {
                noise + CROWD * cover.0[node]
            };
        }
        let touch = self.network.rules.touch && self.network.rules.cover;
        let stray = if touch {
            STRAYS[rng.usize(0..STRAYS.len())]
        } else {
            0.0
        };
        let prices = &self.prices;
        self.router.path(flow, prices, stray, rng, self.cancelled)
    }

    /// The flows that have to do with what is wrong: without a path, colliding, beside a bare node.
    fn troubled(&self, individual: &Individual, bare: &[bool]) -> Vec<Flow> {
        let mut flows = individual.missing();
        flows.extend(individual.colliding(self.network));
        for (flow, gene) in individual.genes.iter().enumerate() {
            let beside_bare = |&node: &usize| {
                let mut beside = self.network.beside[node].iter();
                beside.any(|beside| bare[beside.node])
            };
            if gene.iter().flat_map(|path| path.iter()).any(beside_bare) {
                flows.push(flow);
            }
        }
        flows.sort_unstable();
        flows.dedup();
        flows
    }
}

impl OperatorSet for Better<'_> {
    /// One path after the other, each around those before.
    fn create(&mut self, rng: &mut Rng) -> Result<Genes, Cancelled> {
        let mut genes: Genes = vec![None; self.network.flows()];
        let mut cover = Cover::new(self.network);
        let bare = vec![false; self.network.len()];
        let mut order: Vec<Flow> = (0..genes.len()).collect();
        rng.shuffle(&mut order);
        for flow in order {
            genes[flow] = self.path(flow, &cover, &bare, rng)?;
            genes[flow].iter().for_each(|path| cover.add(path));
        }
        Ok(genes)
    }

    /// The flows in random order, each from the parent where it collides less with those before.
    fn cross(&mut self, mother: &Individual, father: &Individual, rng: &mut Rng) -> Genes {
        let mut child: Genes = vec![None; self.network.flows()];
        let mut cover = Cover::new(self.network);
        let mut order: Vec<Flow> = (0..child.len()).collect();
        rng.shuffle(&mut order);
        for flow in order {
            let mut parents = [&mother.genes[flow], &father.genes[flow]];
            rng.shuffle(&mut parents);
            let path = parents
                .into_iter()
                .flatten()
                .min_by_key(|path| cover.crowded(path, 0));
            path.into_iter().for_each(|path| cover.add(path));
            child[flow] = path.cloned();
        }
        child
    }

    /// Replans a few flows that are involved in the conflicts, around the others.
    fn mutate(&mut self, individual: &Individual, rng: &mut Rng) -> Result<Genes, Cancelled> {
        let mut genes = individual.genes.clone();
        let mut cover = Cover::of(self.network, &genes);
        let bare: Vec<bool> = cover.0.iter().map(|&count| count == 0).collect();
        let mut flows = self.troubled(individual, &bare);
        if flows.is_empty() {
            flows = (0..genes.len()).collect();
        }
        rng.shuffle(&mut flows);
        flows.truncate(rng.usize(1..=MOST_FLOWS));
        for &flow in &flows {
            genes[flow].iter().for_each(|path| cover.remove(path));
        }
        for flow in flows {
            if let Some(path) = self.path(flow, &cover, &bare, rng)? {
                genes[flow] = Some(path);
            }
            genes[flow].iter().for_each(|path| cover.add(path));
        }
        Ok(genes)
    }
}
