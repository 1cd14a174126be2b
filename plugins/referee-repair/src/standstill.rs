//! Why nothing is played although a board is seen: logged once it lasts.

use crate::config::Config;

/// How long it may last before it is logged.
const PATIENCE_NS: i64 = 2_000_000_000;

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
    Patience,
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
    since: i64,
    is_logged: bool,
}

impl Standstill {
    /// Something is played, or nothing is to be played.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// Nothing is played now. Returns what to log, if it has lasted long enough and was not logged before.
    pub fn note(&mut self, why: Hindrance, config: &Config, now: i64) -> Option<String> {
        let since = *self.since.get_or_insert(now);
        let kind = why.kind();
        let Some(met) = self.met.iter_mut().find(|met| met.kind == kind) else {
            let (since, is_logged) = (now, false);
            self.met.push(Met {
                kind,
                since,
                is_logged,
            });
            return None;
        };
        let is_due =
            now.saturating_sub(since) >= PATIENCE_NS && now.saturating_sub(met.since) >= REASON_NS;
        if !is_due || met.is_logged {
            return None;
        }
        met.is_logged = true;
        let seconds = now.saturating_sub(since) as f64 / 1e9;
        let why = why.in_words(config);
        Some(format!("nothing has been played for {seconds:.0} s: {why}"))
    }
}

impl Hindrance {
    fn kind(self) -> &'static str {
        match self {
            Self::WindowMoves => "window moves",
            Self::BoardMoves => "board moves",
            Self::SolvedBefore => "solved before",
            Self::Patience => "patience",
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
            Self::Patience => format!(
                "the game gets time to show what was drawn, and patience_ms of referee-repair is {}: lower it if the game \
                 shows it sooner",
                config.patience_ms
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
        standstill.end();
        assert_eq!(
            standstill.note(Hindrance::NoAnswer, &config, 5 * SECOND),
            None
        );
        assert!(
            standstill
                .note(Hindrance::NoAnswer, &config, 7 * SECOND)
                .is_some()
        );
    }
}
