//! Real levels, where they are there: each proved unique, with touching too where that is quick.

use flowpipe_plugin::Want;
use flowpipe_plugin::puzzle::message::{Count, Verdict};
use flowpipe_plugin::puzzle::{Rules, level};
use flowpipe_testing::{note, shared_puzzles};

use crate::tests::{loose, never, wanting};

fn levels(text: &str) -> impl Iterator<Item = level::Level> {
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")))
}

#[test]
fn proves_every_level_unique() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut frontier = wanting(Want::Unique);
    let mut proved = 0;
    for level in levels(&text) {
        let verdict = frontier.solve(&level.puzzle, &never).unwrap();
        let expected = Verdict::solution(level.solution.clone(), Some(true))
            .with_count(Some(Count::exactly(1)));
        assert_eq!(verdict, expected, "{level}");
        proved += 1;
    }
    note!("{proved} levels proved unique");
}

#[test]
fn small_levels_stay_unique_where_flows_may_touch_themselves() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut frontier = wanting(Want::Unique);
    let mut proved = 0;
    for level in levels(&text).filter(|level| level.puzzle.board().len() <= 81) {
        let puzzle = loose(level.puzzle.clone(), true);
        let verdict = frontier.solve(&puzzle, &never).unwrap();
        let expected = Verdict::solution(level.solution.clone(), Some(true));
        let Verdict::Solution {
            solution, unique, ..
        } = verdict
        else {
            panic!("{level}: {verdict:?}");
        };
        assert_eq!(Verdict::solution(solution, unique), expected, "{level}");
        proved += 1;
    }
    note!("{proved} levels proved unique with touching");
}

#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_times() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    for touch in [false, true] {
        for size in [
            "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15:18", "W_5", "W_9", "X_9",
            "9+B", "11+B",
        ] {
            let of_size: Vec<level::Level> = levels(&text)
                .filter(|level| level.to_string().split(',').next() == Some(size))
                .take(40)
                .collect();
            let mut frontier = wanting(Want::Count);
            let mut figures: Vec<(f64, u64)> = Vec::new();
            for level in of_size {
                let puzzle = level.puzzle.with_rules(Rules { cover: true, touch });
                let mut best = f64::MAX;
                for _ in 0..3 {
                    let begin = std::time::Instant::now();
                    frontier.solve(&puzzle, &never).unwrap();
                    best = best.min(begin.elapsed().as_secs_f64() * 1e3);
                    if best > 10.0 {
                        break;
                    }
                }
                figures.push((best, frontier.effort().nodes.unwrap_or(0)));
            }
            figures.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (Some(worst), half) = (figures.last(), figures.len() / 2) else {
                continue;
            };
            note!(
                "touch {touch} {size}: {} boards, median {:.3} ms ({} states), worst {:.3} ms ({} states)",
                figures.len(),
                figures[half].0,
                figures[half].1,
                worst.0,
                worst.1,
            );
        }
    }
}
