//! A puzzle being played.
//!
//! # The rules of dragging
//! They are Flow Free's, and stand here and in `drag` alone.
//! - A press on a terminal restarts its flow there: the old pipe of the flow goes. A press on a
//!   drawn pipe goes on from that cell: what is beyond it goes. Elsewhere a press does nothing.
//! - The drag is walked cell by cell. A cell counts as entered where the pointer is more than
//!   [`Settings::margin`] away from its border. The pipe grows into an entered cell if its end has a
//!   passage there. If not (a wall, a corner, cells that were missed), the pipe stays as it is until
//!   the pointer comes beside its end again. A diagonal step is therefore made only by way of one of
//!   the two cells beside it: whichever the line enters; if it enters neither, no step is made.
//! - Entering a cell of the flow's own pipe shortens the pipe to it.
//! - Entering another pipe cuts that pipe back to the part before the crossing. Going back restores
//!   it; the release makes it final.
//! - A terminal can only be entered by its own flow, which is then joined and goes no further.
//! - A release beside the flow's other terminal joins the flow, if its pipe has two cells or more.
//! - A bridge is crossed straight; each of its two ways is a cell of its own to these rules.
//! - On boards that warp, the pointer may leave the board by one cell: it is then in the cell at the
//!   opposite edge.
//!
//! [`Settings`] change some of them, as other games do: when a flow is joined, and whether what is drawn
//! can be drawn again.
//!
//! # Counting
//! As the real game does: a *move* is a drag that changed the board, unless the move before it was
//! of the same flow. The *pipe* percentage is the share of links between cells that is drawn (a
//! solved board has as many links as cells less flows), rounded down.

mod drag;
#[cfg(test)]
mod other_games;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use flowpipe_puzzle::{Cell, Colour, Flow, Node, Point, Puzzle, Rules, Solution, check, colour};
use thiserror::Error;

use crate::pipes::{Pipes, Slot};

/// How the game takes its input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How far from its border a cell has to be entered to count, in cells: from 0 to below 0.5,
    /// from which on no cell can be entered.
    pub margin: f64,
    /// Whether the straight line between two pointer positions is walked. A game that only handles
    /// the events themselves does not, and loses cells when the pointer jumps.
    pub fill: bool,
    /// What joins a pipe to its other terminal.
    pub join: Join,
    /// Whether all that is drawn stays until a restart. A pipe then only grows at its end. Where it is
    /// drawn over another one, both stay, and the board can't be solved any more.
    pub permanent: bool,
}

/// What joins a pipe to its other terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Join {
    /// The drag enters the terminal's cell, or the pipe ends beside it when the pointer goes up.
    #[default]
    Beside,
    /// The drag enters the terminal's cell.
    Cell,
    /// The drag comes within a quarter of a cell of the terminal's centre, across and down.
    Centre,
}

impl Default for Settings {
    /// A margin of a tenth of a cell, lines walked, and the real game's rules.
    fn default() -> Self {
        Self {
            margin: 0.1,
            fill: true,
            join: Join::default(),
            permanent: false,
        }
    }
}

/// A puzzle, what is drawn on it, and the drag that goes on.
#[derive(Clone, Debug)]
pub struct Play {
    puzzle: Puzzle,
    settings: Settings,
    pipes: Pipes,
    drag: Option<Drag>,
    moves: usize,
    last_moved: Option<Slot>,
}

/// A drag that goes on.
#[derive(Clone, Debug)]
struct Drag {
    /// The pipe that is dragged.
    slot: Slot,
    /// All pipes as they were before the press, by slot.
    before: Vec<Vec<Node>>,
    /// Where the pointer is, in board units.
    pointer: Point,
    /// The cell that the pointer entered last.
    cell: Cell,
}

/// Why drawn pipes can't be put on a board.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ResumeError {
    /// The first cell is not a terminal of that colour, or no free one.
    #[error("the pipe of colour {} does not start at a free terminal of its own", colour::name(*.colour))]
    Start {
        /// The flow's colour.
        colour: Colour,
    },
    /// A step that the board does not allow, or into a cell that is taken.
    #[error("the pipe of colour {} can't go on from cell {from} to cell {to}", colour::name(*.colour))]
    Step {
        /// The flow's colour.
        colour: Colour,
        /// The last cell that was right.
        from: Cell,
        /// The cell that can't follow.
        to: Cell,
    },
}

impl Play {
    /// An empty board.
    #[must_use]
    pub fn new(puzzle: Puzzle, settings: Settings) -> Self {
        let pipes = Pipes::new(&puzzle);
        Self {
            puzzle,
            settings,
            pipes,
            drag: None,
            moves: 0,
            last_moved: None,
        }
    }

    /// A board on which pipes are drawn already, each from a terminal. The moves count from 0.
    ///
    /// # Errors
    /// See [`ResumeError`].
    pub fn resume(puzzle: Puzzle, settings: Settings, drawn: &[Flow]) -> Result<Self, ResumeError> {
        let mut play = Self::new(puzzle, settings);
        for flow in drawn {
            let colour = flow.colour;
            let mut cells = flow.cells.iter().copied();
            let (slot, node) = cells
                .next()
                .filter(|&cell| play.puzzle.terminal_at(cell) == Some(colour))
                .and_then(|cell| {
                    let &node = play.puzzle.board().graph().nodes_of(cell).first()?;
                    let slot = play.pipes.slots().find(|&slot| {
                        play.pipes.colour(slot) == colour && play.pipes.nodes(slot).is_empty()
                    })?;
                    play.pipes.owner(node).is_none().then_some((slot, node))
                })
                .ok_or(ResumeError::Start { colour })?;
            play.pipes.push(slot, node);
            let mut head = node;
            for to in cells {
                let from = play.puzzle.board().graph().cell_of(head);
                head = play
                    .link(head, to)
                    .filter(|&node| play.can_hold(slot, node) && !play.is_joined(slot))
                    .ok_or(ResumeError::Step { colour, from, to })?;
                play.pipes.push(slot, head);
            }
        }
        Ok(play)
    }

    /// What is played.
    #[must_use]
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// How the game takes its input.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The flow that is being dragged.
    #[must_use]
    pub fn dragged(&self) -> Option<Colour> {
        self.drag.as_ref().map(|drag| self.pipes.colour(drag.slot))
    }

    /// The drawn pipes of two cells or more, each from the terminal at which it was begun.
    #[must_use]
    pub fn drawn(&self) -> Vec<Flow> {
        let slots = self
            .pipes
            .slots()
            .filter(|&slot| self.pipes.nodes(slot).len() > 1);
        slots.map(|slot| self.flow(slot)).collect()
    }

    /// The joined flows, in canonical order.
    #[must_use]
    pub fn solution(&self) -> Solution {
        let joined = self.pipes.slots().filter(|&slot| self.is_joined(slot));
        Solution {
            flows: joined.map(|slot| self.flow(slot)).collect(),
        }
        .canonical()
    }

    /// How many flows are joined.
    #[must_use]
    pub fn flows_joined(&self) -> usize {
        self.pipes
            .slots()
            .filter(|&slot| self.is_joined(slot))
            .count()
    }

    /// Whether all flows of a colour are joined.
    #[must_use]
    pub fn is_complete(&self, colour: Colour) -> bool {
        let mut own = self
            .pipes
            .slots()
            .filter(|&slot| self.pipes.colour(slot) == colour);
        let first = own.next();
        first.is_some_and(|slot| self.is_joined(slot)) && own.all(|slot| self.is_joined(slot))
    }

    /// Moves so far, counted as the module's documentation describes.
    #[must_use]
    pub fn moves(&self) -> usize {
        self.moves
    }

    /// How much is drawn, from 0 to 100, as the module's documentation describes.
    #[must_use]
    pub fn pipe_percent(&self) -> usize {
        let all = self
            .puzzle
            .board()
            .graph()
            .len()
            .saturating_sub(self.puzzle.flow_count());
        let links = self
            .pipes
            .all()
            .iter()
            .map(|nodes| nodes.len().saturating_sub(1));
        // Pipes that cross have links in common.
        (100 * links.sum::<usize>())
            .checked_div(all)
            .map_or(0, |percent| percent.min(100))
    }

    /// Whether the game counts the board as solved: every flow joined and, where the puzzle asks for
    /// it, every cell covered. As in the real game a flow may touch itself.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        let rules = Rules {
            touch: true,
            ..self.puzzle.rules()
        };
        self.flows_joined() == self.puzzle.flow_count()
            && check(&self.puzzle.clone().with_rules(rules), &self.solution()).is_ok()
    }

    /// Takes everything off the board. The moves count from 0 again.
    pub fn restart(&mut self) {
        *self = Self::new(self.puzzle.clone(), self.settings);
    }

    fn flow(&self, slot: Slot) -> Flow {
        let graph = self.puzzle.board().graph();
        let cells = self
            .pipes
            .nodes(slot)
            .iter()
            .map(|&node| graph.cell_of(node))
            .collect();
        Flow {
            colour: self.pipes.colour(slot),
            cells,
        }
    }

    /// The colour of the terminal at a node.
    fn terminal(&self, node: Node) -> Option<Colour> {
        self.puzzle
            .terminal_at(self.puzzle.board().graph().cell_of(node))
    }

    fn is_joined(&self, slot: Slot) -> bool {
        match self.pipes.nodes(slot) {
            [_, .., end] => self.terminal(*end).is_some(),
            _ => false,
        }
    }

    /// The node of a cell that a node has a passage to.
    fn link(&self, from: Node, cell: Cell) -> Option<Node> {
        let graph = self.puzzle.board().graph();
        graph
            .links(from)
            .iter()
            .map(|link| link.node)
            .find(|&node| graph.cell_of(node) == cell)
    }

    /// Whether a node is free, and no terminal of another colour.
    fn can_hold(&self, slot: Slot, node: Node) -> bool {
        self.pipes.owner(node).is_none()
            && self
                .terminal(node)
                .is_none_or(|colour| colour == self.pipes.colour(slot))
    }
}
