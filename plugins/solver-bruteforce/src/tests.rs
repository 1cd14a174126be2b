//! Small boards of every kind against another enumeration, the boards of the Python program, real
//! levels, and a cancelled run.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use flowpipe_plugin::puzzle::message::{Count, Effort, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, Rules, Solution, check, level, text};
use flowpipe_plugin::{Cancel, Want};
use flowpipe_sat::testing::{brute_force, samples::any_puzzle};
use flowpipe_testing::{note, shared_puzzles};
use proptest::prelude::*;

use crate::answer::answer;
use crate::config::Config;

const LOOSE: Rules = Rules {
    cover: false,
    touch: true,
};

fn ask(puzzle: &Puzzle, want: Want, limit: Option<u64>) -> (Verdict, Effort) {
    let config = Config {
        want,
        limit,
        ..Config::default()
    };
    answer(puzzle, &config, Cancel::never()).unwrap()
}

fn read(text: &str) -> Puzzle {
    text::read(text).remove(0).puzzle.unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_all_solutions_there_are(puzzle in any_puzzle()) {
        const MOST: usize = 300;
        let there = brute_force::solutions(&puzzle, MOST);
        match ask(&puzzle, Want::All, Some(MOST as u64)).0 {
            Verdict::Solution { solution, unique, count, others, .. } => {
                let found: Vec<Solution> = std::iter::once(solution).chain(others).collect();
                for solution in &found {
                    prop_assert_eq!(check(&puzzle, solution), Ok(()));
                }
                prop_assert_eq!(found.len(), there.len());
                prop_assert_eq!(unique, Some(there.len() == 1));
                let distinct: HashSet<Solution> = found.into_iter().collect();
                prop_assert_eq!(distinct.len(), there.len());
                if there.len() < MOST {
                    prop_assert_eq!(distinct, there.iter().cloned().collect::<HashSet<_>>());
                    prop_assert_eq!(count, Some(Count::exactly(there.len())));
                } else {
                    prop_assert_eq!(count, Some(Count::at_least(MOST)));
                }
            }
            Verdict::Unsolvable { .. } => prop_assert!(there.is_empty()),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

/// The two boards of the Python program's page, whose flows may touch themselves. On the first its
/// product has 5,104 combinations and its solution is the 5,077th, on the second it is the
/// 8,221,721st of 16,679,520.
#[test]
fn solves_the_boards_of_the_python_program() {
    let rules = Rules {
        cover: true,
        touch: true,
    };
    let boards = [
        (
            "..123\n.....\n1..5.\n...43\n25..4",
            "11123\n12223\n12553\n22543\n25544",
            58.0,
            5104.0,
        ),
        (
            "1.3..6\n2.12..\n......\n.45...\n.5.34.\n.....6",
            "113336\n211236\n222236\n445336\n455346\n444446",
            125.0,
            16_679_520.0,
        ),
    ];
    for (board, solved, paths, product) in boards {
        let puzzle = read(board).with_rules(rules);
        let (verdict, effort) = ask(&puzzle, Want::Count, None);
        let Verdict::Solution {
            solution, count, ..
        } = verdict
        else {
            panic!("{verdict:?}");
        };
        assert_eq!(count, Some(Count::exactly(1)));
        let colour_at = solved.replace('\n', "").into_bytes();
        for flow in &solution.flows {
            let letters: HashSet<u8> = flow.cells.iter().map(|&cell| colour_at[cell]).collect();
            assert_eq!(letters.len(), 1, "{flow:?}");
        }
        assert_eq!(effort.figures["paths"], paths);
        assert_eq!(effort.figures["product"], product);
        note!(
            "{paths} paths, {product} combinations, {:?} tried",
            effort.nodes
        );
    }
}

#[test]
fn several_pairs_of_a_colour_are_paired_in_every_way() {
    // Side by side, or one above the other.
    let (verdict, _) = ask(&read("A.A\nA.A"), Want::Count, None);
    let Verdict::Solution { count, .. } = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(count, Some(Count::exactly(1)));
    let (verdict, _) = ask(&read("AA\nAA"), Want::All, None);
    let Verdict::Solution { others, unique, .. } = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!((unique, others.len()), (Some(false), 1));
}

#[test]
fn reports_which_colour_can_not_be_joined() {
    let (verdict, _) = ask(&read("AB.\nB..\n..A"), Want::Unique, None);
    assert_eq!(
        verdict,
        Verdict::unsolvable(Some(
            "colour A: no path joins its terminals, even alone on the board".to_owned()
        ))
    );
}

#[test]
fn gives_up_at_its_limit_of_paths() {
    let puzzle = read("A....\n.....\n.....\n.....\n....A").with_rules(LOOSE);
    let give_up_after = |max_paths| {
        let config = Config {
            want: Want::Count,
            max_paths,
            ..Config::default()
        };
        answer(&puzzle, &config, Cancel::never()).unwrap().0
    };
    assert_eq!(
        give_up_after(8511),
        Verdict::unknown("the colours have more than 8511 paths (max_paths)")
    );
    let Verdict::Solution { count, .. } = give_up_after(8512) else {
        panic!("no solution");
    };
    assert_eq!(count, Some(Count::exactly(8512)));
}

#[test]
fn gives_up_when_cancelled() {
    // Millions of paths, and nothing but paths to walk.
    let puzzle = read("A.......\n........\n........\n........\n........\n........\n.......A");
    let puzzle = puzzle.with_rules(LOOSE);
    for questions in [0, 1, 7] {
        let asked = AtomicU32::new(0);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= questions;
        let result = answer(&puzzle, &Config::default(), Cancel::by(&cancelled));
        assert_eq!(
            result.map_err(|error| error.to_string()),
            Err("cancelled".to_owned())
        );
        assert_eq!(asked.into_inner(), questions + 1);
    }
}

#[test]
fn solves_small_levels_as_they_are_meant() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let (mut solved, mut given_up) = (0, 0);
    for line in text.lines() {
        let level = level::parse(line).unwrap();
        if level.puzzle.board().cells().count() > 36 {
            continue;
        }
        match ask(&level.puzzle, Want::Unique, None).0 {
            Verdict::Solution {
                solution, unique, ..
            } => {
                assert_eq!(solution, level.solution, "{line}");
                assert_eq!(unique, Some(true), "{line}");
                solved += 1;
            }
            Verdict::Unknown { .. } => given_up += 1,
            other => panic!("{line}: {other:?}"),
        }
    }
    note!("{solved} levels of up to 36 cells solved, {given_up} with too many paths");
}

#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_times() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let levels: Vec<_> = text
        .lines()
        .map(|line| level::parse(line).unwrap())
        .collect();
    for side in 5..=7 {
        let mut times = Vec::new();
        let mut given_up = 0;
        for level in &levels {
            let board = level.puzzle.board();
            if !board.is_plain_rectangle() || (board.rows(), board.cols()) != (side, side) {
                continue;
            }
            let begin = std::time::Instant::now();
            match ask(&level.puzzle, Want::Unique, None).0 {
                Verdict::Unknown { .. } => given_up += 1,
                _ => times.push(begin.elapsed().as_secs_f64() * 1e3),
            }
            if times.len() == 40 {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        let Some(worst) = times.last() else { continue };
        note!(
            "{side}x{side}: {} levels, median {:.2} ms, worst {worst:.2} ms, {given_up} given up",
            times.len(),
            times[times.len() / 2]
        );
    }
}
