//! The one checker of solutions.
//!
//! It follows every flow through the nodes of the board's [graph](crate::graph), so that bridges,
//! warps, walls and hexes need no rules of their own beyond "straight over a bridge".

use thiserror::Error;

use crate::board::{Board, Cell};
use crate::colour::{self, Colour};
use crate::graph::Node;
use crate::puzzle::Puzzle;
use crate::solution::{Flow, Solution};

/// A rule that a solution can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// The puzzle has no terminal of the flow's colour.
    UnknownColour,
    /// The flow has no cells.
    EmptyFlow,
    /// The cell is a hole or beyond the bounding grid.
    OffBoard,
    /// The cell does not touch the one before it: too far away, or behind a wall.
    Apart,
    /// The flow's first or last cell is no terminal of its colour.
    End,
    /// The flow goes on through a terminal of its own colour.
    PassesTerminal,
    /// The flow goes through a terminal of another colour.
    PassesForeignTerminal,
    /// The flow begins or ends on a bridge.
    BridgeEnd,
    /// The flow does not cross a bridge straight.
    BridgeTurn,
    /// The cell is used a second time, by this flow or another. A bridge may be used once each way.
    CellTwice,
    /// Two cells of the flow are neighbours without following each other
    /// (where [`Rules::touch`](crate::puzzle::Rules::touch) is off).
    TouchesItself,
    /// No flow ends at the terminal.
    TerminalWithoutFlow,
    /// More than one flow ends at the terminal, or one flow with both ends.
    TerminalTwice,
    /// No flow covers the cell, or only one of the ways over a bridge is covered
    /// (where [`Rules::cover`](crate::puzzle::Rules::cover) is on).
    Uncovered,
}

/// One breach: which rule, where, which colour. Its text counts rows and columns from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", sentence(self))]
#[non_exhaustive]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// Where, if it is at one cell. The cell is out of range only for [`Rule::OffBoard`].
    pub cell: Option<Cell>,
    /// Whose, if it is one colour's.
    pub colour: Option<Colour>,
    /// Columns of the bounding grid, to name the row and the column.
    cols: usize,
    /// Cells of the bounding grid.
    cells: usize,
}

/// Checks a solution against the rules of its puzzle. All breaches are returned. Where a colour has
/// several pairs of terminals, any pairing is right.
///
/// # Errors
/// Every breach: those of the flows in their order, each along its cells, then those of terminals
/// and of uncovered cells by cell.
pub fn check(puzzle: &Puzzle, solution: &Solution) -> Result<(), Vec<Refusal>> {
    let mut checker = Checker {
        puzzle,
        board: puzzle.board(),
        taken: vec![None; puzzle.board().graph().len()],
        ends: vec![0; puzzle.board().len()],
        refusals: Vec::new(),
    };
    let colours = puzzle.colours();
    for (index, flow) in solution.flows.iter().enumerate() {
        if colours.binary_search(&flow.colour).is_err() {
            checker.refuse(
                Rule::UnknownColour,
                flow.cells.first().copied(),
                Some(flow.colour),
            );
        }
        checker.flow(index, flow);
    }
    checker.terminals();
    checker.cover();
    if checker.refusals.is_empty() {
        Ok(())
    } else {
        Err(checker.refusals)
    }
}

struct Checker<'a> {
    puzzle: &'a Puzzle,
    board: &'a Board,
    /// Which flow took a node first.
    taken: Vec<Option<usize>>,
    /// How many flow ends lie in a cell.
    ends: Vec<u32>,
    refusals: Vec<Refusal>,
}

impl Checker<'_> {
    fn refuse(&mut self, rule: Rule, cell: Option<Cell>, colour: Option<Colour>) {
        let (cols, cells) = (self.board.cols(), self.board.len());
        self.refusals.push(Refusal {
            rule,
            cell,
            colour,
            cols,
            cells,
        });
    }

    fn flow(&mut self, index: usize, flow: &Flow) {
        let colour = Some(flow.colour);
        let Some(last) = flow.cells.len().checked_sub(1) else {
            return self.refuse(Rule::EmptyFlow, None, colour);
        };
        let mut before: Option<Node> = None;
        for (step, &cell) in flow.cells.iter().enumerate() {
            if !self.board.exists(cell) {
                self.refuse(Rule::OffBoard, Some(cell), colour);
                before = None;
                continue;
            }
            let from = before;
            let node = self.enter(flow, step, from);
            before = Some(node);
            // A flow of one cell has both its ends there.
            let ends = u32::from(step == 0) + u32::from(step == last);
            self.ends[cell] += ends;
            self.terminal_or_not(cell, flow.colour, ends > 0);
            if self.taken[node].is_some() {
                self.refuse(Rule::CellTwice, Some(cell), colour);
            } else {
                self.taken[node] = Some(index);
                if !self.puzzle.rules().touch && self.touches(node, from, index) {
                    self.refuse(Rule::TouchesItself, Some(cell), colour);
                }
            }
        }
    }

    /// The node of a flow at a step, coming from the node `before`.
    fn enter(&mut self, flow: &Flow, step: usize, before: Option<Node>) -> Node {
        let graph = self.board.graph();
        let cell = flow.cells[step];
        let into = |node: Node| {
            let link = graph
                .links(node)
                .iter()
                .find(|link| graph.cell_of(link.node) == cell);
            link.map(|link| link.node)
        };
        if let Some(before) = before {
            if let Some(node) = into(before) {
                return node;
            }
            let left = graph.cell_of(before);
            if let Some(node) = graph.nodes_of(left).iter().find_map(|&other| into(other)) {
                self.refuse(Rule::BridgeTurn, Some(left), Some(flow.colour));
                return node;
            }
            self.refuse(Rule::Apart, Some(cell), Some(flow.colour));
        }
        // Where a flow begins on a bridge, which is refused elsewhere, its next cell decides the way.
        let nodes = graph.nodes_of(cell);
        let next = flow.cells.get(step + 1);
        let leads_on = |node: &&Node| {
            graph
                .links(**node)
                .iter()
                .any(|link| Some(&graph.cell_of(link.node)) == next)
        };
        *nodes.iter().find(leads_on).unwrap_or(&nodes[0])
    }

    fn terminal_or_not(&mut self, cell: Cell, colour: Colour, end: bool) {
        let rule = match self.puzzle.terminal_at(cell) {
            Some(terminal) if end && terminal == colour => return,
            None if !end => return,
            None if self.board.is_bridge(cell) => Rule::BridgeEnd,
            _ if end => Rule::End,
            Some(terminal) if terminal == colour => Rule::PassesTerminal,
            _ => Rule::PassesForeignTerminal,
        };
        self.refuse(rule, Some(cell), Some(colour));
    }

    /// Whether a node lies beside an earlier one of its flow other than the one it was entered from.
    fn touches(&self, node: Node, from: Option<Node>, flow: usize) -> bool {
        let mut beside = self.board.graph().links(node).iter().map(|link| link.node);
        beside.any(|other| Some(other) != from && self.taken[other] == Some(flow))
    }

    fn terminals(&mut self) {
        for terminal in self.puzzle.terminals() {
            let rule = match self.ends[terminal.cell] {
                0 => Rule::TerminalWithoutFlow,
                1 => continue,
                _ => Rule::TerminalTwice,
            };
            self.refuse(rule, Some(terminal.cell), Some(terminal.colour));
        }
    }

    fn cover(&mut self) {
        if !self.puzzle.rules().cover {
            return;
        }
        for cell in self.board.cells() {
            let nodes = self.board.graph().nodes_of(cell);
            if nodes.iter().any(|&node| self.taken[node].is_none()) {
                self.refuse(Rule::Uncovered, Some(cell), None);
            }
        }
    }
}

fn sentence(refusal: &Refusal) -> String {
    let place = match refusal.cell {
        Some(cell) if cell < refusal.cells => {
            format!(
                "row {}, column {}: ",
                cell / refusal.cols + 1,
                cell % refusal.cols + 1
            )
        }
        Some(cell) => format!("cell {cell}: "),
        None => String::new(),
    };
    let name = refusal.colour.map(colour::name).unwrap_or_default();
    let text = match refusal.rule {
        Rule::UnknownColour => format!("the puzzle has no colour {name}"),
        Rule::EmptyFlow => format!("a flow of colour {name} has no cells"),
        Rule::OffBoard => format!("flow {name} leaves the board, there is no such cell"),
        Rule::Apart => format!("flow {name} jumps here from a cell that does not touch this one"),
        Rule::End => format!("flow {name} ends here, where no terminal of its colour is"),
        Rule::PassesTerminal => format!("flow {name} passes through a terminal of its own"),
        Rule::PassesForeignTerminal => {
            format!("flow {name} takes the terminal of another colour")
        }
        Rule::BridgeEnd => format!("flow {name} ends on a bridge"),
        Rule::BridgeTurn => format!("flow {name} does not cross the bridge straight"),
        Rule::CellTwice => format!("flow {name} takes a cell that is taken already"),
        Rule::TouchesItself => format!("flow {name} touches itself"),
        Rule::TerminalWithoutFlow => format!("no flow ends at this terminal of colour {name}"),
        Rule::TerminalTwice => format!("two flows end at this terminal of colour {name}"),
        Rule::Uncovered => "no flow covers this cell".to_owned(),
    };
    place + &text
}

#[cfg(test)]
mod tests;
