//! What reading a frame costs: by the full search, in place, the same frame again, in a flip.
//!
//! `cargo bench -p vision-opencv --bench read`; with ` -- by-step` only the tables of what each step costs. The plugin
//! is a dynamic library, which a bench cannot link to: its modules are built into the bench instead.
#![allow(
    dead_code,
    unused_imports,
    clippy::expect_used,
    clippy::panic,
    reason = "a bench ends by panicking, and uses a part of the modules"
)]

#[path = "../../src/config/mod.rs"]
mod config;
#[path = "../../src/find/mod.rs"]
mod find;
#[path = "../../src/numerics/mod.rs"]
mod numerics;
#[path = "../../src/picture/mod.rs"]
mod picture;
#[path = "../../src/read/mod.rs"]
mod read;
#[path = "../../src/refuse/mod.rs"]
mod refuse;
#[path = "../../src/rule_finder/mod.rs"]
mod rule_finder;
#[path = "../../src/steps/mod.rs"]
mod steps;
#[path = "../../src/track/mod.rs"]
mod track;

mod by_step;
mod games;

use std::hint::black_box;

use config::Config;
use criterion::{BenchmarkId, Criterion, criterion_group};
use flowpipe_game::render::Theme;
use flowpipe_plugin::Cancel;
use flowpipe_plugin::puzzle::message::{BoardState, Reading};
use games::{FLIPS, Frame, Game, MOVE, games, real};
use track::reader::Reader;

/// The tables alone are asked for by this.
const BY_STEP: &str = "by-step";

/// What is read of a frame: a board, and how.
fn state(reader: &mut Reader, frame: &Frame) -> BoardState {
    match reader
        .read_unless(&frame.picture(), &Cancel::never())
        .expect("a reading")
    {
        Reading::Board(board) => board.state,
        Reading::Refused { reason, .. } => panic!("{reason}"),
    }
}

fn benches(criterion: &mut Criterion) {
    let games = games();
    for game in &games {
        full(criterion, &game.label(), &game.frame(0));
    }
    if let Some(real) = real(1).last() {
        full(criterion, "real screenshot of 1920x1080", real);
    }
    for game in &games {
        in_place(criterion, game);
    }
    for game in games
        .iter()
        .filter(|game| game.theme == Theme::Dark && game.name.is_empty())
    {
        flip(criterion, game);
    }
}

/// Nothing is known.
fn full(criterion: &mut Criterion, label: &str, frame: &Frame) {
    let mut reader = Reader::new(Config::default());
    measure(criterion, "full", label, &mut || {
        reader.reset();
        state(&mut reader, frame)
    });
}

/// The board is known, and now has a move more, now a move less. And the same picture again.
fn in_place(criterion: &mut Criterion, game: &Game) {
    let frames = [0, MOVE].map(|more| game.frame(more));
    let mut reader = Reader::new(Config::default());
    let mut turn = 0;
    // The first one is searched.
    state(&mut reader, &frames[0]);
    measure(criterion, "in place", &game.label(), &mut || {
        turn += 1;
        state(&mut reader, &frames[turn % 2])
    });
    state(&mut reader, &frames[0]);
    measure(criterion, "same again", &game.label(), &mut || {
        state(&mut reader, &frames[0])
    });
}

/// Two pictures of a flip, alternating: not every one can be read.
fn flip(criterion: &mut Criterion, game: &Game) {
    let mut reader = Reader::new(Config::default());
    state(&mut reader, &game.frame(0));
    let is_read = |frame: &Frame| {
        reader.read_turned_again();
        let reading = reader
            .read_unless(&frame.picture(), &Cancel::never())
            .expect("a reading");
        matches!(reading, Reading::Board(board) if board.state == BoardState::Moving)
    };
    let flipping = FLIPS.map(|share| game.flipping(share));
    let frames: Vec<Frame> = flipping.into_iter().filter(is_read).take(2).collect();
    if frames.is_empty() {
        eprintln!(
            "skipped: no picture of the flip of {} is read",
            game.label()
        );
        return;
    }
    let mut turn = 0;
    measure(criterion, "flip", &game.label(), &mut || {
        reader.read_turned_again();
        turn += 1;
        state(&mut reader, &frames[turn % frames.len()])
    });
}

fn measure(
    criterion: &mut Criterion,
    kind: &str,
    label: &str,
    read: &mut dyn FnMut() -> BoardState,
) {
    let mut group = criterion.benchmark_group(kind);
    group.bench_function(BenchmarkId::from_parameter(label), |bencher| {
        bencher.iter(|| black_box(read()));
    });
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(50).without_plots();
    targets = benches
}

fn main() {
    // As the plugin does.
    opencv::core::set_num_threads(1).expect("OpenCV");
    let mut arguments = std::env::args().skip(1);
    let filter = arguments.find(|argument| !argument.starts_with('-'));
    let filter = filter.unwrap_or_default();
    if filter.is_empty() || filter == BY_STEP {
        by_step::tables();
    }
    if filter != BY_STEP {
        all();
    }
}
