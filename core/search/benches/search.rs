//! The search by class of boards: a whole call, proof of uniqueness and building of the solution included.
//! One iteration is one pass over the boards of a class.
//!
//! `cargo bench -p flowpipe-search`; for median, 99 % and worst by board see the example `search_times`.

#[path = "support/boards.rs"]
mod boards;
#[path = "support/corpus.rs"]
mod corpus;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flowpipe_puzzle::{Board, Puzzle};
use flowpipe_search::{Limits, Search};

use boards::Random;

fn grown(criterion: &mut Criterion) {
    for (size, flows, count) in [
        (5, 5, 50),
        (9, 9, 50),
        (15, 14, 50),
        (20, 20, 20),
        (30, 35, 5),
    ] {
        let Ok(board) = Board::rectangle(size, size) else {
            continue;
        };
        let mut random = Random(size as u64);
        let made = std::iter::repeat_with(|| boards::unique(&board, flows, &mut random, 100_000));
        let puzzles: Vec<Puzzle> = made.flatten().map(|made| made.0).take(count).collect();
        class(criterion, &format!("grown {size:02}"), &puzzles);
    }
}

fn levels(criterion: &mut Criterion) {
    for (name, puzzles) in corpus::levels() {
        class(criterion, &format!("levels {name}"), &puzzles);
    }
}

fn class(criterion: &mut Criterion, name: &str, puzzles: &[Puzzle]) {
    let mut search = Search::new();
    let mut group = criterion.benchmark_group("search");
    group.throughput(Throughput::Elements(puzzles.len() as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let found = puzzles
                .iter()
                .map(|puzzle| search.run(puzzle, &Limits::default(), &|| false));
            found.map(|found| found.count).sum::<u64>()
        });
    });
}

criterion_group!(benches, grown, levels);
criterion_main!(benches);
