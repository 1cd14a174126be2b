//! A puzzle as clauses.
//!
//! Every edge of the network has a truth value: a flow goes along it or not. A terminal has one such
//! edge, any other node two (or none, where the board need not be covered), and both ends of an edge
//! have the same paint. So the edges that are true make up paths between terminals of one colour,
//! and rings. The rings can't be kept out by clauses of sensible size; [`crate::cut`] cuts them
//! when they show up. [`Encoding::Edges`] does without paints: what they would keep out is cut too.
//!
//! Without touching, a paint means one flow, so that two flows of one colour may lie side by
//! side; neighbours that are not joined have different paints. With touching, a paint is a colour.

use std::collections::BTreeMap;

use flowpipe_puzzle::{Colour, Node};

use crate::clauses::{Clauses, Truth};
use crate::decode::Path;
use crate::formula::Formula;
use crate::literal::Literal;
use crate::network::{Edge, Network};
use crate::options::Encoding;
use crate::paint::{Code, Paint, Paints};
use crate::shortest::only_shortest;
use crate::turns;

/// A puzzle's clauses, and where the edges stand in them.
pub struct Encoded {
    /// The clauses.
    pub formula: Formula,
    /// Whether a flow goes along an edge: positive literals.
    pub edges: Vec<Literal>,
}

/// What the solutions are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// One is enough: others may be left out.
    One,
    /// Each of them counts.
    All,
}

/// Writes down the clauses, or stops when `cancelled`. What lies on `likely` paths is to be tried first.
pub fn encode(
    network: &Network,
    encoding: Encoding,
    goal: Goal,
    likely: &[Path],
    cancelled: &dyn Fn() -> bool,
) -> Option<Encoded> {
    let mut clauses = Clauses::default();
    let mut chosen = vec![None; network.ends.len()];
    for &edge in likely.iter().flat_map(|path| &path.edges) {
        chosen[edge] = Some(true);
    }
    let edge_literals: Vec<Literal> = chosen.iter().map(|&phase| clauses.literal(phase)).collect();
    let edges: Vec<Truth> = edge_literals.iter().copied().map(Truth::Open).collect();
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
    }
    let shortest = goal == Goal::One && !network.rules.cover && !network.rules.touch;
    if encoding != Encoding::VertexEdge {
        rings(&mut clauses, network, &edges, cancelled)?;
        if shortest || (network.rules.cover && !network.rules.touch) {
            for [a, b] in turns::forbidden(network, cancelled)? {
                clauses.not_all(&[edges[a], edges[b]]);
            }
        }
    }
    let code = match encoding {
        Encoding::Edges => None,
        Encoding::Binary | Encoding::Best => Some(Code::Binary),
        Encoding::VertexEdge => Some(Code::OneEach),
    };
    if let Some(code) = code {
        let paints = painted(
            &mut clauses,
            network,
            code,
            &edges,
            &used,
            likely,
            cancelled,
        )?;
        if code == Code::Binary && shortest {
            only_shortest(&mut clauses, network, &edges, &used, &paints, cancelled)?;
        }
    }
    Some(Encoded {
        formula: clauses.finish(),
        edges: edge_literals,
    })
}

/// Paints every node, or stops when `cancelled`.
fn painted(
    clauses: &mut Clauses,
    network: &Network,
    code: Code,
    edges: &[Truth],
    used: &[Truth],
    likely: &[Path],
    cancelled: &dyn Fn() -> bool,
) -> Option<Paints> {
    let terminals = TerminalPaints::new(network);
    let mut guessed = vec![None; network.len()];
    for path in likely {
        let ends = path.nodes.first().into_iter().chain(path.nodes.last());
        let paint = ends.filter_map(|&end| terminals.given[end]).next();
        for &node in &path.nodes {
            guessed[node] = paint;
        }
    }
    let paints = Paints::new(clauses, code, terminals.count, &terminals.given, &guessed);
    for (node, &used) in used.iter().enumerate() {
        if node % 256 == 0 && cancelled() {
            return None;
        }
        if terminals.given[node].is_none() {
            paints.exactly_one(clauses, node, used);
        }
    }
    for (node, choice) in &terminals.choices {
        let mut some = Vec::new();
        for paint in choice.clone() {
            let chosen = clauses.unknown();
            paints.is_if(clauses, chosen, *node, paint);
            some.push(chosen);
        }
        clauses.any(&some);
    }
    for (edge, &(a, b)) in network.ends.iter().enumerate() {
        if edge % 256 == 0 && cancelled() {
            return None;
        }
        paints.same_if(clauses, edges[edge], a, b);
        if !network.rules.touch {
            paints.differ_unless(clauses, &[edges[edge], !used[a], !used[b]], a, b);
        }
    }
    Some(paints)
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

/// What follows from the rules for rings of three and four neighbours, as explicit clauses: a solver that
/// must find it out each time is several times slower.
fn rings(
    clauses: &mut Clauses,
    network: &Network,
    edges: &[Truth],
    cancelled: &dyn Fn() -> bool,
) -> Option<()> {
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
    let triangles = network.triangles();
    let squares = network.squares();
    let rings = triangles
        .iter()
        .map(<[Edge; 3]>::as_slice)
        .chain(squares.iter().map(<[Edge; 4]>::as_slice));
    for (at, ring) in rings.enumerate() {
        if at % 1024 == 0 && cancelled() {
            return None;
        }
        forbid(ring);
    }
    Some(())
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
