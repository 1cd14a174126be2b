//! Windows that a compositor made smaller by a fraction, so that their lines differ in width and brightness.

use std::path::Path;

use super::truth::{Frames, Verdict, see};

#[test]
fn uneven_lines_are_thin() {
    let frames = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/scaled_frames");
    let frames = Frames::at(&frames);
    assert!(!frames.truths.is_empty());
    for truth in &frames.truths {
        let verdict = Verdict::of(truth, &see(&frames.picture(truth)));
        assert_eq!(verdict, Verdict::Exact, "{}", truth.file);
    }
}
