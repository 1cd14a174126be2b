//! Checks on boards of our own.

use std::cell::Cell;
use std::collections::BTreeSet;

use flowpipe_puzzle::message::{Count, Verdict};
use flowpipe_puzzle::{Board, Puzzle, Rules, Solution, Terminal, check};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::samples::{any_puzzle, puzzle};
use super::{ENCODINGS, Solve, brute_force};
use crate::{Encoding, Options, SolveError, Want};

fn options(encoding: Encoding, want: Want) -> Options {
    Options {
        encoding,
        want,
        limit: None,
    }
}

/// Every kind of small board, every mix of rules: as many solutions as there are, and those.
pub fn agrees_with_brute_force(solve: Solve<'_>) {
    const MOST: usize = 40;
    let mut runner = TestRunner::new(Config {
        cases: Config::default().cases.max(1000),
        failure_persistence: None,
        ..Config::default()
    });
    let run = runner.run(&any_puzzle(), |puzzle| {
        let solutions = brute_force::solutions(&puzzle, MOST);
        for encoding in ENCODINGS {
            for want in [Want::Unique, Want::All] {
                let options = Options {
                    encoding,
                    want,
                    limit: Some(MOST as u64),
                };
                let answer = solve(&puzzle, &options, &|| false).unwrap();
                holds(&puzzle, want, answer.verdict, &solutions, MOST)?;
            }
        }
        Ok(())
    });
    run.unwrap();
}

/// Checks an answer against the solutions that there are, or `most` of them.
fn holds(
    puzzle: &Puzzle,
    want: Want,
    verdict: Verdict,
    solutions: &[Solution],
    most: usize,
) -> Result<(), TestCaseError> {
    let Verdict::Solution {
        solution,
        unique,
        count,
        others,
        ..
    } = verdict
    else {
        prop_assert_eq!(solutions.len(), 0, "{:?}", verdict);
        return Ok(());
    };
    prop_assert_eq!(check(puzzle, &solution), Ok(()));
    prop_assert_eq!(unique, Some(solutions.len() == 1));
    if want == Want::Unique {
        prop_assert_eq!((count, others.len()), (None, 0));
        if let [only] = solutions {
            prop_assert_eq!(&solution, only);
        }
        return Ok(());
    }
    let all: BTreeSet<String> = std::iter::once(&solution)
        .chain(&others)
        .map(|solution| format!("{solution:?}"))
        .collect();
    prop_assert_eq!(all.len(), others.len() + 1, "some solution twice");
    prop_assert_eq!(all.len(), solutions.len());
    if solutions.len() < most {
        prop_assert_eq!(count, Some(Count::exactly(all.len())));
        for solution in solutions {
            prop_assert!(all.contains(&format!("{solution:?}")), "{:?}", solution);
        }
    } else {
        // There may be others than brute force found first.
        prop_assert_eq!(count, Some(Count::at_least(most)));
        for solution in &others {
            prop_assert_eq!(check(puzzle, solution), Ok(()));
        }
    }
    Ok(())
}

/// The limit is kept, and reported.
pub fn counts_no_further_than_its_limit(solve: Solve<'_>) {
    let rules = Rules {
        cover: false,
        touch: false,
    };
    // Paths between opposite corners that do not touch themselves: 10 on 4 by 4.
    let puzzle = puzzle("A...\n....\n....\n...A").with_rules(rules);
    let all = brute_force::solutions(&puzzle, usize::MAX).len() as u64;
    for encoding in ENCODINGS {
        for limit in [
            None,
            Some(1),
            Some(2),
            Some(all - 1),
            Some(all),
            Some(all + 1),
        ] {
            let options = Options {
                encoding,
                want: Want::Count,
                limit,
            };
            let counted = solve(&puzzle, &options, &|| false).unwrap().verdict;
            let Verdict::Solution {
                unique,
                count,
                others,
                ..
            } = counted
            else {
                panic!("{counted:?}");
            };
            assert_eq!(others, []);
            let expected = match limit {
                Some(limit) if limit <= all => Count::at_least(limit),
                _ => Count::exactly(all),
            };
            assert_eq!(count, Some(expected), "{encoding:?}, {limit:?}");
            assert_eq!(unique, (limit != Some(1)).then_some(false));
        }
    }
}

/// The rule against touching is about one flow, not about one colour.
pub fn two_flows_of_a_colour_may_lie_side_by_side(solve: Solve<'_>) {
    let puzzle = puzzle("A.A\nA.A");
    for encoding in ENCODINGS {
        let answer = solve(&puzzle, &options(encoding, Want::One), &|| false).unwrap();
        assert!(
            matches!(answer.verdict, Verdict::Solution { unique: None, .. }),
            "{answer:?}"
        );
    }
}

/// Where every cell must be covered, a ring does not do it.
pub fn a_ring_beside_the_flows_is_no_cover(solve: Solve<'_>) {
    // The two terminals and a ring around the hole would cover all cells, and the clauses allow it.
    let rules = Rules {
        cover: true,
        touch: true,
    };
    let puzzle = puzzle("AA...\n##.#.\n##...").with_rules(rules);
    for encoding in ENCODINGS {
        let answer = solve(&puzzle, &options(encoding, Want::One), &|| false).unwrap();
        assert_eq!(answer.verdict, Verdict::unsolvable(None));
    }
}

/// Where cells may stay empty, a ring beside the flows makes no second solution.
pub fn a_ring_beside_the_flows_counts_for_nothing(solve: Solve<'_>) {
    for touch in [false, true] {
        let rules = Rules {
            cover: false,
            touch,
        };
        let puzzle = puzzle("AA#...\n####.#.\n####...".replace("AA#", "AA##").as_str());
        let puzzle = puzzle.with_rules(rules);
        for encoding in ENCODINGS {
            let answer = solve(&puzzle, &options(encoding, Want::Count), &|| false).unwrap();
            let Verdict::Solution { count, unique, .. } = answer.verdict else {
                panic!("{answer:?}");
            };
            assert_eq!((count, unique), (Some(Count::exactly(1)), Some(true)));
        }
    }
}

/// Whenever it is asked to stop, it does.
pub fn gives_up_when_cancelled(solve: Solve<'_>) {
    // Many flows between opposite borders in another order: no solution, and long to prove.
    let size = 16;
    let board = Board::rectangle(size, size).unwrap();
    let terminals = (0..6_u16).flat_map(|colour| {
        let at = usize::from(colour);
        [at * 2 + 3, size * size - 3 - (5 - (at * 5 + 2) % 6) * 2]
            .map(|cell| Terminal { cell, colour })
    });
    let rules = Rules {
        cover: false,
        touch: true,
    };
    let puzzle = Puzzle::new(board, terminals.collect(), rules).unwrap();
    for encoding in [Encoding::Best, Encoding::Binary, Encoding::Edges] {
        for questions in [0, 1, 5, 12, 30] {
            let asked = Cell::new(0);
            let cancelled = || {
                asked.set(asked.get() + 1);
                asked.get() > questions
            };
            let result = solve(&puzzle, &options(encoding, Want::One), &cancelled);
            assert!(
                matches!(result, Err(SolveError::Cancelled)),
                "{encoding:?}, {questions}: {result:?}"
            );
        }
    }
}
