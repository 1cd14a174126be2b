//! A solver plugin: tries every path of every flow in turn. For small boards.

use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Flow, Puzzle, Solution, check};
use flowpipe_plugin::solver::Supports;
use flowpipe_plugin::{Cancel, Effect, Host, NoConfig, Result, Solver};

/// Tries every path of every flow in turn. For small boards.
struct Patient;

impl Solver for Patient {
    const NAME: &'static str = "solver-patient";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const SUPPORTS: Supports = Supports::EVERYTHING.with_bridges(false).with_pairs(false);
    type Config = NoConfig;

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel) -> Result<Verdict> {
        let mut flows: Vec<Flow> = Vec::new();
        for start in puzzle.terminals() {
            if !flows.iter().any(|flow| flow.colour == start.colour) {
                flows.push(Flow::new(start.colour, vec![start.cell]));
            }
        }
        let solved = grow(puzzle, &mut flows, 0, cancel);
        Ok(if solved {
            Verdict::solution(Solution::new(flows), None)
        } else {
            Verdict::unsolvable(None)
        })
    }
}

/// Grows flow number `at` into each cell that it may enter, then the flows after it.
fn grow(puzzle: &Puzzle, flows: &mut Vec<Flow>, at: usize, cancel: &Cancel) -> bool {
    if at == flows.len() || cancel.is_cancelled() {
        return check(puzzle, &Solution::new(flows.clone())).is_ok();
    }
    let (colour, head) = (flows[at].colour, flows[at].cells[flows[at].cells.len() - 1]);
    puzzle.board().cells().any(|next| {
        let terminal = puzzle.terminal_at(next);
        let free = !flows.iter().any(|flow| flow.cells.contains(&next));
        if !free || !puzzle.board().touch(head, next) || terminal.is_some_and(|it| it != colour) {
            return false;
        }
        flows[at].cells.push(next);
        let joined = usize::from(terminal.is_some());
        grow(puzzle, flows, at + joined, cancel) || flows[at].cells.pop().is_none()
    })
}

flowpipe_plugin::export!(Patient);
