//! A board is read in place only where it truly is.

use flowpipe_plugin::puzzle::message::{BoardState, Reading};

use super::canvas::{Canvas, Place, SIX};
use super::summary::{canonical, grid};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;

const HOME: Place = Place {
    x: 60.0,
    y: 70.0,
    cell: 50.0,
};

fn drawn(place: Place, size: (usize, usize), grid: &[&str]) -> Canvas {
    let mut canvas = Canvas::new(size.0, size.1, [0, 0, 0]);
    canvas.board(place, grid);
    canvas
}

fn read(reader: &mut Reader, canvas: &Canvas) -> Reading {
    let picture = Picture::new(&canvas.rgb, canvas.info()).unwrap();
    reader.read(&picture).unwrap()
}

fn corners(reading: &Reading) -> [[f64; 2]; 4] {
    match reading {
        Reading::Board(board) => board.geometry.corners,
        Reading::Refused { reason, .. } => panic!("{reason}"),
    }
}

#[test]
fn a_board_that_moves_by_a_pixel_is_found_where_it_is_now() {
    for (dx, dy, larger) in [
        (1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (-1.0, 1.0, 0.0),
        (3.0, 2.0, 0.0),
        (50.0, 0.0, 0.0),
        (0.0, 50.0, 0.0),
        (0.0, 0.0, 0.5),
        (0.0, 0.0, -2.0),
    ] {
        let mut reader = Reader::new(Config::default());
        let first = read(&mut reader, &drawn(HOME, (460, 480), &SIX));
        let place = Place {
            x: HOME.x + dx,
            y: HOME.y + dy,
            cell: HOME.cell + larger,
        };
        let canvas = drawn(place, (460, 480), &SIX);
        let moved = read(&mut reader, &canvas);
        let alone = read(&mut Reader::new(Config::default()), &canvas);
        assert_eq!(moved, alone);
        assert_ne!(corners(&moved), corners(&first));
    }
}

#[test]
fn another_picture_size_or_grid_is_searched_again() {
    let mut reader = Reader::new(Config::default());
    read(&mut reader, &drawn(HOME, (460, 480), &SIX));
    let canvas = drawn(HOME, (461, 480), &SIX);
    let alone = read(&mut Reader::new(Config::default()), &canvas);
    assert_eq!(read(&mut reader, &canvas), alone);
    // Half as large cells have all lines of the larger ones.
    let small = Place {
        cell: HOME.cell / 2.0,
        ..HOME
    };
    let mut lines = ["............"; 12];
    (lines[0], lines[11]) = ("RGBYOCMmPWgL", "RGBYOCMmPWgL");
    let Reading::Board(board) = read(&mut reader, &drawn(small, (460, 480), &lines)) else {
        panic!("not read");
    };
    assert_eq!(grid(&board), canonical(&lines));
}

#[test]
fn what_covers_a_board_is_no_board() {
    let mut reader = Reader::new(Config::default());
    let canvas = drawn(HOME, (460, 480), &SIX);
    read(&mut reader, &canvas);
    let mut covered = drawn(HOME, (460, 480), &SIX);
    covered.rectangle(100.0, 100.0, 80.0, 90.0, [240, 240, 240]);
    let reading = read(&mut reader, &covered);
    assert!(matches!(reading, Reading::Refused { .. }));
    // And it is there again when it is uncovered.
    corners(&read(&mut reader, &canvas));
}

/// The board as seen in perspective by a hair, as just before a flip lands.
fn turned(flat: &Canvas, slope: f64) -> Canvas {
    let mut canvas = Canvas::new(flat.width, flat.height, [0, 0, 0]);
    let picture = Picture::new(&flat.rgb, flat.info()).unwrap();
    let middle = (HOME.x + 3.0 * HOME.cell, HOME.y + 3.0 * HOME.cell);
    for y in 0..flat.height {
        for x in 0..flat.width {
            let (right, down) = (x as f64 + 0.5 - middle.0, y as f64 + 0.5 - middle.1);
            let depth = 1.0 / (1.0 - slope * right / (3.0 * HOME.cell));
            let colour = picture.between(middle.0 + right * depth, middle.1 + down * depth);
            let start = (y * flat.width + x) * 3;
            canvas.rgb[start..start + 3].copy_from_slice(&colour.unwrap_or_default());
        }
    }
    canvas
}

#[test]
fn a_board_that_is_turned_by_a_pixel_is_not_at_rest() {
    let flat = drawn(HOME, (460, 480), &SIX);
    for pixels in [-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 4.0, 8.0] {
        let canvas = turned(&flat, pixels / (3.0 * HOME.cell));
        // One that knows where the board was, and one that does not.
        let mut reader = Reader::new(Config::default());
        read(&mut reader, &flat);
        for mut reader in [reader, Reader::new(Config::default())] {
            if let Reading::Board(board) = read(&mut reader, &canvas) {
                assert_eq!(board.state, BoardState::Moving, "{pixels} pixels");
                assert_eq!(grid(&board), canonical(&SIX));
            }
        }
    }
}

#[test]
fn the_same_frames_give_the_same_readings_after_a_reset() {
    let mut pipe = Canvas::new(460, 480, [0, 0, 0]);
    pipe.grid(HOME, 6, 6, super::canvas::LINE);
    pipe.pipe(HOME, 'R', &[(0, 0), (0, 1), (0, 2)]);
    pipe.terminals(HOME, &SIX);
    let flat = drawn(HOME, (460, 480), &SIX);
    let moved = drawn(Place { x: 61.0, ..HOME }, (460, 480), &SIX);
    let frames = [&flat, &pipe, &pipe, &moved, &flat, &moved];
    let mut reader = Reader::new(Config::default());
    let mut all = || -> Vec<Reading> {
        reader.reset();
        frames
            .iter()
            .map(|frame| read(&mut reader, frame))
            .collect()
    };
    assert_eq!(all(), all());
}
