//! Whether a board has a solution.
//!
//! A board that was misread hardly ever has one.

use std::cell::{Cell, RefCell};

use flowpipe_plugin::puzzle::{Puzzle, Rules};
use flowpipe_sat::{Batsat, Options, Verdict, solve};
use flowpipe_search::{Ended, Found, Limits, Search};

use crate::refuse::refusal::Refusal;

/// Larger boards take too long.
const MOST_CELLS: usize = 400;
/// The most branchings: a hundred microseconds.
const NODES: u64 = 64;
/// The most choices of the SAT solver: some milliseconds. They are counted, not timed, so that equal pictures give
/// equal readings.
const CHOICES: u32 = 4000;
thread_local! {
    // The search's memory, which costs more to get than most searches take.
    static SEARCH: RefCell<Search> = RefCell::default();
}

/// Refuses a board that is proved to have no solution: it was misread, or is none of this game.
///
/// # Errors
/// [`Refusal::Unsolvable`].
pub fn check(puzzle: &Puzzle) -> Result<(), Refusal> {
    if puzzle.board().len() > MOST_CELLS {
        return Ok(());
    }
    let found = search(puzzle);
    let has_none = if puzzle.rules() == Rules::default() {
        found.ended == Ended::Complete && found.count == 0
    } else {
        // Most number boards have a solution that keeps Flow Free's rules too, which is found sooner.
        found.count == 0 && has_no_loose_solution(puzzle)
    };
    match has_none {
        true => Err(Refusal::Unsolvable),
        false => Ok(()),
    }
}

/// Whether a puzzle is proved to have a solution.
#[must_use]
pub fn has_solution(puzzle: &Puzzle) -> bool {
    let found = search(puzzle);
    found.count > 0 || matches!(verdict(puzzle), Some(Verdict::Solution { .. }))
}

/// What the search finds out, within its budget.
fn search(puzzle: &Puzzle) -> Found {
    let limits = Limits {
        solutions: 1,
        keep: 0,
        nodes: Some(NODES),
    };
    SEARCH.with_borrow_mut(|search| search.run(puzzle, &limits, &|| false))
}

/// Whether a puzzle under other rules than Flow Free's is proved to have no solution.
fn has_no_loose_solution(puzzle: &Puzzle) -> bool {
    matches!(verdict(puzzle), Some(Verdict::Unsolvable { .. }))
}

/// What the SAT solver finds out, within its budget.
fn verdict(puzzle: &Puzzle) -> Option<Verdict> {
    let choices = Cell::new(0);
    let is_enough = || {
        choices.set(choices.get() + 1);
        choices.get() > CHOICES
    };
    let answer = solve::<Batsat>(puzzle, &Options::default(), &is_enough);
    answer.ok().map(|answer| answer.verdict)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::{Board, Terminal};

    use super::*;
    use crate::read::contents::numbers::RULES;

    /// Of two rows, whose terminals have these colours.
    fn checked<const CELLS: usize>(
        colours: [Option<u16>; CELLS],
        rules: Rules,
    ) -> Result<(), Refusal> {
        let terminals = colours.into_iter().enumerate();
        let terminals =
            terminals.filter_map(|(cell, colour)| colour.map(|colour| Terminal { cell, colour }));
        let board = Board::rectangle(2, CELLS / 2).unwrap();
        check(&Puzzle::new(board, terminals.collect(), rules).unwrap())
    }

    #[test]
    fn only_boards_without_a_solution_are_refused() {
        let rules = Rules::default();
        assert_eq!(checked([0, 0, 1, 1].map(Some), rules), Ok(()));
        let crossed = checked([0, 1, 1, 0].map(Some), rules);
        assert_eq!(crossed, Err(Refusal::Unsolvable));
    }

    #[test]
    fn numbers_may_leave_cells_empty() {
        let (a, b) = (Some(0), Some(1));
        let spare = [a, None, a, b, None, b, None, None];
        assert_eq!(checked(spare, Rules::default()), Err(Refusal::Unsolvable));
        assert_eq!(checked(spare, RULES), Ok(()));
        let crossed = [a, b, None, None, b, a, None, None];
        assert_eq!(checked(crossed, RULES), Err(Refusal::Unsolvable));
    }
}
