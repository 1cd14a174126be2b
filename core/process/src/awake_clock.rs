//! A clock that stands still while this process does.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between two ticks.
const TICK: Duration = Duration::from_millis(50);
/// The most that is counted from one tick to the next: what took longer is a stall.
const MOST: Duration = Duration::from_millis(100);

/// Counts the time from its start on, without that in which this process stood still, as when it is stopped or the machine
/// stalls. For limits on what reports may take that come at any time; [`crate::patience`] is for those that are waited for.
/// A thread ticks until this is dropped.
#[derive(Debug)]
pub struct AwakeClock {
    ticks: Arc<Mutex<Ticks>>,
    _over: Sender<()>,
}

#[derive(Debug)]
struct Ticks {
    last: Instant,
    /// The time until the last one.
    counted: Duration,
}

impl AwakeClock {
    /// # Errors
    /// When the system gives no thread.
    pub fn start() -> io::Result<Self> {
        let ticks = Arc::new(Mutex::new(Ticks {
            last: Instant::now(),
            counted: Duration::ZERO,
        }));
        let (over, is_over) = channel::<()>();
        let ticking = Arc::clone(&ticks);
        std::thread::Builder::new()
            .name("awake-clock".to_owned())
            .spawn(move || {
                // Ends when the sender is dropped.
                while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(TICK) {
                    lock(&ticking).tick(Instant::now());
                }
            })?;
        Ok(Self { ticks, _over: over })
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        lock(&self.ticks).at(Instant::now())
    }
}

impl Ticks {
    fn at(&self, now: Instant) -> Duration {
        self.counted + now.saturating_duration_since(self.last).min(MOST)
    }

    fn tick(&mut self, now: Instant) {
        self.counted = self.at(now);
        self.last = now;
    }
}

fn lock(ticks: &Mutex<Ticks>) -> MutexGuard<'_, Ticks> {
    // Nothing in it can be left half done.
    ticks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_not_counted() {
        let began = Instant::now();
        let after = |ms: u64| began + Duration::from_millis(ms);
        let mut ticks = Ticks {
            last: began,
            counted: Duration::ZERO,
        };
        ticks.tick(after(50));
        assert_eq!(ticks.at(after(80)), Duration::from_millis(80));
        // The process stands still for six seconds, and asks before it ticks.
        assert_eq!(ticks.at(after(6050)), Duration::from_millis(150));
        ticks.tick(after(6050));
        assert_eq!(ticks.at(after(6050)), Duration::from_millis(150));
        assert_eq!(ticks.at(after(6090)), Duration::from_millis(190));
    }

    #[test]
    fn it_goes_on_while_the_process_runs() {
        let clock = AwakeClock::start().unwrap();
        let (began, from) = (Instant::now(), clock.now());
        while clock.now() < from + 10 * MOST {
            assert!(began.elapsed() < Duration::from_secs(60), "{clock:?}");
            std::thread::sleep(TICK);
        }
        // It is never ahead.
        assert!(clock.now() - from <= began.elapsed() + TICK);
    }
}
