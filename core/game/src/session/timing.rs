//! Timed events of a session.

use std::sync::Arc;
use std::time::Duration;

use super::interlude::Steps;
use super::{FRAME, Face};

/// What the board does.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    Playing,
    Interlude { steps: Steps, then: Then },
    Flipping { since: Duration, from: Arc<Face> },
    Over,
}

/// What follows an interlude.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The board takes input.
    Ready,
    /// The next board comes.
    Flip,
}

/// A timed event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Sample,
    TimeUp,
    Step,
    Land,
}

/// Whole frames that have passed of a flip that lasts a time.
pub(super) fn frames(since: Duration, now: Duration, lasts: Duration) -> u32 {
    let passed = now.saturating_sub(since).min(lasts).as_nanos() / FRAME.as_nanos();
    // A flip has some thirty frames.
    passed as u32
}
