//! Whatever the bytes, a reading comes back.

use flowpipe_game::generate::generate;
use flowpipe_plugin::puzzle::Board;
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Format, PixelInfo};
use proptest::prelude::*;

use super::canvas::{Canvas, Place};
use super::summary::{canonical, grid};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;

pub(super) fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![
        Format::Bgra8,
        Format::Rgba8,
        Format::Bgr8,
        Format::Rgb8,
        Format::Grey8,
    ])
}

/// Widths and heights: small ones, a pixel wide or high, and far longer than wide.
fn sides() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        (1..200_u32, 1..200_u32),
        (1..4_u32, 1..5_000_u32),
        (1..5_000_u32, 1..4_u32),
        (20..60_u32, 1_000..3_000_u32),
        (1_000..3_000_u32, 20..60_u32),
    ]
}

/// The canvas in another format with gaps after its rows.
pub(super) fn repacked(canvas: &Canvas, format: Format, gap: usize) -> (Vec<u8>, PixelInfo) {
    let mut bytes = Vec::new();
    for row in canvas.rgb.chunks_exact(canvas.width * 3) {
        for pixel in row.chunks_exact(3) {
            match format {
                Format::Rgb8 => bytes.extend(pixel),
                Format::Bgr8 => bytes.extend(pixel.iter().rev()),
                Format::Rgba8 => bytes.extend(pixel.iter().chain(&[0])),
                Format::Bgra8 => bytes.extend(pixel.iter().rev().chain(&[77])),
                Format::Grey8 => bytes.push(pixel[1]),
            }
        }
        bytes.extend(std::iter::repeat_n(200, gap));
    }
    let stride = bytes.len() / canvas.height;
    let mut info = canvas.info();
    info.format = format;
    info.stride = stride;
    (bytes, info)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_pictures_are_refused(
        format in formats(),
        width in 1_u32..90,
        height in 1_u32..90,
        gap in 0_usize..9,
        seed: u64,
    ) {
        let stride = width as usize * format.bytes_per_pixel() + gap;
        let mut state = seed;
        let pixels: Vec<u8> = (0..stride * height as usize)
            .map(|_| {
                // A linear congruence (Knuth, MMIX) is random enough.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let picture = Picture::new(&pixels, PixelInfo::new(format, width, height).with_stride(stride)).unwrap();
        let reading = Reader::new(Config::default()).read(&picture).unwrap();
        let refused = matches!(reading, Reading::Refused { .. });
        prop_assert!(refused);
    }

    #[test]
    fn frames_of_any_shape_come_back(
        format in formats(),
        (width, height) in sides(),
        gap in 0_usize..9,
        kind in 0_u8..4,
        seed: u64,
    ) {
        let stride = width as usize * format.bytes_per_pixel() + gap;
        let mut random = fastrand::Rng::with_seed(seed);
        let side = random.usize(1..40);
        let pixels: Vec<u8> = (0..stride * height as usize)
            .map(|at| {
                let (row, place) = (at / stride, at % stride);
                match kind {
                    // Noise; one shade; lines as a grid has them; squares of any shade.
                    0 => random.u8(..),
                    1 => seed as u8,
                    2 => if row % side == 0 || place / 4 % side == 0 { 100 } else { 0 },
                    _ => (row / side * 31 + place / side * 17) as u8,
                }
            })
            .collect();
        let picture = Picture::new(&pixels, PixelInfo::new(format, width, height).with_stride(stride)).unwrap();
        // A board or none, but no panic and no error of OpenCV; and the same result again.
        let reader = || Reader::new(Config::default()).read(&picture).unwrap();
        prop_assert_eq!(reader(), reader());
    }

    #[test]
    fn wrong_sizes_are_errors(format in formats(), width: u32, height: u32, stride: usize, bytes in 0_usize..50) {
        let pixels = vec![0; bytes];
        // Anything but a panic: most of these are no pictures.
        let _ = Picture::new(&pixels, PixelInfo::new(format, width, height).with_stride(stride));
    }

    #[test]
    fn any_board_in_any_format(
        rows in 3_usize..9,
        cols in 3_usize..9,
        cell in 16.0..60.0_f64,
        left in 4_u32..40,
        top in 4_u32..40,
        format in prop::sample::select(vec![Format::Bgra8, Format::Rgba8, Format::Bgr8, Format::Rgb8]),
        gap in 0_usize..9,
        flows in 0.3..0.6_f64,
        seed: u64,
    ) {
        let blank = Board::rectangle(rows, cols).unwrap();
        let flows = ((rows + cols) as f64 * flows) as usize;
        let Ok((puzzle, _)) = generate(&blank, flows, seed) else {
            return Err(TestCaseError::reject("no such board"));
        };
        let mut letters = vec![vec!['.'; cols]; rows];
        for terminal in puzzle.terminals() {
            let letter = b"RGBYOCMmPW"[usize::from(terminal.colour)];
            letters[terminal.cell / cols][terminal.cell % cols] = char::from(letter);
        }
        let letters: Vec<String> = letters.iter().map(|row| row.iter().collect()).collect();
        let lines: Vec<&str> = letters.iter().map(String::as_str).collect();
        // Closer to its edge a picture may end within the board.
        let room = 0.2 * cell;
        let place = Place { x: room + f64::from(left), y: room + f64::from(top), cell };
        let width = (place.x * 2.0 + cols as f64 * cell) as usize + 2;
        let height = (place.y * 2.0 + rows as f64 * cell) as usize + 2;
        let mut canvas = Canvas::new(width, height, [0, 0, 0]);
        canvas.board(place, &lines);
        let (bytes, info) = repacked(&canvas, format, gap);
        let picture = Picture::new(&bytes, info).unwrap();
        match Reader::new(Config::default()).read(&picture).unwrap() {
            Reading::Board(board) => prop_assert_eq!(grid(&board), canonical(&lines)),
            Reading::Refused { step, reason, .. } => prop_assert!(false, "{}: {}", step, reason),
        }
    }
}
