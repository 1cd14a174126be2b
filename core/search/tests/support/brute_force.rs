//! Strict solutions of small puzzles by trying everything: what the search is held against.

use flowpipe_puzzle::{Flow, Node, Puzzle, Solution};

/// All solutions that cover every node and in which no flow touches itself, canonical and sorted.
pub fn solutions(puzzle: &Puzzle) -> Vec<Solution> {
    let graph = puzzle.board().graph();
    let mut search = Search {
        puzzle,
        flow_of: vec![None; graph.len()],
        flows: Vec::new(),
        found: Vec::new(),
    };
    search.next_flow();
    let cells = |solution: &Solution| -> Vec<_> {
        let flows = solution.flows.iter();
        flows.map(|flow| flow.cells.clone()).collect()
    };
    search.found.sort_by_key(cells);
    search.found
}

struct Search<'a> {
    puzzle: &'a Puzzle,
    flow_of: Vec<Option<usize>>,
    flows: Vec<Vec<Node>>,
    found: Vec<Solution>,
}

impl Search<'_> {
    fn neighbours(&self, node: Node) -> impl Iterator<Item = Node> {
        let links = self.puzzle.board().graph().links(node);
        links.iter().map(|link| link.node)
    }

    /// Begins the next flow at the first terminal that has none.
    fn next_flow(&mut self) {
        let graph = self.puzzle.board().graph();
        let terminals = self.puzzle.terminals().iter();
        let start = terminals
            .map(|terminal| graph.nodes_of(terminal.cell)[0])
            .find(|&node| self.flow_of[node].is_none());
        let Some(start) = start else {
            if self.flow_of.iter().all(Option::is_some) {
                self.found.push(self.solution());
            }
            return;
        };
        self.flow_of[start] = Some(self.flows.len());
        self.flows.push(vec![start]);
        self.extend(start);
        self.flows.pop();
        self.flow_of[start] = None;
    }

    fn extend(&mut self, last: Node) {
        let flow = self.flows.len() - 1;
        let terminal = |node| {
            let cell = self.puzzle.board().graph().cell_of(node);
            self.puzzle.terminal_at(cell)
        };
        let colour = terminal(self.flows[flow][0]);
        for next in self.neighbours(last).collect::<Vec<_>>() {
            let there = terminal(next);
            let touches = self
                .neighbours(next)
                .any(|beside| beside != last && self.flow_of[beside] == Some(flow));
            if self.flow_of[next].is_some() || touches || (there.is_some() && there != colour) {
                continue;
            }
            self.flow_of[next] = Some(flow);
            self.flows[flow].push(next);
            if there.is_some() {
                self.next_flow();
            } else {
                self.extend(next);
            }
            self.flows[flow].pop();
            self.flow_of[next] = None;
        }
    }

    fn solution(&self) -> Solution {
        let graph = self.puzzle.board().graph();
        let flows = self.flows.iter().map(|nodes| {
            let cells: Vec<_> = nodes.iter().map(|&node| graph.cell_of(node)).collect();
            let colour = self.puzzle.terminal_at(cells[0]).unwrap();
            Flow { colour, cells }
        });
        Solution {
            flows: flows.collect(),
        }
        .canonical()
    }
}
