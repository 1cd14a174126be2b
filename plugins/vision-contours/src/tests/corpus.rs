//! Pictures in folders with a `truth.jsonl`: the project's own frames, and real screenshots.

use flowpipe_plugin::Format;
use flowpipe_testing::note;

use super::truth::{Frames, Verdict};
use super::{harness, see};

/// How many pictures of a folder are read exactly, refused and misread. Prints those that are not exact.
fn count(frames: &Frames) -> [usize; 3] {
    let (mut harness, mut counts) = (harness(), [0; 3]);
    for truth in &frames.truths {
        let picture = frames.picture(truth);
        let layout = (Format::Rgb8, picture.width(), picture.height());
        let reading = see(&mut harness, layout, picture.as_raw());
        let (place, text) = match Verdict::of(truth, &reading) {
            Verdict::Exact => (0, String::new()),
            Verdict::Refused(text) => (1, format!("refused, {text}")),
            Verdict::Wrong(text) => (2, format!("misread, {text}")),
        };
        counts[place] += 1;
        if place > 0 {
            println!("{}: {text}", truth.file);
        }
    }
    counts
}

#[test]
fn own_frames() {
    assert_eq!(count(&Frames::own()), [10, 1, 0]);
}

#[test]
fn real_screenshots() {
    if let Some(frames) = Frames::real() {
        let counts = count(&frames);
        note!("real screenshots, exact, refused, misread: {counts:?}");
        assert_eq!(counts, [160, 8, 0]);
    }
}
