//! The back ends beside each other, encoding and solving: `cargo bench -p flowpipe-sat --all-features --bench back_ends`.
//!
//! Real levels where they are at hand (see [`flowpipe_sat::testing`]), generated hostile boards always. One iteration
//! solves all boards of a set. The back ends of the plugins are compiled in from there: a plugin can't be linked.

#![expect(clippy::unwrap_used, reason = "a measurement that fails may end so")]

#[path = "../../../../plugins/solver-varisat/src/interrupt.rs"]
mod interrupt;
#[path = "../../../../plugins/solver-splr/src/splr.rs"]
mod splr;
#[path = "../../../../plugins/solver-varisat/src/varisat.rs"]
mod varisat;

mod boards;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use flowpipe_puzzle::{Puzzle, Rules, level};
use flowpipe_sat::testing::numberlinks;
use flowpipe_sat::{Answer, Batsat, Encoding, Options, SolveError, Want, solve};
use flowpipe_testing::shared_puzzles;

use crate::splr::Splr;
use crate::varisat::Varisat;

type Solve = fn(&Puzzle, &Options) -> Result<Answer, SolveError>;

const BACK_ENDS: [(&str, Solve); 3] = [
    ("batsat", |puzzle, options| {
        solve::<Batsat>(puzzle, options, &|| false)
    }),
    ("varisat", |puzzle, options| {
        solve::<Varisat>(puzzle, options, &|| false)
    }),
    ("splr", |puzzle, options| {
        solve::<Splr>(puzzle, options, &|| false)
    }),
];

/// Real levels of a size, under other rules where given.
fn levels(size: &str, rules: Rules) -> Vec<Puzzle> {
    let text = shared_puzzles("flowfree-levels.txt").unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| line.split(',').next() == Some(size));
    lines
        .take(20)
        .map(|line| level::parse(line).unwrap().puzzle.with_rules(rules))
        .collect()
}

fn measure(
    criterion: &mut Criterion,
    set: &str,
    puzzles: &[Puzzle],
    encodings: &[Encoding],
    want: Want,
) {
    if puzzles.is_empty() {
        return;
    }
    let mut group = criterion.benchmark_group(set);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(2));
    for &encoding in encodings {
        let options = Options {
            encoding,
            want,
            limit: None,
        };
        for (name, solve) in BACK_ENDS {
            group.bench_function(format!("{name} {encoding:?}"), |bencher| {
                bencher.iter(|| {
                    for puzzle in puzzles {
                        solve(puzzle, &options).unwrap();
                    }
                });
            });
        }
    }
}

fn back_ends(criterion: &mut Criterion) {
    const ALL: [Encoding; 3] = [Encoding::VertexEdge, Encoding::Binary, Encoding::Edges];
    const BEST: [Encoding; 1] = [Encoding::Best];
    let rules = |cover, touch| Rules { cover, touch };
    let real = levels("15:18", Rules::default());
    measure(criterion, "15x18", &real, &ALL, Want::One);
    measure(criterion, "15x18 unique", &real, &ALL[1..], Want::Unique);
    let touching = levels("14", rules(true, true));
    measure(criterion, "14x14 touching", &touching, &BEST, Want::One);
    let loose = levels("13", rules(false, false));
    measure(
        criterion,
        "13x13 not covering, unique",
        &loose,
        &BEST,
        Want::Unique,
    );
    let sparse: Vec<Puzzle> = (0..5).map(|seed| boards::sparse(50, 12, seed)).collect();
    measure(
        criterion,
        "50x50 sparse, unique",
        &sparse,
        &BEST,
        Want::Unique,
    );
    let covered: Vec<Puzzle> = (0..5).map(|seed| boards::covered(30, 12, seed)).collect();
    measure(
        criterion,
        "30x30 covered, touching",
        &covered,
        &BEST,
        Want::One,
    );
    let hard = shared_puzzles("numberlink-janko.jsonl").unwrap_or_default();
    let hard = numberlinks(&hard)
        .into_iter()
        .filter(|(id, _)| id == "janko/437_15x15");
    let hard: Vec<Puzzle> = hard.map(|(_, puzzle)| puzzle).collect();
    measure(criterion, "janko 437", &hard, &BEST, Want::One);
}

criterion_group!(benches, back_ends);
criterion_main!(benches);
