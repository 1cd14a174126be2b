//! The search against brute force.

use flowpipe_puzzle::{Board, Puzzle, Rules, Terminal, check};
use flowpipe_search::{Ended, Limits, Search};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::support::{brute_force, never, puzzles::any_puzzle};

const ALL: Limits = Limits {
    solutions: u64::MAX,
    keep: usize::MAX,
    nodes: None,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn finds_all_solutions_and_no_others(puzzle in any_puzzle()) {
        let expected = brute_force::solutions(&puzzle);
        let mut search = Search::new();
        let found = search.run(&puzzle, &ALL, &never);
        prop_assert_eq!(found.ended, Ended::Complete);
        prop_assert_eq!(found.count, expected.len() as u64);
        prop_assert_eq!(&found.solutions, &expected);

        // The same search again, and until two are found.
        let unique = search.run(&puzzle, &Limits::default(), &never);
        prop_assert_eq!(unique.count, found.count.min(2));
        prop_assert_eq!(unique.ended == Ended::Complete, expected.len() < 2);
        prop_assert_eq!(unique.solutions.len(), expected.len().min(1));
        for solution in unique.solutions {
            prop_assert_eq!(check(&puzzle, &solution), Ok(()));
        }
        prop_assert_eq!(search.run(&puzzle, &ALL, &never), found);
    }
}

#[test]
fn one_search_takes_boards_of_any_kind_in_turn() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut search = Search::new();
    let mut solved = 0;
    for _ in 0..500 {
        let puzzle = any_puzzle().new_tree(&mut runner).unwrap().current();
        let found = search.run(&puzzle, &ALL, &never);
        assert_eq!(found, Search::new().run(&puzzle, &ALL, &never));
        solved += usize::from(found.count > 0);
    }
    assert!(solved > 100, "only {solved} of 500 have a solution");
}

/// Terminals of one colour three cells apart along each row: a great many solutions.
fn open_board(size: usize) -> Puzzle {
    let board = Board::rectangle(size, size).unwrap();
    let terminals = (0..size * size)
        .filter(|cell| matches!(cell % size % 4, 0 | 3))
        .map(|cell| Terminal { cell, colour: 0 });
    Puzzle::new(board, terminals.collect(), Rules::default()).unwrap()
}

#[test]
fn gives_up_when_cancelled() {
    let asked = std::cell::Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let found = Search::new().run(&open_board(40), &ALL, &cancelled);
    assert_eq!(found.ended, Ended::Cancelled);
    assert_eq!(asked.get(), 4);
}
