//! Solutions of small puzzles by trying everything: what the tests compare the solver with.

use flowpipe_puzzle::{Flow, Node, Puzzle, Solution};

/// Up to `limit` solutions, canonical.
pub fn solutions(puzzle: &Puzzle, limit: usize) -> Vec<Solution> {
    search(puzzle, limit)
        .into_iter()
        .map(|found| found.1)
        .collect()
}

/// The paths of up to `limit` solutions.
pub fn paths(puzzle: &Puzzle, limit: usize) -> Vec<Vec<Vec<Node>>> {
    search(puzzle, limit)
        .into_iter()
        .map(|found| found.0)
        .collect()
}

type FoundFlows = (Vec<Vec<Node>>, Solution);

fn search(puzzle: &Puzzle, limit: usize) -> Vec<FoundFlows> {
    let graph = puzzle.board().graph();
    let neighbours = (0..graph.len())
        .map(|node| {
            let mut nodes: Vec<Node> = graph.links(node).iter().map(|link| link.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        })
        .collect();
    let mut search = BruteForce {
        puzzle,
        neighbours,
        flow_of: vec![None; graph.len()],
        flows: Vec::new(),
        found: Vec::new(),
        limit,
    };
    search.next_flow();
    search.found
}

struct BruteForce<'a> {
    puzzle: &'a Puzzle,
    neighbours: Vec<Vec<Node>>,
    flow_of: Vec<Option<usize>>,
    flows: Vec<Vec<Node>>,
    found: Vec<FoundFlows>,
    limit: usize,
}

impl BruteForce<'_> {
    fn next_flow(&mut self) {
        let graph = self.puzzle.board().graph();
        let start = self
            .puzzle
            .terminals()
            .iter()
            .map(|terminal| graph.nodes_of(terminal.cell)[0])
            .find(|&node| self.flow_of[node].is_none());
        let Some(start) = start else {
            let covered = self.flow_of.iter().all(Option::is_some);
            if covered || !self.puzzle.rules().cover {
                self.found.push((self.flows.clone(), self.solution()));
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
            self.puzzle
                .terminal_at(self.puzzle.board().graph().cell_of(node))
        };
        let colour = terminal(self.flows[flow][0]);
        for next in self.neighbours[last].clone() {
            let touches = self.neighbours[next]
                .iter()
                .any(|&beside| beside != last && self.flow_of[beside] == Some(flow));
            if self.found.len() >= self.limit
                || self.flow_of[next].is_some()
                || (touches && !self.puzzle.rules().touch)
            {
                continue;
            }
            let there = terminal(next);
            if there.is_some() && there != colour {
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
            let colour = self
                .puzzle
                .terminal_at(cells[0])
                .expect("a flow begins at a terminal");
            Flow { colour, cells }
        });
        Solution {
            flows: flows.collect(),
        }
        .canonical()
    }
}
