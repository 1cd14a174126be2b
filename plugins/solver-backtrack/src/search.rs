//! The search: one move after the other, and back.

use flowpipe_plugin::puzzle::graph::directions;
use flowpipe_plugin::puzzle::{Flow, Node, Puzzle, Solution};
use flowpipe_plugin::{Result, Tally, Watch};

use crate::lanes::Lanes;

/// A partial board on the way from solution to solution.
pub struct Search<'a> {
    puzzle: &'a Puzzle,
    /// Terminals by colour, then by cell, each with its colour index: the order of flows.
    terminals: Vec<(Node, usize)>,
    /// By node, the nodes beside it in the order in which they are tried.
    beside: Vec<Box<[Node]>>,
    /// By node, the colour index of the terminal there.
    colour_of: Vec<Option<usize>>,
    /// By node, the flow that has it, counted from 0 in the order of flows.
    flow_of: Vec<Option<u32>>,
    /// `None`: no trimming.
    lanes: Option<Lanes>,
    /// What was drawn, in the order of drawing.
    steps: Vec<Step>,
    /// The terminals at which the flows so far begin, by their indices.
    begins: Vec<usize>,
    /// What it cost so far.
    pub effort: Moves,
}

/// The search's effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Steps of a flow into a next node.
    pub made: u64,
    /// Steps that were not made because a row or a column would have been too full.
    pub trimmed: u64,
    /// Flows that reached a terminal.
    pub paths: u64,
}

/// A node of a flow.
struct Step {
    node: Node,
    /// How many of the ways out of it were tried.
    tried: usize,
    kind: Kind,
}

/// What a node is to its flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its first node.
    Begin,
    /// On the way.
    Way,
    /// The terminal that it ends at.
    End,
}

/// The state of the search after a step.
enum Next {
    Go,
    /// All flows are drawn.
    Drawn,
}

impl<'a> Search<'a> {
    /// A search on an empty board.
    pub fn new(puzzle: &'a Puzzle, trim: bool) -> Self {
        let graph = puzzle.board().graph();
        let colours = puzzle.colours();
        let mut colour_of = vec![None; graph.len()];
        let mut terminals = Vec::new();
        for terminal in puzzle.terminals() {
            let colour = colours.partition_point(|&colour| colour < terminal.colour);
            // A terminal is never on a bridge, so its cell is one node.
            let node = graph.nodes_of(terminal.cell)[0];
            colour_of[node] = Some(colour);
            terminals.push((node, colour));
        }
        terminals.sort_by_key(|&(node, colour)| (colour, node));
        let lanes = trim.then(|| Lanes::new(puzzle, &colour_of, colours.len()));
        Self {
            puzzle,
            terminals,
            beside: (0..graph.len())
                .map(|node| in_order(puzzle, node))
                .collect(),
            flow_of: vec![None; graph.len()],
            colour_of,
            lanes,
            steps: Vec::new(),
            begins: Vec::new(),
            effort: Moves::default(),
        }
    }

    /// The rows and columns, where these are examined.
    pub fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_ref()
    }

    /// Goes through all solutions, or until the tally has enough. Whether these were all.
    ///
    /// # Errors
    /// When cancelled.
    pub fn run(&mut self, tally: &mut Tally, watch: &mut Watch<'_>) -> Result<bool> {
        self.begin_flow(0, 0, watch)?;
        while let Some(step) = self.steps.last() {
            let work = self
                .lanes
                .as_ref()
                .map_or(1, |lanes| 1 + lanes.tips(self.colour_in_hand()));
            watch.work(u32::try_from(work).unwrap_or(u32::MAX))?;
            let next = match step.kind {
                Kind::End if step.tried == 0 => self.next_flow(watch)?,
                Kind::End => self.undo(),
                _ => self.extend(),
            };
            if let Next::Drawn = next
                && (!self.puzzle.rules().cover || self.flow_of.iter().all(Option::is_some))
            {
                tally.add(|| self.solution());
                if tally.is_enough() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The current flow has arrived: continues with the next one.
    fn next_flow(&mut self, watch: &mut Watch<'_>) -> Result<Next> {
        let from = self.begins.last().map_or(0, |&index| index + 1);
        let flow = self.flow_in_hand() + 1;
        if let Some(end) = self.steps.last_mut() {
            end.tried = 1;
        }
        self.begin_flow(from, flow, watch)
    }

    /// Begins a flow at the first terminal from an index on that has none.
    fn begin_flow(&mut self, from: usize, flow: u32, watch: &mut Watch<'_>) -> Result<Next> {
        let free = |&index: &usize| self.flow_of[self.terminals[index].0].is_none();
        let Some(index) = (from..self.terminals.len()).find(free) else {
            // That looks through the whole board.
            watch.work(u32::try_from(self.flow_of.len()).unwrap_or(u32::MAX))?;
            return Ok(Next::Drawn);
        };
        let node = self.terminals[index].0;
        self.flow_of[node] = Some(flow);
        self.begins.push(index);
        self.steps.push(Step {
            node,
            tried: 0,
            kind: Kind::Begin,
        });
        Ok(Next::Go)
    }

    /// Tries the next way on from the head of the current flow.
    fn extend(&mut self) -> Next {
        let (flow, colour) = (self.flow_in_hand(), self.colour_in_hand());
        let Some(step) = self.steps.last_mut() else {
            return Next::Go;
        };
        let head = step.node;
        let Some(&node) = self.beside[head].get(step.tried) else {
            return self.undo();
        };
        step.tried += 1;
        let is_end = self.colour_of[node] == Some(colour);
        if self.flow_of[node].is_some() || (self.colour_of[node].is_some() && !is_end) {
            return Next::Go;
        }
        let touches = |&other: &Node| other != head && self.flow_of[other] == Some(flow);
        if !self.puzzle.rules().touch && self.beside[node].iter().any(touches) {
            return Next::Go;
        }
        if let Some(lanes) = &mut self.lanes {
            let roomy = if is_end {
                lanes.join(colour, head, node)
            } else {
                lanes.advance(colour, head, node)
            };
            if !roomy {
                if is_end {
                    lanes.part(colour, head, node);
                } else {
                    lanes.retreat(colour, head, node);
                }
                self.effort.trimmed += 1;
                return Next::Go;
            }
        }
        self.effort.made += 1;
        self.effort.paths += u64::from(is_end);
        self.flow_of[node] = Some(flow);
        self.steps.push(Step {
            node,
            tried: 0,
            kind: if is_end { Kind::End } else { Kind::Way },
        });
        Next::Go
    }

    /// Takes the last step back.
    fn undo(&mut self) -> Next {
        let colour = self.colour_in_hand();
        if let Some(step) = self.steps.pop() {
            self.flow_of[step.node] = None;
            if step.kind == Kind::Begin {
                self.begins.pop();
            }
            if let (Some(lanes), Some(before)) = (&mut self.lanes, self.steps.last()) {
                match step.kind {
                    Kind::Begin => {}
                    Kind::Way => lanes.retreat(colour, before.node, step.node),
                    Kind::End => lanes.part(colour, before.node, step.node),
                }
            }
        }
        Next::Go
    }

    fn colour_in_hand(&self) -> usize {
        self.begins
            .last()
            .map_or(0, |&index| self.terminals[index].1)
    }

    fn flow_in_hand(&self) -> u32 {
        self.steps
            .last()
            .and_then(|step| self.flow_of[step.node])
            .unwrap_or(0)
    }

    fn solution(&self) -> Solution {
        let graph = self.puzzle.board().graph();
        let colours = self.puzzle.colours();
        let mut flows: Vec<Flow> = Vec::with_capacity(self.begins.len());
        for step in &self.steps {
            if step.kind == Kind::Begin {
                flows.push(Flow {
                    colour: colours[self.terminals[self.begins[flows.len()]].1],
                    cells: Vec::new(),
                });
            }
            if let Some(flow) = flows.last_mut() {
                flow.cells.push(graph.cell_of(step.node));
            }
        }
        Solution { flows }.canonical()
    }
}

/// The nodes beside a node: the one above first, then anticlockwise. On squares that is up, left,
/// down, right.
fn in_order(puzzle: &Puzzle, node: Node) -> Box<[Node]> {
    let ways = directions(puzzle.board().description().lattice);
    let mut links = puzzle.board().graph().links(node).to_vec();
    links.sort_by_key(|link| (ways - link.direction.0) % ways);
    links.iter().map(|link| link.node).collect()
}
