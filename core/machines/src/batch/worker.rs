//! The end that does the work: it serves one coordinator after the other.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, MessageId, Refusal};
use flowpipe_link::transport::Transport;
use serde_json::Value;

use crate::agreement::{Difference, Facts};
use crate::batch::protocol::{
    Answer, AnswerKind, BatchControl, CHUNKS, CONTROL, MAX_BODY, MAX_LANES, SentChunk,
};
use crate::batch::remote::{start_link, take};

/// How long the worker waits for an event before it looks at the connection.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A coordinator that is disconnected for so long counts as dead.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The jobs that a worker can do.
pub trait Work: Sync {
    /// Checks what a coordinator asks for, which is untrusted.
    ///
    /// # Errors
    /// When this worker can't do it, or must not.
    fn accept(&self, task: &Value) -> Result<AcceptedJob, RefusedJob>;
}

/// A job that a worker can do.
pub struct AcceptedJob {
    /// What the worker runs.
    pub facts: Facts,
    /// How many chunks it can work on at the same time; more than 64 count as 64.
    pub lanes: usize,
    /// What does it.
    pub runner: Box<dyn Runner>,
}

/// A job that a worker can't do.
pub struct RefusedJob {
    /// What the worker runs.
    pub facts: Facts,
    /// Why.
    pub reason: String,
}

/// Does the work of a job. Several threads call it at the same time.
pub trait Runner: Send + Sync {
    /// Works on the items of a chunk, which are untrusted, until `is_cancelled`. Returns the results of the first ones: at
    /// least one, and at most [`MAX_BODY`] bytes.
    ///
    /// # Errors
    /// When this worker can't do the job.
    fn run(&self, items: &[u8], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, String>;
}

/// What happens at a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerEvent {
    /// It begins a job.
    Started,
    /// It does not run the same as the coordinator.
    Differs(Vec<Difference>),
    /// It can't do the job.
    Refused(String),
    /// The coordinator has ended the job, or is another program now.
    Ended,
    /// The coordinator is dead.
    Dead,
    /// The coordinator sent what it must not send.
    Malformed,
}

/// The job that is worked on.
struct Current {
    number: u64,
    runner: Box<dyn Runner>,
    is_cancelled: AtomicBool,
}

/// A chunk that waits for a lane.
struct Task {
    job: Arc<Current>,
    id: MessageId,
    bytes: Vec<u8>,
}

struct WorkerEnd<'a> {
    own: &'a str,
    coordinator: &'a str,
    link: &'a Link,
    lanes: usize,
    work: &'a dyn Work,
    each: &'a dyn Fn(WorkerEvent),
    tasks: Sender<Task>,
    current: Option<Arc<Current>>,
    gone_since: Option<Instant>,
}

/// What a worker is.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSettings<'a> {
    /// The name of this machine.
    pub own: &'a str,
    /// The name of the machine whose programs it serves.
    pub coordinator: &'a str,
    /// How many threads work on chunks: 1 to 64.
    pub lanes: usize,
}

/// Serves the programs of one coordinator, one after the other, until `is_stopped`.
///
/// # Errors
/// When a thread can't be started.
pub fn serve(
    settings: WorkerSettings<'_>,
    transport: Box<dyn Transport>,
    work: &dyn Work,
    each: &dyn Fn(WorkerEvent),
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let WorkerSettings {
        own,
        coordinator,
        lanes,
    } = settings;
    let lanes = lanes.clamp(1, MAX_LANES);
    let link = start_link(transport, false, 2 * lanes as u64)?;
    let (tasks, waiting) = crossbeam_channel::unbounded();
    let mut worker = WorkerEnd {
        own,
        coordinator,
        link: &link,
        lanes,
        work,
        each,
        tasks,
        current: None,
        gone_since: None,
    };
    std::thread::scope(|scope| {
        let mut started = Ok(());
        for _ in 0..lanes {
            let (link, waiting) = (&link, &waiting);
            let thread = std::thread::Builder::new().name("flowpipe-lane".into());
            let thread = thread.spawn_scoped(scope, move || lane(link, waiting));
            started = started.and(thread.map(drop));
        }
        while started.is_ok() && !is_stopped() {
            worker.look();
            if let Some(event) = link.next_event(POLL_INTERVAL) {
                worker.accept(event);
            }
        }
        worker.cancel();
        // The lanes end when there are no more chunks.
        drop(worker);
        started
    })
}

impl WorkerEnd<'_> {
    /// Gives up a coordinator that is disconnected for too long.
    fn look(&mut self) {
        if self.link.is_connected() {
            self.gone_since = None;
            return;
        }
        let since = *self.gone_since.get_or_insert_with(Instant::now);
        if self.current.is_some() && since.elapsed() > RECONNECT_TIMEOUT {
            self.cancel();
            self.link.give_up();
            (self.each)(WorkerEvent::Dead);
        }
    }

    /// Whether there was a job that has ended now.
    fn cancel(&mut self) -> bool {
        let current = self.current.take();
        if let Some(current) = &current {
            current.is_cancelled.store(true, Ordering::Relaxed);
        }
        current.is_some()
    }

    fn accept(&mut self, event: Event) {
        match event {
            Event::Message { id, body } if id.channel == CONTROL => {
                take(self.link, id);
                self.control(&body);
            }
            Event::Message { id, body } => self.chunk(id, body),
            // It would connect and do it again.
            Event::Disconnected(Some(violation)) if violation.is_final() => self.offended(),
            Event::PeerLost if self.cancel() => (self.each)(WorkerEvent::Ended),
            _ => {}
        }
    }

    fn control(&mut self, body: &[u8]) {
        match BatchControl::decode(body) {
            Some(BatchControl::Job {
                machine,
                number,
                facts,
                job,
            }) if machine == self.coordinator => {
                self.cancel();
                let answer = self.begin(number, &facts, &job);
                // The coordinator has room for it, unless it does not keep to the protocol.
                let _ = self
                    .link
                    .send(CONTROL, &answer.encode().into(), Duration::from_secs(1));
            }
            Some(BatchControl::End) => {
                // The coordinator closes its link. Its next program is another peer.
                if self.cancel() {
                    (self.each)(WorkerEvent::Ended);
                }
                self.link.give_up();
            }
            _ => self.offended(),
        }
    }

    /// Begins a job, if this machine runs what the coordinator runs.
    fn begin(&mut self, number: u64, theirs: &Facts, job: &Value) -> BatchControl {
        let machine = self.own.to_owned();
        let accepted = match self.work.accept(job) {
            Ok(accepted) => accepted,
            Err(RefusedJob { facts, reason }) => {
                (self.each)(WorkerEvent::Refused(reason.clone()));
                return BatchControl::Refused {
                    machine,
                    number,
                    facts,
                    reason: Some(reason),
                };
            }
        };
        let facts = accepted.facts;
        let differences = facts.differences(self.own, theirs, self.coordinator);
        if !differences.is_empty() {
            (self.each)(WorkerEvent::Differs(differences));
            return BatchControl::Refused {
                machine,
                number,
                facts,
                reason: None,
            };
        }
        self.current = Some(Arc::new(Current {
            number,
            runner: accepted.runner,
            is_cancelled: AtomicBool::new(false),
        }));
        (self.each)(WorkerEvent::Started);
        BatchControl::Accepted {
            machine,
            number,
            facts,
            lanes: accepted.lanes.clamp(1, self.lanes),
        }
    }

    fn chunk(&mut self, id: MessageId, bytes: Vec<u8>) {
        let Some(chunk) = SentChunk::decode(&bytes) else {
            take(self.link, id);
            self.offended();
            return;
        };
        match &self.current {
            Some(job) if job.number == chunk.job => {
                let job = job.clone();
                let task = Task { job, id, bytes };
                // The lanes receive as long as the worker exists.
                let _ = self.tasks.send(task);
            }
            // Of a job that has ended.
            _ => take(self.link, id),
        }
    }

    fn offended(&mut self) {
        self.cancel();
        self.link.give_up();
        (self.each)(WorkerEvent::Malformed);
    }
}

/// Works on one chunk after the other.
fn lane(link: &Link, tasks: &Receiver<Task>) {
    for Task { job, id, bytes } in tasks {
        let is_cancelled = || job.is_cancelled.load(Ordering::Relaxed);
        if let Some(chunk) = SentChunk::decode(&bytes).filter(|_| !is_cancelled()) {
            let began = Instant::now();
            let run = || job.runner.run(chunk.body, &is_cancelled);
            let done = catch_unwind(AssertUnwindSafe(run));
            let (kind, body) = match done {
                Ok(Ok(body)) if body.len() <= MAX_BODY => (AnswerKind::Results, body),
                Ok(Ok(_)) => (AnswerKind::Failed, b"its results are too long".to_vec()),
                Ok(Err(reason)) => (AnswerKind::Failed, reason.into_bytes()),
                Err(_) => (AnswerKind::Failed, b"it panicked".to_vec()),
            };
            let answer = Answer {
                job: chunk.job,
                first: chunk.first,
                kind,
                took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
                body: &body,
            };
            let answer: Arc<[u8]> = answer.encode().into();
            while !is_cancelled()
                && let Err(Refusal::NoCredit | Refusal::Full) =
                    link.send(CHUNKS, &answer, POLL_INTERVAL)
            {}
        }
        take(link, id);
    }
}
