//! Stalls of this machine: what a worker did not answer meanwhile is not its fault.

use std::time::{Duration, Instant};

/// Between two turns with a worker this machine stood still if they are so far apart: a turn takes milliseconds.
const STALL: Duration = Duration::from_secs(1);
/// How long workers are not judged afterwards. What they have sent arrives meanwhile, also if the connection was lost.
const GRACE: Duration = Duration::from_secs(5);

/// Whether this machine stood still.
#[derive(Debug)]
pub(crate) struct StallWatch {
    /// When the last turn was.
    turned: Instant,
    /// When the last stall ended.
    stalled: Option<Instant>,
}

impl StallWatch {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            turned: now,
            stalled: None,
        }
    }

    /// There is a turn. Returns whether this machine stood still a short time ago.
    pub(crate) fn turn(&mut self, now: Instant) -> bool {
        if now.duration_since(self.turned) > STALL {
            self.stalled = Some(now);
        }
        self.turned = now;
        self.stalled
            .is_some_and(|at| now.duration_since(at) < GRACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_stall_nobody_is_judged_for_a_while() {
        let began = Instant::now();
        let after = |ms: u64| began + Duration::from_millis(ms);
        let mut watch = StallWatch::new(began);
        assert!(!watch.turn(after(10)));
        assert!(!watch.turn(after(900)));
        assert!(watch.turn(after(60_000)), "it stood still");
        let turns = (60_010..64_990).step_by(10);
        assert!(turns.map(after).all(|now| watch.turn(now)));
        assert!(!watch.turn(after(65_010)));
        assert!(watch.turn(after(70_000)), "again");
    }
}
