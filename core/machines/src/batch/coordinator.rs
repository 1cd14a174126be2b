//! The end that distributes items: it has a link to each worker, and runs one job after the other.

use std::collections::VecDeque;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_link::link::LinkFailure;
use flowpipe_link::transport::Transport;
use serde_json::Value;

use crate::agreement::{Difference, Facts};
use crate::batch::absence::AbsenceWatch;
use crate::batch::remote::{Remote, drive};
use crate::batch::schedule::{Schedule, Supply};

/// How long the coordinator waits for results before it reports that there are none.
const IDLE_INTERVAL: Duration = Duration::from_millis(20);
/// How long no results come, although workers work, before that is reported. It is reported once until some come.
const STALLED_AFTER: Duration = Duration::from_secs(30);

/// Opens a transport to a worker, by its place among the workers.
pub type Connect = dyn Fn(usize) -> io::Result<Box<dyn Transport>> + Send + Sync;

/// The workers of a coordinator. Dropping them ends the work for it.
pub struct Workers {
    own: String,
    remotes: Vec<Remote>,
    connect: Box<Connect>,
}

/// What is to be done with each item. `R` is the result of one item.
pub struct Job<'a, R> {
    /// What the coordinator runs: a worker must run the same.
    pub facts: &'a Facts,
    /// What to do, for the workers.
    pub task: &'a Value,
    /// How many items there are by now. It is asked again and again, until they are complete.
    pub supply: &'a (dyn Fn() -> Supply + Sync),
    /// The items of a range, as they are sent.
    pub encode: &'a (dyn Fn(Range<u64>) -> Encoded<R> + Sync),
    /// The results of the first items of a range, from the bytes that this machine sent: at least one. They are untrusted:
    /// the error names what is wrong. `None`: the results were delivered before, and the items are there no more. Once the
    /// last argument returns true, the job is over, and the results are not used.
    pub decode: &'a Decode<'a, R>,
    /// How long an item takes at most, if that is limited. A worker that takes much longer is not used any more.
    pub longest_item: Option<Duration>,
}

/// See [`Job::decode`].
pub type Decode<'a, R> = dyn Fn(&str, Range<u64>, &[u8], &dyn Fn() -> bool) -> Result<Option<Decoded<R>>, String>
    + Sync
    + 'a;

/// Results as they were received.
#[derive(Debug)]
pub struct Decoded<R> {
    /// In the order of their items.
    pub results: Vec<R>,
    /// The bytes that they take besides their own size, such as those of texts and lists: while results wait for earlier
    /// ones, at most 64 MiB of them are kept.
    pub heap_bytes: usize,
}

/// Items as they are sent.
pub enum Encoded<R> {
    /// The first items of the range, at most [`MAX_BODY`](super::MAX_BODY) bytes, and how many they are: at least one.
    Items(Vec<u8>, u64),
    /// The first item can't be sent; this is its result.
    Result(R),
    /// The results were delivered before, and the items are there no more.
    Delivered,
}

/// What happens during a job.
pub enum BatchEvent<R> {
    /// The next results, in the order of the items.
    Results {
        /// The index of the first item.
        first: u64,
        /// One for each item.
        results: Vec<R>,
    },
    /// Something has happened to a worker.
    Notice(Notice),
    /// There are no results at the moment.
    Idle,
}

/// What has happened to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It takes part.
    Joined {
        /// Its name.
        machine: String,
        /// How many chunks it works on at the same time.
        lanes: usize,
    },
    /// It is not connected, or its program was replaced: others do what it had, until it comes back.
    Disconnected {
        /// Its name.
        machine: String,
        /// Why the connection ended.
        reason: Option<String>,
    },
    /// It does not take part in the job.
    Refused {
        /// Its name.
        machine: String,
        /// Why.
        reason: Reason,
    },
    /// It sent what it must not send, or does not do what it takes, and is not used any more.
    Dropped {
        /// Its name.
        machine: String,
        /// Why: a clause whose subject is the worker.
        reason: String,
    },
    /// No worker is there for a while.
    Awaited {
        /// Those that may come.
        machines: Vec<String>,
    },
    /// There are workers, and no results for a while.
    Stalled {
        /// How long.
        seconds: u64,
        /// The workers that have the next items. None: no worker takes them.
        machines: Vec<String>,
    },
}

/// Why a worker does not take part in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not run the same as the coordinator.
    Differs(Vec<Difference>),
    /// It can't do the job.
    Failed(String),
}

/// Why a job has no more results.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// No worker was there.
    #[error("no worker was there for {seconds} s")]
    Absent {
        /// How long they were awaited.
        seconds: u64,
        /// All workers.
        workers: Vec<AbsentWorker>,
    },
    /// No worker takes part.
    #[error("no worker takes part")]
    Refused,
    /// Workers took part, and none of them is used any more.
    #[error("no worker is left")]
    NoneLeft,
    /// A thread could not be started.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

/// A worker that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentWorker {
    /// Its name.
    pub machine: String,
    /// It takes no part, and other workers are not there.
    pub is_refused: bool,
    /// Why its last connection failed, if one has.
    pub failure: Option<LinkFailure>,
}

/// What the threads of a job share.
pub(crate) struct SharedJob<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    began: Instant,
}

pub(crate) struct State<R> {
    pub schedule: Schedule<R>,
    pub notices: VecDeque<Notice>,
    pub standings: Vec<Standing>,
    /// Whether a worker has taken part, also one that does not any more.
    pub has_worked: bool,
    pub is_over: bool,
}

/// What a worker does in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is not there, or has not answered.
    Awaited,
    /// It works.
    Working,
    /// It does not take part.
    Refused,
}

impl Workers {
    /// Starts a link to each machine, over a transport that `connect` opens.
    ///
    /// # Errors
    /// When a transport can't be opened, or a thread can't be started.
    pub fn start(own: &str, machines: &[String], connect: Box<Connect>) -> io::Result<Self> {
        let remotes = machines.iter().enumerate().map(|(place, name)| {
            let transport = connect(place)?;
            Remote::start(name.clone(), transport)
        });
        Ok(Self {
            own: own.to_owned(),
            remotes: remotes.collect::<io::Result<_>>()?,
            connect,
        })
    }

    /// Does a job: passes its results to `each`, in the order of the items, until `each` breaks or all are done. If there
    /// are items and no worker is there for longer than `absence_timeout`, it fails.
    ///
    /// # Errors
    /// When no worker can do it.
    pub fn run<R: Send, B>(
        &mut self,
        job: &Job<'_, R>,
        absence_timeout: Duration,
        mut each: impl FnMut(BatchEvent<R>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, BatchError> {
        let shared = SharedJob {
            state: Mutex::new(State {
                schedule: Schedule::new((job.supply)(), self.remotes.len()),
                notices: VecDeque::new(),
                standings: vec![Standing::Awaited; self.remotes.len()],
                has_worked: false,
                is_over: false,
            }),
            changed: Condvar::new(),
            began: Instant::now(),
        };
        // Answers to an earlier program of this name do not have it.
        let number = fastrand::u64(..);
        let names = self.remotes.iter().map(|it| it.name().to_owned());
        let names: Vec<_> = names.collect();
        let Self {
            own,
            remotes,
            connect,
        } = self;
        std::thread::scope(|scope| {
            // Also when `each` panics: the scope waits for the workers' threads.
            let _end = EndOfJob(&shared);
            let mut started = Ok(());
            for (id, remote) in remotes.iter_mut().enumerate() {
                let (shared, own, connect) = (&shared, &*own, &**connect);
                let thread = std::thread::Builder::new().name("flowpipe-batch".into());
                let thread = thread.spawn_scoped(scope, move || {
                    drive(remote, id, number, own, job, shared, connect);
                });
                started = started.and(thread.map(drop));
            }
            started
                .map_err(BatchError::from)
                .and_then(|()| follow(&shared, job, &names, absence_timeout, &mut each))
        })
        .map_err(|error| match error {
            BatchError::Absent { seconds, .. } => BatchError::Absent {
                seconds,
                workers: {
                    let standings = shared.lock().standings.clone();
                    let each = remotes.iter().zip(standings);
                    let each = each.map(|(remote, standing)| AbsentWorker {
                        machine: remote.name().to_owned(),
                        is_refused: standing == Standing::Refused,
                        failure: remote.failure(),
                    });
                    each.collect()
                },
            },
            error => error,
        })
    }
}

/// Delivers what happens until the job is over. `names`: of the workers.
fn follow<R, B>(
    shared: &SharedJob<R>,
    job: &Job<'_, R>,
    names: &[String],
    absence_timeout: Duration,
    each: &mut impl FnMut(BatchEvent<R>) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, BatchError> {
    let mut absence = AbsenceWatch::new(Instant::now());
    let mut last_results = Some(Instant::now());
    let mut is_idle = false;
    loop {
        let supply = (job.supply)();
        let mut state = shared.lock();
        state.schedule.set_supply(supply);
        let event = if let Some(notice) = state.notices.pop_front() {
            BatchEvent::Notice(notice)
        } else if let Some((first, results)) = state.schedule.next_results() {
            last_results = Some(Instant::now());
            BatchEvent::Results { first, results }
        } else if state.schedule.is_finished() {
            return Ok(ControlFlow::Continue(()));
        } else {
            if state.schedule.is_idle() {
                // Nobody waits for a worker.
                absence.restart(Instant::now());
                last_results = Some(Instant::now());
            }
            let standings = &state.standings;
            if standings.contains(&Standing::Working) {
                absence.restart(Instant::now());
                if last_results.is_some_and(|it| it.elapsed() >= STALLED_AFTER) {
                    last_results = None;
                    let awaited = state.schedule.awaited().into_iter();
                    let machines = awaited.filter_map(|id| names.get(id).cloned()).collect();
                    let seconds = STALLED_AFTER.as_secs();
                    state
                        .notices
                        .push_back(Notice::Stalled { seconds, machines });
                    continue;
                }
            } else if !standings.contains(&Standing::Awaited) {
                return Err(match state.has_worked {
                    true => BatchError::NoneLeft,
                    false => BatchError::Refused,
                });
            } else if absence.absent_for(Instant::now()) > absence_timeout {
                return Err(BatchError::Absent {
                    seconds: absence_timeout.as_secs(),
                    workers: Vec::new(),
                });
            } else if absence.take_report(Instant::now()) {
                let all = names.iter().zip(standings);
                let awaited = all.filter(|(_, standing)| **standing == Standing::Awaited);
                let machines = awaited.map(|(name, _)| name.clone()).collect();
                state.notices.push_back(Notice::Awaited { machines });
                continue;
            }
            if !std::mem::replace(&mut is_idle, true) {
                BatchEvent::Idle
            } else {
                drop(shared.wait(state, IDLE_INTERVAL));
                is_idle = false;
                continue;
            }
        };
        drop(state);
        if let ControlFlow::Break(broken) = each(event) {
            return Ok(ControlFlow::Break(broken));
        }
    }
}

/// Ends the job for the workers' threads when it is dropped.
struct EndOfJob<'a, R>(&'a SharedJob<R>);

impl<R> Drop for EndOfJob<'_, R> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
    }
}

impl<R> SharedJob<R> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<R>>,
        timeout: Duration,
    ) -> MutexGuard<'a, State<R>> {
        let waited = self.changed.wait_timeout(state, timeout);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// There is something for the coordinator.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    pub(crate) fn notice(&self, notice: Notice) {
        self.lock().notices.push_back(notice);
        self.notify();
    }

    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
