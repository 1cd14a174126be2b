//! Boards of the practice game: those with nothing drawn are read, in each layout of pixels; others are refused.

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::Format;
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::puzzle::{Board, Flow, Lattice, Puzzle, Solution};

use super::truth::letters;
use super::{harness, see};

const SIZE: (u32, u32) = (360, 640);

fn game(lattice: Lattice) -> (Puzzle, Solution) {
    let board = Board::new(Description {
        rows: 6,
        cols: 6,
        lattice,
        ..Description::default()
    });
    generate(&board.unwrap(), 5, 7).unwrap()
}

/// Red, green, blue and alpha of each pixel.
fn picture(puzzle: &Puzzle, flows: &[Flow]) -> Vec<u8> {
    let scene = Scene {
        puzzle,
        flows,
        style: Style::Phone,
        theme: Theme::Dark,
        palette: &[],
        line: [86, 107, 74],
        lights: 5,
        header: Header::default(),
    };
    render(&scene, SIZE.0, SIZE.1).unwrap().rgba
}

fn read(format: Format, pixels: &[u8]) -> Reading {
    see(&mut harness(), (format, SIZE.0, SIZE.1), pixels)
}

#[test]
fn a_board_is_read_in_each_layout_of_pixels() {
    let (puzzle, _) = game(Lattice::Square);
    let rgba = picture(&puzzle, &[]);
    let ordered = |order: &[usize]| -> Vec<u8> {
        let pixels = rgba.chunks(4);
        pixels
            .flat_map(|pixel| order.iter().map(|&part| pixel[part]))
            .collect()
    };
    for (format, order) in [
        (Format::Rgba8, &[0, 1, 2, 3][..]),
        (Format::Bgra8, &[2, 1, 0, 3]),
        (Format::Rgb8, &[0, 1, 2]),
        (Format::Bgr8, &[2, 1, 0]),
    ] {
        match read(format, &ordered(order)) {
            Reading::Board(board) => {
                assert_eq!(letters(&board.puzzle), letters(&puzzle), "{format:?}");
                let red_first = read(Format::Rgba8, &rgba);
                assert_eq!(Reading::Board(board), red_first, "{format:?}");
            }
            refused => panic!("{format:?}: {refused:?}"),
        }
    }
}

#[test]
fn what_is_drawn_is_refused() {
    let (puzzle, solution) = game(Lattice::Square);
    let reading = read(Format::Rgba8, &picture(&puzzle, &solution.flows));
    assert!(matches!(reading, Reading::Refused { .. }), "{reading:?}");
}

#[test]
fn hexagons_are_refused() {
    let (puzzle, _) = game(Lattice::Hex);
    let reading = read(Format::Rgba8, &picture(&puzzle, &[]));
    assert!(matches!(reading, Reading::Refused { .. }), "{reading:?}");
}
