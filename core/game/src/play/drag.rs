//! Press, move, release.

use flowpipe_puzzle::place::cell_at;
use flowpipe_puzzle::{Cell, Node, Point};

use super::{Drag, Join, Play};
use crate::event::{Event, Reason};
use crate::line;
use crate::pipes::Slot;

/// How far from its border the cell of a terminal has to be entered where a drag must come near the
/// terminal's centre, in cells.
const NEAR_CENTRE: f64 = 0.25;

impl Play {
    /// The pointer goes down at a point, in board units. If it is down already, a release was
    /// missed: it is released first.
    pub fn press(&mut self, point: Point) -> Vec<Event> {
        let mut events = self.release();
        let cell = cell_at(self.puzzle.board(), point);
        let refused = |reason| Event::Refused { cell, reason };
        let Some((cell, (slot, grip))) = cell.and_then(|cell| Some((cell, self.grip(cell)?)))
        else {
            events.push(refused(Reason::NothingThere));
            return events;
        };
        let len = self.pipes.nodes(slot).len();
        let keeps = match grip {
            Grip::Terminal(_) => 0,
            Grip::Pipe(keep) => keep,
        };
        if self.settings.permanent && keeps < len {
            events.push(refused(Reason::Permanent));
            return events;
        }
        self.drag = Some(Drag {
            slot,
            before: self.pipes.all().to_vec(),
            pointer: point,
            cell,
        });
        let colour = self.pipes.colour(slot);
        events.push(Event::Pressed { colour, cell });
        self.pipes.truncate(slot, keeps);
        if let Grip::Terminal(node) = grip {
            self.pipes.push(slot, node);
        }
        if self.pipes.nodes(slot).len() < len {
            events.push(Event::Shortened { colour, cell });
        }
        events
    }

    /// The pointer is at a point now, in board units. Without a press before it, it does nothing.
    pub fn move_to(&mut self, point: Point) -> Vec<Event> {
        let mut events = Vec::new();
        let Some(drag) = &mut self.drag else {
            return events;
        };
        if point.iter().any(|value| !value.is_finite()) {
            return events;
        }
        let from = std::mem::replace(&mut drag.pointer, point);
        let from = if self.settings.fill { from } else { point };
        for cell in self.entered(from, point) {
            self.enter(cell, &mut events);
        }
        events
    }

    /// The cells that the line between two points enters, in its order.
    fn entered(&self, from: Point, to: Point) -> Vec<Cell> {
        let entered = |margin| line::entered(self.puzzle.board(), from, to, margin);
        let mut cells = entered(self.settings.margin);
        if self.settings.join == Join::Centre {
            let near = entered(NEAR_CENTRE.max(self.settings.margin));
            cells.retain(|cell| self.puzzle.terminal_at(*cell).is_none() || near.contains(cell));
        }
        cells
    }

    /// The pointer goes up where it is.
    pub fn release(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let Some(drag) = self.drag.take() else {
            return events;
        };
        let slot = drag.slot;
        let colour = self.pipes.colour(slot);
        let beside = self.terminal_beside_end(slot);
        if let Some(node) = beside.filter(|_| self.settings.join == Join::Beside) {
            self.pipes.push(slot, node);
            let cell = self.puzzle.board().graph().cell_of(node);
            events.push(Event::Joined { colour, cell });
        }
        // A lone terminal is not a pipe.
        for slot in self.pipes.slots() {
            if self.pipes.nodes(slot).len() == 1 {
                self.pipes.truncate(slot, 0);
            }
        }
        if self.pipes.all() != drag.before && self.last_moved.replace(slot) != Some(slot) {
            self.moves += 1;
        }
        events.push(Event::Released { colour });
        events
    }

    /// What a press on a cell takes hold of.
    fn grip(&self, cell: Cell) -> Option<(Slot, Grip)> {
        let nodes = self.puzzle.board().graph().nodes_of(cell);
        if let Some(colour) = self.puzzle.terminal_at(cell) {
            let &node = nodes.first()?;
            let mut own = self
                .pipes
                .slots()
                .filter(|&slot| self.pipes.colour(slot) == colour);
            // A colour has a pipe for each pair of terminals: while one of them is free, one of its
            // pipes is not joined.
            let slot = self.pipes.owner(node).or_else(|| {
                own.clone()
                    .find(|&slot| self.pipes.nodes(slot).is_empty())
                    .or_else(|| own.find(|&slot| !self.is_joined(slot)))
            })?;
            return Some((slot, Grip::Terminal(node)));
        }
        // Two pipes may cross here on a bridge: prefer the one that ends here, then the last moved.
        let pipes = nodes.iter().filter_map(|&node| self.pipes.position(node));
        let (slot, position) = pipes.min_by_key(|&(slot, position)| {
            let ends_here = position + 1 == self.pipes.nodes(slot).len();
            (!ends_here, self.last_moved != Some(slot))
        })?;
        Some((slot, Grip::Pipe(position + 1)))
    }

    /// The pointer enters a cell.
    fn enter(&mut self, cell: Cell, events: &mut Vec<Event>) {
        let Some(drag) = &mut self.drag else { return };
        if std::mem::replace(&mut drag.cell, cell) == cell {
            return;
        }
        let slot = drag.slot;
        let graph = self.puzzle.board().graph();
        let Some(&end) = self.pipes.nodes(slot).last() else {
            return;
        };
        if graph.cell_of(end) == cell {
            return;
        }
        let next = self.link(end, cell);
        if let Some(node) = next.filter(|node| !self.pipes.nodes(slot).contains(node)) {
            self.extend(slot, node, cell, events);
            return;
        }
        let own = next.into_iter().chain(graph.nodes_of(cell).iter().copied());
        let mut own = own.filter(|node| self.pipes.nodes(slot).contains(node));
        let reason = match own.next().and_then(|node| self.pipes.position(node)) {
            Some(_) if self.settings.permanent => Reason::Permanent,
            Some((_, position)) => return self.shorten(slot, position + 1, cell, events),
            None => Reason::NoPassage,
        };
        events.push(Event::Refused {
            cell: Some(cell),
            reason,
        });
    }

    /// Grows the dragged pipe into a node that its end has a passage to.
    fn extend(&mut self, slot: Slot, node: Node, cell: Cell, events: &mut Vec<Event>) {
        let colour = self.pipes.colour(slot);
        let mut refuse = |reason| {
            events.push(Event::Refused {
                cell: Some(cell),
                reason,
            })
        };
        if self.is_joined(slot) {
            refuse(Reason::AlreadyJoined);
        } else if self.terminal(node).is_some() {
            if self.can_hold(slot, node) {
                self.pipes.push(slot, node);
                events.push(Event::Joined { colour, cell });
            } else {
                refuse(Reason::TerminalInTheWay);
            }
        } else {
            match self.pipes.position(node) {
                Some((other, _)) if self.settings.permanent => {
                    self.pipes.cross(slot, node);
                    let colour = self.pipes.colour(other);
                    events.push(Event::Crossed { colour, cell });
                }
                Some((other, position)) => {
                    self.pipes.truncate(other, position);
                    self.pipes.push(slot, node);
                    let colour = self.pipes.colour(other);
                    events.push(Event::Cut { colour, cell });
                }
                None => self.pipes.push(slot, node),
            }
            events.push(Event::Extended { colour, cell });
        }
    }

    /// Takes the dragged pipe back and gives pipes that it had cut what is free again.
    fn shorten(&mut self, slot: Slot, len: usize, cell: Cell, events: &mut Vec<Event>) {
        self.pipes.truncate(slot, len);
        events.push(Event::Shortened {
            colour: self.pipes.colour(slot),
            cell,
        });
        let Some(drag) = &self.drag else { return };
        for other in self.pipes.slots().filter(|&other| other != slot) {
            if self.pipes.regrow(other, &drag.before[other])
                && let Some(&end) = self.pipes.nodes(other).last()
            {
                let cell = self.puzzle.board().graph().cell_of(end);
                events.push(Event::Restored {
                    colour: self.pipes.colour(other),
                    cell,
                });
            }
        }
    }

    /// The other terminal of a pipe that is not joined, if the pipe ends beside it.
    fn terminal_beside_end(&self, slot: Slot) -> Option<Node> {
        let [_, .., end] = self.pipes.nodes(slot) else {
            return None;
        };
        if self.is_joined(slot) {
            return None;
        }
        let links = self.puzzle.board().graph().links(*end).iter();
        links
            .map(|link| link.node)
            .find(|&node| self.terminal(node).is_some() && self.can_hold(slot, node))
    }
}

/// What a press takes hold of.
#[derive(Clone, Copy, Debug)]
enum Grip {
    /// A terminal, to restart from.
    Terminal(Node),
    /// A pipe, of which so many nodes stay.
    Pipe(usize),
}
