use super::*;

const MEGABYTE: usize = 1 << 20;

/// How many of some readings find their frame, where vision takes as long as so many frames.
fn found(takes: u64, readings: u64, bytes: usize) -> u64 {
    let mut frames = Frames::new();
    let mut found = 0;
    for reading in 0..readings {
        let begun = reading * takes;
        for number in begun + 1..=begun + takes {
            frames.keep(number, bytes, number);
            assert!(frames.kept.len() <= MOST_FRAMES);
            assert!(frames.bytes() <= MOST_BYTES || frames.kept.len() == 1);
        }
        found += u64::from(frames.read(begun) == Some(begun));
    }
    found
}

#[test]
fn the_frame_that_vision_reads_stays_however_long_it_takes() {
    for takes in [1, 2, 3, 7, 8, 9, 60, 600] {
        for bytes in [0, 8 * MEGABYTE, 33 * MEGABYTE] {
            // The first reading began before the first frame.
            assert_eq!(
                found(takes, 20, bytes),
                19,
                "{takes} frames of {bytes} bytes"
            );
        }
    }
}

#[test]
fn one_frame_is_kept_however_large() {
    let mut frames = Frames::new();
    frames.keep(1, 2 * MOST_BYTES, 'a');
    frames.keep(2, 2 * MOST_BYTES, 'b');
    assert_eq!(frames.read(2), None);
    assert_eq!(frames.read(1), Some('a'));
    assert_eq!(frames.read(1), None);
    frames.keep(3, 0, 'c');
    frames.clear();
    assert_eq!(frames.read(3), None);
}
