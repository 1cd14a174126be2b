//! A goal given to compare with.

use flowpipe_plugin::puzzle::{Cell, Flow, Node, Puzzle, Solution, check, level};
use flowpipe_plugin::{Error, Result};

use crate::config::{Config, GoalText, Heuristic};

/// The flows of a goal as cells, not yet checked against a puzzle.
#[derive(Clone, Debug)]
pub struct Goal(Vec<Vec<Cell>>);

/// A goal on the board: by node, the colour and whether the pipe is neither at its end nor right
/// before it.
pub type Covered = Vec<Option<(u16, bool)>>;

impl Goal {
    /// The goal in a config, if it has one.
    ///
    /// # Errors
    /// When a heuristic needs a goal and there is none, and when it can't be read.
    pub fn of(config: &Config) -> Result<Option<Self>> {
        match &config.goal {
            Some(GoalText::Paths(paths)) => Ok(Some(Self(paths.clone()))),
            Some(GoalText::Level(line)) => {
                let level = level::parse(line).map_err(|error| {
                    Error::bad_config(format!("`goal` is no Flow Free level line: {error}"))
                })?;
                let flows = level.solution.flows.into_iter();
                Ok(Some(Self(flows.map(|flow| flow.cells).collect())))
            }
            None if matches!(
                config.heuristic,
                Heuristic::Misplaced | Heuristic::MisplacedFirst
            ) =>
            {
                Err(Error::bad_config(
                    "this heuristic compares with a known solution: give it as `goal`, or take \
                     another heuristic, such as `remaining`",
                ))
            }
            None => Ok(None),
        }
    }

    /// The goal on a puzzle's board, by node.
    ///
    /// # Errors
    /// In words, when it is no solution of that puzzle.
    pub fn covered(&self, puzzle: &Puzzle) -> Result<Covered, String> {
        let flows = self.0.iter().map(|cells| Flow {
            colour: cells
                .first()
                .and_then(|&cell| puzzle.terminal_at(cell))
                .unwrap_or(0),
            cells: cells.clone(),
        });
        let solution = Solution {
            flows: flows.collect(),
        }
        .canonical();
        check(puzzle, &solution).map_err(|refusals| {
            let first = refusals
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            format!("the goal that was given is no solution of this puzzle: {first}")
        })?;
        let mut covered = vec![None; puzzle.board().graph().len()];
        for flow in &solution.flows {
            // In canonical order a flow begins at its first terminal, as it grows in the notebook.
            let last = flow.cells.len() - 1;
            for (step, node) in nodes_of(puzzle, &flow.cells).into_iter().enumerate() {
                covered[node] = Some((flow.colour, step + 1 < last));
            }
        }
        Ok(covered)
    }
}

/// The nodes of a flow that keeps the rules. It begins at a terminal, so not on a bridge.
fn nodes_of(puzzle: &Puzzle, cells: &[Cell]) -> Vec<Node> {
    let graph = puzzle.board().graph();
    let mut nodes: Vec<Node> = Vec::with_capacity(cells.len());
    for &cell in cells {
        let node = match nodes.last() {
            None => graph.nodes_of(cell).first().copied(),
            Some(&before) => {
                let mut links = graph.links(before).iter().map(|link| link.node);
                links.find(|&node| graph.cell_of(node) == cell)
            }
        };
        nodes.extend(node);
    }
    nodes
}
