//! Prints how long the search takes by class of boards: median, 99 % and worst in microseconds, proof of
//! uniqueness and building of the solution included, each board alone.
//!
//! `cargo run --release -p flowpipe-search --example search_times [-- CLASS|FILE...]`: the classes whose names begin
//! with one of the words, and files of level lines. `levels` are the real levels, where they are there.
//!
//! It is the processor time of the calling thread, the best of some runs, without what a second sweep spends on its own
//! thread; `wall` is by the clock.

#[path = "../benches/support/boards.rs"]
mod boards;
#[path = "../benches/support/corpus.rs"]
mod corpus;

use std::path::Path;
use std::time::Instant;

use flowpipe_puzzle::{Board, Puzzle};
use flowpipe_search::{Ended, Limits, Search};
use rustix::time::{ClockId, clock_gettime};

use boards::Random;

/// Columns and rows, flows wished for, boards.
const GROWN: [(usize, usize, usize); 7] = [
    (9, 9, 300),
    (15, 14, 300),
    (20, 20, 200),
    (30, 35, 100),
    (40, 60, 50),
    (50, 100, 40),
    (100, 500, 10),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.starts_with(word));
    println!(
        "{:25} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9}",
        "class",
        "boards",
        "unique",
        "median",
        "99 %",
        "worst",
        "wall",
        "worst",
        "nodes",
        "most",
        "steps"
    );
    for (name, puzzles) in corpus::levels() {
        let name = format!("levels {name}");
        if wanted(&name) {
            measure(&name, &puzzles);
        }
    }
    for (size, flows, count) in GROWN {
        let name = format!("grown {size:03}");
        if wanted(&name) {
            measure(&name, &grown(size, flows, count));
        }
    }
    for word in &words {
        let path = Path::new(word);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        measure(&name, &corpus::read(path));
    }
}

fn grown(size: usize, flows: usize, count: usize) -> Vec<Puzzle> {
    let Ok(board) = Board::rectangle(size, size) else {
        return Vec::new();
    };
    let mut random = Random(size as u64);
    let made = std::iter::repeat_with(|| boards::unique(&board, flows, &mut random, 100_000));
    made.flatten().map(|made| made.0).take(count).collect()
}

/// Processor time of this thread, in microseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn measure(name: &str, puzzles: &[Puzzle]) {
    if puzzles.is_empty() {
        return;
    }
    let mut search = Search::new();
    let (mut times, mut wall, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut unique, mut steps) = (0, 0);
    for puzzle in puzzles {
        let begin = now();
        let found = search.run(puzzle, &Limits::default(), &|| false);
        let first = now() - begin;
        unique += usize::from(found.ended == Ended::Complete && found.count == 1);
        nodes.push(found.nodes as f64);
        steps += found.steps;
        let repeats = (200.0 / first).clamp(1.0, 100.0) as usize;
        let mut batch = || {
            let (begin, clock) = (now(), Instant::now());
            for _ in 0..repeats {
                std::hint::black_box(search.run(puzzle, &Limits::default(), &|| false));
            }
            let clock = clock.elapsed().as_secs_f64() * 1e6;
            [(now() - begin) / repeats as f64, clock / repeats as f64]
        };
        let batches = if first > 1e5 { 1 } else { 5 };
        let taken: Vec<[f64; 2]> = (0..batches).map(|_| batch()).collect();
        let best = |which: usize| {
            taken
                .iter()
                .map(|time| time[which])
                .fold(f64::MAX, f64::min)
        };
        times.push(best(0));
        wall.push(best(1));
    }
    for values in [&mut times, &mut wall, &mut nodes] {
        values.sort_by(f64::total_cmp);
    }
    let at = |values: &[f64], share: f64| values[((values.len() - 1) as f64 * share) as usize];
    println!(
        "{name:25} {:6} {unique:6} {:9.1} {:9.1} {:9.1} {:9.1} {:9.1} {:7} {:7} {:9.0}",
        puzzles.len(),
        at(&times, 0.5),
        at(&times, 0.99),
        at(&times, 1.0),
        at(&wall, 0.5),
        at(&wall, 1.0),
        at(&nodes, 0.5),
        at(&nodes, 1.0),
        steps as f64 / puzzles.len() as f64,
    );
}
