//! What counting costs, by the size of the board: the paths between opposite corners, and boards full of
//! flows, with and without touching.
//!
//! `cargo bench -p solver-frontier --bench count`. The plugin is a dynamic library, which a bench cannot
//! link to: its modules are built into the bench instead.
#![allow(
    dead_code,
    unused_imports,
    clippy::expect_used,
    clippy::panic,
    reason = "a bench ends by panicking, and uses a part of the modules"
)]

#[path = "../src/border.rs"]
mod border;
#[path = "../src/chords.rs"]
mod chords;
#[path = "../src/config.rs"]
mod config;
#[path = "../src/domains.rs"]
mod domains;
#[path = "../src/fields.rs"]
mod fields;
#[path = "../src/fragments.rs"]
mod fragments;
#[path = "../src/layer.rs"]
mod layer;
#[path = "../src/list.rs"]
mod list;
#[path = "../src/mates.rs"]
mod mates;
#[path = "../src/network.rs"]
mod network;
#[path = "../src/order.rs"]
mod order;
#[path = "../src/plan.rs"]
mod plan;
#[path = "../src/race.rs"]
mod race;
#[path = "../src/residue.rs"]
mod residue;
#[path = "../src/solve.rs"]
mod solve;
#[path = "../src/squares.rs"]
mod squares;
#[path = "../src/states.rs"]
mod states;
#[path = "../src/subsets.rs"]
mod subsets;
#[path = "../src/sweep.rs"]
mod sweep;
#[path = "../src/trace.rs"]
mod trace;
#[path = "../src/watch.rs"]
mod watch;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Terminal, text};

use crate::config::Config;
use crate::solve::Frontier;

/// Boards of our own with one solution under Flow Free's rules.
const BOARDS: [(&str, &str); 3] = [
    ("5x5", "A.B.C\n..D.E\n.....\n.B.C.\n.ADE."),
    (
        "7x7",
        "......A\nB......\n.......\n..C....\n.B.....\n..DC.A.\n....D..",
    ),
    (
        "9x9",
        "A.......B\n.........\n..C...D..\n.........\n....E....\n.........\n..D...C..\n.........\nB...E...A",
    ),
];

fn paths(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("corners");
    group.sample_size(10);
    for side in [4, 6, 8, 10, 11, 12, 13] {
        let board = Board::rectangle(side, side).expect("a board");
        let ends = [0, side * side - 1].map(|cell| Terminal { cell, colour: 0 });
        let rules = Rules {
            cover: false,
            touch: true,
        };
        let puzzle = Puzzle::new(board, ends.to_vec(), rules).expect("a puzzle");
        run(&mut group, &side.to_string(), &puzzle);
    }
    group.finish();
}

fn boards(criterion: &mut Criterion) {
    for cover in [true, false] {
        for touch in [false, true] {
            let name = format!(
                "{}, {}",
                if cover { "covered" } else { "not covered" },
                if touch { "touching" } else { "no touching" }
            );
            let mut group = criterion.benchmark_group(name);
            group.sample_size(10);
            for (size, board) in BOARDS {
                let (puzzle, _) = text::read(board).remove(0).puzzle.expect("a puzzle");
                run(&mut group, size, &puzzle.with_rules(Rules { cover, touch }));
            }
            group.finish();
        }
    }
}

fn run(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    size: &str,
    puzzle: &Puzzle,
) {
    let mut frontier = Frontier::new(Config::default());
    group.bench_with_input(
        BenchmarkId::from_parameter(size),
        puzzle,
        |bencher, puzzle| {
            bencher.iter(|| match frontier.solve(puzzle, &|| false) {
                Ok(verdict @ (Verdict::Solution { .. } | Verdict::Unsolvable { .. })) => verdict,
                other => panic!("{other:?}"),
            });
        },
    );
}

criterion_group!(benches, paths, boards);
criterion_main!(benches);
