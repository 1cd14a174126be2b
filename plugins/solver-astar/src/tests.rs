//! Small boards of every kind against plain enumeration, real levels, goals, and cancelled runs. The
//! notebook's boards are in [`notebook`].

mod notebook;

use std::sync::atomic::{AtomicU32, Ordering};

use flowpipe_plugin::Cancel;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, check, level, text};
use flowpipe_sat::testing::{brute_force, samples::any_puzzle};
use flowpipe_testing::{note, shared_puzzles};
use proptest::prelude::*;

use crate::answer::answer;
use crate::config::{Choice, Config, GoalText, Heuristic, Ties};
use crate::goal::Goal;

fn ask(puzzle: &Puzzle, config: &Config) -> (Verdict, Effort) {
    let goal = Goal::of(config).unwrap();
    answer(puzzle, config, goal.as_ref(), Cancel::never()).unwrap()
}

fn read(text: &str) -> Puzzle {
    text::read(text).remove(0).puzzle.unwrap().0
}

/// Each way to search that needs no goal.
fn all_configs() -> Vec<Config> {
    let mut configs = Vec::new();
    for heuristic in [
        Heuristic::Remaining,
        Heuristic::Manhattan,
        Heuristic::Trapped,
    ] {
        for choice in [Choice::MostConstrained, Choice::Closest] {
            for prune in [true, false] {
                for ties in [Ties::Deepest, Ties::Heap] {
                    configs.push(Config {
                        heuristic,
                        choice,
                        prune,
                        ties,
                        ..Config::default()
                    });
                }
            }
        }
    }
    configs
}

/// The flows of a solution as they stand in a config.
fn paths(solution: &flowpipe_plugin::puzzle::Solution) -> GoalText {
    GoalText::Paths(
        solution
            .flows
            .iter()
            .map(|flow| flow.cells.clone())
            .collect(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_a_solution_exactly_where_there_is_one(puzzle in any_puzzle()) {
        let there = brute_force::solutions(&puzzle, 2);
        let mut configs = all_configs();
        for solution in &there {
            for heuristic in [Heuristic::Misplaced, Heuristic::MisplacedFirst] {
                let goal = Some(paths(solution));
                configs.push(Config { heuristic, goal, ..Config::default() });
            }
        }
        for config in configs {
            match ask(&puzzle, &config).0 {
                Verdict::Solution { solution, unique, .. } => {
                    prop_assert_eq!(check(&puzzle, &solution), Ok(()));
                    prop_assert_eq!(unique, None);
                    prop_assert!(!there.is_empty());
                    if there.len() == 1 {
                        prop_assert_eq!(&solution, &there[0]);
                    }
                }
                Verdict::Unsolvable { reason, .. } => prop_assert!(there.is_empty(), "{:?} {:?}", config, reason),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

#[test]
fn reports_why_a_board_is_dead_at_once() {
    let why = |text: &str| match ask(&read(text), &Config::default()).0 {
        Verdict::Unsolvable { reason, .. } => reason.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        why("AB.\nB..\n..A"),
        "colour A: nothing leads from the terminal at row 1, column 1 to another of its colour"
    );
    assert_eq!(
        why("A#.\nA.."),
        "row 1, column 3: a dead end, which no flow can pass"
    );
    assert_eq!(
        why("A#..\nA#.."),
        "row 1, column 3: no flow can get there and on to its other end"
    );
}

#[test]
fn gives_up_when_it_keeps_too_many_boards() {
    let config = Config {
        max_states: 20,
        prune: false,
        ..Config::default()
    };
    let (verdict, effort) = ask(&read("A...\n....\n....\n...A"), &config);
    assert_eq!(
        verdict,
        Verdict::unknown("20 boards were kept and more would be (max_states)")
    );
    assert_eq!(effort.figures["states"], 20.0);
}

#[test]
fn a_heuristic_that_needs_a_goal_is_refused_without_one() {
    let config: Config = serde_json::from_str(r#"{"heuristic": "misplaced"}"#).unwrap();
    assert_eq!(
        Goal::of(&config).unwrap_err().to_string(),
        "this heuristic compares with a known solution: give it as `goal`, or take another \
         heuristic, such as `remaining`"
    );
    let config: Config = serde_json::from_str(r#"{"goal": "3,0,1,1;0,x"}"#).unwrap();
    assert_eq!(
        Goal::of(&config).unwrap_err().to_string(),
        "`goal` is no Flow Free level line: column 11: expected a flow: cells of the board with `,` \
         between, found \"x\""
    );
}

#[test]
fn a_goal_is_taken_in_either_form_and_checked_against_the_puzzle() {
    let puzzle = read("A.A\nB.B");
    let ask = |goal: &str| {
        let config = format!(r#"{{"heuristic": "misplaced", "goal": {goal}}}"#);
        ask(&puzzle, &serde_json::from_str(&config).unwrap()).0
    };
    let right = ask("[[5, 4, 3], [0, 1, 2]]");
    assert!(matches!(right, Verdict::Solution { .. }), "{right:?}");
    assert_eq!(ask(r#""3:2,0,1,2;0,1,2;3,4,5""#), right);
    assert_eq!(
        ask("[[0, 1, 2], [3, 5]]"),
        Verdict::unsupported(
            "the goal that was given is no solution of this puzzle: row 2, column 3: flow B \
                     jumps here from a cell that does not touch this one"
        )
    );
    for wrong in ["[]", "[[]]", "[[99]]"] {
        let verdict = ask(wrong);
        assert!(
            matches!(verdict, Verdict::Unsupported { .. }),
            "{verdict:?}"
        );
    }
}

#[test]
fn gives_up_when_cancelled() {
    let empty = ".".repeat(18);
    let wide = format!("A{empty}B\n{}B{empty}A", format!(".{empty}.\n").repeat(18));
    let config = Config {
        heuristic: Heuristic::Trapped,
        prune: false,
        ..Config::default()
    };
    for questions in [0, 1, 5, 50] {
        let asked = AtomicU32::new(0);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= questions;
        let result = answer(&read(&wide), &config, None, Cancel::by(&cancelled));
        assert_eq!(
            result.map_err(|error| error.to_string()),
            Err("cancelled".to_owned())
        );
        assert_eq!(asked.into_inner(), questions + 1);
    }
}

#[test]
fn solves_levels_as_they_are_meant() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut solved = 0;
    for line in text.lines() {
        let level = level::parse(line).unwrap();
        if level.puzzle.board().cells().count() > 49 {
            continue;
        }
        let (verdict, _) = ask(&level.puzzle, &Config::default());
        assert_eq!(verdict, Verdict::solution(level.solution, None), "{line}");
        solved += 1;
    }
    note!("{solved} levels of up to 49 cells solved");
}

/// Each way to search on real levels.
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
    for side in [5, 7, 8, 9, 10, 12, 14] {
        let square = |level: &&level::Level| {
            let board = level.puzzle.board();
            board.is_plain_rectangle() && (board.rows(), board.cols()) == (side, side)
        };
        for config in all_configs() {
            if side > 7 && !(config.prune && config.ties == Ties::Deepest) {
                continue;
            }
            let config = Config {
                max_states: 300_000,
                ..config
            };
            let (mut times, mut expansions, mut late) = (Vec::new(), Vec::new(), 0);
            for level in levels.iter().filter(square).take(20) {
                let begin = std::time::Instant::now();
                let (verdict, effort) = ask(&level.puzzle, &config);
                late += usize::from(matches!(verdict, Verdict::Unknown { .. }));
                times.push(begin.elapsed().as_secs_f64() * 1e3);
                expansions.push(effort.nodes.unwrap());
            }
            times.sort_by(f64::total_cmp);
            expansions.sort_unstable();
            let Some(worst) = times.last() else { continue };
            note!(
                "{side}x{side} {:?} {:?} prune {} {:?}: {} levels, median {:.2} ms, worst {worst:.2} ms, \
                 median {} expansions, {late} gave up",
                config.heuristic,
                config.choice,
                config.prune,
                config.ties,
                times.len(),
                times[times.len() / 2],
                expansions[expansions.len() / 2]
            );
        }
    }
}
