//! What is drawn, examined pixel by pixel and from afar.

mod kinds;
mod popup;
mod special;
mod themes;

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Board, Lattice, Rules, Solution, Terminal, colour};

use super::*;
use crate::generate::generate;

fn scene<'a>(puzzle: &'a Puzzle, flows: &'a [Flow], style: Style) -> Scene<'a> {
    let header = Header {
        title: "level 1".into(),
        note: "6x5".into(),
        ..Header::default()
    };
    Scene {
        puzzle,
        flows,
        style,
        theme: Theme::default(),
        palette: &[],
        line: [80, 110, 75],
        lights: 4,
        header,
    }
}

fn small() -> (Puzzle, Solution) {
    generate(&Board::rectangle(6, 5).expect("a board"), 6, 2).expect("a puzzle")
}

#[test]
fn terminals_have_their_colour_and_other_cells_are_dark() {
    let (puzzle, _) = small();
    for (style, width, height) in [(Style::Phone, 360, 740), (Style::Desktop, 960, 540)] {
        let pixels = render(&scene(&puzzle, &[], style), width, height).expect("a picture");
        let layout = Layout::new(style, puzzle.board(), width, height);
        for cell in puzzle.board().cells() {
            let [x, y] = layout.geometry.to_frame(centre(puzzle.board(), cell));
            let seen = pixels.at(x as u32, y as u32).expect("inside");
            match puzzle.terminal_at(cell) {
                Some(colour) => assert_eq!(seen, paint::colour(colour)),
                None => assert!(seen.iter().all(|&value| value < 60), "{seen:?}"),
            }
        }
        assert!(
            pixels
                .rgba
                .iter()
                .skip(3)
                .step_by(4)
                .all(|&alpha| alpha == 255)
        );
    }
}

#[test]
fn pipes_have_their_colour() {
    let (puzzle, solution) = small();
    let pixels =
        render(&scene(&puzzle, &solution.flows, Style::Phone), 360, 740).expect("a picture");
    let layout = Layout::new(Style::Phone, puzzle.board(), 360, 740);
    for flow in &solution.flows {
        for pair in flow.cells.windows(2) {
            let [a, b] = [0, 1].map(|index| centre(puzzle.board(), pair[index]));
            for share in [0.0, 0.5, 1.0] {
                let point = [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) * share);
                let [x, y] = layout.to_frame(point);
                assert_eq!(
                    pixels.at(x as u32, y as u32),
                    Some(paint::colour(flow.colour))
                );
            }
        }
    }
}

#[test]
fn the_same_scene_gives_the_same_bytes() {
    let (puzzle, solution) = small();
    let mut scene = scene(&puzzle, &solution.flows, Style::Phone);
    let draw = |scene: &Scene| render(scene, 200, 400).expect("a picture");
    let first = draw(&scene);
    assert_eq!(first, draw(&scene));
    scene.lights += 1;
    assert_ne!(first, draw(&scene));
    let (red, blue) = (first.rgba[0], first.rgba[2]);
    let swapped = first.into_bgra();
    assert_eq!((swapped[2], swapped[0]), (red, blue));
}

#[test]
fn sizes_are_drawn_or_refused() {
    let (puzzle, solution) = small();
    for style in [Style::Phone, Style::Desktop] {
        let scene = scene(&puzzle, &solution.flows, style);
        for (width, height) in [(1, 1), (3, 500), (500, 3), (64, 64), (1000, 300)] {
            let pixels = render(&scene, width, height).expect("a picture");
            assert_eq!(pixels.rgba.len(), width as usize * height as usize * 4);
            let [x, y, w, h] = Layout::new(style, puzzle.board(), width, height).board_xywh();
            assert!(
                x >= 0.0 && y >= 0.0 && x + w <= f64::from(width) && y + h <= f64::from(height)
            );
        }
        for (width, height) in [(0, 5), (5, 0), (MAX_SIDE + 1, 5), (5, u32::MAX)] {
            assert_eq!(
                render(&scene, width, height),
                Err(SizeError { width, height })
            );
        }
    }
}

#[test]
fn all_kinds_of_boards_and_wrong_flows_are_drawn() {
    let plain = Description {
        rows: 4,
        cols: 5,
        ..Description::default()
    };
    for description in [
        Description {
            lattice: Lattice::Hex,
            ..plain.clone()
        },
        Description {
            lattice: Lattice::Hex,
            bridges: vec![7],
            ..plain.clone()
        },
        Description {
            warps: true,
            holes: vec![7],
            ..plain.clone()
        },
        Description {
            bridges: vec![6, 12],
            walls: vec![(0, 1)],
            ..plain
        },
    ] {
        let board = Board::new(description).expect("a board");
        let terminals = [0, 19].map(|cell| Terminal { cell, colour: 40 }).to_vec();
        let puzzle = Puzzle::new(board, terminals, Rules::default()).expect("a puzzle");
        let flows: Vec<_> = [
            vec![],
            vec![0],
            vec![0, 4],
            vec![0, 19, 3],
            vec![0, 999],
            vec![7],
        ]
        .into_iter()
        .map(|cells| Flow { colour: 40, cells })
        .collect();
        for style in [Style::Phone, Style::Desktop] {
            render(&scene(&puzzle, &flows, style), 150, 200).expect("a picture");
        }
    }
}

/// How far a pixel is from the ground, by the value that differs most.
fn contrast(seen: [u8; 3], ground: [u8; 3]) -> u8 {
    let pairs = seen.into_iter().zip(ground);
    pairs.map(|(a, b)| a.abs_diff(b)).max().unwrap_or(0)
}

/// The picture from afar: a letter where a pixel has a terminal's or pipe's colour, else a mark by
/// how much it stands out from the ground.
fn from_afar(pixels: &Pixels, theme: Theme, columns: u32, rows: u32) -> String {
    let mark = |x: u32, y: u32| {
        let seen = pixels.at(x, y).unwrap_or_default();
        let flow = (0..16).find(|&number| theme.paint(&[], number) == seen);
        match (flow, contrast(seen, theme.ground())) {
            (Some(number), _) => colour::name(number),
            (None, 0..12) => " ".into(),
            (None, 12..60) => ".".into(),
            (None, 60..150) => ":".into(),
            (None, _) => "#".into(),
        }
    };
    let row = |row: u32| {
        let y = (row * 2 + 1) * pixels.height / (rows * 2);
        let marks = (0..columns).map(|col| mark((col * 2 + 1) * pixels.width / (columns * 2), y));
        marks.collect::<String>().trim_end().to_owned()
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

fn assert_picture(name: &str, scene: &Scene, (width, height): (u32, u32), afar: (u32, u32)) {
    let pixels = render(scene, width, height).expect("a picture");
    assert_afar(name, &pixels, scene.theme, afar);
}

fn assert_afar(name: &str, pixels: &Pixels, theme: Theme, afar: (u32, u32)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    let seen = from_afar(pixels, theme, afar.0, afar.1);
    settings.bind(|| insta::assert_snapshot!(name, seen));
}

#[test]
fn the_picture_from_afar() {
    let (puzzle, solution) = small();
    let flows = &solution.flows[1..3];
    for (name, style, size) in [
        ("phone", Style::Phone, (360, 740)),
        ("desktop", Style::Desktop, (960, 540)),
    ] {
        assert_picture(name, &scene(&puzzle, flows, style), size, (72, 64));
    }
}
