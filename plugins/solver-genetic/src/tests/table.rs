//! How it does by size of board: prints tables. Run by hand in a release build:
//! `cargo test --release -p solver-genetic print_table -- --ignored --nocapture`.

use std::time::Instant;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;

/// Milliseconds of work by this thread, or on the clock where the system does not report it.
fn now_ms(begin: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let worked = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    worked.map_or_else(|| begin.elapsed().as_secs_f64() * 1e3, |ns| ns / 1e6)
}

/// The boards of one size of the corpus, `W` or `W:H`, evenly spread over it.
fn boards(text: &str, size: &str, most: usize) -> Vec<Puzzle> {
    let of_size: Vec<&str> = text
        .lines()
        .filter(|line| line.split(',').next() == Some(size))
        .collect();
    let step = of_size.len().div_ceil(most).max(1);
    of_size
        .iter()
        .step_by(step)
        .map(|line| level::parse(line).unwrap().puzzle)
        .collect()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_row(name: &str, size: &str, boards: &[Puzzle], config: &Config) {
    let (mut alone, mut solved, mut first) = (0, 0, 0);
    let (mut generations, mut individuals, mut times, mut best) = (vec![], vec![], vec![], vec![]);
    let clock = Instant::now();
    for puzzle in boards {
        let begin = now_ms(clock);
        let (verdict, effort) = answer(puzzle, config);
        let time = now_ms(clock) - begin;
        if std::env::var_os("EACH").is_some() {
            println!("{time:.0} ms, {:?}, {:?}", effort.nodes, effort.figures);
        }
        match verdict {
            Verdict::Solution { unique, .. } if unique.is_some() => alone += 1,
            Verdict::Solution { .. } => {
                solved += 1;
                first += usize::from(effort.figures["runs"] == 1.0);
            }
            _ => best.push(
                effort.series["best"]
                    .iter()
                    .copied()
                    .fold(f64::MAX, f64::min),
            ),
        }
        if effort.nodes != Some(0) {
            generations.push(effort.figures["generations"]);
            individuals.push(effort.nodes.unwrap() as f64);
            times.push(time);
        }
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!(
        "{name:>24} {size:>6} {:>4} boards, {alone:>4} settled, {solved:>4} bred ({first:>4} in run 1), \
         {:>3} not (best {:>5.1}); median {:>4} generations, {:>7} individuals, {:>8.1} ms (worst {worst:.0})",
        boards.len(),
        best.len(),
        median(best.clone()),
        median(generations),
        median(individuals),
        median(times),
    );
}

#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_table() {
    let Some(text) = flowpipe_testing::shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let var = |name: &str| std::env::var(name).ok();
    let most = var("BOARDS")
        .and_then(|most| most.parse().ok())
        .unwrap_or(40);
    let sizes = var("SIZES").unwrap_or_else(|| "5 6 7 8 9 10 11 12 13 14 15 15:18".to_owned());
    let json = var("CONFIG").unwrap_or_else(|| "{}".to_owned());
    let config: Config = serde_json::from_str(&json).unwrap();
    println!("{json}");
    for size in sizes.split(' ') {
        print_row("", size, &boards(&text, size, most), &config);
    }
}

#[test]
#[ignore = "takes long: run it by hand in a release build"]
fn print_rules() {
    let mut runner = TestRunner::deterministic();
    let puzzles: Vec<Puzzle> = (0..400)
        .map(|_| any_puzzle().new_tree(&mut runner).unwrap().current())
        .collect();
    for (cover, touch) in [(true, false), (true, true), (false, false), (false, true)] {
        let rules = Rules { cover, touch };
        let (mut count, mut solved) = (0, 0);
        for puzzle in &puzzles {
            let puzzle = puzzle.clone().with_rules(rules);
            if brute_force::solutions(&puzzle, 1).is_empty() {
                continue;
            }
            count += 1;
            let verdict = answer(&puzzle, &Config::default()).0;
            solved += usize::from(matches!(verdict, Verdict::Solution { .. }));
        }
        println!("small boards of every kind, {rules:?}: {solved} of {count} solved");
    }
}
