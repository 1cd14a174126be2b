//! Pictures in folders with a `truth.jsonl`: the project's own frames, and real screenshots.

use super::truth::{Frames, Truth, Verdict, say, see};

/// What is wrong with a reading, if anything.
fn wrong(truth: &Truth, verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Exact => None,
        Verdict::Wrong(difference) => Some(difference),
        Verdict::Refused(_, reason) if truth.is_rectangle() => Some(reason),
        Verdict::Refused(_, reason) => {
            let clear = reason.starts_with("not a board that I can read: ");
            (!clear).then(|| format!("an unclear reason: {reason}"))
        }
    }
}

/// Reads a folder and says how many rectangles and others there were.
fn check(frames: &Frames) -> (usize, usize) {
    let misread: Vec<String> = frames
        .truths
        .iter()
        .filter_map(|truth| {
            let verdict = Verdict::of(truth, &see(&frames.picture(truth)));
            wrong(truth, verdict).map(|difference| format!("{}: {difference}", truth.file))
        })
        .collect();
    assert!(
        misread.is_empty(),
        "{} pictures misread:\n{}",
        misread.len(),
        misread.join("\n")
    );
    let rectangles = frames.truths.iter().filter(|truth| truth.is_rectangle());
    let rectangles = rectangles.count();
    (rectangles, frames.truths.len() - rectangles)
}

#[test]
fn own_frames() {
    let (rectangles, _) = check(&Frames::own());
    assert!(rectangles > 0);
}

#[test]
fn real_screenshots() {
    let Some(frames) = Frames::real() else {
        return;
    };
    let (rectangles, others) = check(&frames);
    say!("{rectangles} real screenshots read exactly, {others} irregular ones exactly or refused");
    assert!(rectangles > 0);
}
