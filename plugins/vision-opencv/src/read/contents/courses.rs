//! The courses of pipes of which only the cells are seen, not how they go through them.
//!
//! A course begins at a terminal and passes each of the pipe's cells once. One that ends beside the other terminal is
//! whole: a pipe that ends a step before it looks the same. A pipe that may take several courses is left out: whoever
//! plays draws it again.

use flowpipe_plugin::puzzle::graph::{Graph, Node};
use flowpipe_plugin::puzzle::message::BoardState;
use flowpipe_plugin::puzzle::{Board, Cell, Colour, Flow};

use crate::find::grid::Grid;
use crate::read::contents::colours::TerminalColours;
use crate::read::contents::pipes::{DrawnPipes, FROM_NOWHERE};
use crate::refuse::refusal::Refusal;

/// The most steps of a search: a course that takes more is unclear.
const MOST_STEPS: usize = 20_000;

/// Traces the pipes by the cells that they fill, each with its colour, ascending.
///
/// # Errors
/// [`Refusal::StrangePipe`] where cells of a colour are no pipe from one of its terminals.
pub fn trace(
    filled: &[(Cell, Colour)],
    paints: &TerminalColours,
    grid: &Grid,
    board: &Board,
) -> Result<DrawnPipes, Refusal> {
    let graph = board.graph();
    let node = |cell: Cell| graph.nodes_of(cell).first().copied();
    let mut flows = Vec::new();
    let mut joined = 0;
    for colour in 0..paints.palette.len() as Colour {
        let own = filled.iter().filter(|(_, other)| *other == colour);
        let own: Vec<Cell> = own.map(|(cell, _)| *cell).collect();
        let terminals = paints.terminals.iter().filter(|it| it.colour == colour);
        let ends: Vec<Node> = terminals.filter_map(|it| node(it.cell)).collect();
        let (Some(&first), [one, other]) = (own.first(), &ends[..]) else {
            continue;
        };
        let nodes: Vec<Node> = own.iter().filter_map(|&cell| node(cell)).collect();
        let course = |from: Node, to: Option<Node>| Search::new(graph, &nodes, to).courses(from);
        let found = match course(*one, Some(*other)) {
            Courses::None => match (course(*one, None), course(*other, None)) {
                (Courses::None, Courses::None) => {
                    return Err(Refusal::StrangePipe {
                        row: first / grid.cols() + 1,
                        col: first % grid.cols() + 1,
                        what: FROM_NOWHERE,
                    });
                }
                (Courses::None, only) | (only, Courses::None) => only,
                _ => Courses::Several,
            },
            whole => {
                joined += 1;
                whole
            }
        };
        if let Courses::One(nodes) = found {
            flows.push(Flow {
                colour,
                cells: nodes.iter().map(|&node| graph.cell_of(node)).collect(),
            });
        }
    }
    let covers_all = filled.len() + paints.terminals.len() == board.len();
    let state = match filled.is_empty() {
        true => BoardState::Empty,
        false if covers_all && joined == paints.palette.len() => BoardState::Solved,
        false => BoardState::Partial,
    };
    Ok(DrawnPipes { flows, state })
}

/// Which courses there are.
enum Courses {
    None,
    One(Vec<Node>),
    /// Or too many to know.
    Several,
}

/// Searches the courses through all of some nodes.
struct Search<'a> {
    graph: &'a Graph,
    /// What is not passed yet.
    left: Vec<Node>,
    /// Beside which node a course ends, if that matters.
    to: Option<Node>,
    course: Vec<Node>,
    found: Option<Vec<Node>>,
    steps: usize,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, nodes: &[Node], to: Option<Node>) -> Self {
        Self {
            graph,
            left: nodes.to_vec(),
            to,
            course: Vec::new(),
            found: None,
            steps: 0,
        }
    }

    fn courses(mut self, from: Node) -> Courses {
        self.course.push(from);
        match (self.goes_on(from), self.found) {
            (false, _) => Courses::Several,
            (true, None) => Courses::None,
            (true, Some(course)) => Courses::One(course),
        }
    }

    /// Searches all ways on from a node. Returns whether at most one course is found so far.
    fn goes_on(&mut self, from: Node) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        if self.left.is_empty() {
            if self.to.is_some_and(|to| !self.are_joined(from, to)) {
                return true;
            }
            let course = self.course.iter().copied().chain(self.to).collect();
            return self.found.replace(course).is_none();
        }
        if self.is_cut_off(from) {
            return true;
        }
        for index in 0..self.left.len() {
            let next = self.left[index];
            if !self.are_joined(from, next) {
                continue;
            }
            self.left.swap_remove(index);
            self.course.push(next);
            let is_clear = self.goes_on(next);
            self.course.pop();
            self.left.push(next);
            let last = self.left.len() - 1;
            self.left.swap(index, last);
            if !is_clear {
                return false;
            }
        }
        true
    }

    /// Whether nodes are left that no course can both enter and leave, more than the one that it may end at.
    fn is_cut_off(&self, from: Node) -> bool {
        let ways = |node: Node| {
            let ways = self.graph.links(node).iter();
            let open =
                |other: Node| other == from || Some(other) == self.to || self.left.contains(&other);
            ways.filter(|link| open(link.node)).count()
        };
        let (mut ends, mut closed) = (0, false);
        for &node in &self.left {
            match ways(node) {
                0 => closed = true,
                1 => ends += 1,
                _ => {}
            }
        }
        closed || ends > usize::from(self.to.is_none())
    }

    fn are_joined(&self, node: Node, other: Node) -> bool {
        let mut links = self.graph.links(node).iter();
        links.any(|link| link.node == other)
    }
}
