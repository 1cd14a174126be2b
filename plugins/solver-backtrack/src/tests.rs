//! Small boards of every kind against another enumeration, the C program's table of paths, real
//! levels, and a cancelled run.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use flowpipe_plugin::puzzle::message::{Count, Effort, Verdict};
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Solution, Terminal, check, level, text};
use flowpipe_plugin::{Cancel, Want};
use flowpipe_sat::testing::{brute_force, samples::any_puzzle};
use flowpipe_testing::{note, shared_puzzles};
use proptest::prelude::*;

use crate::answer::answer;
use crate::config::Config;

/// The C program's rules.
const LOOSE: Rules = Rules {
    cover: false,
    touch: true,
};

fn ask(puzzle: &Puzzle, want: Want, limit: Option<u64>, trim: bool) -> (Verdict, Effort) {
    let config = Config { want, limit, trim };
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
        for trim in [false, true] {
            match ask(&puzzle, Want::All, Some(MOST as u64), trim).0 {
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
                Verdict::Unsolvable { .. } => prop_assert!(there.is_empty(), "trim {}", trim),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn trimming_never_makes_more_moves(puzzle in any_puzzle()) {
        let moves = |trim| ask(&puzzle, Want::Count, Some(300), trim).1.nodes.unwrap();
        prop_assert!(moves(true) <= moves(false));
    }
}

/// One pair at opposite corners of a square.
fn corners(side: usize) -> Puzzle {
    let terminals = [0, side * side - 1].map(|cell| Terminal { cell, colour: 0 });
    let board = Board::rectangle(side, side).unwrap();
    Puzzle::new(board, terminals.to_vec(), LOOSE).unwrap()
}

/// The C program's table: paths between opposite corners, sides 2 to 6. (Side 7, with 575,780,564
/// paths, takes some ten minutes of one core.)
const TABLE: [(usize, u64); 5] = [(2, 2), (3, 12), (4, 184), (5, 8512), (6, 1_262_816)];

fn counts_paths(side: usize, paths: u64) {
    for trim in [false, true] {
        let (verdict, effort) = ask(&corners(side), Want::Count, None, trim);
        let Verdict::Solution { count, .. } = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(count, Some(Count::exactly(paths)), "side {side}");
        assert_eq!(effort.figures["paths"], paths as f64);
    }
}

#[test]
fn counts_paths_as_the_c_program() {
    for &(side, paths) in &TABLE[..4] {
        counts_paths(side, paths);
    }
}

#[test]
#[ignore = "half a minute without optimisation: run it by hand in a release build"]
fn counts_paths_as_the_c_program_on_its_largest_board() {
    let (side, paths) = TABLE[4];
    let begin = cpu_seconds();
    counts_paths(side, paths);
    let seconds = cpu_seconds() - begin;
    note!("side {side}: {paths} paths, without and with trimming {seconds:.1} s of CPU");
}

#[test]
fn trims_what_can_not_be_crossed() {
    // Two pairs must cross column 2, which has one free cell: no move is made.
    let puzzle = read("A#A\n...\nB#B").with_rules(LOOSE);
    let (verdict, effort) = ask(&puzzle, Want::One, None, true);
    assert_eq!(
        verdict,
        Verdict::unsolvable(Some(
            "column 2: more pairs must cross it than it has free cells".to_owned()
        ))
    );
    assert_eq!(effort.nodes, Some(0));
    let (verdict, effort) = ask(&puzzle, Want::One, None, false);
    assert_eq!(verdict, Verdict::unsolvable(None));
    assert!(effort.nodes > Some(0));
}

#[test]
fn what_wraps_around_is_not_trimmed() {
    // Both pairs go around the back of the full column.
    let level = level::parse("W_5:2,0,1,3;1,0,4,3;6,5,9,8;2,7").unwrap();
    let (verdict, _) = ask(&level.puzzle, Want::Unique, None, true);
    assert_eq!(verdict, Verdict::solution(level.solution, Some(true)));
}

#[test]
fn gives_up_when_cancelled() {
    for questions in [0, 1, 7] {
        let asked = AtomicU32::new(0);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= questions;
        let config = Config {
            want: Want::Count,
            ..Config::default()
        };
        let result = answer(&corners(12), &config, Cancel::by(&cancelled));
        assert_eq!(
            result.map_err(|error| error.to_string()),
            Err("cancelled".to_owned())
        );
        assert_eq!(asked.into_inner(), questions + 1);
    }
}

#[test]
fn a_large_board_overflows_nothing() {
    // One winding path of 40,000 cells, up and down again and again.
    let side = 200;
    let walls = (0..side - 1).flat_map(|col| {
        let open = if col % 2 == 0 { side - 1 } else { 0 };
        let rows = (0..side).filter(move |&row| row != open);
        rows.map(move |row| (row * side + col, row * side + col + 1))
    });
    let board = Board::new(flowpipe_plugin::puzzle::board::Description {
        rows: side,
        cols: side,
        walls: walls.collect(),
        ..Default::default()
    })
    .unwrap();
    let terminals = [0, side - 1].map(|cell| Terminal { cell, colour: 0 });
    let rules = Rules {
        cover: true,
        touch: true,
    };
    let puzzle = Puzzle::new(board, terminals.to_vec(), rules).unwrap();
    let (verdict, effort) = ask(&puzzle, Want::Unique, None, true);
    assert!(matches!(
        verdict,
        Verdict::Solution {
            unique: Some(true),
            ..
        }
    ));
    assert_eq!(effort.nodes, Some((side * side - 1) as u64));
}

#[test]
fn solves_small_levels_as_they_are_meant() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut solved = 0;
    for line in text.lines() {
        let level = level::parse(line).unwrap();
        if level.puzzle.board().cells().count() > 25 {
            continue;
        }
        for trim in [false, true] {
            let (verdict, _) = ask(&level.puzzle, Want::Unique, None, trim);
            assert_eq!(
                verdict,
                Verdict::solution(level.solution.clone(), Some(true)),
                "{line}"
            );
        }
        solved += 1;
    }
    note!("{solved} levels of up to 25 cells solved");
}

/// As in the C program's table: levels of 9x9 with 10, 9, 8 and 7 pairs, to the first solution.
#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_times() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let levels: Vec<_> = text
        .lines()
        .map(|line| level::parse(line).unwrap().puzzle)
        .collect();
    for (kind, rules) in [
        ("the C program's rules", LOOSE),
        ("Flow Free's rules", Rules::default()),
    ] {
        for pairs in [10, 9, 8, 7] {
            let fits = |puzzle: &&Puzzle| {
                let board = puzzle.board();
                let is_nine = board.is_plain_rectangle() && (board.rows(), board.cols()) == (9, 9);
                is_nine && puzzle.flow_count() == pairs
            };
            let chosen: Vec<Puzzle> = levels.iter().filter(fits).take(5).cloned().collect();
            let chosen = chosen.into_iter().map(|puzzle| puzzle.with_rules(rules));
            let [off, on] = [false, true].map(|trim| median(chosen.clone(), trim));
            note!("{kind}, 9x9, {pairs} pairs: without trimming {off}, with it {on}");
        }
    }
}

/// What this thread has computed so far, as Linux reports it: other work on the machine does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}

/// The median of the CPU time and of the moves to the first solution, in words.
fn median(puzzles: impl Iterator<Item = Puzzle>, trim: bool) -> String {
    const MOST: f64 = 5.0;
    let config = Config {
        want: Want::One,
        limit: None,
        trim,
    };
    let mut runs: Vec<(f64, u64)> = puzzles
        .map(|puzzle| {
            let begin = cpu_seconds();
            let cancelled = || cpu_seconds() - begin > MOST;
            match answer(&puzzle, &config, Cancel::by(&cancelled)) {
                Ok((_, effort)) => (cpu_seconds() - begin, effort.nodes.unwrap()),
                Err(_) => (f64::INFINITY, u64::MAX),
            }
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let late = runs.iter().filter(|run| run.1 == u64::MAX).count();
    match runs[runs.len() / 2] {
        (_, u64::MAX) => format!("more than {MOST} s ({late} of {} do)", runs.len()),
        (seconds, moves) => format!(
            "{seconds:.4} s, {moves} moves ({late} of {} past {MOST} s)",
            runs.len()
        ),
    }
}
