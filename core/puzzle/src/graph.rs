//! A board as nodes and links, which is all that the rules and the solvers need.
//!
//! A cell is one node; a hole is none; a bridge is one node for each straight way across it, so
//! that "two flows cross straight" needs no rule of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::description::{BoardError, Cell, Description, Lattice};

/// Index of a node in its [`Graph`].
pub type Node = usize;

/// A way out of a cell: on squares 0 north, 1 east, 2 south, 3 west; on hexes clockwise from north
/// (north, north-east, south-east, south, south-west, north-west).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Direction(pub u8);

/// One passage out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub node: Node,
    /// Which way it leaves. It arrives going the same way.
    pub direction: Direction,
}

/// The nodes of a board and their links, each link present from both ends.
#[derive(Clone, Debug)]
pub struct Graph {
    cell_of: Vec<Cell>,
    /// Nodes of cell `c`: `first_node[c]..first_node[c + 1]`.
    first_node: Vec<Node>,
    /// Links of node `n`: `links[first_link[n]..first_link[n + 1]]`.
    first_link: Vec<usize>,
    links: Vec<Link>,
    nodes: Vec<Node>,
}

impl Direction {
    /// The opposite direction on a lattice.
    #[must_use]
    pub fn opposite(self, lattice: Lattice) -> Self {
        let ways = directions(lattice);
        Self((self.0 + ways / 2) % ways)
    }
}

/// How many directions leave a cell of a lattice.
#[must_use]
pub fn directions(lattice: Lattice) -> u8 {
    match lattice {
        Lattice::Square => 4,
        Lattice::Hex => 6,
    }
}

/// The cell one step away, wrapped when the board warps; `None` beyond an edge, for a cell beyond
/// the bounding grid and for a direction that the lattice has not. Holes and walls are not looked at.
///
/// Along a side of one or two cells nothing wraps: it would lead to the cell itself, or to the
/// neighbour that the other direction leads to already. So no two directions lead to one cell.
#[must_use]
pub fn step(board: &Description, cell: Cell, direction: Direction) -> Option<Cell> {
    const SQUARE: [(isize, isize); 4] = [(-1, 0), (0, 1), (1, 0), (0, -1)];
    // An even column lies half a cell lower than its odd neighbours.
    const HEX_EVEN: [(isize, isize); 6] = [(-1, 0), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1)];
    const HEX_ODD: [(isize, isize); 6] = [(-1, 0), (-1, 1), (0, 1), (1, 0), (0, -1), (-1, -1)];

    let row = cell
        .checked_div(board.cols)
        .filter(|&row| row < board.rows)?;
    let col = cell % board.cols;
    let steps: &[(isize, isize)] = match board.lattice {
        Lattice::Square => &SQUARE,
        Lattice::Hex if col.is_multiple_of(2) => &HEX_EVEN,
        Lattice::Hex => &HEX_ODD,
    };
    let &(row_step, col_step) = steps.get(usize::from(direction.0))?;
    let row = moved(row, row_step, board.rows, board.warps)?;
    let col = moved(col, col_step, board.cols, board.warps)?;
    Some(row * board.cols + col)
}

/// A coordinate one step on along a side of some length, by -1, 0 or 1.
fn moved(from: usize, by: isize, length: usize, warps: bool) -> Option<usize> {
    match from.checked_add_signed(by) {
        Some(to) if to < length => Some(to),
        _ if !warps || length <= 2 => None,
        Some(_) => Some(0),
        None => Some(length - 1),
    }
}

/// The graphs of the last boards that are nothing but rows and columns: those of a set of puzzles are of few sizes, and
/// each puzzle is read by every stage.
static KEPT: KeptGraphs = KeptGraphs(Mutex::new(VecDeque::new()));

/// The graphs of the last other boards.
static KEPT_OTHERS: KeptGraphs = KeptGraphs(Mutex::new(VecDeque::new()));

/// The most graphs that are kept, and the most cells of their boards.
const MOST_KEPT: usize = 32;
const MOST_CELLS: usize = 1 << 10;

/// Graphs by their boards, the newest first.
struct KeptGraphs(Mutex<VecDeque<(Description, Arc<Graph>)>>);

impl KeptGraphs {
    fn find(&self, board: &Description) -> Option<Arc<Graph>> {
        let kept = self.lock();
        let (_, graph) = kept.iter().find(|(of, _)| of == board)?;
        Some(graph.clone())
    }

    fn keep(&self, board: &Description, graph: &Arc<Graph>) {
        let mut kept = self.lock();
        kept.truncate(MOST_KEPT - 1);
        kept.push_front((board.clone(), graph.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Description, Arc<Graph>)>> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Graph {
    /// The graph of a board, shared with others of its kind.
    pub(crate) fn of(board: &Description) -> Result<Arc<Self>, BoardError> {
        if board.rows * board.cols > MOST_CELLS {
            return Self::new(board).map(Arc::new);
        }
        let is_plain = board.holes.is_empty() && board.bridges.is_empty() && board.walls.is_empty();
        let kept = if is_plain { &KEPT } else { &KEPT_OTHERS };
        if let Some(graph) = kept.find(board) {
            return Ok(graph);
        }
        let graph = Arc::new(Self::new(board)?);
        kept.keep(board, &graph);
        Ok(graph)
    }

    fn new(board: &Description) -> Result<Self, BoardError> {
        let cells = board.rows * board.cols;
        let ways = directions(board.lattice);
        let axes = usize::from(ways / 2);
        let is_bridge = |cell: Cell| board.bridges.binary_search(&cell).is_ok();

        let mut first_node = Vec::with_capacity(cells + 1);
        let mut cell_of = Vec::with_capacity(cells);
        for cell in 0..cells {
            first_node.push(cell_of.len());
            let count = match (board.holes.binary_search(&cell).is_ok(), is_bridge(cell)) {
                (true, _) => 0,
                (false, true) => axes,
                (false, false) => 1,
            };
            cell_of.extend(std::iter::repeat_n(cell, count));
        }
        first_node.push(cell_of.len());

        // The node that is entered or left in a direction.
        let node_at = |cell: Cell, direction: Direction| -> Option<Node> {
            let nodes = first_node[cell]..first_node[cell + 1];
            match nodes.len() {
                0 => None,
                1 => Some(nodes.start),
                _ => Some(nodes.start + usize::from(direction.0) % axes),
            }
        };

        for &(a, b) in &board.walls {
            if !(0..ways).any(|way| step(board, a, Direction(way)) == Some(b)) {
                return Err(BoardError::WallApart { a, b });
            }
        }

        let mut first_link = Vec::with_capacity(cell_of.len() + 1);
        let mut links = Vec::with_capacity(cell_of.len() * usize::from(ways));
        for (node, &cell) in cell_of.iter().enumerate() {
            first_link.push(links.len());
            for direction in (0..ways).map(Direction) {
                if node_at(cell, direction) != Some(node) {
                    continue;
                }
                let Some(to) = step(board, cell, direction) else {
                    continue;
                };
                let walled = board
                    .walls
                    .binary_search(&(cell.min(to), cell.max(to)))
                    .is_ok();
                if walled {
                    continue;
                }
                if let Some(node) = node_at(to, direction) {
                    links.push(Link { node, direction });
                }
            }
        }
        first_link.push(links.len());
        let nodes = (0..cell_of.len()).collect();
        Ok(Self {
            cell_of,
            first_node,
            first_link,
            links,
            nodes,
        })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cell_of.len()
    }

    /// Whether there are none (every cell is a hole).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cell_of.is_empty()
    }

    /// The cell of a node.
    #[must_use]
    pub fn cell_of(&self, node: Node) -> Cell {
        self.cell_of[node]
    }

    /// The nodes of a cell of the bounding grid: none for a hole, one for each axis of a bridge,
    /// else one.
    #[must_use]
    pub fn nodes_of(&self, cell: Cell) -> &[Node] {
        &self.nodes[self.first_node[cell]..self.first_node[cell + 1]]
    }

    /// The passages out of a node, by direction.
    #[must_use]
    pub fn links(&self, node: Node) -> &[Link] {
        &self.links[self.first_link[node]..self.first_link[node + 1]]
    }
}

#[cfg(test)]
mod tests;
