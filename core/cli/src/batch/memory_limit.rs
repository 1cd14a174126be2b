//! How much memory the work for another machine may take here, whatever the config of its solver permits: from reading a
//! chunk to its results.
//!
//! Nothing reports which of several chunks takes the memory of a process. So all that are in progress end when it is
//! exceeded, and what was being worked on is tried again while nothing else is. A puzzle that exceeds it then has failed.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use flowpipe_process::memory::{resident_bytes, total_bytes};

/// How often the memory is measured: a solver may take megabytes in a millisecond.
const INTERVAL: Duration = Duration::from_millis(5);

/// The limit, and what is in progress.
pub struct MemoryLimit {
    /// In bytes. `None`: the system does not report how much there is.
    most: Option<u64>,
    /// The memory of the process, in bytes.
    measure: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Who works alone has it for writing, all others for reading.
    work: RwLock<()>,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    /// How many chunks are in progress.
    running: usize,
    /// The memory of the process when none was, in bytes.
    idle: u64,
    /// The memory of the process, and when it was measured.
    measured: Option<(u64, Instant)>,
}

/// Work in progress.
pub struct LimitedWork<'a> {
    limit: &'a MemoryLimit,
    _turn: Turn<'a>,
}

enum Turn<'a> {
    Beside { _others: RwLockReadGuard<'a, ()> },
    Alone { _all: RwLockWriteGuard<'a, ()> },
}

impl MemoryLimit {
    /// At most so many MiB beyond what the process has without work. `None`: half of the memory of the machine.
    pub fn new(mebibytes: Option<u32>) -> Self {
        let given = mebibytes.map(|it| u64::from(it) << 20);
        Self::measured_by(given.or_else(|| Some(total_bytes()? / 2)), memory)
    }

    /// At most so many bytes, as a function measures them.
    pub(super) fn measured_by(
        most: Option<u64>,
        measure: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            most,
            measure: Box::new(measure),
            work: RwLock::default(),
            state: Mutex::default(),
        }
    }

    /// Whether the system reports how much memory this process has.
    pub fn can_measure() -> bool {
        resident_bytes(std::process::id()).is_some()
    }

    /// Begins work beside other work.
    pub fn begin(&self) -> LimitedWork<'_> {
        let others = self.work.read().unwrap_or_else(PoisonError::into_inner);
        self.started(Turn::Beside { _others: others })
    }

    /// Begins work when nothing else is in progress, and lets nothing else begin.
    pub fn begin_alone(&self) -> LimitedWork<'_> {
        let all = self.work.write().unwrap_or_else(PoisonError::into_inner);
        self.started(Turn::Alone { _all: all })
    }

    /// Why work has failed that exceeded it alone.
    pub fn reason(&self) -> String {
        let mebibytes = self.most.unwrap_or_default() >> 20;
        format!(
            "it takes more than {mebibytes} MiB of memory, the limit of its worker (`flowpipe machine work --memory`)"
        )
    }

    fn started<'a>(&'a self, turn: Turn<'a>) -> LimitedWork<'a> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.running == 0 {
            state.idle = (self.measure)();
        }
        state.running += 1;
        LimitedWork {
            limit: self,
            _turn: turn,
        }
    }
}

impl LimitedWork<'_> {
    /// Whether all work together exceeds the limit.
    pub fn is_too_much(&self) -> bool {
        let Some(most) = self.limit.most else {
            return false;
        };
        let state = self.limit.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let memory = match state.measured {
            Some((bytes, at)) if at.elapsed() < INTERVAL => bytes,
            _ => {
                let bytes = (self.limit.measure)();
                state.measured = Some((bytes, Instant::now()));
                bytes
            }
        };
        memory.saturating_sub(state.idle) > most
    }
}

impl Drop for LimitedWork<'_> {
    fn drop(&mut self) {
        let state = self.limit.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.running -= 1;
        // It is that of this work.
        state.measured = None;
    }
}

/// The memory of this process, in bytes. 0: the system does not report it.
fn memory() -> u64 {
    resident_bytes(std::process::id()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_work_allocates_counts_until_it_is_freed() {
        let limit = MemoryLimit::new(Some(64));
        let work = limit.begin();
        assert!(!work.is_too_much());
        let allocated = std::hint::black_box(vec![1_u8; 200 << 20]);
        // Until then, what was measured before counts.
        std::thread::sleep(2 * INTERVAL);
        assert!(work.is_too_much() && limit.begin().is_too_much());
        drop((work, allocated));
        assert!(!limit.begin_alone().is_too_much());
        assert!(limit.reason().contains(" 64 MiB"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_a_limit_it_is_half_of_the_machine() {
        let most = MemoryLimit::new(None).most.unwrap();
        assert!(most > 100 << 20, "{most}");
    }
}
