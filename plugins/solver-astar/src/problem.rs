//! The puzzle in the tables that the search needs.

use std::ops::Range;

use flowpipe_plugin::puzzle::{Colour, Lattice, Node, Puzzle};
use flowpipe_plugin::{Result, Watch};

/// The largest board, in cells: 20x20. Far beyond what A* can do, except for lucky boards.
pub const MOST_CELLS: usize = 400;

/// The distance of nodes that do not reach each other.
pub const APART: u16 = u16::MAX;

/// A puzzle in tables. Flows are drawn as arms: one from each terminal, two of which meet.
pub struct Problem<'a> {
    /// The puzzle itself.
    pub puzzle: &'a Puzzle,
    /// By node, the nodes beside it: on squares up, down, left, right, as in the notebook.
    pub beside: Vec<Box<[Node]>>,
    /// The node of each arm's terminal: by colour, then by cell.
    pub terminals: Vec<Node>,
    /// By arm, the index of its colour.
    pub colour_of: Vec<usize>,
    /// By colour index.
    pub colours: Vec<ColourArms>,
    /// The nodes of each row, from left to right.
    pub rows: Vec<Vec<Node>>,
    /// Steps between any two nodes on a board without terminals.
    distances: Vec<u16>,
    /// How much is examined to make one child of a board, in nodes.
    pub work: u32,
}

/// The arms of one colour.
pub struct ColourArms {
    /// The colour.
    pub colour: Colour,
    /// Its arms.
    pub arms: Range<usize>,
    /// Whether its two arms are joined as soon as their ends are neighbours: there are no others to
    /// join, and going on would make the flow touch itself against the rules.
    pub joins_at_once: bool,
}

impl<'a> Problem<'a> {
    /// Makes the tables.
    ///
    /// # Errors
    /// When cancelled.
    pub fn new(puzzle: &'a Puzzle, watch: &mut Watch<'_>) -> Result<Self> {
        let board = puzzle.board();
        let graph = board.graph();
        let beside: Vec<_> = (0..graph.len())
            .map(|node| in_order(puzzle, node))
            .collect();
        let mut terminals = puzzle.terminals().to_vec();
        terminals.sort_by_key(|terminal| (terminal.colour, terminal.cell));
        let mut colours: Vec<ColourArms> = Vec::new();
        let mut colour_of = Vec::new();
        for (arm, terminal) in terminals.iter().enumerate() {
            match colours.last_mut() {
                Some(last) if last.colour == terminal.colour => last.arms.end += 1,
                _ => colours.push(ColourArms {
                    colour: terminal.colour,
                    arms: arm..arm + 1,
                    joins_at_once: false,
                }),
            }
            colour_of.push(colours.len() - 1);
        }
        for colour in &mut colours {
            colour.joins_at_once = colour.arms.len() == 2 && !puzzle.rules().touch;
        }
        let mut rows = vec![Vec::new(); board.rows()];
        for node in 0..graph.len() {
            rows[board.row_col(graph.cell_of(node)).0].push(node);
        }
        Ok(Self {
            puzzle,
            // A terminal is never on a bridge, so its cell is one node.
            terminals: terminals
                .iter()
                .map(|terminal| graph.nodes_of(terminal.cell)[0])
                .collect(),
            colour_of,
            rows,
            distances: distances(&beside, watch)?,
            work: work(beside.len(), &colours),
            beside,
            colours,
        })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.beside.len()
    }

    /// Whether all nodes must be covered.
    pub fn cover(&self) -> bool {
        self.puzzle.rules().cover
    }

    /// Steps between two nodes on a board without terminals, or [`APART`].
    pub fn distance(&self, a: Node, b: Node) -> u16 {
        self.distances[a * self.len() + b]
    }
}

/// See [`Problem::work`]: the board itself, and where a colour has several pairs, each arm held
/// against the others.
fn work(nodes: usize, colours: &[ColourArms]) -> u32 {
    let several = colours
        .iter()
        .map(|colour| colour.arms.len())
        .filter(|&arms| arms > 2);
    let work = nodes + several.map(|arms| arms * (arms + nodes)).sum::<usize>();
    u32::try_from(work).unwrap_or(u32::MAX)
}

/// The nodes beside a node in the order in which they are tried.
fn in_order(puzzle: &Puzzle, node: Node) -> Box<[Node]> {
    /// The places of north, east, south and west.
    const SQUARE: [u8; 4] = [0, 3, 1, 2];
    let board = puzzle.board();
    let mut links = board.graph().links(node).to_vec();
    if board.description().lattice == Lattice::Square {
        links.sort_by_key(|link| SQUARE[usize::from(link.direction.0)]);
    }
    links.iter().map(|link| link.node).collect()
}

/// Steps between any two nodes, by breadth-first search from each.
fn distances(beside: &[Box<[Node]>], watch: &mut Watch<'_>) -> Result<Vec<u16>> {
    let mut distances = vec![APART; beside.len() * beside.len()];
    let mut reached = Vec::with_capacity(beside.len());
    for (start, row) in distances.chunks_exact_mut(beside.len()).enumerate() {
        watch.work(u32::try_from(beside.len()).unwrap_or(u32::MAX))?;
        row[start] = 0;
        reached.clear();
        reached.push(start);
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            for &other in &*beside[node] {
                if row[other] == APART {
                    row[other] = row[node] + 1;
                    reached.push(other);
                }
            }
        }
    }
    Ok(distances)
}
