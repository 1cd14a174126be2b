use flowpipe_plugin::puzzle::{Board, Terminal};

use super::*;

/// Between two captures.
const APART: i64 = 100_000_000;

/// A board of two rows, whose terminals have these colours.
fn board<const CELLS: usize>(colours: [Option<u16>; CELLS]) -> SeenBoard {
    let terminals = colours.into_iter().enumerate();
    let terminals =
        terminals.filter_map(|(cell, colour)| colour.map(|colour| Terminal::new(cell, colour)));
    let board = Board::rectangle(2, CELLS / 2).unwrap();
    let puzzle = Puzzle::new(board, terminals.collect(), Rules::default()).unwrap();
    SeenBoard::untouched(puzzle, 40.0)
}

/// Flow A covers a square of four cells: it touches itself.
fn touching() -> SeenBoard {
    board([Some(0), Some(0), Some(1), None, None, Some(1)])
}

/// Two cells stay empty.
fn empty() -> SeenBoard {
    board([Some(0), None, Some(0), Some(1), None, Some(1), None, None])
}

/// Flows that cross.
fn crossed() -> SeenBoard {
    board([Some(0), Some(1), Some(1), Some(0)])
}

/// The rules that each of some captures of a board is played by.
fn played(finder: &mut RuleFinder, board: &SeenBoard, captures: i64) -> Vec<Option<Rules>> {
    let mut rules = Vec::new();
    for capture in 0..captures {
        let mut board = board.clone();
        let played = finder.unsolvable(&mut board, capture * APART);
        rules.push(played.ok().map(|()| board.puzzle.rules()));
    }
    rules
}

#[test]
fn looser_rules_need_several_captures_of_one_reading() {
    let mut finder = RuleFinder::new(RuleSetting::Auto);
    let rules = played(&mut finder, &touching(), 6);
    let touch = Some(Rules::new(true, true));
    assert_eq!(rules, [None, None, None, None, touch, touch]);
    // Each board needs them.
    let rules = played(&mut finder, &empty(), 5);
    assert_eq!(rules[..4], [None; 4]);
    assert_eq!(rules[4], Some(Rules::new(false, true)));
    // One that is known does not.
    assert_eq!(played(&mut finder, &touching(), 1), [touch]);
    finder.reset();
    assert_eq!(played(&mut finder, &touching(), 1), [None]);
}

#[test]
fn a_board_without_any_solution_stays_refused() {
    let mut finder = RuleFinder::new(RuleSetting::Auto);
    assert_eq!(played(&mut finder, &crossed(), 20), [None; 20]);
}

#[test]
fn after_doubt_all_captures_count_again() {
    let doubts: [fn(&mut RuleFinder); 3] = [
        |finder| finder.unseen(),
        |finder| {
            let _ = finder.unsolvable(&mut empty(), 0);
        },
        |finder| {
            let mut doubtful = touching().with_confidence(CONFIDENCE - 0.01);
            let _ = finder.unsolvable(&mut doubtful, 0);
        },
    ];
    for doubt in doubts {
        let mut finder = RuleFinder::new(RuleSetting::Auto);
        assert_eq!(played(&mut finder, &touching(), 4), [None; 4]);
        doubt(&mut finder);
        assert_eq!(played(&mut finder, &touching(), 4), [None; 4]);
    }
    // Many captures in a moment are no evidence either.
    let mut finder = RuleFinder::new(RuleSetting::Auto);
    for capture in 0..100 {
        assert!(
            finder
                .unsolvable(&mut touching(), capture * 1_000_000)
                .is_err()
        );
    }
}

#[test]
fn strict_and_fixed_rules() {
    let mut strict = RuleFinder::new(RuleSetting::Strict);
    assert_eq!(played(&mut strict, &touching(), 9), [None; 9]);
    let loose = Rules::new(false, true);
    let mut fixed = RuleFinder::new(RuleSetting::Fixed(loose));
    assert_eq!(played(&mut fixed, &touching(), 1), [Some(loose)]);
    assert_eq!(played(&mut fixed, &crossed(), 1), [None]);
    let mut covered = board([Some(0), Some(0), Some(1), Some(1)]);
    fixed.solvable(&mut covered).unwrap();
    assert_eq!(covered.puzzle.rules(), loose);
}

#[test]
fn a_board_with_empty_cells_is_solved_once_all_is_joined() {
    let mut finder = RuleFinder::new(RuleSetting::Fixed(Rules::new(false, true)));
    let mut state = |flows: Vec<Flow>| {
        let mut board = empty().with_drawn(flows, BoardState::Partial);
        finder.unsolvable(&mut board, 0).unwrap();
        board.state
    };
    let one = Flow::new(0, vec![0, 1, 2]);
    assert_eq!(state(vec![one.clone()]), BoardState::Partial);
    let half = Flow::new(1, vec![3, 7, 6]);
    assert_eq!(state(vec![one.clone(), half]), BoardState::Partial);
    let other = Flow::new(1, vec![3, 7, 6, 5]);
    assert_eq!(state(vec![one, other]), BoardState::Solved);
}

/// As boards of numbers are, whose rules let cells stay empty.
#[test]
fn so_is_one_with_a_solution_by_its_own_rules() {
    for setting in [RuleSetting::Strict, RuleSetting::Auto] {
        let mut finder = RuleFinder::new(setting);
        let mut state = |flows: Vec<Flow>| {
            let mut board = empty().with_drawn(flows, BoardState::Partial);
            board.puzzle = board.puzzle.with_rules(Rules::new(false, true));
            finder.solvable(&mut board).unwrap();
            board.state
        };
        let one = Flow::new(0, vec![0, 1, 2]);
        let other = Flow::new(1, vec![3, 7, 6, 5]);
        assert_eq!(state(vec![one.clone()]), BoardState::Partial);
        assert_eq!(state(vec![one, other]), BoardState::Solved);
    }
}

#[test]
fn rules_that_boards_were_won_by_need_fewer_captures() {
    let touch = Rules::new(true, true);
    let loose = Rules::new(false, true);
    // By what is known, when a board that touches itself and one with empty cells are played, if they are.
    for (known, touching_needs, empty_needs) in [
        (None, 4, 4),
        (Some(Rules::default()), 4, 4),
        (Some(touch), 2, 4),
        (Some(loose), 2, 2),
    ] {
        let mut finder = RuleFinder::new(RuleSetting::Auto);
        finder.set_source("a game");
        if let Some(rules) = known {
            finder.set_game_rules(GameRules::new("a game", rules));
        }
        for (board, rules, needed) in [
            (touching(), touch, touching_needs),
            (empty(), loose, empty_needs),
        ] {
            let seen = played(&mut finder, &board, 6);
            assert_eq!(seen[..needed], vec![None; needed], "{known:?}");
            assert_eq!(seen[needed], Some(rules), "{known:?}");
        }
    }
}

#[test]
fn known_rules_replace_neither_time_nor_confidence_nor_strict_rules() {
    let known = |source: &str| {
        let mut finder = RuleFinder::new(RuleSetting::Auto);
        finder.set_source("a game");
        finder.set_game_rules(GameRules::new(source, Rules::new(false, true)));
        finder
    };
    // Many captures in a moment are no evidence.
    let mut finder = known("a game");
    let at = |time: i64| time * 1_000_000;
    let mut moment = touching();
    assert!((0..100).all(|time| finder.unsolvable(&mut moment, at(time)).is_err()));
    // Doubt begins again.
    let mut finder = known("a game");
    assert_eq!(played(&mut finder, &touching(), 2), [None; 2]);
    finder.unseen();
    assert_eq!(played(&mut finder, &touching(), 2), [None; 2]);
    let doubtful = touching().with_confidence(CONFIDENCE - 0.01);
    assert_eq!(played(&mut finder, &doubtful, 9), [None; 9]);
    // A board that has a solution by strict rules keeps them, and one without any stays refused.
    let mut strict = board([Some(0), Some(0), Some(1), Some(1)]);
    finder.solvable(&mut strict).unwrap();
    assert_eq!(strict.puzzle.rules(), Rules::default());
    assert_eq!(played(&mut finder, &crossed(), 20), [None; 20]);
    // What is known of another game says nothing.
    let mut other = known("another game");
    assert_eq!(played(&mut other, &touching(), 4), [None; 4]);
    other.unseen();
    other.set_source("another game");
    assert!(played(&mut other, &touching(), 3)[2].is_some());
    // Of a config that refuses such boards neither.
    let mut refusing = RuleFinder::new(RuleSetting::Strict);
    refusing.set_source("a game");
    refusing.set_game_rules(GameRules::new("a game", Rules::new(false, true)));
    assert_eq!(played(&mut refusing, &touching(), 9), [None; 9]);
}

#[test]
fn what_becomes_known_counts_for_the_board_that_is_seen() {
    let mut finder = RuleFinder::new(RuleSetting::Auto);
    finder.set_source("a game");
    let at = |finder: &mut RuleFinder, captures: std::ops::Range<i64>| {
        let seen = captures.map(|it| finder.unsolvable(&mut empty(), it * APART).is_ok());
        seen.collect::<Vec<_>>()
    };
    assert_eq!(at(&mut finder, 0..1), [false]);
    finder.set_game_rules(GameRules::new("a game", Rules::new(true, true)));
    assert_eq!(at(&mut finder, 1..3), [false; 2], "cells stay empty");
    finder.set_game_rules(GameRules::new("a game", Rules::new(false, true)));
    assert_eq!(at(&mut finder, 3..4), [true]);
    finder.reset();
    assert_eq!(at(&mut finder, 4..7), [false; 3], "forgotten");
}
