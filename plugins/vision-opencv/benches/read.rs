//! What reading a frame costs: by the full search, in place, the same frame once more, in a flip.
//!
//! `cargo bench -p vision-opencv --bench read`. The plugin is a dynamic library, which a bench cannot
//! link to: its modules are built into the bench instead.
#![allow(
    dead_code,
    unused_imports,
    clippy::expect_used,
    clippy::panic,
    reason = "a bench ends by panicking, and uses a part of the modules"
)]

#[path = "../src/aslant.rs"]
mod aslant;
#[path = "../src/beyond.rs"]
mod beyond;
#[path = "../src/cells.rs"]
mod cells;
#[path = "../src/colour.rs"]
mod colour;
#[path = "../src/colours.rs"]
mod colours;
#[path = "../src/config.rs"]
mod config;
#[path = "../src/contents.rs"]
mod contents;
#[path = "../src/drawings.rs"]
mod drawings;
#[path = "../src/face_on.rs"]
mod face_on;
#[path = "../src/fit.rs"]
mod fit;
#[path = "../src/flips.rs"]
mod flips;
#[path = "../src/grid.rs"]
mod grid;
#[path = "../src/hex_places.rs"]
mod hex_places;
#[path = "../src/hexes.rs"]
mod hexes;
#[path = "../src/last.rs"]
mod last;
#[path = "../src/lattice.rs"]
mod lattice;
#[path = "../src/line_look.rs"]
mod line_look;
#[path = "../src/line_places.rs"]
mod line_places;
#[path = "../src/measure.rs"]
mod measure;
#[path = "../src/memory.rs"]
mod memory;
#[path = "../src/numbers.rs"]
mod numbers;
#[path = "../src/order.rs"]
mod order;
#[path = "../src/outline.rs"]
mod outline;
#[path = "../src/pairs.rs"]
mod pairs;
#[path = "../src/peaks.rs"]
mod peaks;
#[path = "../src/picture.rs"]
mod picture;
#[path = "../src/pipes.rs"]
mod pipes;
#[path = "../src/places.rs"]
mod places;
#[path = "../src/quad.rs"]
mod quad;
#[path = "../src/quarter.rs"]
mod quarter;
#[path = "../src/read.rs"]
mod read;
#[path = "../src/read_board.rs"]
mod read_board;
#[path = "../src/refusal.rs"]
mod refusal;
#[path = "../src/runs.rs"]
mod runs;
#[path = "../src/search.rs"]
mod search;
#[path = "../src/shape.rs"]
mod shape;
#[path = "../src/show.rs"]
mod show;
#[path = "../src/sides.rs"]
mod sides;
#[path = "../src/sketch.rs"]
mod sketch;
#[path = "../src/solvable.rs"]
mod solvable;
#[path = "../src/spacing.rs"]
mod spacing;
#[path = "../src/steps.rs"]
mod steps;
#[path = "../src/strength.rs"]
mod strength;
#[path = "../src/terminals.rs"]
mod terminals;
#[path = "../src/thin.rs"]
mod thin;
#[path = "../src/tracks.rs"]
mod tracks;
#[path = "../src/turned.rs"]
mod turned;
#[path = "../src/warps.rs"]
mod warps;
#[path = "../src/widened.rs"]
mod widened;

use std::hint::black_box;
use std::sync::Arc;

use config::Config;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Painter};
use flowpipe_game::session::{Face, Flip, View};
use flowpipe_plugin::puzzle::Board;
use flowpipe_plugin::puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_plugin::{Format, PixelInfo};
use picture::Picture;
use read::Reader;

/// Rows, columns, flows.
type Size = (usize, usize, usize);

const SIZES: [Size; 3] = [(5, 5, 5), (9, 9, 8), (18, 15, 16)];
const FRAMES: [(u32, u32); 2] = [(1920, 1080), (600, 1067)];

/// A board as the practice game shows it, with some of its flows drawn, at rest or so far into a flip.
fn frame(size: Size, frame: (u32, u32), drawn: usize, share: Option<f64>) -> Vec<u8> {
    let (rows, cols, flows) = size;
    let board = Board::rectangle(rows, cols).expect("a board");
    let (puzzle, solution) = generate(&board, flows, 1).expect("a puzzle");
    let face = Face {
        puzzle: Arc::new(puzzle),
        flows: solution.flows[..drawn].to_vec(),
    };
    let from = Arc::new(face.clone());
    let view = View {
        header: Header::default(),
        face,
        flip: share.map(|share| Flip { from, share }),
    };
    let pixels = Painter::new(3).paint(&view, frame.0, frame.1);
    pixels.expect("a picture").into_bgra()
}

fn info((width, height): (u32, u32)) -> PixelInfo {
    PixelInfo {
        format: Format::Bgra8,
        width,
        height,
        stride: width as usize * 4,
    }
}

fn board(reader: &mut Reader, picture: &Picture<'_>) -> Box<SeenBoard> {
    match reader.read(picture).expect("a reading") {
        Reading::Board(board) => board,
        Reading::Refused { reason, .. } => panic!("{reason}"),
    }
}

fn benches(criterion: &mut Criterion) {
    // As the plugin does.
    opencv::core::set_num_threads(1).expect("OpenCV");
    for frame in FRAMES {
        for size in SIZES {
            bench(criterion, frame, size);
        }
    }
}

fn bench(criterion: &mut Criterion, size: (u32, u32), cells: Size) {
    let at_rest = [cells.2 / 2, 0].map(|drawn| frame(cells, size, drawn, None));
    let flipping = [0.74, 0.78].map(|share| frame(cells, size, 0, Some(share)));
    let picture = |bytes| Picture::new(bytes, info(size)).expect("a picture");
    let [played, fresh] = at_rest.each_ref().map(|bytes| picture(bytes));
    let [turned, later] = flipping.each_ref().map(|bytes| picture(bytes));
    let mut reader = Reader::new(Config::default());
    board(&mut reader, &fresh);
    let mut measure = |kind: &str, read: &mut dyn FnMut(&mut Reader) -> Box<SeenBoard>| {
        let mut group = criterion.benchmark_group(format!("{kind}/{}x{}", size.0, size.1));
        let name = BenchmarkId::from_parameter(format!("{}x{}", cells.1, cells.0));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(read(&mut reader)))
        });
        group.finish();
    };
    // Two pictures in turns: the same one twice is known to be the same.
    let mut turn = false;
    let mut next = || {
        turn = !turn;
        turn
    };
    measure("in place", &mut |reader| {
        board(reader, if next() { &fresh } else { &played })
    });
    measure("same again", &mut |reader| board(reader, &played));
    measure("flip", &mut |reader| {
        reader.read_turned_again();
        let board = board(reader, if next() { &turned } else { &later });
        assert_eq!(board.state, BoardState::Moving);
        board
    });
    // Last, for it forgets where the board is.
    measure("full", &mut |reader| {
        reader.reset();
        board(reader, &played)
    });
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(50).without_plots();
    targets = benches
}
criterion_main!(all);
