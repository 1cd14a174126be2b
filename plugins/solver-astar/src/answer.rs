//! The verdict in words.

use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::puzzle::{Node, Puzzle, colour};
use flowpipe_plugin::{Cancel, Result, Watch};

use crate::config::Config;
use crate::dead::Dead;
use crate::goal::Goal;
use crate::problem::Problem;
use crate::search::{Ending, search};

/// Nodes examined between two questions whether to go on. Each of the few children of a board takes
/// some ten nanoseconds for each node of the board: this is about a millisecond.
const NODES_BETWEEN_QUESTIONS: u32 = 1 << 12;

/// Answers a puzzle of at most [`crate::problem::MOST_CELLS`] cells.
///
/// # Errors
/// When cancelled.
pub fn answer(
    puzzle: &Puzzle,
    config: &Config,
    goal: Option<&Goal>,
    cancel: Cancel<'_>,
) -> Result<(Verdict, Effort)> {
    let mut watch = Watch::new(cancel, NODES_BETWEEN_QUESTIONS);
    let goal = match goal.map(|goal| goal.covered(puzzle)).transpose() {
        Ok(goal) => goal,
        Err(reason) => return Ok((Verdict::unsupported(reason), Effort::default())),
    };
    let problem = Problem::new(puzzle, &mut watch)?;
    let ended = search(&problem, config, goal.as_ref(), &mut watch)?;
    let effort = Effort::nodes(ended.expansions)
        .with("frontier", ended.frontier as f64)
        .with("states", ended.states as f64);
    let verdict = match ended.how {
        Ending::Found(solution) => Verdict::solution(solution, None),
        Ending::Exhausted => Verdict::unsolvable(None),
        Ending::DeadAtOnce(dead) => Verdict::unsolvable(Some(in_words(&problem, dead))),
        Ending::TooMany => Verdict::unknown(format!(
            "{} boards were kept and more would be (max_states)",
            ended.states
        )),
    };
    Ok((verdict, effort))
}

/// Why the empty board is dead.
fn in_words(problem: &Problem<'_>, dead: Dead) -> String {
    let board = problem.puzzle.board();
    let place = |node: Node| {
        let (row, col) = board.row_col(board.graph().cell_of(node));
        format!("row {}, column {}", row + 1, col + 1)
    };
    match dead {
        Dead::CutOff(node) => {
            let colour = problem.puzzle.terminal_at(board.graph().cell_of(node));
            let name = colour.map(colour::name).unwrap_or_default();
            let place = place(node);
            format!(
                "colour {name}: nothing leads from the terminal at {place} to another of its colour"
            )
        }
        Dead::NoWayOn(node) => format!("{}: a dead end, which no flow can pass", place(node)),
        Dead::OutOfReach(node) => {
            format!(
                "{}: no flow can get there and on to its other end",
                place(node)
            )
        }
    }
}
