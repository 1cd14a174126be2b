//! How long a game takes to show strokes. What it has not shown by then counts as missed, and is drawn again.

use serde::{Deserialize, Serialize};

/// A game gets so many times the longest time that it took lately.
const TIMES: i64 = 2;
/// No game gets more time than this, in nanoseconds.
const LONGEST_NS: i64 = 2_400_000_000;
/// After each attempt the longest time counts for this much less: a quarter.
const FORGOTTEN: i64 = 4;

/// When strokes ended, and when the board changed after that.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    ended_at: Option<i64>,
    /// When the frame was captured that showed the last change since then.
    changed_at: Option<i64>,
    /// The longest time from the end of strokes to a change lately, in nanoseconds.
    longest_ns: i64,
}

impl Response {
    /// Strokes have ended.
    pub fn strokes_ended(&mut self, now: i64) {
        self.ended_at = Some(now);
        self.changed_at = None;
        self.longest_ns -= self.longest_ns / FORGOTTEN;
    }

    /// A frame that was captured then shows more or less drawn, while no strokes are being played.
    pub fn board_changed(&mut self, captured: i64) {
        let took = self.ended_at.map(|ended| captured.saturating_sub(ended));
        if let Some(took) = took.filter(|took| (0..=LONGEST_NS).contains(took)) {
            self.changed_at = Some(captured);
            self.longest_ns = self.longest_ns.max(took);
        }
    }

    /// When the game has had its time to show the last strokes; `None`: there were none. `least_ns`: the least time that it
    /// gets. `futile`: attempts in a row that drew nothing, each of which doubles that.
    pub fn shown_by(&self, least_ns: i64, futile: usize) -> Option<i64> {
        let ended = self.ended_at?;
        let doublings = futile.saturating_sub(1).min(16) as u32;
        let least = least_ns.saturating_mul(1 << doublings);
        let time = least
            .max(self.longest_ns.saturating_mul(TIMES))
            .min(LONGEST_NS.max(least_ns));
        let by = ended.saturating_add(time);
        // As long as more appears, it is not done.
        let at_rest = self.changed_at.map(|at| at.saturating_add(least_ns));
        at_rest.map_or(Some(by), |at_rest| Some(by.max(at_rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn shown_by(response: &Response, futile: usize) -> Option<i64> {
        let by = response.shown_by(150 * MS, futile);
        by.map(|by| by / MS)
    }

    #[test]
    fn a_game_gets_the_least_time_until_it_needs_more() {
        let mut response = Response::default();
        assert_eq!(shown_by(&response, 0), None);
        response.board_changed(5 * MS);
        response.strokes_ended(1000 * MS);
        assert_eq!(shown_by(&response, 1), Some(1150));
        response.board_changed(1100 * MS);
        assert_eq!(shown_by(&response, 1), Some(1250), "more may come");
        response.strokes_ended(2000 * MS);
        assert_eq!(shown_by(&response, 1), Some(2150));
        response.board_changed(2140 * MS);
        assert_eq!(shown_by(&response, 1), Some(2290));
        response.strokes_ended(3000 * MS);
        assert_eq!(shown_by(&response, 1), Some(3210), "twice 105 ms");
    }

    #[test]
    fn each_attempt_that_draws_nothing_doubles_it() {
        let mut response = Response::default();
        response.strokes_ended(0);
        let by = [0, 1, 2, 3, 4, 5, 6, 99].map(|futile| shown_by(&response, futile).unwrap());
        assert_eq!(by, [150, 150, 300, 600, 1200, 2400, 2400, 2400]);
        assert_eq!(response.shown_by(5000 * MS, 9), Some(5000 * MS));
    }

    #[test]
    fn what_comes_much_later_is_no_response() {
        let mut response = Response::default();
        response.strokes_ended(0);
        response.board_changed(60_000 * MS);
        assert_eq!(shown_by(&response, 1), Some(150));
    }
}
