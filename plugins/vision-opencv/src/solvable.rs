//! Whether a board that was read can be solved at all: one that was misread hardly ever can.

use std::cell::RefCell;

use flowpipe_plugin::puzzle::{Puzzle, Rules};
use flowpipe_search::{Ended, Limits, Search};

use crate::refusal::Refusal;

/// Larger boards take too long.
const MOST_CELLS: usize = 400;
/// So many branchings are a hundred microseconds at most.
const NODES: u64 = 64;
thread_local! {
    // The search's memory, which costs more to get than most searches take.
    static SEARCH: RefCell<Search> = RefCell::default();
}

/// Refuses a board that is proved to have no solution: it was misread, or is none of this game.
///
/// Boards under other rules than Flow Free's are left alone: that they have none is not so quickly proved.
///
/// # Errors
/// [`Refusal::Unsolvable`].
pub fn check(puzzle: &Puzzle) -> Result<(), Refusal> {
    if puzzle.rules() != Rules::default() || puzzle.board().len() > MOST_CELLS {
        return Ok(());
    }
    let limits = Limits {
        solutions: 1,
        keep: 0,
        nodes: Some(NODES),
    };
    let found = SEARCH.with_borrow_mut(|search| search.run(puzzle, &limits, &|| false));
    if found.ended == Ended::Complete && found.count == 0 {
        return Err(Refusal::Unsolvable);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::{Board, Terminal};

    use super::*;

    /// Of two rows of two cells, whose terminals have these colours.
    fn checked(colours: [u16; 4]) -> Result<(), Refusal> {
        let terminals = colours.into_iter().enumerate();
        let terminals = terminals.map(|(cell, colour)| Terminal { cell, colour });
        let board = Board::rectangle(2, 2).unwrap();
        let puzzle = Puzzle::new(board, terminals.collect(), Rules::default());
        check(&puzzle.unwrap())
    }

    #[test]
    fn only_boards_without_a_solution_are_refused() {
        assert_eq!(checked([0, 0, 1, 1]), Ok(()));
        assert_eq!(checked([0, 1, 1, 0]), Err(Refusal::Unsolvable));
    }
}
