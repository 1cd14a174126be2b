//! The search: extends one flow after the other, cell by cell, and backtracks.

use flowpipe_plugin::puzzle::{Cell, Colour, Flow, Puzzle, Solution};
use flowpipe_plugin::{Result, Watch};

use crate::hope;

/// Searches a solution with a limit of steps. `None`: there is none, or the limit is reached.
pub fn solve(
    puzzle: &Puzzle,
    watch: &mut Watch<'_>,
    steps: &mut u64,
    most: u64,
) -> Result<Option<Solution>> {
    let mut board = Drawn::new(puzzle);
    let found = grow(&mut board, 0, watch, steps, most)?;
    Ok(found.then_some(Solution::new(board.flows)))
}

/// Extends the flow with that index to its goal, and then the flows after it.
fn grow(
    board: &mut Drawn<'_>,
    at: usize,
    watch: &mut Watch<'_>,
    steps: &mut u64,
    most: u64,
) -> Result<bool> {
    if *steps >= most {
        return Ok(false);
    }
    *steps += 1;
    watch.work(1)?;
    if at == board.flows.len() {
        return Ok(board.is_covered());
    }
    if !hope::is_left(board, at) {
        return Ok(false);
    }
    for next in board.ways(at) {
        board.push(at, next);
        let joined = usize::from(next == board.goals[at]);
        if grow(board, at + joined, watch, steps, most)? {
            return Ok(true);
        }
        board.pop(at);
    }
    Ok(false)
}

/// The flows drawn so far.
pub struct Drawn<'a> {
    pub puzzle: &'a Puzzle,
    /// The colour of each cell, terminals included.
    pub colours: Vec<Option<Colour>>,
    /// The cells of each flow so far, from its first terminal.
    pub flows: Vec<Flow>,
    /// The other terminal of each flow.
    pub goals: Vec<Cell>,
}

impl<'a> Drawn<'a> {
    fn new(puzzle: &'a Puzzle) -> Self {
        let cells = 0..puzzle.board().len();
        let mut drawn = Self {
            puzzle,
            colours: cells.map(|cell| puzzle.terminal_at(cell)).collect(),
            flows: Vec::new(),
            goals: Vec::new(),
        };
        for terminal in puzzle.terminals() {
            let colour = terminal.colour;
            if drawn.flows.iter().any(|flow| flow.colour == colour) {
                continue;
            }
            let mut others = puzzle.terminals().iter().rev();
            let goal = others.find(|other| other.colour == colour);
            drawn
                .goals
                .push(goal.map_or(terminal.cell, |goal| goal.cell));
            drawn.flows.push(Flow::new(colour, vec![terminal.cell]));
        }
        drawn
    }

    /// The neighbours of a cell.
    pub fn beside(&self, cell: Cell) -> impl Iterator<Item = Cell> {
        let graph = self.puzzle.board().graph();
        let links = graph
            .nodes_of(cell)
            .iter()
            .flat_map(|&node| graph.links(node));
        links.map(|link| graph.cell_of(link.node))
    }

    /// The next cells of a flow.
    fn ways(&self, at: usize) -> Vec<Cell> {
        let (flow, goal) = (&self.flows[at], self.goals[at]);
        let head = flow.cells[flow.cells.len() - 1];
        // A flow that passes by its goal would touch itself.
        if self.beside(head).any(|cell| cell == goal) {
            return vec![goal];
        }
        let touches = |cell: Cell| {
            let mut beside = self.beside(cell);
            beside.any(|other| {
                other != head && other != goal && self.colours[other] == Some(flow.colour)
            })
        };
        let free = |&cell: &Cell| self.colours[cell].is_none() && !touches(cell);
        self.beside(head).filter(free).collect()
    }

    fn push(&mut self, at: usize, cell: Cell) {
        self.flows[at].cells.push(cell);
        self.colours[cell] = Some(self.flows[at].colour);
    }

    fn pop(&mut self, at: usize) {
        if let Some(cell) = self.flows[at].cells.pop() {
            self.colours[cell] = self.puzzle.terminal_at(cell);
        }
    }

    fn is_covered(&self) -> bool {
        let mut cells = self.puzzle.board().cells();
        cells.all(|cell| self.colours[cell].is_some())
    }
}
