//! Ways with the fewest segments, by class of boards: corridor, count, width and points of every flow in
//! one direction. One iteration is one pass over the boards of a class.
//!
//! `cargo bench -p flowpipe-path --bench minlink`; for median, 99 % and worst by flow and by board see the
//! example `path_times`.

#[path = "support/flows.rs"]
mod flows;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flowpipe_path::{Corridor, Inner, Minlink};

fn minlink(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("minlink");
    for (class, boards) in flows::classes() {
        let flows: usize = boards.iter().map(|board| board.legs.len()).sum();
        group.throughput(Throughput::Elements(flows as u64));
        let mut minlink = Minlink::default();
        group.bench_function(class, |bencher| {
            bencher.iter(|| {
                let legs = boards
                    .iter()
                    .flat_map(|board| board.legs.iter().map(|leg| (&board.board, leg)));
                let ways = legs.map(|(board, leg)| {
                    minlink.fewest(&Corridor::of(board, leg, Inner::default()))
                });
                ways.map(|way| way.segments()).sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, minlink);
criterion_main!(benches);
