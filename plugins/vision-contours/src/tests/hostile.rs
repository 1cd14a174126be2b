//! Pictures that nobody would show: none stops the stage, and none is read.

use std::time::{Duration, Instant};

use flowpipe_plugin::Format;
use flowpipe_plugin::puzzle::message::Reading;
use proptest::prelude::*;

use super::{harness, see};

/// The step that refuses a picture.
fn refused(layout: (Format, u32, u32), pixels: &[u8]) -> String {
    match see(&mut harness(), layout, pixels) {
        Reading::Refused { step, .. } => step,
        Reading::Board(board) => panic!("read as a board: {board:?}"),
    }
}

#[test]
fn pictures_larger_than_screens_are_refused() {
    let (width, height) = (7680, 4321);
    let pixels = vec![0; width * height];
    let layout = (Format::Grey8, width as u32, height as u32);
    assert_eq!(refused(layout, &pixels), "picture");
}

/// Shapes everywhere take the most time and memory.
#[test]
fn a_large_picture_of_dots_ends_soon() {
    let (width, height) = (3840, 2160);
    let is_dot = |at: usize| (at % width).is_multiple_of(4) && (at / width).is_multiple_of(4);
    let pixels: Vec<u8> = (0..width * height)
        .map(|at| if is_dot(at) { 255 } else { 0 })
        .collect();
    let began = Instant::now();
    let layout = (Format::Grey8, width as u32, height as u32);
    assert_eq!(refused(layout, &pixels), "board");
    // Some tenths of a second on an idle machine.
    assert!(began.elapsed() < Duration::from_secs(60));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn noise_is_refused(
        pixels in proptest::collection::vec(any::<u8>(), 96 * 96),
        side in 1_u32..96,
    ) {
        let used = &pixels[..(side * side) as usize];
        refused((Format::Grey8, side, side), used);
    }
}
