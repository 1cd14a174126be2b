//! What is known of every node and edge before the sweep: far fewer states come of it.

use std::collections::VecDeque;

use flowpipe_plugin::puzzle::Node;

use crate::fragments::{Flows, Fragments, Misfit};
use crate::network::{Edge, Network};
use crate::squares::Squares;
use crate::subsets::{self, EMPTY_ONLY, Subsets};
use crate::watch::{Stop, Watch};

/// What is known of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing yet.
    Open,
    /// Some flow takes it, in every solution.
    On,
    /// No flow takes it, in any solution.
    Off,
}

/// What is left after reasoning.
pub struct Domains {
    /// By node: which subsets of its edges may be those that flows take.
    pub subsets: Vec<Subsets>,
    /// By edge.
    pub edges: Vec<Known>,
}

/// Why there are no domains.
#[derive(Debug)]
pub enum NoDomains {
    /// There is no solution: nothing fits at this node.
    Impossible(Node),
    /// Cancelled.
    Stop(Stop),
}

impl From<Stop> for NoDomains {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Draws all conclusions from the rules at each node, from pieces that would join colours or close
/// rings, and, where no flow may touch itself, from [`crate::squares`] and pieces that would touch.
///
/// # Errors
/// See [`NoDomains`].
pub fn propagate(network: &Network, watch: &Watch) -> Result<Domains, NoDomains> {
    let mut subsets = Vec::with_capacity(network.len());
    for node in 0..network.len() {
        watch.tick()?;
        subsets.push(at_first(network, node));
    }
    let mut reasoning = Reasoning {
        network,
        watch,
        domains: Domains {
            subsets,
            edges: vec![Known::Open; network.edge_count()],
        },
        fragments: Fragments::new(network),
        strict: if network.touch {
            None
        } else {
            Some((Squares::new(network, watch)?, Flows::new(network.len())))
        },
        queue: (0..network.len()).collect(),
        queued: vec![true; network.len()],
    };
    reasoning.unite_terminals()?;
    reasoning.run()?;
    Ok(reasoning.domains)
}

/// What the node's own rule allows.
fn at_first(network: &Network, node: Node) -> Subsets {
    let ways = network.ways(node);
    let mut set = 0;
    for (j, b) in ways.iter().enumerate() {
        if network.terminal(node).is_some() {
            set |= subsets::one(1 << j);
            continue;
        }
        for (i, a) in ways[..j].iter().enumerate() {
            // A flow that takes two neighbours in a triangle touches itself.
            if network.touch || !network.joined(a.node, b.node) {
                set |= subsets::one(1 << i | 1 << j);
            }
        }
    }
    if network.terminal(node).is_none() && !network.cover {
        set |= EMPTY_ONLY;
    }
    set
}

struct Reasoning<'a> {
    network: &'a Network,
    watch: &'a Watch<'a>,
    domains: Domains,
    fragments: Fragments,
    /// Where no flow may touch itself.
    strict: Option<(Squares, Flows)>,
    queue: VecDeque<Node>,
    queued: Vec<bool>,
}

impl Reasoning<'_> {
    /// The two terminals of a colour that has no more are ends of one flow.
    fn unite_terminals(&mut self) -> Result<(), NoDomains> {
        let mut first = vec![None; self.network.colours.len()];
        for node in 0..self.network.len() {
            let Some(colour) = self.network.terminal(node).map(usize::from) else {
                continue;
            };
            if !self.network.single_pair[colour] {
                continue;
            }
            match first[colour] {
                None => first[colour] = Some(node),
                Some(other) => self.unite(node, other)?,
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), NoDomains> {
        while let Some(node) = self.queue.pop_front() {
            self.watch.tick()?;
            self.queued[node] = false;
            self.look_at(node)?;
        }
        Ok(())
    }

    fn wake(&mut self, node: Node) {
        if !std::mem::replace(&mut self.queued[node], true) {
            self.queue.push_back(node);
        }
    }

    fn look_at(&mut self, node: Node) -> Result<(), NoDomains> {
        let before = self.domains.subsets[node];
        let mut set = before;
        let ways = self.network.ways(node);
        for (index, way) in ways.iter().enumerate() {
            match self.domains.edges[way.edge] {
                Known::On => set = subsets::with(set, index),
                Known::Off => set = subsets::without(set, index),
                Known::Open => {}
            }
        }
        if let Some((squares, _)) = &self.strict {
            for square in squares.at(node) {
                let pair = subsets::one(square.pair);
                let [a, b] = square.closing;
                let opposite = self.domains.subsets[square.opposite];
                if set & pair != 0 && subsets::without(subsets::without(opposite, a), b) == 0 {
                    set &= !pair;
                }
            }
        }
        if set == 0 {
            return Err(NoDomains::Impossible(node));
        }
        self.domains.subsets[node] = set;
        for (index, way) in ways.iter().enumerate() {
            if self.domains.edges[way.edge] != Known::Open {
                continue;
            }
            if subsets::with(set, index) == 0 {
                self.put_off(way.edge)?;
            } else if subsets::without(set, index) == 0 {
                self.put_on(way.edge)?;
            } else if self.fragments.cannot_join(node, way.node) {
                self.put_off(way.edge)?;
            }
        }
        if set != before {
            self.narrow_opposites(node, set)?;
        }
        Ok(())
    }

    /// A node's set has become smaller.
    fn narrow_opposites(&mut self, node: Node, set: Subsets) -> Result<(), NoDomains> {
        let Some((squares, _)) = &self.strict else {
            return Ok(());
        };
        let squares = squares.at(node).to_vec();
        for square in squares {
            self.wake(square.opposite);
            if set == subsets::one(square.pair) {
                for way in square.closing {
                    self.put_off(self.network.ways(square.opposite)[way].edge)?;
                }
            }
        }
        Ok(())
    }

    fn put_off(&mut self, edge: Edge) -> Result<(), NoDomains> {
        let [a, b] = self.network.ends(edge);
        match self.domains.edges[edge] {
            Known::Off => return Ok(()),
            Known::On => return Err(NoDomains::Impossible(a)),
            Known::Open => self.domains.edges[edge] = Known::Off,
        }
        if let Some((_, flows)) = &mut self.strict
            && flows.root(a) == flows.root(b)
        {
            return Err(NoDomains::Impossible(a));
        }
        self.wake(a);
        self.wake(b);
        Ok(())
    }

    fn put_on(&mut self, edge: Edge) -> Result<(), NoDomains> {
        let [a, b] = self.network.ends(edge);
        match self.domains.edges[edge] {
            Known::On => return Ok(()),
            Known::Off => return Err(NoDomains::Impossible(a)),
            Known::Open => self.domains.edges[edge] = Known::On,
        }
        let ends = self
            .fragments
            .join(a, b)
            .map_err(|Misfit| NoDomains::Impossible(a))?;
        for node in [a, b].into_iter().chain(ends) {
            self.wake(node);
        }
        self.unite(a, b)
    }

    /// Two nodes are of one flow: where it has neighbours, they are joined.
    fn unite(&mut self, a: Node, b: Node) -> Result<(), NoDomains> {
        let Some((_, flows)) = &mut self.strict else {
            return Ok(());
        };
        let members = flows.unite(a, b);
        let root = flows.root(a);
        let mut joined = Vec::new();
        for member in members {
            self.watch.tick()?;
            for way in self.network.ways(member) {
                if flows.root(way.node) == root && self.domains.edges[way.edge] != Known::On {
                    joined.push(way.edge);
                }
            }
        }
        joined.into_iter().try_for_each(|edge| self.put_on(edge))
    }
}
