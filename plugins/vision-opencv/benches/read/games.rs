//! What is read: boards of the practice game, and real screenshots where there are some.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Painter, Scene, Style, Theme, render};
use flowpipe_game::session::{Face, Flip, View};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::{Board, Flow, Lattice, Puzzle, Solution};
use flowpipe_plugin::{Format, PixelInfo};

use crate::picture::Picture;

const DESKTOP: (u32, u32) = (1920, 1080);
const PHONE: (u32, u32) = (600, 1067);
/// Rows, columns, flows.
const SIZES: [(usize, usize, usize); 3] = [(5, 5, 5), (9, 9, 8), (18, 15, 16)];
/// The number of cells that a move adds.
pub const MOVE: usize = 4;
/// How far a board has flipped, as shares of the flip: late ones are of the next board.
pub const FLIPS: [f64; 8] = [0.78, 0.74, 0.82, 0.86, 0.7, 0.66, 0.9, 0.62];

/// A picture in memory, as it is captured.
pub struct Frame {
    bytes: Vec<u8>,
    info: PixelInfo,
}

impl Frame {
    fn new(bytes: Vec<u8>, format: Format, (width, height): (u32, u32)) -> Self {
        let info = PixelInfo::new(format, width, height).with_stride(width as usize * 4);
        Self { bytes, info }
    }

    fn load(file: &Path) -> Option<Self> {
        let picture = image::open(file).ok()?.into_rgba8();
        let size = picture.dimensions();
        Some(Self::new(picture.into_raw(), Format::Rgba8, size))
    }

    pub fn picture(&self) -> Picture<'_> {
        Picture::new(&self.bytes, self.info).expect("a picture")
    }
}

/// A board of the practice game.
pub struct Game {
    pub name: &'static str,
    puzzle: Puzzle,
    solution: Solution,
    pub theme: Theme,
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

    pub fn label(&self) -> String {
        let board = self.puzzle.board();
        let (width, height) = self.size;
        let name = format!("{}x{}{}", board.cols(), board.rows(), self.name);
        format!("{name} in {width}x{height}")
    }

    /// With half of the cells of its flows drawn, and `more` cells.
    pub fn frame(&self, more: usize) -> Frame {
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
            lights: 5,
            header: Header::default(),
        };
        let pixels = render(&scene, width, height).expect("a picture");
        Frame::new(pixels.rgba, Format::Rgba8, self.size)
    }

    /// With nothing drawn, when this share of a flip is done.
    pub fn flipping(&self, share: f64) -> Frame {
        let face = Face {
            puzzle: Arc::new(self.puzzle.clone()),
            flows: Vec::new(),
        };
        let view = View {
            header: Header::default(),
            face: face.clone(),
            cover: None,
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

pub fn games() -> Vec<Game> {
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

/// One in `every` of the real screenshots of a desktop, where there are some.
pub fn real(every: usize) -> Vec<Frame> {
    let folder = flowpipe_testing::shared_folder().join("frames");
    let Ok(files) = folder.read_dir() else {
        eprintln!("skipped: no real screenshots in {}", folder.display());
        return Vec::new();
    };
    let files = files.filter_map(|file| Some(file.ok()?.path()));
    let is_desktop = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("windows-1080p"))
    };
    let mut files: Vec<PathBuf> = files.filter(is_desktop).collect();
    files.sort();
    let chosen = files.iter().step_by(every);
    chosen.filter_map(|file| Frame::load(file)).collect()
}
