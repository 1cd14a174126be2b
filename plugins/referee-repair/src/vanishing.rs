//! Whether a board that is no longer to be seen was solved.
//!
//! Many games cover a solved board with a message, or take it away. The board then is gone right after its last stroke.

use serde::{Deserialize, Serialize};

/// A board that is solved is gone within so many nanoseconds after its last stroke.
const ONSET_NS: i64 = 3_000_000_000;
/// A board that comes back within so many nanoseconds was not solved.
const GRACE_NS: i64 = 1_000_000_000;
/// The same where too little of it was seen drawn: vision may only be unable to read what was drawn.
const LONG_GRACE_NS: i64 = 3_000_000_000;
/// Where the game took this share of the latest flows, it also took those that nobody has seen.
const SURE: f64 = 0.95;
/// The fewest flows that show this.
const FEWEST: usize = 12;

/// What is known when a frame does not show the board.
#[derive(Clone, Copy, Debug)]
pub struct Absence {
    /// When the frame was captured.
    pub captured: i64,
    /// When the last strokes ended.
    pub acted_at: i64,
    /// What shows whether it was solved.
    pub evidence: Evidence,
}

/// What shows whether a board that is gone was solved.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// The flows that the last sighting of the board did not show drawn; `None`: there was no sighting since the strokes
    /// were asked for.
    pub unseen: Option<usize>,
    /// The flows that were drawn last.
    pub drawn: usize,
    /// Strokes for all flows that were missing were asked for. Otherwise what was seen before does not show that it was
    /// solved.
    pub was_asked_whole: bool,
    /// The share of the latest flows that the game took, and how many those are.
    pub confidence: (f64, usize),
}

/// What became of a board that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It may come back.
    Open,
    /// It was solved.
    Solved,
    /// Nobody knows: so many flows were not seen drawn.
    Unknown {
        /// Their number.
        unseen: usize,
    },
}

/// Since when a board is gone.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Vanishing {
    since: Option<i64>,
}

impl Vanishing {
    /// It is there.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// It is not in a frame that was captured after its last stroke.
    pub fn note(&mut self, absence: Absence) -> Fate {
        let Absence {
            captured,
            acted_at,
            evidence,
        } = absence;
        let since = *self.since.get_or_insert(captured);
        let is_late = since.saturating_sub(acted_at) > ONSET_NS;
        let fate = evidence.fate();
        let grace = match fate {
            Fate::Solved => GRACE_NS,
            _ => LONG_GRACE_NS,
        };
        match is_late || captured.saturating_sub(since) < grace {
            true => Fate::Open,
            false => fate,
        }
    }
}

impl Evidence {
    /// What became of the board, if it does not come back.
    pub fn fate(&self) -> Fate {
        let unseen = self.unseen.unwrap_or(self.drawn);
        let (share, flows) = self.confidence;
        // The last flow is drawn in the moment in which the board goes.
        let is_sure = unseen <= 1 || (share >= SURE && flows >= FEWEST);
        match is_sure && self.was_asked_whole {
            true => Fate::Solved,
            false => Fate::Unknown { unseen },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;

    fn absence(captured_ms: i64, unseen: Option<usize>) -> Absence {
        Absence {
            captured: captured_ms * MS,
            acted_at: 0,
            evidence: Evidence {
                unseen,
                drawn: 5,
                was_asked_whole: true,
                confidence: (0.0, 0),
            },
        }
    }

    #[test]
    fn a_board_that_stays_away_after_its_last_stroke_was_solved() {
        let mut vanishing = Vanishing::default();
        assert_eq!(vanishing.note(absence(20, Some(1))), Fate::Open);
        assert_eq!(vanishing.note(absence(900, Some(1))), Fate::Open);
        assert_eq!(vanishing.note(absence(1020, Some(1))), Fate::Solved);
        // One that came back begins again.
        vanishing.end();
        assert_eq!(vanishing.note(absence(1200, Some(1))), Fate::Open);
    }

    #[test]
    fn with_less_evidence_nobody_knows() {
        let fate = |unseen, confidence| {
            let mut vanishing = Vanishing::default();
            let absence = |ms| {
                let mut absence = absence(ms, unseen);
                absence.evidence.confidence = confidence;
                absence
            };
            vanishing.note(absence(20));
            vanishing.note(absence(3500))
        };
        assert_eq!(fate(Some(2), (0.0, 0)), Fate::Unknown { unseen: 2 });
        assert_eq!(fate(None, (0.0, 0)), Fate::Unknown { unseen: 5 });
        assert_eq!(fate(None, (1.0, 40)), Fate::Solved, "the game takes all");
        assert_eq!(fate(None, (1.0, 3)), Fate::Unknown { unseen: 5 });
        assert_eq!(fate(Some(2), (0.8, 40)), Fate::Unknown { unseen: 2 });
        assert_eq!(fate(Some(0), (0.0, 0)), Fate::Solved);
    }

    #[test]
    fn a_board_of_which_flows_were_not_asked_for_was_not_solved() {
        for (unseen, confidence) in [(0, (0.0, 0)), (1, (0.0, 0)), (2, (1.0, 40))] {
            let mut vanishing = Vanishing::default();
            let absence = |ms| {
                let mut absence = absence(ms, Some(unseen));
                absence.evidence.confidence = confidence;
                absence.evidence.was_asked_whole = false;
                absence
            };
            assert_eq!(vanishing.note(absence(20)), Fate::Open);
            assert_eq!(vanishing.note(absence(3000)), Fate::Open);
            assert_eq!(vanishing.note(absence(3020)), Fate::Unknown { unseen });
        }
    }

    #[test]
    fn a_board_that_goes_long_after_its_last_stroke_says_nothing() {
        let mut vanishing = Vanishing::default();
        for ms in (4_000..60_000).step_by(500) {
            assert_eq!(vanishing.note(absence(ms, Some(0))), Fate::Open);
        }
    }

    proptest! {
        /// Nothing is decided before the grace time is over, whenever frames come.
        #[test]
        fn nothing_is_decided_at_once(mut times in prop::collection::vec(0..9_000_i64, 1..20), unseen in prop::option::of(0..9_usize)) {
            times.sort_unstable();
            let mut vanishing = Vanishing::default();
            for &time in &times {
                let fate = vanishing.note(absence(time, unseen));
                let (first, away) = (times[0], time - times[0]);
                let grace = if unseen.is_some_and(|it| it < 2) { 1_000 } else { 3_000 };
                let is_decided = first <= 3_000 && away >= grace;
                prop_assert_eq!(fate != Fate::Open, is_decided);
                prop_assert!(unseen.is_some_and(|unseen| unseen < 2) || fate != Fate::Solved);
            }
        }
    }
}
