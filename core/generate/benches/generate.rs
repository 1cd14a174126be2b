//! Puzzles a second on one core: `cargo bench -p flowpipe-generate`.

#![allow(clippy::expect_used, reason = "a bench that can't go on should panic")]
#![allow(missing_docs, reason = "criterion's macro")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use flowpipe_generate::{Generator, Kind, Recipe, Size};

/// Each iteration makes another puzzle.
fn generate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    group.throughput(Throughput::Elements(1)).sample_size(10);
    let mut generator = Generator::new();
    let mut measure = |cols, rows, kinds: &[Kind]| {
        let size = Size::new(cols, rows).expect("a size");
        let recipe = Recipe::new(size, kinds, None).expect("a recipe");
        let name = kinds.first().map_or("plain".to_owned(), Kind::to_string);
        group.bench_function(BenchmarkId::new(name, size), |bencher| {
            let mut seed = 0;
            bencher.iter(|| {
                seed += 1;
                generator.generate(&recipe, seed)
            });
        });
    };
    for (cols, rows) in [(5, 5), (9, 9), (15, 18), (20, 20), (40, 40)] {
        measure(cols, rows, &[]);
    }
    for kind in Kind::ALL {
        measure(9, 9, &[kind]);
        measure(15, 18, &[kind]);
    }
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
