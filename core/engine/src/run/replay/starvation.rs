//! How long rerun calls have waited for a processor. On a busy machine, a call takes far more time than it computes.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// One part in so many of a call's time counts in any case.
pub(super) const LEAST: u32 = 10;

/// What runs a call: a thread of this process, by its folder in `/proc`, or another process.
pub(super) enum Runner {
    Thread(Option<PathBuf>),
    Process(u32),
}

impl Runner {
    /// What runs a call of the current thread. `process`: the id of the call's process, if it is isolated.
    pub(super) fn of_call(process: Option<u32>) -> Self {
        thread_local! {
            static THREAD: Option<PathBuf> =
                std::fs::read_link("/proc/thread-self").ok().map(|it| Path::new("/proc").join(it));
        }
        match process {
            Some(process) => Self::Process(process),
            None => Self::Thread(THREAD.with(Clone::clone)),
        }
    }

    /// How long it has waited for a processor since it was started; of a process, that one of its threads which has waited
    /// longest. Nothing where the system does not report it.
    pub(super) fn starved(&self) -> Duration {
        match self {
            Self::Thread(thread) => thread.as_deref().and_then(starved).unwrap_or_default(),
            Self::Process(process) => {
                let threads = std::fs::read_dir(format!("/proc/{process}/task"));
                let threads = threads.into_iter().flatten().flatten();
                let starved = threads.filter_map(|thread| starved(&thread.path()));
                starved.max().unwrap_or_default()
            }
        }
    }
}

/// What counts of the time that a call has worked. `lost`: how much of it was not its own.
pub(super) fn counted(worked: Duration, lost: Duration) -> Duration {
    worked.saturating_sub(lost).max(worked / LEAST)
}

/// How long a thread has waited for a processor since it was started, by its folder in `/proc`. `None`: unknown on this
/// system.
fn starved(thread: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    // The time on a processor, that of waiting for one, and how often it had one.
    let nanoseconds = text.split(' ').nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn time_without_a_processor_does_not_count_but_for_a_part() {
        let seconds = Duration::from_secs;
        assert_eq!(counted(seconds(5), seconds(0)), seconds(5));
        assert_eq!(counted(seconds(5), seconds(3)), seconds(2));
        for lost in [5, 9] {
            assert_eq!(counted(seconds(5), seconds(lost)), seconds(5) / LEAST);
        }
    }

    /// More threads than processors, so that each has to wait.
    #[test]
    #[cfg(target_os = "linux")]
    fn waits_for_a_processor_are_measured() {
        let Runner::Thread(Some(thread)) = Runner::of_call(None) else {
            panic!("its folder is known");
        };
        let process = Runner::Process(std::process::id());
        let before = starved(&thread).unwrap();
        let is_over = AtomicBool::new(false);
        let spin = || {
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        thread::scope(|scope| {
            let processors = thread::available_parallelism().map_or(1, NonZero::get);
            for _ in 0..processors * 2 {
                scope.spawn(spin);
            }
            let began = Instant::now();
            let has_waited =
                || starved(&thread).is_some_and(|it| it >= before + Duration::from_millis(50));
            while !has_waited() && began.elapsed() < Duration::from_secs(60) {
                std::hint::spin_loop();
            }
            // Before anything is asserted: the scope waits for the threads.
            is_over.store(true, Ordering::Relaxed);
            assert!(has_waited(), "it never waited");
        });
        assert!(process.starved() >= before + Duration::from_millis(50));
    }
}
