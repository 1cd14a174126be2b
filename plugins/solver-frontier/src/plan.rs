//! The sweep, step by step, before it is made: which nodes lie on the frontier, and what may happen there.

use flowpipe_plugin::puzzle::Node;

use crate::domains::{Domains, Known};
use crate::network::{Edge, Network, Way};
use crate::order::Order;
use crate::residue::Residues;
use crate::subsets::EMPTY_ONLY;
use crate::watch::{Stop, Watch};

/// A place on the frontier. A node keeps its slot from when a node beside it is swept until it is swept
/// itself.
pub type Slot = usize;

/// Everything about a sweep that does not depend on a state.
pub struct Plan {
    /// In this order.
    pub steps: Vec<Step>,
    /// How many slots there are: the widest frontier.
    pub slots: usize,
    /// The most classes that a node has.
    pub classes: usize,
    /// How many colours there are.
    pub colours: usize,
    /// By colour: whether it has two terminals only.
    pub single_pair: Vec<bool>,
    /// By node: its place along the border, see [`Order::along`].
    pub along: Option<Vec<(isize, isize)>>,
    residues: Vec<Residues>,
}

/// One node is swept: all its edges that are undecided so far are decided. Which of its edges come on
/// then is a subset, as in [`crate::subsets`]: the move.
pub struct Step {
    /// The node.
    pub node: Node,
    /// Its slot; `None`: no node beside it was swept before.
    pub slot: Option<Slot>,
    /// Its terminal's colour.
    pub terminal: Option<u16>,
    /// The nodes beside it that are swept later.
    pub ahead: Vec<Ahead>,
}

/// A node beside one that is swept.
pub struct Ahead {
    /// The node.
    pub node: Node,
    /// The edge between the two.
    pub edge: Edge,
    /// Which of the swept node's edges that is.
    pub way: usize,
    /// Which of this node's edges that is.
    pub back: usize,
    /// Its slot.
    pub slot: Slot,
    /// Whether it comes to the frontier now.
    pub fresh: bool,
    /// When it is fresh: the slots of the nodes beside it that are on the frontier already.
    pub touching: Vec<Slot>,
    /// Its terminal's colour.
    pub terminal: Option<u16>,
}

impl Ahead {
    /// Whether a move takes the edge to it.
    pub fn is_on(&self, chosen: u8) -> bool {
        chosen >> self.way & 1 == 1
    }
}

/// By node: the nodes beside it that matter to a sweep. An edge that is known to be off does not, where
/// flows may touch themselves; a node that has to stay empty never does.
///
/// # Errors
/// [`Stop::Cancelled`].
pub fn beside(network: &Network, domains: &Domains, watch: &Watch) -> Result<Vec<Vec<Node>>, Stop> {
    let empty = |node: Node| domains.subsets[node] == EMPTY_ONLY;
    let mut beside = Vec::with_capacity(network.len());
    for node in 0..network.len() {
        watch.tick()?;
        let ways = network.ways(node).iter().filter(|way| {
            let off = network.touch && domains.edges[way.edge] == Known::Off;
            !off && !empty(node) && !empty(way.node)
        });
        beside.push(ways.map(|way| way.node).collect());
    }
    Ok(beside)
}

impl Plan {
    /// The plan of a sweep in an order.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn new(
        network: &Network,
        domains: &Domains,
        beside: &[Vec<Node>],
        order: &Order,
        watch: &Watch,
    ) -> Result<Self, Stop> {
        let mut place = vec![usize::MAX; network.len()];
        for (index, &node) in order.nodes.iter().enumerate() {
            place[node] = index;
        }
        let mut residues = Vec::with_capacity(network.len());
        let mut before: Vec<(usize, usize)> = Vec::new();
        let mut in_order: Vec<usize> = Vec::new();
        for node in 0..network.len() {
            watch.tick()?;
            let ways = network.ways(node).iter().enumerate();
            before.clear();
            before.extend(
                ways.filter(|(_, way)| {
                    place[way.node] < place[node] && beside[node].contains(&way.node)
                })
                .map(|(index, way)| (place[way.node], index)),
            );
            before.sort_unstable();
            in_order.clear();
            in_order.extend(before.iter().map(|&(_, index)| index));
            residues.push(Residues::new(domains.subsets[node], &in_order));
        }
        let mut builder = Builder {
            network,
            beside,
            place,
            slot_of: vec![None; network.len()],
            occupied: Vec::new(),
        };
        let mut steps = Vec::with_capacity(order.nodes.len());
        for &node in &order.nodes {
            watch.tick()?;
            steps.push(builder.step(node));
        }
        Ok(Self {
            steps,
            slots: builder.occupied.len(),
            classes: residues.iter().map(Residues::len).max().unwrap_or(1),
            colours: network.colours.len(),
            single_pair: network.single_pair.clone(),
            along: order.along.clone(),
            residues,
        })
    }

    /// What a node can still become.
    pub fn residues(&self, node: Node) -> &Residues {
        &self.residues[node]
    }
}

struct Builder<'a> {
    network: &'a Network,
    beside: &'a [Vec<Node>],
    /// By node: when it is swept.
    place: Vec<usize>,
    slot_of: Vec<Option<Slot>>,
    /// By slot.
    occupied: Vec<bool>,
}

impl Builder<'_> {
    fn step(&mut self, node: Node) -> Step {
        let slot = self.slot_of[node].take();
        if let Some(slot) = slot {
            self.occupied[slot] = false;
        }
        let ways = self.network.ways(node).iter().enumerate();
        let mut ahead = Vec::with_capacity(2);
        for (index, way) in ways {
            let later = self.place[way.node] > self.place[node];
            if later && self.beside[node].contains(&way.node) {
                ahead.extend(self.ahead(node, index, *way));
            }
        }
        Step {
            node,
            slot,
            terminal: self.network.terminal(node),
            ahead,
        }
    }

    /// Every edge is known at both its ends, so this is always a node ahead.
    fn ahead(&mut self, node: Node, index: usize, way: Way) -> Option<Ahead> {
        let mut back = self.network.ways(way.node).iter();
        let back = back.position(|back| back.node == node)?;
        let known = self.slot_of[way.node];
        let mut touching = Vec::new();
        if known.is_none() {
            let beside = self.beside[way.node].iter();
            touching.extend(beside.filter_map(|&other| self.slot_of[other]));
        }
        Some(Ahead {
            node: way.node,
            edge: way.edge,
            way: index,
            back,
            slot: known.unwrap_or_else(|| self.settle(way.node)),
            fresh: known.is_none(),
            touching,
            terminal: self.network.terminal(way.node),
        })
    }

    /// Gives a node the first free slot.
    fn settle(&mut self, node: Node) -> Slot {
        let free = self.occupied.iter().position(|occupied| !occupied);
        let slot = free.unwrap_or(self.occupied.len());
        if free.is_none() {
            self.occupied.push(false);
        }
        self.occupied[slot] = true;
        self.slot_of[node] = Some(slot);
        slot
    }
}
