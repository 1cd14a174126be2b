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
#[path = "../src/straight.rs"]
mod straight;
#[path = "../src/strength.rs"]
mod strength;
#[path = "../src/terminals.rs"]
mod terminals;
#[path = "../src/thick.rs"]
mod thick;
#[path = "../src/thin.rs"]
mod thin;
#[path = "../src/tilt.rs"]
mod tilt;
#[path = "../src/tracks.rs"]
mod tracks;
#[path = "../src/turned.rs"]
mod turned;
#[path = "../src/warps.rs"]
mod warps;
#[path = "../src/widened.rs"]
mod widened;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use config::Config;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Painter, Scene, Style, Theme, render};
use flowpipe_game::session::{Face, Flip, View};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::message::{BoardState, Reading};
use flowpipe_plugin::puzzle::{Board, Flow, Lattice, Puzzle, Solution};
use flowpipe_plugin::{Format, PixelInfo};
use picture::Picture;
use read::Reader;

const DESKTOP: (u32, u32) = (1920, 1080);
const PHONE: (u32, u32) = (600, 1067);
/// Rows, columns, flows.
const SIZES: [(usize, usize, usize); 3] = [(5, 5, 5), (9, 9, 8), (18, 15, 16)];
/// So many cells more are drawn after a move.
const MOVE: usize = 4;
/// How far a board has flipped, as shares of the flip: late ones are of the next board.
const FLIPS: [f64; 8] = [0.78, 0.74, 0.82, 0.86, 0.7, 0.66, 0.9, 0.62];

/// A picture in memory, as it is captured.
struct Frame {
    bytes: Vec<u8>,
    info: PixelInfo,
}

impl Frame {
    fn new(bytes: Vec<u8>, format: Format, (width, height): (u32, u32)) -> Self {
        let info = PixelInfo {
            format,
            width,
            height,
            stride: width as usize * 4,
        };
        Self { bytes, info }
    }

    fn load(file: &Path) -> Option<Self> {
        let picture = image::open(file).ok()?.into_rgba8();
        let size = picture.dimensions();
        Some(Self::new(picture.into_raw(), Format::Rgba8, size))
    }

    fn picture(&self) -> Picture<'_> {
        Picture::new(&self.bytes, self.info).expect("a picture")
    }
}

/// A board of the practice game.
struct Game {
    name: &'static str,
    puzzle: Puzzle,
    solution: Solution,
    theme: Theme,
    size: (u32, u32),
}

impl Game {
    fn new(board: Board, flows: usize, size: (u32, u32)) -> Self {
        let (puzzle, solution) = generate(&board, flows, 1).expect("a puzzle");
        Self {
            name: "",
            puzzle,
            solution,
            theme: Theme::Dark,
            size,
        }
    }

    fn label(&self) -> String {
        let board = self.puzzle.board();
        let (width, height) = self.size;
        let name = format!("{}x{}{}", board.cols(), board.rows(), self.name);
        format!("{name} in {width}x{height}")
    }

    /// With the first so many cells of its flows drawn, and some more.
    fn frame(&self, more: usize) -> Frame {
        let mut left = self.puzzle.board().len() / 2 + more;
        let mut flows: Vec<Flow> = self.solution.flows.clone();
        for flow in &mut flows {
            flow.cells.truncate(left);
            left -= flow.cells.len();
        }
        flows.retain(|flow| flow.cells.len() > 1);
        let (width, height) = self.size;
        let scene = Scene {
            puzzle: &self.puzzle,
            flows: &flows,
            style: if width > height {
                Style::Desktop
            } else {
                Style::Phone
            },
            theme: self.theme,
            palette: &[],
            line: [86, 107, 74],
            lights: 3,
            header: Header::default(),
        };
        let pixels = render(&scene, width, height).expect("a picture");
        Frame::new(pixels.rgba, Format::Rgba8, self.size)
    }

    /// With nothing drawn, so far into a flip.
    fn flipping(&self, share: f64) -> Frame {
        let face = Face {
            puzzle: Arc::new(self.puzzle.clone()),
            flows: Vec::new(),
        };
        let view = View {
            header: Header::default(),
            face: face.clone(),
            flip: Some(Flip {
                from: Arc::new(face),
                share,
            }),
        };
        let pixels = Painter::new(3).paint(&view, self.size.0, self.size.1);
        Frame::new(
            pixels.expect("a picture").into_bgra(),
            Format::Bgra8,
            self.size,
        )
    }
}

fn games() -> Vec<Game> {
    let mut games = Vec::new();
    for size in [DESKTOP, PHONE] {
        for (rows, cols, flows) in SIZES {
            let board = Board::rectangle(rows, cols).expect("a board");
            games.push(Game::new(board, flows, size));
        }
    }
    let nine = Board::rectangle(9, 9).expect("a board");
    games.push(Game {
        name: " numbers",
        theme: Theme::Numbers,
        ..Game::new(nine, 8, DESKTOP)
    });
    let hexes = Board::new(Description {
        rows: 7,
        cols: 7,
        lattice: Lattice::Hex,
        ..Description::default()
    });
    games.push(Game {
        name: " hexes",
        ..Game::new(hexes.expect("a board"), 6, DESKTOP)
    });
    games
}

/// What is read of a frame: a board, and how.
fn state(reader: &mut Reader, frame: &Frame) -> BoardState {
    match reader.read(&frame.picture()).expect("a reading") {
        Reading::Board(board) => board.state,
        Reading::Refused { reason, .. } => panic!("{reason}"),
    }
}

fn benches(criterion: &mut Criterion) {
    // As the plugin does.
    opencv::core::set_num_threads(1).expect("OpenCV");
    let games = games();
    for game in &games {
        full(criterion, &game.label(), &game.frame(0));
    }
    // A real screenshot, where there are some.
    let shared = std::env::var_os("FLOWPIPE_SHARED").unwrap_or_else(|| "../../../shared".into());
    let file = Path::new(&shared).join("frames/windows-1080p-7x7-070.png");
    match Frame::load(&file) {
        Some(real) => full(criterion, "real screenshot of 1920x1080", &real),
        None => eprintln!("skipped: no real screenshot at {}", file.display()),
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

/// The board is known, and now has a move more, now a move less. And the same picture once more.
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

/// Two pictures of a flip by turns: not every one can be read.
fn flip(criterion: &mut Criterion, game: &Game) {
    let mut reader = Reader::new(Config::default());
    state(&mut reader, &game.frame(0));
    let is_read = |frame: &Frame| {
        reader.read_turned_again();
        let reading = reader.read(&frame.picture()).expect("a reading");
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
criterion_main!(all);
