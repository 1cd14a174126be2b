//! Counts and lists against plain enumeration and known numbers, and what ends the work early.

use std::cell::Cell;

use flowpipe_plugin::Want;
use flowpipe_plugin::puzzle::message::{Count, Verdict};
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Solution, Terminal, check};
use flowpipe_sat::testing::brute_force;
use flowpipe_sat::testing::samples::{any_puzzle, flat_puzzle, puzzle};
use proptest::prelude::*;

use crate::chords::Chords;
use crate::config::Config;
use crate::domains::propagate;
use crate::mates::Mates;
use crate::network::Network;
use crate::order::candidates;
use crate::plan::{Plan, beside};
use crate::solve::{Frontier, SolveError};
use crate::sweep::{Cost, Layers, Limits, sweep};
use crate::trace::Keep;
use crate::watch::Watch;

pub fn never() -> bool {
    false
}

pub fn wanting(want: Want) -> Frontier {
    Frontier::new(Config {
        want,
        ..Config::default()
    })
}

pub fn loose(puzzle: Puzzle, cover: bool) -> Puzzle {
    puzzle.with_rules(Rules { cover, touch: true })
}

/// All solutions, and their number as reported.
fn all(puzzle: &Puzzle) -> (Vec<Solution>, String) {
    match wanting(Want::All).solve(puzzle, &never).unwrap() {
        Verdict::Solution {
            solution,
            unique,
            count,
            others,
            ..
        } => {
            let count = count.unwrap();
            assert!(count.is_well_formed() && !count.or_more);
            assert_eq!(unique, Some(count.digits == "1"));
            let mut solutions = vec![solution];
            solutions.extend(others);
            (solutions, count.digits)
        }
        Verdict::Unsolvable { .. } => (Vec::new(), "0".to_owned()),
        other => panic!("{other:?}"),
    }
}

fn count(puzzle: &Puzzle) -> String {
    match wanting(Want::Count).solve(puzzle, &never).unwrap() {
        Verdict::Solution { count, .. } => count.unwrap().digits,
        Verdict::Unsolvable { .. } => "0".to_owned(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn counts_and_lists_what_trying_everything_finds(puzzle in any_puzzle()) {
        let mut expected = brute_force::solutions(&puzzle, usize::MAX);
        let (mut solutions, digits) = all(&puzzle);
        prop_assert_eq!(&digits, &expected.len().to_string());
        prop_assert_eq!(&count(&puzzle), &digits);
        for solution in &solutions {
            prop_assert_eq!(check(&puzzle, solution), Ok(()));
        }
        let key = |solution: &Solution| format!("{solution:?}");
        solutions.sort_by_key(key);
        expected.sort_by_key(key);
        prop_assert_eq!(solutions, expected);
    }
}

/// How many solutions a sweep from the first side finds, with or without the search for crossings.
fn swept(puzzle: &Puzzle, crossings: bool) -> String {
    let watch = Watch::new(&never);
    let network = Network::new(puzzle, &watch).unwrap();
    let Ok(domains) = propagate(&network, &watch) else {
        return "0".to_owned();
    };
    let beside = beside(&network, &domains, &watch).unwrap();
    let order = candidates(puzzle.board(), &beside, &watch)
        .unwrap()
        .remove(0);
    let mut plan = Plan::new(&network, &domains, &beside, &order, &watch).unwrap();
    if !crossings {
        plan.along = None;
    }
    let limits = Limits {
        states: u64::MAX,
        bytes: usize::MAX,
    };
    let (mut layers, mut cost) = (Layers::new(), Cost::default());
    let (layers, cost) = (&mut layers, &mut cost);
    let swept = if puzzle.rules().touch {
        let mut states = Mates::new(&plan);
        sweep(
            &plan,
            &mut states,
            Keep::First,
            limits,
            layers,
            cost,
            &watch,
        )
    } else {
        let mut states = Chords::new(&plan).unwrap();
        sweep(
            &plan,
            &mut states,
            Keep::First,
            limits,
            layers,
            cost,
            &watch,
        )
    };
    swept.unwrap().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_solution_is_refused_as_a_crossing(puzzle in flat_puzzle()) {
        prop_assert_eq!(swept(&puzzle, true), swept(&puzzle, false));
    }
}

/// The table of the C program: in how many ways two opposite corners of a square can be joined.
#[test]
fn counts_the_paths_between_opposite_corners() {
    // OEIS A007764.
    let known = [
        "2",
        "12",
        "184",
        "8512",
        "1262816",
        "575780564",
        "789360053252",
        "3266598486981642",
        "41044208702632496804",
        "1568758030464750013214100",
        "182413291514248049241470885236",
    ];
    for (side, digits) in (2..).zip(known) {
        let board = Board::rectangle(side, side).unwrap();
        let ends = [0, side * side - 1].map(|cell| Terminal { cell, colour: 0 });
        let puzzle = Puzzle::new(board, ends.to_vec(), Rules::default()).unwrap();
        assert_eq!(count(&loose(puzzle, false)), digits, "side {side}");
    }
}

#[test]
fn lists_as_many_as_it_is_asked_for_and_counts_all() {
    let puzzle = loose(puzzle("A....\n.....\n.....\n.....\n....A"), false);
    for (limit, listed) in [(Some(0), 1), (Some(1), 1), (Some(7), 7), (None, 8512)] {
        let mut frontier = Frontier::new(Config {
            want: Want::All,
            limit,
            ..Config::default()
        });
        let Verdict::Solution {
            unique,
            count,
            others,
            ..
        } = frontier.solve(&puzzle, &never).unwrap()
        else {
            panic!("there are solutions");
        };
        assert_eq!(others.len() + 1, listed);
        assert_eq!(unique, Some(false));
        assert_eq!(count, Some(Count::exactly(8512)));
    }
}

#[test]
fn a_flow_that_is_finished_may_still_touch_itself() {
    // On the way around the left column, flow A would be finished before its two ends are seen to be
    // neighbours.
    let puzzle = puzzle(".A\n.A").with_rules(Rules {
        cover: false,
        touch: false,
    });
    assert_eq!(count(&puzzle), "1");
    assert_eq!(count(&loose(puzzle, false)), "2");
}

#[test]
fn reports_where_nothing_fits() {
    let verdict = wanting(Want::Count).solve(&puzzle("A.A\n###\nB.B\n.##"), &never);
    assert_eq!(
        verdict.unwrap(),
        Verdict::unsolvable(Some(
            "row 4, column 1: no way through this cell is left".to_owned()
        ))
    );
}

/// Few flows on a large board, cells may be empty: far too many states.
fn hostile(side: usize) -> Puzzle {
    let board = Board::rectangle(side, side).unwrap();
    let middle = side / 2 * side;
    let terminals = (0..6_u16).flat_map(|colour| {
        let at = usize::from(colour) * side / 6;
        [middle + at, (side * side - 1 - at * side)].map(|cell| Terminal { cell, colour })
    });
    Puzzle::new(board, terminals.collect(), Rules::default()).unwrap()
}

fn all_rules() -> impl Iterator<Item = Rules> {
    let rules = |cover| [false, true].map(|touch| Rules { cover, touch });
    [false, true].into_iter().flat_map(rules)
}

#[test]
fn gives_up_when_cancelled() {
    for rules in all_rules() {
        let puzzle = hostile(24).with_rules(rules);
        for questions in [0, 1, 5, 50, 500] {
            let asked = Cell::new(0);
            let cancelled = || {
                asked.set(asked.get() + 1);
                asked.get() > questions
            };
            match wanting(Want::All).solve(&puzzle, &cancelled) {
                Err(SolveError::Cancelled) => assert_eq!(asked.get(), questions + 1),
                Ok(Verdict::Unsolvable { .. }) if rules == Rules::default() => {}
                other => panic!("{rules:?}, {questions}: {other:?}"),
            }
        }
    }
}

#[test]
fn gives_up_at_its_limits() {
    let limited = |max_states, max_mebibytes, side| {
        let mut frontier = Frontier::new(Config {
            max_states,
            max_mebibytes,
            ..Config::default()
        });
        let verdict = frontier.solve(&loose(hostile(side), false), &never);
        (verdict.unwrap(), frontier.effort())
    };
    let (verdict, effort) = limited(Some(10_000), 1536, 20);
    assert_eq!(
        verdict,
        Verdict::unknown("stopped after 10000 states (max_states)")
    );
    assert!(effort.nodes.is_some_and(|nodes| nodes < 10_100));
    for side in [20, 250] {
        let (verdict, _) = limited(None, 4, side);
        assert_eq!(
            verdict,
            Verdict::unknown("stopped at 4 MiB of memory (max_mebibytes)")
        );
    }
    let board = Board::rectangle(8, 8).unwrap();
    let ends = [0, 63].map(|cell| Terminal { cell, colour: 0 });
    let puzzle = Puzzle::new(board, ends.to_vec(), Rules::default()).unwrap();
    let verdict = wanting(Want::All).solve(&loose(puzzle, false), &never);
    assert_eq!(
        verdict.unwrap(),
        Verdict::unknown(
            "all solutions together would take more than 1536 MiB (max_mebibytes): set a limit"
        )
    );
    let rules = Rules {
        cover: false,
        touch: false,
    };
    let verdict = wanting(Want::One).solve(&hostile(200).with_rules(rules), &never);
    assert!(
        matches!(verdict, Ok(Verdict::Unknown { .. })),
        "{verdict:?}"
    );
}

#[test]
fn reports_what_it_cost() {
    let mut frontier = wanting(Want::Count);
    let puzzle = loose(puzzle("A...\n....\n....\n...A"), false);
    frontier.solve(&puzzle, &never).unwrap();
    let effort = frontier.effort();
    assert_eq!(effort.figures["frontier"], 4.0);
    assert!(effort.figures["states"] > 5.0);
    assert!(effort.nodes.is_some_and(|nodes| nodes > 50));
    frontier.solve(&puzzle, &never).unwrap();
    assert_eq!(frontier.effort(), effort);
}
