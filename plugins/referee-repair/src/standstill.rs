//! Why nothing is played although a board is seen: logged once it lasts.

use crate::config::Config;

/// How long it may last before it is logged.
const PATIENCE_NS: i64 = 2_000_000_000;

/// A reason that was logged is not logged again for so long.
const AGAIN_NS: i64 = 60_000_000_000;

/// How long one reason may last before it is logged: what just follows from another one is gone sooner.
const REASON_NS: i64 = 500_000_000;

/// Why the board that is seen is not played now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Its window is being moved.
    WindowMoves,
    /// It is changing by itself.
    BoardMoves,
    /// It was solved when it was first seen.
    SolvedBefore,
    /// The game may still show what was drawn.
    Patience {
        /// How long it gets for that, in milliseconds.
        wait_ms: i64,
    },
    /// It is captured too late.
    Stale {
        /// Its age in milliseconds.
        age_ms: i64,
    },
    /// There is no answer of the solver.
    NoAnswer,
}

/// How long nothing has been played.
#[derive(Default)]
pub struct Standstill {
    since: Option<i64>,
    met: Vec<Met>,
}

/// A reason that was met.
struct Met {
    kind: &'static str,
    /// `None`: not since something was played.
    since: Option<i64>,
    logged_at: Option<i64>,
}

impl Standstill {
    /// Something is played, or nothing is to be played.
    pub fn end(&mut self) {
        self.since = None;
        for met in &mut self.met {
            met.since = None;
        }
    }

    /// Nothing is played now. Returns what to log, if it has lasted long enough and was not logged before.
    pub fn note(&mut self, why: Hindrance, config: &Config, now: i64) -> Option<String> {
        let began = *self.since.get_or_insert(now);
        let met = self.met(why.kind());
        let since = *met.since.get_or_insert(now);
        let is_due =
            now.saturating_sub(began) >= PATIENCE_NS && now.saturating_sub(since) >= REASON_NS;
        let was_logged = met
            .logged_at
            .is_some_and(|logged| logged >= began || now.saturating_sub(logged) < AGAIN_NS);
        if !is_due || was_logged {
            return None;
        }
        met.logged_at = Some(now);
        let seconds = now.saturating_sub(began) as f64 / 1e9;
        let why = why.in_words(config);
        Some(format!("nothing has been played for {seconds:.0} s: {why}"))
    }

    fn met(&mut self, kind: &'static str) -> &mut Met {
        let at = self.met.iter().position(|met| met.kind == kind);
        let at = at.unwrap_or_else(|| {
            self.met.push(Met {
                kind,
                since: None,
                logged_at: None,
            });
            self.met.len() - 1
        });
        &mut self.met[at]
    }
}

impl Hindrance {
    fn kind(self) -> &'static str {
        match self {
            Self::WindowMoves => "window moves",
            Self::BoardMoves => "board moves",
            Self::SolvedBefore => "solved before",
            Self::Patience { .. } => "patience",
            Self::Stale { .. } => "stale",
            Self::NoAnswer => "no answer",
        }
    }

    fn in_words(self, config: &Config) -> String {
        match self {
            Self::WindowMoves => {
                "the window is being moved: leave it where it is until the board is played".to_owned()
            }
            Self::BoardMoves => {
                "the board keeps changing by itself, and is played when it is at rest: wait, or stop the animation in the \
                 game"
                    .to_owned()
            }
            Self::SolvedBefore => {
                "the board is solved already: open the next one in the game".to_owned()
            }
            Self::Patience { wait_ms } => format!(
                "the game gets {wait_ms} ms to show what was drawn, at least patience_ms of referee-repair and twice the \
                 longest time that it took lately: wait"
            ),
            Self::Stale { age_ms } => format!(
                "the board was captured {age_ms} ms ago, and fresh_ms of referee-repair is {}: raise it, or let the \
                 stages before it work faster",
                config.fresh_ms
            ),
            Self::NoAnswer => {
                "the solver has not answered: wait, set `timeout` of its stage to limit how long it may take, or name \
                 another solver in `plugin`"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn each_reason_is_logged_once_after_two_seconds() {
        let config = Config::default();
        let mut standstill = Standstill::default();
        let mut note = |why, now| standstill.note(why, &config, now);
        assert_eq!(note(Hindrance::BoardMoves, 0), None);
        assert_eq!(note(Hindrance::Stale { age_ms: 300 }, SECOND), None);
        let text = note(Hindrance::Stale { age_ms: 400 }, 2 * SECOND).unwrap();
        assert!(
            text.contains("for 2 s: the board was captured 400 ms ago"),
            "{text}"
        );
        assert!(text.contains("fresh_ms of referee-repair is 250"), "{text}");
        assert_eq!(note(Hindrance::Stale { age_ms: 500 }, 3 * SECOND), None);
        assert_eq!(note(Hindrance::NoAnswer, 3 * SECOND), None);
        assert!(note(Hindrance::NoAnswer, 4 * SECOND).is_some());
        // Something was played between: the same reason is known, another one is not.
        standstill.end();
        let mut note = |why, seconds| standstill.note(why, &config, seconds * SECOND);
        assert_eq!(note(Hindrance::NoAnswer, 5), None);
        assert_eq!(note(Hindrance::WindowMoves, 5), None);
        assert_eq!(note(Hindrance::NoAnswer, 7), None);
        assert!(note(Hindrance::WindowMoves, 7).is_some());
        standstill.end();
        assert_eq!(
            standstill.note(Hindrance::NoAnswer, &config, 70 * SECOND),
            None
        );
        assert!(
            standstill
                .note(Hindrance::NoAnswer, &config, 72 * SECOND)
                .is_some()
        );
    }
}
