//! Pictures in folders with a `truth.jsonl`: the project's own frames, and real screenshots.

use super::truth::{Frames, Truth, Verdict, see};
use flowpipe_testing::note;

/// What is wrong with a reading, if anything.
fn wrong(truth: &Truth, verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Exact => None,
        Verdict::Wrong(text) | Verdict::Refused(_, text) => Some(format!("{}: {text}", truth.file)),
    }
}

/// Reads a folder, every picture of it exactly, and prints how many there were.
fn check(frames: &Frames) -> usize {
    let read = |truth: &Truth| {
        let verdict = Verdict::of(truth, &see(&frames.picture(truth)));
        wrong(truth, verdict)
    };
    let misread: Vec<String> = frames.truths.iter().filter_map(read).collect();
    assert!(
        misread.is_empty(),
        "{} misread:\n{}",
        misread.len(),
        misread.join("\n")
    );
    frames.truths.len()
}

#[test]
fn own_frames() {
    assert!(check(&Frames::own()) > 0);
}

#[test]
fn real_screenshots() {
    if let Some(frames) = Frames::real() {
        note!("{} real screenshots read exactly", check(&frames));
    }
}
