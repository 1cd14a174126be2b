//! The answers against brute force, whatever the rules and whatever is asked.

use flowpipe_plugin::puzzle::message::{Count, Effort, Verdict};
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Solution, Terminal, check};
use flowpipe_plugin::solver::Want;
use flowpipe_sat::testing::{brute_force, samples};
use proptest::prelude::*;

use crate::config::Config;
use crate::solve::{Solving, SolvingError};

fn solve(puzzle: &Puzzle, want: Want, limit: Option<u64>) -> (Verdict, Effort) {
    Solving::new(Config { want, limit })
        .solve(puzzle, &|| false)
        .unwrap()
}

/// All solutions of an answer, in order.
fn listed(verdict: Verdict) -> Vec<Solution> {
    let Verdict::Solution {
        solution, others, ..
    } = verdict
    else {
        return Vec::new();
    };
    let mut all = vec![solution];
    all.extend(others);
    all.sort_by_key(|solution| format!("{solution:?}"));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn agrees_with_brute_force(puzzle in samples::any_puzzle()) {
        let mut solutions = brute_force::solutions(&puzzle, 200);
        prop_assume!(solutions.len() < 200);
        solutions.sort_by_key(|solution| format!("{solution:?}"));
        for want in [Want::One, Want::Unique, Want::Count, Want::All] {
            let (verdict, _) = solve(&puzzle, want, None);
            let Verdict::Solution { solution, unique, count, others, .. } = &verdict else {
                let unsolvable = matches!(verdict, Verdict::Unsolvable { .. });
                prop_assert!(unsolvable && solutions.is_empty(), "{verdict:?}");
                continue;
            };
            prop_assert_eq!(check(&puzzle, solution), Ok(()));
            let is_unique = Some(solutions.len() == 1);
            prop_assert!(*unique == is_unique || (want == Want::One && unique.is_none()));
            let counted = matches!(want, Want::Count | Want::All);
            let expected = counted.then(|| Count::exactly(solutions.len()));
            prop_assert_eq!(count, &expected);
            prop_assert!(others.is_empty() || want == Want::All);
            if want == Want::All {
                prop_assert_eq!(listed(verdict), solutions.clone());
            }
        }
    }
}

/// Six rows of terminals of one colour, three cells apart: many solutions.
fn many_solutions() -> Puzzle {
    let board = Board::rectangle(8, 8).unwrap();
    let terminals = (0..64).filter(|cell| matches!(cell % 4, 0 | 3));
    let terminals = terminals.map(|cell| Terminal { cell, colour: 0 });
    Puzzle::new(board, terminals.collect(), Rules::default()).unwrap()
}

#[test]
fn counts_and_lists_no_further_than_the_limit() {
    let (verdict, _) = solve(&many_solutions(), Want::Count, Some(5));
    let Verdict::Solution { unique, count, .. } = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!((unique, count), (Some(false), Some(Count::at_least(5))));
    assert_eq!(
        listed(solve(&many_solutions(), Want::All, Some(5)).0).len(),
        5
    );
    let (verdict, _) = solve(&many_solutions(), Want::Count, Some(1));
    assert!(
        matches!(verdict, Verdict::Solution { unique: None, .. }),
        "{verdict:?}"
    );
}

#[test]
fn reports_why_there_is_no_solution_and_what_that_cost() {
    let (verdict, effort) = solve(&samples::puzzle("A.B\n...\nB.A"), Want::Unique, None);
    assert!(matches!(verdict, Verdict::Unsolvable { .. }), "{verdict:?}");
    assert!(effort.nodes.is_some() && effort.figures.contains_key("steps"));
    let (verdict, _) = solve(&samples::puzzle("A.A\n.#.\nB#B"), Want::Unique, None);
    assert!(
        matches!(
            verdict,
            Verdict::Unsolvable {
                reason: Some(_),
                ..
            }
        ),
        "{verdict:?}"
    );
}

#[test]
fn the_same_puzzle_gets_the_same_answer() {
    let mut solving = Solving::new(Config::default());
    let first = solving.solve(&many_solutions(), &|| false).unwrap();
    assert_eq!(solving.solve(&many_solutions(), &|| false).unwrap(), first);
}

#[test]
fn gives_up_when_cancelled() {
    for rules in [(true, false), (true, true), (false, true)] {
        let (cover, touch) = rules;
        let puzzle = many_solutions().with_rules(Rules { cover, touch });
        let asked = std::cell::Cell::new(0);
        let cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        let config = Config {
            want: Want::Count,
            limit: None,
        };
        let result = Solving::new(config).solve(&puzzle, &cancelled);
        assert!(
            matches!(result, Err(SolvingError::Cancelled)),
            "{rules:?}: {result:?}"
        );
    }
}

/// A game may want all cells covered where the rules that were read do not.
#[test]
fn of_several_solutions_the_one_by_stricter_rules_is_given() {
    let pairs = [(3, 36), (4, 39), (7, 18), (8, 21), (22, 40)];
    let terminals = (0..)
        .zip(pairs)
        .flat_map(|(colour, (from, to))| [from, to].map(|cell| Terminal { cell, colour }));
    let board = Board::rectangle(7, 7).unwrap();
    let strict = Puzzle::new(board, terminals.collect(), Rules::default()).unwrap();
    let (only, _) = solve(&strict, Want::Unique, None);
    let rules = Rules {
        cover: false,
        touch: false,
    };
    let (verdict, _) = solve(&strict.with_rules(rules), Want::Unique, None);
    let Verdict::Solution { unique, .. } = &verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(*unique, Some(false));
    assert_eq!(listed(verdict.canonical()), listed(only.canonical()));
}
