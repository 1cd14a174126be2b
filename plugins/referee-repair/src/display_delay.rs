//! How long the game takes to display strokes after their last one: until then, what is missing may still come.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Delays that are compared.
const WINDOW: usize = 8;
/// So many times the longest of them passes before flows count as missing.
const TIMES: i64 = 2;
/// What appears later than this after strokes may come from somebody else, in nanoseconds.
const LONGEST_NS: i64 = 1_000_000_000;

/// How long the game took to display strokes.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisplayDelay {
    /// When the last strokes were done.
    acted_at: Option<i64>,
    /// When more of the strokes appeared last.
    shown_at: Option<i64>,
    /// The same, of what appeared while the next strokes were awaited.
    meanwhile: Option<i64>,
    delays: VecDeque<i64>,
}

impl DisplayDelay {
    /// Strokes have been played between these times.
    pub fn played(&mut self, began: i64, ended: i64) {
        // A later picture may display the new strokes.
        if let Some(captured) = self.meanwhile.take().filter(|it| *it <= began) {
            self.measure(captured);
        }
        self.acted_at = Some(ended);
    }

    /// More of the strokes appear in a picture captured then. `is_waiting`: the next strokes may have begun.
    pub fn shown(&mut self, captured: i64, is_waiting: bool) {
        self.shown_at = Some(captured);
        match is_waiting {
            true => self.meanwhile = Some(captured),
            false => self.measure(captured),
        }
    }

    /// Until when more may appear of strokes whose outcome came then, if it may for at least so long, in nanoseconds. What
    /// appears one after another gets its time from the last.
    pub fn over_at(&self, acted_at: i64, least_ns: i64) -> i64 {
        let since = self.shown_at.map_or(acted_at, |shown| shown.max(acted_at));
        since.saturating_add(self.patience(least_ns))
    }

    fn patience(&self, least_ns: i64) -> i64 {
        let longest = self.delays.iter().max().copied().unwrap_or_default();
        least_ns.max(longest * TIMES)
    }

    fn measure(&mut self, captured: i64) {
        let delay = captured.saturating_sub(self.acted_at.unwrap_or(captured));
        if delay > LONGEST_NS {
            return;
        }
        if self.delays.len() == WINDOW {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_slow_display_is_waited_for() {
        let mut delay = DisplayDelay::default();
        delay.shown(500 * MS, false);
        assert_eq!(delay.patience(150 * MS), 150 * MS, "nothing was played yet");
        delay.played(100 * MS, 200 * MS);
        delay.shown(260 * MS, false);
        assert_eq!(delay.patience(150 * MS), 150 * MS, "twice 60 ms are less");
        delay.played(600 * MS, 700 * MS);
        delay.shown(960 * MS, false);
        assert_eq!(delay.patience(150 * MS), 520 * MS);
        // A display that is fast again.
        for strokes in 1..=8 {
            let at = strokes * 1000;
            delay.played(at * MS, (at + 100) * MS);
            delay.shown((at + 110) * MS, false);
        }
        assert_eq!(delay.patience(150 * MS), 150 * MS);
    }

    #[test]
    fn what_appears_one_after_another_gets_its_time_from_the_last() {
        let mut delay = DisplayDelay::default();
        delay.played(0, 100 * MS);
        assert_eq!(delay.over_at(100 * MS, 150 * MS), 250 * MS);
        delay.shown(130 * MS, false);
        assert_eq!(delay.over_at(100 * MS, 150 * MS), 280 * MS);
        delay.played(300 * MS, 400 * MS);
        assert_eq!(delay.over_at(400 * MS, 150 * MS), 550 * MS);
    }

    #[test]
    fn what_appears_during_the_next_strokes_says_nothing() {
        let mut delay = DisplayDelay::default();
        delay.played(0, 100 * MS);
        delay.shown(400 * MS, true);
        delay.played(300 * MS, 500 * MS);
        assert_eq!(delay.patience(150 * MS), 150 * MS);
        // It was captured before they began.
        delay.shown(810 * MS, true);
        delay.played(900 * MS, 1000 * MS);
        assert_eq!(delay.patience(150 * MS), 620 * MS);
    }

    #[test]
    fn what_appears_much_later_says_nothing() {
        let mut delay = DisplayDelay::default();
        delay.played(0, 100 * MS);
        delay.shown(5010 * MS, false);
        assert_eq!(delay.patience(150 * MS), 150 * MS);
    }
}
