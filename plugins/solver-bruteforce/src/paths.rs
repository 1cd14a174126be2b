//! All paths of each colour on the board without pipes.

use flowpipe_plugin::puzzle::{Colour, Node, Puzzle};
use flowpipe_plugin::{Result, Watch};

use crate::mask::Mask;

/// One path between two terminals of a colour.
pub struct Path {
    /// The nodes that it takes, both terminals included.
    pub mask: Mask,
    /// The same from the terminal with the smaller cell to the other. There are at most 256 nodes.
    pub nodes: Box<[u8]>,
}

/// A terminal and the paths that begin there: those that end at a later terminal of its colour, so
/// that each path is listed once.
pub struct Start {
    /// The terminal's node.
    pub node: Node,
    /// Its colour.
    pub colour: Colour,
    /// Its paths.
    pub paths: Vec<Path>,
}

/// The paths of each terminal, by colour, then by cell. `None`: there are more than `most`.
///
/// A path goes through no terminal, and it does not touch itself where the rules forbid that.
///
/// # Errors
/// When cancelled.
pub fn all(puzzle: &Puzzle, most: usize, watch: &mut Watch<'_>) -> Result<Option<Vec<Start>>> {
    let graph = puzzle.board().graph();
    let mut terminals = puzzle.terminals().to_vec();
    terminals.sort_by_key(|terminal| (terminal.colour, terminal.cell));
    // A terminal is never on a bridge, so its cell is one node.
    let node_of = |cell| graph.nodes_of(cell)[0];
    let taken: Mask = terminals
        .iter()
        .map(|terminal| node_of(terminal.cell))
        .collect();
    let mut left = most;
    let mut starts = Vec::with_capacity(terminals.len());
    for (index, terminal) in terminals.iter().enumerate() {
        let later = terminals[index + 1..].iter();
        let ends = later
            .take_while(|other| other.colour == terminal.colour)
            .map(|other| node_of(other.cell))
            .collect();
        let node = node_of(terminal.cell);
        let Some(paths) = from(puzzle, node, &ends, taken, left, watch)? else {
            return Ok(None);
        };
        left -= paths.len();
        starts.push(Start {
            node,
            colour: terminal.colour,
            paths,
        });
    }
    Ok(Some(starts))
}

/// All paths from a node to one of the ends, if they are no more than `most`.
fn from(
    puzzle: &Puzzle,
    start: Node,
    ends: &Mask,
    terminals: Mask,
    most: usize,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<Path>>> {
    let graph = puzzle.board().graph();
    let touch = puzzle.rules().touch;
    let mut paths = Vec::new();
    let mut mask = Mask::default();
    mask.insert(start);
    let mut nodes = vec![start];
    // For each node of the path, the link to try next.
    let mut tried = vec![0_usize];
    while let (Some(&head), Some(next)) = (nodes.last(), tried.last_mut()) {
        watch.work(1)?;
        let Some(link) = graph.links(head).get(*next) else {
            mask.remove(head);
            nodes.pop();
            tried.pop();
            continue;
        };
        *next += 1;
        let node = link.node;
        let is_end = ends.has(node);
        if mask.has(node) || (terminals.has(node) && !is_end) {
            continue;
        }
        let mut beside = graph.links(node).iter().map(|link| link.node);
        if !touch && beside.any(|other| other != head && mask.has(other)) {
            continue;
        }
        if !is_end {
            mask.insert(node);
            nodes.push(node);
            tried.push(0);
            continue;
        }
        if paths.len() == most {
            return Ok(None);
        }
        let mut whole = mask;
        whole.insert(node);
        paths.push(Path {
            mask: whole,
            nodes: nodes
                .iter()
                .chain([&node])
                .map(|&node| small(node))
                .collect(),
        });
    }
    Ok(Some(paths))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a mask has no room for more than 256 nodes"
)]
fn small(node: Node) -> u8 {
    debug_assert!(u8::try_from(node).is_ok());
    node as u8
}
