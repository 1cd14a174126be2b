//! Timed events of a session.

use std::sync::Arc;
use std::time::Duration;

use super::{FLIP, FRAME, Face};

/// What the board does.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    Playing,
    Solved { until: Duration },
    Flipping { since: Duration, from: Arc<Face> },
    Over,
}

/// A timed event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Sample,
    TimeUp,
    Flip,
    Land,
}

/// Whole frames that have passed of a flip.
pub(super) fn frames(since: Duration, now: Duration) -> u32 {
    let passed = now.saturating_sub(since).min(FLIP).as_nanos() / FRAME.as_nanos();
    // A flip has some thirty frames.
    passed as u32
}
