//! How many lines are printed of what can happen again and again: what another machine causes, and problems of a stage.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use flowpipe_sync::lock;
use flowpipe_terminal::{counted, escape};

/// The most lines at once.
const MOST: u64 = 20;
/// After how long there may be one more.
const INTERVAL: Duration = Duration::from_secs(10);

/// The most characters of a text that another machine or a plugin has sent.
const LONGEST_TEXT: usize = 4_000;

/// What is printed of another machine, which may cause it as often as it likes.
pub struct LimitedNotices {
    /// Its name, which is escaped.
    machine: String,
    budget: Mutex<LineBudget>,
}

impl LimitedNotices {
    /// Nothing is printed yet of this machine.
    pub fn new(machine: &str) -> Self {
        Self {
            machine: escape(machine).into_owned(),
            budget: Mutex::new(LineBudget::new(Instant::now())),
        }
    }

    /// What to print now for a notice. `None`: there were too many.
    pub fn text(&self, notice: &str) -> Option<String> {
        let withheld = lock(&self.budget).spend(Instant::now())?;
        if withheld == 0 {
            return Some(notice.to_owned());
        }
        let count = counted(usize::try_from(withheld).unwrap_or(usize::MAX), "notice");
        Some(format!(
            "machine {}: {count} were not printed, since there were too many\n{notice}",
            self.machine
        ))
    }
}

/// The start of what another machine or a plugin has sent, as far as it is printed.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Lines that may still be printed: at most 20 at once, and one more every 10 s.
pub struct LineBudget {
    left: u64,
    /// From when on the time counts for the next one.
    since: Instant,
    withheld: u64,
}

impl LineBudget {
    /// None is spent yet.
    pub fn new(now: Instant) -> Self {
        Self {
            left: MOST,
            since: now,
            withheld: 0,
        }
    }

    /// Whether a line may be printed now: how many were not since the last one.
    pub fn spend(&mut self, now: Instant) -> Option<u64> {
        while self.left < MOST && now.saturating_duration_since(self.since) >= INTERVAL {
            self.left += 1;
            self.since += INTERVAL;
        }
        if self.left == MOST {
            self.since = now;
        }
        if self.left == 0 {
            self.withheld += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.withheld))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_printed_a_limited_number_of_times() {
        let notices = LimitedNotices::new("rack\u{1b}");
        let printed = (0..1_000).filter_map(|_| notices.text("it came"));
        assert_eq!(printed.collect::<Vec<_>>(), ["it came"; MOST as usize]);
        lock(&notices.budget).since -= INTERVAL;
        let next = notices.text("it came").unwrap();
        assert_eq!(
            next,
            "machine rack\\u001b: 980 notices were not printed, since there were too many\nit came"
        );
    }

    #[test]
    fn a_long_text_is_shortened() {
        let text = "é".repeat(LONGEST_TEXT);
        assert_eq!(shortened(&text), text);
        assert_eq!(shortened(&format!("{text}x")), format!("{text} …"));
    }

    #[test]
    fn what_comes_rarely_is_all_printed() {
        let mut now = Instant::now();
        let mut budget = LineBudget::new(now);
        for _ in 0..1_000 {
            now += INTERVAL;
            assert_eq!(budget.spend(now), Some(0));
        }
    }

    #[test]
    fn what_comes_often_is_printed_rarely_and_counted() {
        let mut now = Instant::now();
        let mut budget = LineBudget::new(now);
        let spent = (0..1_000).filter_map(|_| budget.spend(now)).count() as u64;
        assert_eq!(spent, MOST);
        now += INTERVAL;
        assert_eq!(budget.spend(now), Some(1_000 - MOST));
        assert_eq!(budget.spend(now), None);
        // After a long time there are not more at once than at first.
        now += 1_000 * INTERVAL;
        assert_eq!(budget.spend(now), Some(1));
        let spent = (0..1_000).filter_map(|_| budget.spend(now)).count() as u64;
        assert_eq!(spent, MOST - 1);
    }
}
