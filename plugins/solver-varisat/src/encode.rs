//! A puzzle as clauses.
//!
//! Every edge of the network has a truth value: a flow goes along it or not. A terminal has one such
//! edge, any other node two (or none, where the board need not be covered), and both ends of an edge
//! have the same paint. So the edges that are true make up paths between terminals of one colour,
//! and rings. The rings can't be kept out by clauses of sensible size; [`crate::solve`] cuts them
//! when they show up.
//!
//! Without touching, a paint stands for one flow, so that two flows of one colour may lie side by
//! side; neighbours that are not joined have different paints. With touching, a paint is a colour.

use std::collections::BTreeMap;

use flowpipe_plugin::puzzle::{Colour, Node};
use varisat::{CnfFormula, Lit};

use crate::clauses::{Clauses, Truth};
use crate::config::Encoding;
use crate::network::{Edge, Network};
use crate::paint::{Paint, Paints};
use crate::shortest::only_shortest;
use crate::turns;

/// A puzzle's clauses, and where the edges stand in them.
pub struct Encoded {
    /// The clauses.
    pub formula: CnfFormula,
    /// Whether a flow goes along an edge: positive literals.
    pub edges: Vec<Lit>,
}

/// What the solutions are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// One is enough: others may be left out.
    One,
    /// Each of them counts.
    All,
}

/// Writes down the clauses, or stops when `cancelled`.
pub fn encode(
    network: &Network,
    encoding: Encoding,
    goal: Goal,
    cancelled: &dyn Fn() -> bool,
) -> Option<Encoded> {
    let mut clauses = Clauses::default();
    let terminals = TerminalPaints::new(network);
    let edge_literals: Vec<Lit> = network.ends.iter().map(|_| clauses.literal()).collect();
    let edges: Vec<Truth> = edge_literals.iter().copied().map(Truth::Open).collect();
    let paints = Paints::new(&mut clauses, encoding, terminals.count, &terminals.given);
    let mut used = Vec::with_capacity(network.len());
    for node in 0..network.len() {
        if node % 256 == 0 && cancelled() {
            return None;
        }
        let covered = network.terminal[node].is_some() || network.rules.cover;
        used.push(if covered {
            Truth::Known(true)
        } else {
            clauses.unknown()
        });
        degree(&mut clauses, network, &edges, node, used[node]);
        if terminals.given[node].is_none() {
            paints.exactly_one(&mut clauses, node, used[node]);
        }
    }
    for (node, choice) in &terminals.choices {
        let mut some = Vec::new();
        for paint in choice.clone() {
            let chosen = clauses.unknown();
            paints.is_if(&mut clauses, chosen, *node, paint);
            some.push(chosen);
        }
        clauses.any(&some);
    }
    for (edge, &(a, b)) in network.ends.iter().enumerate() {
        if edge % 256 == 0 && cancelled() {
            return None;
        }
        paints.same_if(&mut clauses, edges[edge], a, b);
        if !network.rules.touch {
            paints.differ_unless(&mut clauses, &[edges[edge], !used[a], !used[b]], a, b);
        }
    }
    if encoding == Encoding::Binary {
        rings(&mut clauses, network, &edges);
        if goal == Goal::One && !network.rules.cover {
            only_shortest(&mut clauses, network, &edges, &used, &paints);
        }
    }
    Some(Encoded {
        formula: clauses.finish(),
        edges: edge_literals,
    })
}

/// A terminal has one edge, any other node that is used two, an unused one none.
fn degree(clauses: &mut Clauses, network: &Network, edges: &[Truth], node: Node, used: Truth) {
    let ways: Vec<Truth> = network.ways[node]
        .iter()
        .map(|way| edges[way.edge])
        .collect();
    let with_excuse = |of: &[Truth]| [of, &[!used]].concat();
    if network.terminal[node].is_some() {
        clauses.any(&ways);
        for (at, &one) in ways.iter().enumerate() {
            for &other in &ways[at + 1..] {
                clauses.not_all(&[one, other]);
            }
        }
        return;
    }
    for &way in &ways {
        clauses.implies(way, used);
    }
    if ways.len() < 2 {
        // Leaves the clause below without a truth value: it may not be used.
        clauses.any(&[!used]);
    }
    for left_out in 0..ways.len() {
        let mut rest = ways.clone();
        rest.remove(left_out);
        clauses.any(&with_excuse(&rest));
    }
    for (i, &one) in ways.iter().enumerate() {
        for (j, &two) in ways.iter().enumerate().skip(i + 1) {
            for &three in &ways[j + 1..] {
                clauses.not_all(&[one, two, three]);
            }
        }
    }
}

/// What follows from the rules for rings of three and four neighbours, said outright: a solver that
/// must find it out each time is several times slower.
fn rings(clauses: &mut Clauses, network: &Network, edges: &[Truth]) {
    let mut forbid = |ring: &[Edge]| {
        let ring: Vec<Truth> = ring.iter().map(|&edge| edges[edge]).collect();
        if network.rules.touch {
            clauses.not_all(&ring);
        } else {
            // All but one edge of the ring would bring a flow back beside itself.
            for left_out in 0..ring.len() {
                let mut rest = ring.clone();
                rest.remove(left_out);
                clauses.not_all(&rest);
            }
        }
    };
    for triangle in network.triangles() {
        forbid(&triangle);
    }
    for square in network.squares() {
        forbid(&square);
    }
    if network.rules.cover && !network.rules.touch {
        for [a, b] in turns::forbidden(network) {
            clauses.not_all(&[edges[a], edges[b]]);
        }
    }
}

/// Which paints the terminals may have.
struct TerminalPaints {
    /// How many paints there are.
    count: usize,
    /// By node, where there is only one.
    given: Vec<Option<Paint>>,
    /// Terminals with several, from the first to the last.
    choices: Vec<(Node, std::ops::RangeInclusive<Paint>)>,
}

impl TerminalPaints {
    fn new(network: &Network) -> Self {
        let mut by_colour: BTreeMap<Colour, Vec<Node>> = BTreeMap::new();
        for (node, terminal) in network.terminal.iter().enumerate() {
            if let Some(colour) = terminal {
                by_colour.entry(*colour).or_default().push(node);
            }
        }
        let (mut count, mut choices) = (0, Vec::new());
        let mut given = vec![None; network.len()];
        for nodes in by_colour.values() {
            // Two paths of one paint are no harm: they keep a stricter rule than they must. So it is
            // enough that each flow can have a paint of its own. Which of them has which does not
            // matter: the first terminal has the first, the second one of the first two, and so on.
            let flows = if network.rules.touch {
                1
            } else {
                nodes.len() / 2
            };
            for (at, &node) in nodes.iter().enumerate() {
                match at.min(flows - 1) {
                    0 => given[node] = Some(count),
                    last => choices.push((node, count..=count + last)),
                }
            }
            count += flows;
        }
        Self {
            count,
            given,
            choices,
        }
    }
}
