//! Partial boards that can't become a solution. All of these are proofs.

use flowpipe_plugin::puzzle::Node;

use crate::partial::Partial;
use crate::problem::Problem;

/// Why a board is a dead end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dead {
    /// The tip at this node reaches no other of its colour.
    CutOff(Node),
    /// This empty node must be covered, but what enters it can't leave.
    NoWayOn(Node),
    /// This empty node must be covered, but the region around it lies between no two tips of a colour.
    OutOfReach(Node),
}

/// Finds boards that are dead ends. Keeps its lists from one board to the next.
#[derive(Default)]
pub struct DeadEndFinder {
    /// By node, the region of empty nodes that it is in, counted from 0.
    region: Vec<Option<usize>>,
    /// By region, a node of it.
    node_of: Vec<Node>,
    /// By region, whether some flow can pass through it.
    served: Vec<bool>,
    /// By region, how many tips of the current colour are beside it.
    tips: Vec<u32>,
    /// Regions beside the tips of the current colour, tip by tip.
    beside: Vec<(usize, usize)>,
    open: Vec<Node>,
}

impl DeadEndFinder {
    /// Returns why a board is a dead end, if that is to be seen.
    pub fn examine(&mut self, problem: &Problem<'_>, board: &Partial) -> Option<Dead> {
        if problem.cover()
            && let Some(node) = dead_end(problem, board)
        {
            return Some(Dead::NoWayOn(node));
        }
        self.find_regions(problem, board);
        for colour in 0..problem.colours.len() {
            if let Some(arm) = self.cut_off(problem, board, colour) {
                return Some(Dead::CutOff(board.tip[arm]));
            }
        }
        let unserved = self.served.iter().position(|served| !served);
        unserved
            .filter(|_| problem.cover())
            .map(|region| Dead::OutOfReach(self.node_of[region]))
    }

    /// Splits the empty nodes into regions.
    fn find_regions(&mut self, problem: &Problem<'_>, board: &Partial) {
        self.region.clear();
        self.region.resize(problem.len(), None);
        self.node_of.clear();
        for start in 0..problem.len() {
            if board.arm_at[start].is_some() || self.region[start].is_some() {
                continue;
            }
            let region = Some(self.node_of.len());
            self.node_of.push(start);
            self.region[start] = region;
            self.open.push(start);
            while let Some(node) = self.open.pop() {
                for &other in &*problem.beside[node] {
                    if board.arm_at[other].is_none() && self.region[other].is_none() {
                        self.region[other] = region;
                        self.open.push(other);
                    }
                }
            }
        }
        self.served.clear();
        self.served.resize(self.node_of.len(), false);
        self.tips.clear();
        self.tips.resize(self.node_of.len(), 0);
    }

    /// An arm of a colour that reaches no other. Marks the regions through which arms of this colour
    /// can meet: what a path has still to go lies in one region, and both its ends are beside it.
    fn cut_off(&mut self, problem: &Problem<'_>, board: &Partial, colour: usize) -> Option<usize> {
        self.beside.clear();
        for arm in board.loose(problem, colour) {
            let before = self.beside.len();
            for &node in &*problem.beside[board.tip[arm]] {
                if let Some(region) = self.region[node]
                    && !self.beside[before..].contains(&(arm, region))
                {
                    self.beside.push((arm, region));
                    self.tips[region] += 1;
                }
            }
        }
        let meets = |&&(_, region): &&(usize, usize)| self.tips[region] > 1;
        for &(_, region) in self.beside.iter().filter(meets) {
            self.served[region] = true;
        }
        let joins = |arm: usize| {
            let mut others = problem.beside[board.tip[arm]].iter();
            others.any(|&node| {
                board
                    .loose_tip_at(node)
                    .is_some_and(|other| problem.colour_of[other] == colour)
            })
        };
        let reaches = |arm: usize| {
            self.beside
                .iter()
                .filter(meets)
                .any(|&(other, _)| other == arm)
        };
        let alone = board
            .loose(problem, colour)
            .find(|&arm| !reaches(arm) && !joins(arm));
        for &(_, region) in &self.beside {
            self.tips[region] = 0;
        }
        alone
    }
}

/// An empty node with fewer than two nodes beside it that are empty or loose tips.
fn dead_end(problem: &Problem<'_>, board: &Partial) -> Option<Node> {
    let is_open =
        |&&node: &&Node| board.arm_at[node].is_none() || board.loose_tip_at(node).is_some();
    let mut empty = (0..problem.len()).filter(|&node| board.arm_at[node].is_none());
    empty.find(|&node| problem.beside[node].iter().filter(is_open).count() < 2)
}
