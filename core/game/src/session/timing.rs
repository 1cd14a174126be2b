//! Timed events of a session.

use std::sync::Arc;
use std::time::Duration;

use super::{FLIP, FRAME, Face, Session};

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

impl Session {
    /// When [`Session::advance`] has something to do, or the view to change by itself, if ever.
    #[must_use]
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        let frame = match self.phase {
            Phase::Flipping { since, .. } => Some(since + FRAME * (frames(since, now) + 1)),
            _ => None,
        };
        let second = self.trial_left(now).map(|left| {
            let part = Duration::from_nanos(u64::from(left.subsec_nanos()));
            now + part.max(Duration::from_millis(1))
        });
        let due = self.due().map(|(at, _)| at);
        [frame, second, due].into_iter().flatten().min()
    }

    /// The earliest timed event.
    pub(super) fn due(&self) -> Option<(Duration, Due)> {
        let look = self.queue.due().map(|at| (at, Due::Sample));
        let is_over = matches!(self.phase, Phase::Over);
        let end = self.options.trial.zip(self.trial_began);
        let time_up = end
            .filter(|_| !is_over)
            .map(|(lasts, began)| (began + lasts, Due::TimeUp));
        let phase = match self.phase {
            Phase::Solved { until } => Some((until, Due::Flip)),
            Phase::Flipping { since, .. } => Some((since + FLIP, Due::Land)),
            Phase::Playing | Phase::Over => None,
        };
        // Of things at the same time the first one listed goes first.
        let all = [look, time_up, phase].into_iter().flatten();
        all.min_by_key(|&(at, _)| at)
    }

    /// What is left of a time trial that runs.
    pub(super) fn trial_left(&self, now: Duration) -> Option<Duration> {
        if matches!(self.phase, Phase::Over) {
            return None;
        }
        let (lasts, began) = self.options.trial.zip(self.trial_began)?;
        Some((began + lasts).saturating_sub(now))
    }
}

/// Whole frames that have passed of a flip.
pub(super) fn frames(since: Duration, now: Duration) -> u32 {
    let passed = now.saturating_sub(since).min(FLIP).as_nanos() / FRAME.as_nanos();
    // A flip has some thirty frames.
    passed as u32
}
