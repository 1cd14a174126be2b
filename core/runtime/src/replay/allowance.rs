//! How long calls may work that are run again, and in how much memory. What they work on, and with which config, is what a
//! recording says: it may be a hard board and a solver that is to count all solutions.
//!
//! A call may take [`FACTOR`] times as long as when it was recorded, and [`SHORTEST`] in any case; all calls together
//! [`FACTOR`] times as long as they took then, and [`SPARE`] more. While a call works, the program may grow by
//! [`MEMORY`]. A call that takes more is cancelled, and the recording speaks for it. One that goes on for [`GRACE`] is given up:
//! its process is killed where it has one, else its thread is left behind and the recording speaks for all calls of its stage
//! that follow. A thread that takes memory without end can't be stopped but by the end of the replay.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_recording::entry::Call;

use crate::run::control::Event;
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::watch::{Reason, Watch};
use crate::sync::lock;

/// A machine may be so much slower than the one that recorded.
const FACTOR: u32 = 10;
/// What each call may take.
const SHORTEST: Duration = Duration::from_secs(1);
/// What all calls may take together beyond what they took then.
const SPARE: Duration = Duration::from_secs(2);
/// No call counts as longer than this, whatever the recording says.
const LONGEST: Duration = Duration::from_secs(60);
/// By so many bytes the program may grow while a call works.
const MEMORY: u64 = 256 << 20;
/// So long a call may go on once it was cancelled. One that asks whether it is does so much more often.
const GRACE: Duration = Duration::from_secs(1);
/// The same where it takes memory as if there were no end of it.
const NO_GRACE: Duration = Duration::from_millis(1);
/// How often calls are looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// Why a call was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Excess {
    /// It took too long.
    Time,
    /// It took too much memory.
    Memory,
}

impl Excess {
    /// What it took, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Time => "more time than a replay gives to what the recording says",
            Self::Memory => "more memory than a replay gives to what the recording says",
        }
    }
}

/// What is left for the calls of a replay.
pub(crate) struct Allowance(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    began: Condvar,
    /// What all calls may take together. `None`: there are no limits.
    total: Option<Duration>,
}

#[derive(Default)]
struct State {
    /// What calls took that are over.
    spent: Duration,
    /// Those in progress. The places of others are free.
    calls: Vec<Option<Running>>,
    /// The number of the last one that began.
    last: u64,
    /// A thread looks at them.
    is_watched: bool,
    /// It waits for one to begin.
    is_idle: bool,
    is_over: bool,
}

struct Running {
    number: u64,
    stage: Arc<Stage>,
    watch: Arc<Watch>,
    began: Instant,
    /// What it may take.
    most: Duration,
    /// The process in which it works, where that is another one.
    process: Option<u32>,
    /// The memory of this process when it was looked at first.
    memory: Option<u64>,
    /// The same of the process in which it works.
    memory_apart: Option<u64>,
    excess: Option<Excess>,
}

/// A call that is run again.
pub(crate) struct Turn<'a> {
    inner: &'a Inner,
    /// Its place among those in progress. Once it was left behind, another one may have it.
    place: usize,
    number: u64,
}

impl Allowance {
    /// What calls may take that took so long when they were recorded. `None`: they have no limits.
    pub(super) fn of(recorded: Option<Duration>) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            began: Condvar::new(),
            total: recorded.map(|recorded| recorded.saturating_mul(FACTOR) + SPARE),
        }))
    }

    /// A call begins that took so long when it was recorded. `process`: the number of that in which it works, where that
    /// is another one.
    ///
    /// # Errors
    /// When nothing is left for it.
    pub(super) fn begin(
        &self,
        stage: &Arc<Stage>,
        watch: &Arc<Watch>,
        process: Option<u32>,
        recorded: Duration,
    ) -> Result<Turn<'_>, Excess> {
        let inner = &*self.0;
        let mut state = lock(&inner.state);
        if inner.total.is_some_and(|total| state.spent >= total) {
            return Err(Excess::Time);
        }
        state.last += 1;
        let number = state.last;
        let running = Running {
            number,
            stage: stage.clone(),
            watch: watch.clone(),
            began: Instant::now(),
            most: most(recorded),
            process,
            memory: None,
            memory_apart: None,
            excess: None,
        };
        let place = state.add(running);
        if !state.is_watched {
            match self.watch() {
                Ok(()) => state.is_watched = true,
                // Without a thread nothing ends it, so that it must not begin.
                Err(error) if inner.total.is_some() => {
                    tracing::warn!("can't start a thread that looks at calls: {error}");
                    state.calls[place] = None;
                    return Err(Excess::Time);
                }
                Err(_) => {}
            }
        } else if state.is_idle {
            inner.began.notify_one();
        }
        Ok(Turn {
            inner,
            place,
            number,
        })
    }

    /// The plugin of a stage was left behind in a call. Why that was cancelled, if it took more than it may.
    pub(super) fn abandon(&self, stage: &Stage) -> Option<Excess> {
        let mut state = lock(&self.0.state);
        let is_it = |call: &Running| {
            std::ptr::eq(&raw const *call.stage, stage) && call.watch.is_given_up()
        };
        let mut calls = state.calls.iter_mut();
        let call = calls
            .find(|call| call.as_ref().is_some_and(is_it))?
            .take()?;
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
    /// Looks at the calls in progress until the replay is over.
    fn watch(&self) {
        let mut state = lock(&self.state);
        while !state.is_over {
            state.is_idle = state.calls.iter().all(Option::is_none);
            state = if state.is_idle {
                let woken = self.began.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                state.look(self.total);
                let woken = self.began.wait_timeout(state, INTERVAL);
                woken.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

impl State {
    /// A call begins. Returns its place.
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

    /// Cancels the calls that have taken what they may, and those that nobody wants.
    fn look(&mut self, total: Option<Duration>) {
        let here = total.and_then(|_| memory("self")).unwrap_or(0);
        let mut all = self.spent;
        // What the processes of stages have grown by, together.
        let mut apart: u64 = 0;
        let mut works = Vec::new();
        for call in self.calls.iter_mut().flatten() {
            // It is about to begin, or has just come back.
            let Some(work) = call.watch.look(call.stage.run.now()) else {
                continue;
            };
            let worked = Duration::from_nanos(u64::try_from(work.worked).unwrap_or(0));
            all = all.saturating_add(worked);
            call.memory.get_or_insert(here);
            if let (Some(process), Some(_)) = (call.process, total) {
                let now = memory(&process.to_string()).unwrap_or(0);
                let before = *call.memory_apart.get_or_insert(now);
                apart = apart.saturating_add(now.saturating_sub(before));
            }
            works.push((call, work, worked));
        }
        let is_spent = total.is_some_and(|total| all >= total);
        for (call, work, worked) in works {
            let before = call.memory.unwrap_or(here);
            let grown = here.saturating_sub(before).saturating_add(apart);
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
            // Once more where it has less time than it was given.
            let is_news = work.cancelled.is_none() || work.grace.is_none_or(|it| it > grace);
            if let (Some(reason), true) = (reason, is_news) {
                match total {
                    Some(_) => call.watch.cancel_within(work.call, reason, grace),
                    None if work.cancelled.is_none() => call.watch.cancel(work.call, reason),
                    None => continue,
                }
                // The control thread gives up whoever does not heed it.
                let _ = call.stage.run.events.send(Event::Nudge);
            }
        }
    }
}

impl Turn<'_> {
    /// The call has come back; says why it was cancelled, if it was.
    pub(crate) fn end(self) -> Option<Excess> {
        self.take()
    }

    fn take(&self) -> Option<Excess> {
        let mut state = lock(&self.inner.state);
        let call = state.calls.get_mut(self.place)?;
        let call = call.take_if(|call| call.number == self.number)?;
        let waited = u64::try_from(call.watch.waited_in_call()).unwrap_or(0);
        let worked = call
            .began
            .elapsed()
            .saturating_sub(Duration::from_nanos(waited));
        state.spent = state.spent.saturating_add(worked);
        call.excess
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

/// What a call may take that took so long when it was recorded.
fn most(recorded: Duration) -> Duration {
    recorded.min(LONGEST).saturating_mul(FACTOR).max(SHORTEST)
}

/// How long a call worked when it was recorded.
pub(super) fn length(call: &Call) -> Duration {
    let waited = call.waited_ns.max(0);
    let worked = call.ended_ns.saturating_sub(call.taken_ns);
    let worked = u64::try_from(worked.saturating_sub(waited)).unwrap_or(0);
    Duration::from_nanos(worked).min(LONGEST)
}

/// How long the calls of a stage worked together: times of one plugin that overlap count once, since it did one after the other.
pub(super) fn recorded<'a>(calls: impl Iterator<Item = &'a Call>) -> Duration {
    let mut ends = HashMap::new();
    // That of the last call's plugin is kept beside: most stages have one.
    let (mut plugin, mut end) = (0, i64::MIN);
    let mut all = Duration::ZERO;
    for call in calls {
        if call.plugin != plugin {
            ends.insert(plugin, end);
            plugin = call.plugin;
            end = ends.get(&plugin).copied().unwrap_or(i64::MIN);
        }
        let began = call.taken_ns.max(end);
        end = end.max(call.ended_ns);
        let apart = Duration::from_nanos(u64::try_from(end.saturating_sub(began)).unwrap_or(0));
        all = all.saturating_add(length(call).min(apart));
    }
    all
}

/// The memory of a process that no file stands for, bytes. `None`: the system does not tell.
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
    fn times_of_a_plugin_count_once() {
        let calls = [
            call(0, 0, 100),
            call(1, 60, 70),
            call(0, 50, 120),
            call(1, 100, 5),
            call(0, 60, 70),
        ];
        assert_eq!(recorded(calls.iter()), Duration::from_nanos(130));
    }

    #[test]
    fn what_a_recording_says_is_bounded() {
        let year = call(0, 0, 365 * 86_400 * 1_000_000_000);
        assert_eq!(length(&year), LONGEST);
        assert_eq!(most(length(&year)), LONGEST * FACTOR);
        assert_eq!(length(&call(0, i64::MAX, i64::MIN)), Duration::ZERO);
        assert_eq!(most(Duration::ZERO), SHORTEST);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_taken_is_seen() {
        let before = memory("self").unwrap();
        let taken = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(memory("self").unwrap() > before + (taken.len() as u64) / 2);
    }
}
