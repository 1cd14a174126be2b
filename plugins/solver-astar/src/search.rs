//! A*.

use flowpipe_plugin::puzzle::{Solution, check};
use flowpipe_plugin::{Result, Watch};

use crate::choice::choose;
use crate::config::{Config, Ties};
use crate::dead::{Dead, DeadEndFinder};
use crate::goal::Covered;
use crate::heuristic::estimate;
use crate::partial::{Move, Partial};
use crate::problem::Problem;
use crate::queue::{Queue, Waiting};
use crate::tree::Tree;

/// How a search ended, and what it cost.
pub struct Ended {
    /// How.
    pub how: Ending,
    /// Boards that were expanded. The goal is not.
    pub expansions: u64,
    /// Boards that still waited.
    pub frontier: usize,
    /// Boards that were kept.
    pub states: usize,
}

/// How a search ended.
pub enum Ending {
    /// With a solution.
    Found(Solution),
    /// Without one: no board is left.
    Exhausted,
    /// Nothing can come of the empty board.
    DeadAtOnce(Dead),
    /// Too many boards were kept.
    TooMany,
}

/// Searches for a solution.
///
/// # Errors
/// When cancelled.
pub fn search(
    problem: &Problem<'_>,
    config: &Config,
    goal: Option<&Covered>,
    watch: &mut Watch<'_>,
) -> Result<Ended> {
    let root = Partial::root(problem);
    let mut board = root.clone();
    let mut search = Search {
        problem,
        config,
        goal,
        child: root.clone(),
        dead_end_finder: DeadEndFinder::default(),
        repeats: can_repeat(problem, config),
        tree: Tree::new(root),
        queue: Queue::default(),
        expansions: 0,
    };
    if config.prune
        && let Some(dead) = search.dead_end_finder.examine(problem, &board)
    {
        return Ok(search.ended(Ending::DeadAtOnce(dead)));
    }
    // The child is still the empty board.
    search.enqueue_child(0);
    while let Some(waiting) = search.queue.pop() {
        watch.work(problem.work)?;
        search.tree.rebuild(problem, waiting.board, &mut board);
        if board.is_complete(problem) {
            // Boards that were not pruned may have flows that touch themselves.
            let solution = search.tree.solution(problem, waiting.board, &board);
            if check(problem.puzzle, &solution).is_ok() {
                return Ok(search.ended(Ending::Found(solution)));
            }
        }
        search.expansions += 1;
        if !search.expand(&board, waiting.board) {
            return Ok(search.ended(Ending::TooMany));
        }
    }
    Ok(search.ended(Ending::Exhausted))
}

/// Whether one board can be reached in two ways. What grows next follows from the board alone. So where
/// no arm touches itself and arms that touch are joined, each set of cells can be drawn in one way only.
fn can_repeat(problem: &Problem<'_>, config: &Config) -> bool {
    !config.prune || problem.colours.iter().any(|colour| !colour.joins_at_once)
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    config: &'a Config,
    goal: Option<&'a Covered>,
    child: Partial,
    dead_end_finder: DeadEndFinder,
    repeats: bool,
    tree: Tree,
    queue: Queue,
    expansions: u64,
}

impl Search<'_> {
    /// Adds the children of a board. Whether there was room for them.
    fn expand(&mut self, board: &Partial, index: u32) -> bool {
        let (problem, prune) = (self.problem, self.config.prune);
        let Some(arm) = choose(self.config.choice, problem, board, prune) else {
            return true;
        };
        for by in board.moves(problem, arm, prune) {
            self.child.clone_from(board);
            self.child.make(problem, by);
            if prune && self.dead_end_finder.examine(problem, &self.child).is_some() {
                continue;
            }
            if self.tree.len() >= self.config.max_states as usize {
                return false;
            }
            if let Some(added) = self.keep(index, by) {
                self.enqueue_child(added);
            }
        }
        true
    }

    /// Keeps the child, unless it is known.
    fn keep(&mut self, from: u32, by: Move) -> Option<u32> {
        if self.repeats {
            self.tree.add_new(self.problem, &self.child, from, by)
        } else {
            Some(self.tree.add(from, by))
        }
    }

    /// Puts the child into the frontier.
    fn enqueue_child(&mut self, index: u32) {
        let board = &self.child;
        let left = estimate(self.config.heuristic, self.problem, board, self.goal);
        self.queue.push(Waiting {
            cost: board.drawn.saturating_add(left),
            tie: match self.config.ties {
                Ties::Heap => 0,
                Ties::Deepest => u64::from(!board.drawn) << 32 | u64::from(!index),
            },
            board: index,
        });
    }

    fn ended(&self, how: Ending) -> Ended {
        Ended {
            how,
            expansions: self.expansions,
            frontier: self.queue.len(),
            states: self.tree.len(),
        }
    }
}
