//! The times that a stage is told: from the run's clock, written down, or told again from a recording.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::Clock;
#[cfg(unix)]
use crate::isolation::words;
use crate::sync::lock;

/// How a stage gets to know the time.
#[derive(Debug, Default)]
pub(crate) enum Tape {
    /// From the run's clock.
    #[default]
    Off,
    /// From the run's clock, and each time is written down.
    Records(Mutex<Vec<i64>>),
    /// From what was written down; past its end the last time stands still.
    Plays(Mutex<Played>),
    /// Each time that it asks, a microsecond has gone by: where everything is to be the same each time.
    Steps(AtomicI64),
}

/// What is left to tell.
#[derive(Debug, Default)]
pub(crate) struct Played {
    left: VecDeque<i64>,
    last: i64,
    /// The times are new, and another process that tells them has not heard of them yet.
    #[cfg_attr(
        not(unix),
        allow(dead_code, reason = "stages in processes of their own")
    )]
    is_new: bool,
}

impl Tape {
    /// A tape that begins with what was told while the stage was made and in its first call.
    pub(crate) fn plays(first: &[i64]) -> Self {
        Self::Plays(Mutex::new(Played {
            left: first.iter().copied().collect(),
            ..Played::default()
        }))
    }

    /// The time that the stage is told now.
    pub(crate) fn tell(&self, clock: &Clock) -> i64 {
        match self {
            Self::Off => clock.now(),
            Self::Records(told) => {
                let mut told = lock(told);
                let now = clock.now();
                told.push(now);
                now
            }
            Self::Plays(played) => {
                let mut played = lock(played);
                if let Some(next) = played.left.pop_front() {
                    played.last = next;
                }
                played.last
            }
            Self::Steps(told) => told.fetch_add(1_000, Ordering::Relaxed),
        }
    }

    /// Where it steps, it is that late at least from now on; the time that it would tell next.
    pub(crate) fn skip_to(&self, time: i64) -> i64 {
        match self {
            Self::Steps(told) => told.fetch_max(time, Ordering::Relaxed).max(time),
            Self::Off | Self::Records(_) | Self::Plays(_) => time,
        }
    }

    /// Takes what was written down since the last time.
    pub(crate) fn take(&self) -> Vec<i64> {
        match self {
            Self::Records(told) => std::mem::take(&mut *lock(told)),
            Self::Off | Self::Plays(_) | Self::Steps(_) => Vec::new(),
        }
    }

    /// From here on the stage is told these times; `from` is when that call began.
    pub(crate) fn load(&self, times: &[i64], from: i64) {
        if let Self::Plays(played) = self {
            *lock(played) = Played {
                left: times.iter().copied().collect(),
                last: from,
                is_new: true,
            };
        }
    }
}

/// For a stage in a process of its own, which tells it the time there.
#[cfg(unix)]
impl Tape {
    /// A tape as the host has it.
    pub(crate) fn plays_from(times: &[i64], last: i64) -> Self {
        Self::Plays(Mutex::new(Played {
            left: times.iter().copied().collect(),
            last,
            is_new: false,
        }))
    }

    /// The tape as the other process begins with it.
    pub(crate) fn told_to_another(&self) -> words::Tape {
        match self {
            // Trials are in this process.
            Self::Off | Self::Steps(_) => words::Tape::Off,
            Self::Records(_) => words::Tape::Records,
            Self::Plays(played) => {
                let played = lock(played);
                words::Tape::Plays(played.left.iter().copied().collect(), played.last)
            }
        }
    }

    /// What the other process is to tell from now on, if that was loaded since the last time.
    pub(crate) fn take_loaded(&self) -> Option<(Vec<i64>, i64)> {
        let Self::Plays(played) = self else {
            return None;
        };
        let mut played = lock(played);
        std::mem::take(&mut played.is_new)
            .then(|| (played.left.iter().copied().collect(), played.last))
    }

    /// Notes what the other process told.
    pub(crate) fn add(&self, times: Vec<i64>) {
        if let Self::Records(told) = self {
            lock(told).extend(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_told_again() {
        let clock = Clock::start();
        let tape = Tape::Records(Mutex::default());
        let told = [tape.tell(&clock), tape.tell(&clock)];
        let written = tape.take();
        assert_eq!(written, told);
        assert!(tape.take().is_empty());

        let again = Tape::plays(&written);
        assert_eq!([again.tell(&clock), again.tell(&clock)], told);
        assert_eq!(again.tell(&clock), told[1], "then time stands still");
        again.load(&[], 7);
        assert_eq!(again.tell(&clock), 7);
    }
}
