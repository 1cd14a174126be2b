//! The cheapest way through what is left, by Dijkstra's algorithm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowpipe_plugin::puzzle::Node;

use crate::consistency::Domains;
use crate::network::{Flow, Network, Slot, Way};

/// Neighbours that a node can have at most: six on hexes.
const SLOTS: usize = 6;

/// Plans the rest of a path. Keeps its memory between plans.
pub struct Planner {
    /// By node and the slot by which it is entered: the cheapest cost so far, and the state before.
    cost: Vec<u32>,
    before: Vec<usize>,
    heap: BinaryHeap<Reverse<(u32, usize)>>,
    /// By node: how the plan passes it.
    plan: Vec<Option<(Option<Slot>, Way)>>,
}

impl Planner {
    /// A planner for a network.
    pub fn new(network: &Network) -> Self {
        Self {
            cost: vec![u32::MAX; network.len() * SLOTS],
            before: vec![usize::MAX; network.len() * SLOTS],
            heap: BinaryHeap::new(),
            plan: vec![None; network.len()],
        }
    }

    /// Forgets the plan.
    pub fn clear(&mut self) {
        self.plan.fill(None);
    }

    /// How the plan goes on at a node that was entered by a slot, if it passes there.
    pub fn way(&self, node: Node, came: Option<Slot>) -> Option<Way> {
        self.plan[node]
            .filter(|planned| planned.0 == came)
            .map(|planned| planned.1)
    }

    /// Plans from a node on to the flow's second terminal, each node at its price. `false`: there is
    /// no way.
    pub fn plan(
        &mut self,
        network: &Network,
        domains: &Domains,
        flow: Flow,
        (start, came): (Node, Option<Slot>),
        prices: &[u32],
    ) -> bool {
        self.cost.fill(u32::MAX);
        self.heap.clear();
        self.clear();
        let [_, end] = network.ends[flow];
        self.expand(network, domains, flow, (start, came, 0, usize::MAX), prices);
        while let Some(Reverse((cost, state))) = self.heap.pop() {
            if self.cost[state] < cost {
                continue;
            }
            let (node, slot) = (state / SLOTS, state % SLOTS);
            if node == end {
                self.trace(network, state, came);
                return true;
            }
            self.expand(
                network,
                domains,
                flow,
                (node, Some(slot), cost, state),
                prices,
            );
        }
        false
    }

    fn expand(
        &mut self,
        network: &Network,
        domains: &Domains,
        flow: Flow,
        (node, came, cost, state): (Node, Option<Slot>, u32, usize),
        prices: &[u32],
    ) {
        for way in domains.ways(node, came, flow) {
            let Some(slot) = way.onward(came) else {
                continue;
            };
            let next = network.beside[node][slot];
            if domains.through(next.node, next.back) >> flow & 1 == 0 {
                continue;
            }
            let there = next.node * SLOTS + next.back;
            let price = cost.saturating_add(prices[next.node]);
            if price < self.cost[there] {
                self.cost[there] = price;
                self.before[there] = state;
                self.heap.push(Reverse((price, there)));
            }
        }
    }

    fn trace(&mut self, network: &Network, end: usize, came: Option<Slot>) {
        let mut state = end;
        loop {
            let entered = network.beside[state / SLOTS][state % SLOTS];
            let (node, onward) = (entered.node, entered.back);
            let before = self.before[state];
            let slot = if before == usize::MAX {
                came
            } else {
                Some(before % SLOTS)
            };
            let slots: Vec<Slot> = slot.into_iter().chain([onward]).collect();
            self.plan[node] = Some((slot, Way::joining(&slots)));
            if before == usize::MAX {
                return;
            }
            state = before;
        }
    }
}
