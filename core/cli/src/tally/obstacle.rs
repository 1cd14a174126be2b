//! What keeps a run from reading or playing for a while: reported once, where it is to be expected now and then only when
//! it lasts.

/// How long an obstacle may last before it is reported, in nanoseconds: a board that flips can't be read for a moment.
const DELAY: i64 = 2_000_000_000;

/// An obstacle that is not met for this long, in nanoseconds, has ended.
const END: i64 = 10_000_000_000;

/// The most reasons that are reported of one obstacle.
const MOST: usize = 8;

/// What has prevented something since it last succeeded. The reasons may alternate.
#[derive(Clone, Debug, Default)]
pub struct Obstacle {
    /// When it was first and last met.
    met: Option<(i64, i64)>,
    /// The kinds of reasons that were reported.
    reported: Vec<String>,
}

impl Obstacle {
    /// It has ended.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// It is met, for a reason. Returns whether to report it: it has lasted long enough, and no reason of its kind was
    /// reported before.
    pub fn meet(&mut self, reason: &str, now: i64) -> bool {
        if self.met.is_some_and(|(_, last)| now - last > END) {
            self.end();
        }
        let (first, _) = self.met.unwrap_or((now, now));
        self.met = Some((first, now));
        now - first >= DELAY && self.meet_now(reason)
    }

    /// It is met, for a reason that is reported at once. Returns whether no reason of its kind was reported before.
    pub fn meet_now(&mut self, reason: &str) -> bool {
        let kind = kind(reason);
        let is_new = !self.reported.contains(&kind) && self.reported.len() < MOST;
        if is_new {
            self.reported.push(kind);
        }
        is_new
    }
}

/// A reason without its numbers, which differ each time.
fn kind(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_numeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn an_obstacle_is_reported_once_when_it_lasts() {
        let mut obstacle = Obstacle::default();
        let times: Vec<i64> = (0..60).map(|tenth| tenth * SECOND / 10).collect();
        let reported = times.iter().filter(|&&now| {
            let reason = format!("the board was seen {} ms ago", now / 7_000_000);
            obstacle.meet(&reason, now)
        });
        assert_eq!(reported.collect::<Vec<_>>(), [&(2 * SECOND)]);
        assert!(obstacle.meet("something covers the board", 6 * SECOND));
        assert!(!obstacle.meet("something covers the board", 7 * SECOND));
    }

    #[test]
    fn an_obstacle_that_ends_or_pauses_begins_again() {
        let mut obstacle = Obstacle::default();
        assert!(!obstacle.meet("a", 0));
        obstacle.end();
        assert!(!obstacle.meet("a", 3 * SECOND));
        assert!(!obstacle.meet("a", 14 * SECOND), "not met in between");
        assert!(obstacle.meet("a", 16 * SECOND));
    }
}
