//! Limits on the time and memory of rerun calls. Their messages and configs come from a recording, which is untrusted:
//! it may hold a hard board and a config that counts all solutions.
//!
//! A call may take [`FACTOR`] times its recorded time, and at least [`SHORTEST`]. All calls together may take
//! [`FACTOR`] times their recorded time plus [`SPARE`]. The time in which a call waits for a processor, as on a busy
//! machine, or in which the whole program stands still, counts little ([`counted`]). From the first call on, the program
//! and the processes of its stages may grow by [`MEMORY`]: all calls in progress have exceeded it then, since nothing says
//! which of them grew, and no further call starts. No more calls run at once than there are processors, for each may grow
//! before it is checked.
//!
//! A call that exceeds a limit is cancelled, and its recorded messages are used instead. If it goes on for [`GRACE`], it
//! is abandoned: its process is killed if it has one; else its thread is abandoned, and the recorded messages are used
//! for all further calls of its stage. A thread that takes memory without end can only be stopped by the end of the
//! replay.

use std::collections::HashMap;
use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_host::run::Mode;
use flowpipe_recording::entry::Call;
use flowpipe_sync::lock;

use crate::run::event::ControlEvent;
use crate::run::replay::starvation::{Runner, counted};
use crate::run::stage::Stage;
pub use crate::supervisor::Excess;
use crate::watch::{Reason, Watch};

/// How much slower than the recording machine this one may be.
const FACTOR: u32 = 10;
/// The shortest limit of a call.
const SHORTEST: Duration = Duration::from_secs(1);
/// The time that all calls may take beyond their scaled recorded time.
const SPARE: Duration = Duration::from_secs(2);
/// The longest recorded time that counts for one call.
const LONGEST: Duration = Duration::from_secs(60);
/// The number of bytes by which the program and the processes of its stages may grow.
const MEMORY: u64 = 192 << 20;
/// How long a call may go on once it is cancelled. Calls that check for it do so much more often.
const GRACE: Duration = Duration::from_secs(1);
/// The same for a call that takes far too much memory.
const NO_GRACE: Duration = Duration::from_millis(1);
/// So long after the last check a call makes one itself.
const LATE: Duration = Duration::from_millis(10);
/// How often calls are checked: a call may take megabytes in a millisecond.
const INTERVAL: Duration = Duration::from_millis(5);
/// If there was no check for so long, the program stood still.
const STALL: Duration = Duration::from_millis(100);

impl Excess {
    /// A description of what the call exceeded.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Time => "more time than a replay allows",
            Self::Memory => "more memory than a replay allows",
        }
    }
}

/// The time and memory allowance of a replay.
pub(crate) struct Allowance(Arc<Inner>);

struct Inner {
    state: Mutex<AllowanceState>,
    began: Condvar,
    /// A call has ended.
    ended: Condvar,
    /// How many calls may run at once. `None`: any number.
    at_once: Option<usize>,
    /// The time that all calls may take together. `None`: no limits.
    total: Option<Duration>,
    created: Instant,
    /// When the calls were checked last, in microseconds since it was created.
    checked: AtomicU64,
}

#[derive(Default)]
struct AllowanceState {
    /// The time that finished calls took.
    spent: Duration,
    /// The calls in progress. Other places are free.
    calls: Vec<Option<Running>>,
    /// The number of the last call that started.
    last: u64,
    /// When the calls were checked last. `None`: none was in progress since.
    last_check: Option<Instant>,
    /// For how long the program stood still.
    stalled: Duration,
    /// The memory of this process, and when it was measured.
    memory: Option<(u64, Instant)>,
    /// The least memory of this process since the first call.
    least: Option<u64>,
    /// The same of each isolated process with a call, by its id.
    least_apart: HashMap<u32, u64>,
    /// Whether a thread checks them.
    is_watched: bool,
    /// Whether that thread waits for a call to start.
    is_idle: bool,
    is_over: bool,
}

struct Running {
    number: u64,
    stage: Arc<Stage>,
    watch: Arc<Watch>,
    began: Instant,
    /// What runs it.
    runner: Runner,
    /// How long that had waited for a processor at the first check. `None`: there was none.
    starved_before: Option<Duration>,
    /// For how long the program had stood still when it began.
    stalled_before: Duration,
    /// The time that it may take.
    most: Duration,
    excess: Option<Excess>,
}

/// A rerun call in progress. Ends it when dropped.
pub(crate) struct CallGuard<'a> {
    inner: &'a Inner,
    /// Its place among the calls in progress. Once it is abandoned, another call may take the place.
    place: usize,
    number: u64,
}

impl Allowance {
    /// Creates the allowance for calls that took `recorded` together. `None`: no limits.
    pub(super) fn of(recorded: Option<Duration>) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            began: Condvar::new(),
            ended: Condvar::new(),
            at_once: recorded.map(|_| thread::available_parallelism().map_or(1, NonZero::get)),
            total: recorded.map(|recorded| recorded.saturating_mul(FACTOR) + SPARE),
            created: Instant::now(),
            checked: AtomicU64::new(0),
        }))
    }

    /// Whether there are limits.
    pub(super) fn is_limited(&self) -> bool {
        self.0.total.is_some()
    }

    /// Starts a call that took `recorded`. `process`: the id of its process, if it is isolated.
    ///
    /// # Errors
    /// When the allowance is used up.
    pub(super) fn begin(
        &self,
        stage: &Arc<Stage>,
        watch: &Arc<Watch>,
        process: Option<u32>,
        recorded: Duration,
    ) -> Result<CallGuard<'_>, Excess> {
        let inner = &*self.0;
        let mut state = lock(&inner.state);
        while inner.at_once.is_some_and(|most| state.running() >= most) {
            let ended = inner.ended.wait(state);
            state = ended.unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(total) = inner.total {
            if state.spent >= total {
                return Err(Excess::Time);
            }
            if let Some(process) = process {
                let now = memory(&process.to_string()).unwrap_or(0);
                state.least_apart.entry(process).or_insert(now);
            }
            if state.grown() > MEMORY {
                return Err(Excess::Memory);
            }
        }
        state.last += 1;
        let number = state.last;
        let running = Running {
            number,
            stage: stage.clone(),
            watch: watch.clone(),
            began: Instant::now(),
            runner: Runner::of_call(process),
            starved_before: None,
            stalled_before: state.stalled,
            most: most(recorded),
            excess: None,
        };
        let place = state.add(running);
        if !state.is_watched {
            match self.watch() {
                Ok(()) => state.is_watched = true,
                // Without the thread nothing would cancel it, so it must not start.
                Err(error) if inner.total.is_some() => {
                    tracing::warn!("failed to start the thread that checks calls: {error}");
                    state.calls[place] = None;
                    return Err(Excess::Time);
                }
                Err(_) => {}
            }
        } else if state.is_idle {
            inner.began.notify_one();
        }
        Ok(CallGuard {
            inner,
            place,
            number,
        })
    }

    /// Checks the calls in progress, if the thread that does so is late: on a busy machine it may wait for a processor
    /// while calls take memory. For calls to use whenever they ask whether they are cancelled.
    pub(super) fn check_if_late(&self) {
        let inner = &*self.0;
        let late = inner.checked.load(Ordering::Relaxed) + LATE.as_micros() as u64;
        if inner.total.is_none() || inner.now() < late {
            return;
        }
        if let Ok(mut state) = inner.state.try_lock() {
            inner.check(&mut state);
        }
    }

    /// The plugin of a stage was abandoned in a call. Returns which limit that call exceeded, if any.
    pub(super) fn abandon(&self, stage: &Stage) -> Option<Excess> {
        let mut state = lock(&self.0.state);
        let is_it = |call: &Running| {
            std::ptr::eq(&raw const *call.stage, stage) && call.watch.is_abandoned()
        };
        let mut calls = state.calls.iter_mut();
        let call = calls
            .find(|call| call.as_ref().is_some_and(is_it))?
            .take()?;
        self.0.ended.notify_all();
        // It goes on, and nothing is left for others.
        if call.excess.is_some() {
            state.spent = self.0.total.unwrap_or(state.spent).max(state.spent);
        }
        call.excess
    }

    fn watch(&self) -> io::Result<()> {
        let inner = self.0.clone();
        let thread = thread::Builder::new().name("allowance".to_owned());
        thread.spawn(move || inner.watch()).map(drop)
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        lock(&self.0.state).is_over = true;
        self.0.began.notify_one();
    }
}

impl Inner {
    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn check(&self, state: &mut AllowanceState) {
        state.check(self.total);
        self.checked.store(self.now(), Ordering::Relaxed);
    }

    /// Checks the calls in progress until the replay is over.
    fn watch(&self) {
        let mut state = lock(&self.state);
        while !state.is_over {
            state.is_idle = state.calls.iter().all(Option::is_none);
            state = if state.is_idle {
                state.last_check = None;
                let woken = self.began.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                self.check(&mut state);
                let woken = self.began.wait_timeout(state, INTERVAL);
                woken.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

impl AllowanceState {
    /// Adds a call that starts. Returns its place.
    fn add(&mut self, running: Running) -> usize {
        match self.calls.iter().position(Option::is_none) {
            Some(free) => {
                self.calls[free] = Some(running);
                free
            }
            None => {
                self.calls.push(Some(running));
                self.calls.len() - 1
            }
        }
    }

    /// The memory of this process, measured at most once in an [`INTERVAL`]: calls may be short.
    fn memory(&mut self) -> u64 {
        let now = Instant::now();
        match self.memory {
            Some((bytes, at)) if now.saturating_duration_since(at) < INTERVAL => bytes,
            _ => {
                let bytes = memory("self").unwrap_or(0);
                self.memory = Some((bytes, now));
                bytes
            }
        }
    }

    /// How much this process and those of the stages have grown together, in bytes.
    fn grown(&mut self) -> u64 {
        let here = self.memory();
        let least = self.least.map_or(here, |least| least.min(here));
        self.least = Some(least);
        let mut grown = here - least;
        self.least_apart.retain(|process, least| {
            let now = memory(&process.to_string());
            if let Some(now) = now {
                *least = now.min(*least);
                grown = grown.saturating_add(now - *least);
            }
            // It has ended.
            now.is_some()
        });
        grown
    }

    /// Notes that the calls are checked, and for how long the program stood still before.
    fn note_check(&mut self, now: Instant) {
        let before = self.last_check.replace(now).unwrap_or(now);
        let gap = now.saturating_duration_since(before);
        if gap > STALL {
            self.stalled += gap;
        }
    }

    /// How many calls are in progress.
    fn running(&self) -> usize {
        self.calls.iter().flatten().count()
    }

    /// Cancels the calls that have exceeded a limit, and all calls when the run stops.
    fn check(&mut self, total: Option<Duration>) {
        let grown = total.map_or(0, |_| self.grown());
        self.note_check(Instant::now());
        let (mut all, stalled) = (self.spent, self.stalled);
        let mut snapshots = Vec::new();
        for call in self.calls.iter_mut().flatten() {
            // It is about to start, or has just returned.
            let Some(snapshot) = call.watch.snapshot(call.stage.run.now()) else {
                continue;
            };
            let worked = Duration::from_nanos(u64::try_from(snapshot.worked).unwrap_or(0));
            let worked = match total {
                Some(_) => call.counted(worked, stalled),
                None => worked,
            };
            all = all.saturating_add(worked);
            snapshots.push((call, snapshot, worked));
        }
        let is_spent = total.is_some_and(|total| all >= total);
        for (call, snapshot, worked) in snapshots {
            if total.is_some() && call.excess.is_none() {
                call.excess = match grown > MEMORY {
                    true => Some(Excess::Memory),
                    false => (is_spent || worked >= call.most).then_some(Excess::Time),
                };
            }
            let stops = call.stage.run.mode() >= Mode::Drop;
            let reason = match call.excess {
                Some(_) => Some(Reason::Timeout),
                None => stops.then_some(Reason::Stop),
            };
            let grace = match grown > 2 * MEMORY {
                true => NO_GRACE,
                false => GRACE,
            };
            // Also if it now has less time than it was given.
            let is_new = snapshot.cancelled.is_none() || snapshot.grace.is_none_or(|it| it > grace);
            if let (Some(reason), true) = (reason, is_new) {
                match total {
                    Some(_) => call.watch.cancel_within(snapshot.call, reason, grace),
                    None if snapshot.cancelled.is_none() => {
                        call.watch.cancel(snapshot.call, reason);
                    }
                    None => continue,
                }
                // The control thread abandons calls that ignore it.
                let _ = call.stage.run.events.send(ControlEvent::Nudge);
            }
        }
    }
}

impl Running {
    /// What counts of the time that it has worked. `stalled`: for how long the program has stood still until now.
    fn counted(&mut self, worked: Duration, stalled: Duration) -> Duration {
        let starved = self.runner.starved();
        let starved = starved.saturating_sub(*self.starved_before.get_or_insert(starved));
        let stalled = stalled.saturating_sub(self.stalled_before);
        // Whoever stands still waits for a processor too.
        counted(worked, starved.max(stalled))
    }
}

impl CallGuard<'_> {
    /// Ends the call. Returns why it was cancelled, if it was.
    pub(crate) fn end(self) -> Option<Excess> {
        self.take()
    }

    fn take(&self) -> Option<Excess> {
        let mut state = lock(&self.inner.state);
        let call = state.calls.get_mut(self.place)?;
        let mut call = call.take_if(|call| call.number == self.number)?;
        self.inner.ended.notify_all();
        let waited = u64::try_from(call.watch.waited_in_call()).unwrap_or(0);
        let worked = call
            .began
            .elapsed()
            .saturating_sub(Duration::from_nanos(waited));
        // A call that was never checked was short.
        let worked = match call.starved_before {
            Some(_) => call.counted(worked, state.stalled),
            None => worked,
        };
        state.spent = state.spent.saturating_add(worked);
        call.excess
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

/// The time limit of a call with this recorded time.
fn most(recorded: Duration) -> Duration {
    recorded.min(LONGEST).saturating_mul(FACTOR).max(SHORTEST)
}

/// The recorded time of a call, without waits.
pub(super) fn length(call: &Call) -> Duration {
    let waited = call.waited_ns.max(0);
    let worked = call.ended_ns.saturating_sub(call.taken_ns);
    let worked = u64::try_from(worked.saturating_sub(waited)).unwrap_or(0);
    Duration::from_nanos(worked).min(LONGEST)
}

/// The recorded time of all calls. Overlapping calls of one plugin of one worker count once, since it runs one at a time.
pub(super) fn recorded<'a>(calls: impl Iterator<Item = &'a Call>) -> Duration {
    let mut ends = HashMap::new();
    // The end of the last call's plugin is kept outside the map: most stages have one plugin and one worker.
    let (mut of, mut end) = ((0, 0), i64::MIN);
    let mut all = Duration::ZERO;
    for call in calls {
        if (call.worker, call.plugin) != of {
            ends.insert(of, end);
            of = (call.worker, call.plugin);
            end = ends.get(&of).copied().unwrap_or(i64::MIN);
        }
        let began = call.taken_ns.max(end);
        end = end.max(call.ended_ns);
        let apart = Duration::from_nanos(u64::try_from(end.saturating_sub(began)).unwrap_or(0));
        all = all.saturating_add(length(call).min(apart));
    }
    all
}

/// The anonymous memory of a process in bytes. `None`: unknown on this system.
fn memory(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let mut pages = text.split(' ').skip(1).map_while(|it| it.parse().ok());
    let (resident, shared): (u64, u64) = (pages.next()?, pages.next()?);
    // Pages of 4 KiB: where they are larger, more is allowed.
    Some(resident.saturating_sub(shared) * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(plugin: usize, taken_ns: i64, ended_ns: i64) -> Call {
        Call {
            plugin,
            taken_ns,
            ended_ns,
            ..Call::default()
        }
    }

    #[test]
    fn overlapping_calls_of_a_plugin_count_once() {
        let calls = [
            call(0, 0, 100),
            call(1, 60, 70),
            call(0, 50, 120),
            call(1, 100, 5),
            call(0, 60, 70),
        ];
        assert_eq!(recorded(calls.iter()), Duration::from_nanos(130));
        // On two workers, calls of one plugin overlap.
        let other = Call {
            worker: 1,
            ..call(0, 0, 100)
        };
        let calls = [call(0, 0, 100), other, call(0, 50, 120)];
        assert_eq!(recorded(calls.iter()), Duration::from_nanos(220));
    }

    #[test]
    fn recorded_times_are_bounded() {
        let year = call(0, 0, 365 * 86_400 * 1_000_000_000);
        assert_eq!(length(&year), LONGEST);
        assert_eq!(most(length(&year)), LONGEST * FACTOR);
        assert_eq!(length(&call(0, i64::MAX, i64::MIN)), Duration::ZERO);
        assert_eq!(most(Duration::ZERO), SHORTEST);
    }

    #[test]
    fn a_long_gap_between_checks_is_a_stall() {
        let mut state = AllowanceState::default();
        let began = Instant::now();
        let mut check = |ms: u64| {
            state.note_check(began + Duration::from_millis(ms));
            state.stalled.as_millis()
        };
        assert_eq!(check(1_000), 0);
        assert_eq!(check(1_005), 0);
        assert_eq!(check(1_100), 0);
        assert_eq!(check(4_100), 3_000);
        assert_eq!(check(4_105), 3_000);
        assert_eq!(check(4_305), 3_200);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn allocated_memory_is_measured() {
        let before = memory("self").unwrap();
        let allocated = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(memory("self").unwrap() > before + (allocated.len() as u64) / 2);
    }
}
