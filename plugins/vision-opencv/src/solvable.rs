//! Whether a board that was read can be solved at all: one that was misread hardly ever can.

use std::cell::RefCell;

use flowpipe_plugin::puzzle::Rules;
use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_search::{Ended, Limits, Search};

use crate::refusal::Refusal;

/// Larger boards take too long.
const MOST_CELLS: usize = 400;
/// So many branchings are a hundred microseconds at most.
const NODES: u64 = 64;
/// What is left of the confidence in a board without a solution.
const DOUBT: f64 = 0.5;
/// A board that was less sure than this, and has no solution, was misread.
const UNSURE: f64 = 0.3;

thread_local! {
    // The search's memory, which costs more to get than most searches take.
    static SEARCH: RefCell<Search> = RefCell::default();
}

/// Lowers the confidence in a board that is proved to have no solution.
///
/// Boards under other rules than Flow Free's are left alone: that they have none is not so quickly proved.
///
/// `may_be_cut`: a border lies so close to the picture's edge that there may have been more of the board.
///
/// # Errors
/// [`Refusal::Unsolvable`] where it was small already, or the board may be cut off.
pub fn doubt(board: &mut SeenBoard, may_be_cut: bool) -> Result<(), Refusal> {
    let puzzle = &board.puzzle;
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
        if may_be_cut || board.confidence < UNSURE {
            return Err(Refusal::Unsolvable);
        }
        board.confidence *= DOUBT;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::message::BoardState;
    use flowpipe_plugin::puzzle::{Board, Puzzle, Terminal};

    use super::*;
    use crate::grid::Grid;

    /// Two rows of two cells, whose terminals have these colours.
    fn board(colours: [u16; 4], confidence: f64) -> SeenBoard {
        let terminals = colours.into_iter().enumerate();
        let terminals = terminals.map(|(cell, colour)| Terminal { cell, colour });
        let lines = vec![0.0, 10.0, 20.0];
        let puzzle = Puzzle::new(
            Board::rectangle(2, 2).unwrap(),
            terminals.collect(),
            Rules::default(),
        );
        SeenBoard {
            puzzle: puzzle.unwrap(),
            geometry: Grid::squares(lines.clone(), lines, 10.0).geometry(),
            palette: vec![[255, 0, 0], [0, 255, 0]],
            drawn: Vec::new(),
            state: BoardState::Empty,
            confidence,
        }
    }

    fn confidence(colours: [u16; 4], confidence: f64) -> Result<f64, Refusal> {
        let mut board = board(colours, confidence);
        doubt(&mut board, false).map(|()| board.confidence)
    }

    #[test]
    fn only_boards_without_a_solution_are_doubted() {
        assert_eq!(confidence([0, 0, 1, 1], 0.9), Ok(0.9));
        assert_eq!(confidence([0, 0, 1, 1], 0.1), Ok(0.1));
        assert_eq!(confidence([0, 1, 1, 0], 0.9), Ok(0.9 * DOUBT));
        assert_eq!(confidence([0, 1, 1, 0], 0.1), Err(Refusal::Unsolvable));
    }
}
