//! The solver against brute force, the corpus of levels, and a cancelled run.

mod table;

use std::cell::Cell;

use flowpipe_plugin::puzzle::message::{
    Effort, FrameNote, Reading, SIGHTING, SeenBoard, Sighting, Solved, Verdict,
};
use flowpipe_plugin::puzzle::{Board, Geometry, Puzzle, Rules, Terminal, check, level};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::cancelled::Cancelled;
use crate::config::{ArcConsistency, Config, Operators};
use crate::samples::NESTED;
use crate::solve::{SolveError, solve};
use flowpipe_sat::testing::brute_force;
use flowpipe_sat::testing::samples::{any_puzzle_of_single_pairs as any_puzzle, puzzle};
use flowpipe_testing::{note, shared_puzzles};

/// Has a solution, and leaves much to breed without arc consistency.
const WINDING: &str = "A....\n.BCD.\n.B.DE\n.A.C.\n....E";

fn never() -> bool {
    false
}

fn answer(puzzle: &Puzzle, config: &Config) -> (Verdict, Effort) {
    let mut effort = Effort::default();
    let verdict = solve(puzzle, config, &never, &mut effort).unwrap();
    (verdict, effort)
}

/// Every mix of arc consistency and operators, with little time to converge.
fn short_configs() -> impl Iterator<Item = Config> {
    use ArcConsistency::{Better, Off, Published};
    [Off, Published, Better]
        .into_iter()
        .flat_map(|arc_consistency| {
            [Operators::Published, Operators::Better].map(|operators| Config {
                arc_consistency,
                operators,
                population: Some(8),
                generations: Some(4),
                runs: 2,
                ..Config::default()
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn claims_nothing_that_brute_force_denies(puzzle in any_puzzle()) {
        let solutions = brute_force::solutions(&puzzle, 2);
        for config in short_configs() {
            match answer(&puzzle, &config).0 {
                Verdict::Solution { solution, unique, .. } => {
                    prop_assert_eq!(check(&puzzle, &solution), Ok(()));
                    if unique.is_some() {
                        prop_assert_eq!(unique, Some(true));
                        prop_assert_eq!(&[solution], solutions.as_slice(), "{:?}", config);
                    }
                }
                Verdict::Unsolvable { reason, .. } => {
                    prop_assert!(reason.is_some());
                    prop_assert!(solutions.is_empty(), "{:?}, {:?}, {:?}", config, reason, solutions);
                }
                Verdict::Unknown { .. } => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

}

proptest! {
    // Always the same puzzles: it may fail on one in many thousands.
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn small_puzzles_with_a_solution_are_solved(puzzle in any_puzzle()) {
        let puzzle = puzzle.with_rules(Rules::default());
        if !brute_force::solutions(&puzzle, 1).is_empty() {
            let verdict = answer(&puzzle, &Config::default()).0;
            prop_assert!(matches!(verdict, Verdict::Solution { .. }), "{:?}", verdict);
        }
    }
}

#[test]
fn a_puzzle_that_cannot_be_is_refused_with_a_reason() {
    let (verdict, effort) = answer(&puzzle("AB\nBA"), &Config::default());
    let reason =
        "arc consistency: no flow can pass row 1, column 1 in any way that its neighbours allow";
    assert_eq!(verdict, Verdict::unsolvable(Some(reason.to_owned())));
    assert_eq!(effort, Effort::nodes(0));
}

#[test]
fn too_many_flows_are_refused() {
    let terminals = (0..256_u16).map(|index| Terminal {
        cell: usize::from(index),
        colour: index / 2,
    });
    let board = Board::rectangle(16, 16).unwrap();
    let puzzle = Puzzle::new(board, terminals.collect(), Rules::default()).unwrap();
    let (verdict, _) = answer(&puzzle, &Config::default());
    assert!(
        matches!(verdict, Verdict::Unsupported { .. }),
        "{verdict:?}"
    );
}

#[test]
fn what_arc_consistency_settles_alone_is_proved() {
    let (verdict, effort) = answer(&puzzle(NESTED), &Config::default());
    assert!(
        matches!(
            verdict,
            Verdict::Solution {
                unique: Some(true),
                ..
            }
        ),
        "{verdict:?}"
    );
    assert_eq!(effort, Effort::nodes(0).with("fixed_cells", 8.0));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for mut config in short_configs() {
        config.arc_consistency = ArcConsistency::Off;
        config.runs = 1;
        let efforts = [1, 2, 1].map(|seed| {
            config.seed = seed;
            answer(&puzzle(WINDING), &config)
        });
        assert_eq!(efforts[0], efforts[2], "{config:?}");
        assert_ne!(efforts[0].1, efforts[1].1, "{config:?}");
    }
}

#[test]
fn a_run_that_does_not_converge_reports_what_it_reached() {
    let config = Config {
        arc_consistency: ArcConsistency::Off,
        operators: Operators::Published,
        population: Some(2),
        generations: Some(1),
        runs: 2,
        ..Config::default()
    };
    let (verdict, effort) = answer(&puzzle(WINDING), &config);
    let best = effort.series["best"]
        .iter()
        .copied()
        .fold(f64::MAX, f64::min);
    let reason = format!(
        "not converged: the best of {} individuals in 5 generations has fitness {best}, a solution \
         has 0; try a larger population, more runs or another seed",
        effort.nodes.unwrap()
    );
    assert_eq!(verdict, Verdict::unknown(reason));
    // Two individuals and one generation, then four and two.
    assert_eq!(effort.figures["population"], 4.0);
    assert_eq!(effort.figures["generations"], 5.0);
    assert_eq!(effort.figures["runs"], 2.0);
    for generation in 0..5 {
        let [best, average, worst] =
            ["best", "average", "worst"].map(|name| effort.series[name][generation]);
        assert!(best <= average && average <= worst);
    }
}

#[test]
fn a_cancelled_run_ends() {
    for config in short_configs() {
        for questions in [0, 1, 7, 30] {
            let asked = Cell::new(0);
            let cancelled = || {
                asked.set(asked.get() + 1);
                asked.get() > questions
            };
            let config = Config {
                arc_consistency: ArcConsistency::Off,
                population: Some(1000),
                ..config.clone()
            };
            // Three flows that can't all pass the gap: never solved.
            let puzzle = puzzle("A..#...\nB..#..A\nC.....B\n...#..C\n...#...");
            let result = solve(&puzzle, &config, &cancelled, &mut Effort::default());
            assert_eq!(
                result,
                Err(SolveError::Cancelled(Cancelled)),
                "{questions}: {config:?}"
            );
            assert!(asked.get() <= questions + 2);
        }
    }
}

#[test]
fn levels_up_to_eight_by_eight_converge() {
    converge(&["5", "6", "7", "8"], 1);
}

#[test]
fn larger_levels_converge() {
    converge(&["9", "10", "W_5", "W_9", "X_6", "X_8", "8+B", "10+B"], 6);
}

#[test]
fn messages_include_the_effort_of_answers() {
    let sighting = Sighting::new(
        FrameNote::of("test"),
        Reading::Board(Box::new(SeenBoard::new(
            puzzle(WINDING),
            Geometry::axis_aligned(0.0, 0.0, 50.0, 50.0, 5, 5),
            Vec::new(),
        ))),
    );
    let config = serde_json::json!({
        "seed": 7, "arc_consistency": "off", "operators": "published",
        "population": 6, "generations": 3, "runs": 1,
    });
    let mut harness = flowpipe_plugin::harness!(crate::SolverGenetic, config.clone()).unwrap();
    let emitted = harness.send(0, SIGHTING, &sighting).unwrap();
    let solved: Solved = serde_json::from_value(emitted[0].body.clone()).unwrap();
    let (verdict, effort) = answer(&puzzle(WINDING), &serde_json::from_value(config).unwrap());
    assert_eq!(
        (solved.answer, &solved.effort),
        (verdict.canonical(), &effort)
    );
    assert_eq!(
        effort.series["worst"].len() as f64,
        effort.figures["generations"]
    );
}

/// Every so many levels of some sizes are solved as they are meant.
fn converge(sizes: &[&str], step: usize) {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let (mut count, mut settled) = (0, 0);
    for &size in sizes {
        let of_size = text
            .lines()
            .filter(|line| line.split(',').next() == Some(size));
        for line in of_size.step_by(step) {
            let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let (verdict, effort) = answer(&level.puzzle, &Config::default());
            let Verdict::Solution {
                solution, unique, ..
            } = verdict
            else {
                panic!("{line}: {verdict:?}");
            };
            assert_eq!(solution, level.solution.canonical(), "{line}");
            assert_eq!(unique.is_some(), effort.nodes == Some(0), "{line}");
            settled += usize::from(unique.is_some());
            count += 1;
        }
    }
    note!("{count} levels solved, {settled} of them settled by arc consistency alone");
}

#[test]
fn the_better_arc_consistency_settles_nearly_all_levels() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let config = Config {
        arc_consistency: ArcConsistency::Better,
        ..Config::default()
    };
    let (mut count, mut settled) = (0, 0);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (verdict, effort) = answer(&level.puzzle, &config);
        let Verdict::Solution { solution, .. } = verdict else {
            panic!("{line}: {verdict:?}");
        };
        assert_eq!(solution, level.solution.canonical(), "{line}");
        settled += usize::from(effort.nodes == Some(0));
        count += 1;
    }
    note!("{count} levels solved, {settled} of them settled by the better arc consistency alone");
    assert!(settled * 10 > count * 9);
}
