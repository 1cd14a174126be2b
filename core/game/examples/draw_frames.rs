//! Draws the project's own frames: pictures of generated boards, and what is on them.
//!
//! `cargo run -p flowpipe-game --example draw_frames` writes `pipelines/frames/*.png` and
//! `pipelines/frames/truth.jsonl` again, the same each time. A folder as argument writes there. The frames
//! that are stored look the same, but show boards of an earlier generator.

use std::error::Error;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Layout, Pixels, Scene, Style, Theme, paint, render};
use flowpipe_puzzle::{Board, Flow, Puzzle, Solution, colour};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use serde_json::json;

/// One picture to draw.
struct Frame {
    rows: usize,
    cols: usize,
    flows: usize,
    style: Style,
    size: (u32, u32),
    /// How many flows are drawn already.
    drawn: usize,
}

const PHONE: (u32, u32) = (720, 1480);
const DESKTOP: (u32, u32) = (1920, 1080);

/// Red, green, blue of the lines, as different packs have them.
const LINES: [[u8; 3]; 5] = [
    [80, 110, 75],
    [119, 112, 87],
    [110, 75, 75],
    [78, 92, 128],
    [110, 80, 112],
];

fn frame(rows: usize, cols: usize, flows: usize, style: Style, drawn: usize) -> Frame {
    let size = if style == Style::Phone {
        PHONE
    } else {
        DESKTOP
    };
    Frame {
        rows,
        cols,
        flows,
        style,
        size,
        drawn,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pipelines/frames");
    let folder = std::env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from(own), PathBuf::from);
    fs::create_dir_all(&folder)?;
    use Style::{Desktop, Phone};
    let frames = [
        frame(5, 5, 5, Phone, 0),
        frame(5, 5, 5, Desktop, 0),
        frame(6, 6, 6, Phone, 2),
        frame(7, 7, 7, Desktop, 0),
        frame(8, 8, 8, Phone, 0),
        frame(9, 9, 9, Phone, 0),
        frame(10, 8, 9, Phone, 0),
        frame(12, 12, 12, Phone, 0),
        frame(14, 14, 14, Desktop, 0),
        frame(15, 15, 15, Phone, 0),
        frame(18, 15, 16, Phone, 0),
    ];
    let mut truth = String::new();
    for (frame, number) in frames.iter().zip(1..) {
        truth += &draw(&folder, frame, number)?;
        truth.push('\n');
    }
    fs::write(folder.join("truth.jsonl"), truth)?;
    Ok(())
}

/// Writes one picture and returns its line of truth.
fn draw(folder: &Path, frame: &Frame, number: u64) -> Result<String, Box<dyn Error>> {
    let &Frame {
        rows,
        cols,
        style,
        size: (width, height),
        ..
    } = frame;
    let board = Board::rectangle(rows, cols)?;
    let (puzzle, solution) = generate(&board, frame.flows, number)?;
    let flows = &solution.flows[..frame.drawn];
    let links = |flows: &[Flow]| flows.iter().map(|flow| flow.cells.len() - 1).sum::<usize>();
    let header = Header {
        title: format!("level {number}"),
        note: format!("{cols}x{rows}"),
        flows: flows.len(),
        moves: flows.len(),
        best: None,
        pipe_percent: 100 * links(flows) / links(&solution.flows),
    };
    let line = LINES[number as usize % LINES.len()];
    let palette = &paint::CLASSIC;
    let scene = Scene {
        puzzle: &puzzle,
        flows,
        style,
        theme: Theme::Dark,
        palette,
        line,
        lights: number,
        header,
    };
    let pixels = render(&scene, width, height)?;
    let device = if style == Style::Phone {
        "phone"
    } else {
        "desktop"
    };
    let file = format!("{device}-{cols}x{rows}-{number:02}.png");
    save(&pixels, &folder.join(&file))?;
    let layout = Layout::new(style, &board, width, height);
    let truth = json!({
        "file": file,
        "rows": rows,
        "cols": cols,
        "grid": grid(&puzzle),
        "board_xywh": layout.board_xywh().map(|value| (value * 10.0).round() / 10.0),
        "image_size": [width, height],
        "state": if flows.is_empty() { "empty" } else { "partial" },
        "drawn": flows,
    });
    println!(
        "{file}: {} flows, {}",
        solution.flows.len(),
        shape(&solution)
    );
    Ok(truth.to_string())
}

/// The puzzle as rows of `.` and letters that pair up.
fn grid(puzzle: &Puzzle) -> Vec<String> {
    let board = puzzle.board();
    let cell = |cell| puzzle.terminal_at(cell).map_or(".".into(), colour::name);
    let row = |row| {
        (0..board.cols())
            .map(|col| cell(row * board.cols() + col))
            .collect()
    };
    (0..board.rows()).map(row).collect()
}

/// How long the flows are.
fn shape(solution: &Solution) -> String {
    let mut lengths: Vec<_> = solution.flows.iter().map(|flow| flow.cells.len()).collect();
    lengths.sort_unstable();
    format!("of {lengths:?} cells")
}

/// Writes red, green and blue; no alpha, for every pixel is opaque.
fn save(pixels: &Pixels, path: &Path) -> Result<(), Box<dyn Error>> {
    let rgb: Vec<u8> = pixels
        .rgba
        .chunks_exact(4)
        .flat_map(|pixel| &pixel[..3])
        .copied()
        .collect();
    let file = BufWriter::new(fs::File::create(path)?);
    PngEncoder::new_with_quality(file, CompressionType::Best, FilterType::Adaptive).write_image(
        &rgb,
        pixels.width,
        pixels.height,
        ExtendedColorType::Rgb8,
    )?;
    Ok(())
}
