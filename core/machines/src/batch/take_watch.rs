//! Workers that take nothing, although they have accepted the job.

use std::time::{Duration, Instant};

/// A worker that has no chunk, and has room for none for so long, is not used any more.
pub(crate) const TAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// A worker that has accepted the job or was connected again may be without room for so long: what grants it may be on its
/// way.
const GRACE: Duration = Duration::from_secs(5);
/// How often in a row a worker has that time.
const MOST_GRACES: u32 = 5;

/// Since when a worker takes nothing. A program that replaces the one before has no time of its own: otherwise a worker that
/// is restarted again and again would never have to take anything.
#[derive(Debug, Default)]
pub(crate) struct TakeWatch {
    unwilling_since: Option<Instant>,
    /// Since when it could take something. `None`: it can't.
    able_since: Option<Instant>,
    graces: u32,
}

impl TakeWatch {
    /// There is a turn with the worker. `takes`: whether it has a chunk, or room for one. `None`: it has not accepted the
    /// job, or is disconnected. Returns whether it has taken nothing for too long.
    pub(crate) fn turn(&mut self, takes: Option<bool>, now: Instant) -> bool {
        match takes {
            Some(true) => *self = Self::default(),
            Some(false) => {
                let unwilling = *self.unwilling_since.get_or_insert(now);
                let able = *self.able_since.get_or_insert_with(|| {
                    self.graces += 1;
                    now
                });
                let has_grace = self.graces <= MOST_GRACES && now.duration_since(able) < GRACE;
                return !has_grace && now.duration_since(unwilling) >= TAKE_TIMEOUT;
            }
            None => self.able_since = None,
        }
        false
    }

    /// This machine stood still: the time begins again.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many seconds a worker counts as one that takes nothing. There is a turn each second. `takes`: what it does
    /// in the turn of a second.
    fn dropped_after(takes: impl Fn(u64) -> Option<bool>) -> Option<u64> {
        let began = Instant::now();
        let mut watch = TakeWatch::default();
        (0..1_000).find(|second| watch.turn(takes(*second), began + Duration::from_secs(*second)))
    }

    #[test]
    fn a_worker_that_takes_nothing_is_found_after_a_minute() {
        assert_eq!(dropped_after(|_| Some(false)), Some(60));
        // It has room once.
        assert_eq!(dropped_after(|second| Some(second == 50)), Some(111));
        assert_eq!(dropped_after(|second| Some(second % 50 == 0)), None);
    }

    #[test]
    fn a_worker_that_takes_nothing_is_found_although_it_is_restarted() {
        // A new program accepts the job every ten seconds.
        let restarted = |second: u64| (!second.is_multiple_of(10)).then_some(false);
        assert_eq!(dropped_after(restarted), Some(61));
        // For most of the time there is none.
        let seldom = |second: u64| (second % 40 == 39).then_some(false);
        assert_eq!(dropped_after(seldom), Some(239), "the sixth time");
    }

    #[test]
    fn a_worker_that_is_not_there_is_not_one_that_takes_nothing() {
        assert_eq!(dropped_after(|_| None), None);
        // What it grants was on its way when it was disconnected, and arrives a moment after it is connected again.
        let comes_back = |second: u64| match second {
            9 | 500 => Some(false),
            10..500 => None,
            _ => Some(true),
        };
        assert_eq!(dropped_after(comes_back), None);
    }

    #[test]
    fn after_a_stall_the_time_begins_again() {
        let began = Instant::now();
        let mut watch = TakeWatch::default();
        assert!(!watch.turn(Some(false), began));
        watch.restart();
        assert!(!watch.turn(Some(false), began + TAKE_TIMEOUT));
        assert!(watch.turn(Some(false), began + 2 * TAKE_TIMEOUT));
    }
}
