//! A worker, as its coordinator sees it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_link::link::{Link, LinkClock, LinkFailure};
use flowpipe_link::session::{Event, MessageId};
use flowpipe_link::transport::Transport;

use crate::agreement::Facts;
use crate::batch::coordinator::{
    Connect, Decoded, Encoded, Job, Notice, Reason, SharedJob, Standing,
};
use crate::batch::protocol::{
    self, ANSWER_CAPACITY, Answer, AnswerKind, BatchControl, CHUNKS, CONTROL, CONTROL_BYTES,
    CONTROL_CAPACITY, MAX_LANES, SentChunk,
};
use crate::batch::schedule::{ChunkAnswer, Overdue, TimeLimit, WorkerId};
use crate::batch::stalls::StallWatch;
use crate::batch::take_watch::{TAKE_TIMEOUT, TakeWatch};

/// How long a worker waits for an event before it looks for chunks to give.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// What a worker has that is disconnected for so long is given to others too.
const RELEASE_AFTER: Duration = Duration::from_secs(1);
/// A worker that is disconnected for so long is connected as if its program had died.
const RECONNECT_AFTER: Duration = Duration::from_secs(10);
/// A worker whose program has ended so often in a row, with chunks and without an answer, is not used any more.
const MOST_DEATHS: u32 = 5;
/// The most characters of a reason.
const LONGEST_REASON: usize = 2_000;

/// A worker.
pub(crate) struct Remote {
    name: String,
    /// `None`: it sent what it must not send.
    link: Option<Link>,
    /// Whether it was connected, and since when it is not.
    gone_since: Option<Instant>,
    was_there: bool,
}

/// Its part in a job.
struct Part<'a, R> {
    id: WorkerId,
    number: u64,
    own: &'a str,
    job: &'a Job<'a, R>,
    shared: &'a SharedJob<R>,
    progress: Progress,
    /// How often in a row its program has ended, or was taken for dead, with chunks and without an answer.
    deaths: u32,
    takes: TakeWatch,
    stalls: StallWatch,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It does not know the job.
    Unknown,
    /// It was sent the job.
    Asked,
    /// It works with this number of lanes.
    Accepted(usize),
    /// It works, and is disconnected.
    Released(usize),
    /// It does not take part.
    Refused,
}

/// Why a worker is not used any more: a clause whose subject is the worker.
struct Offence(String);

impl Offence {
    /// The worker has sent what it must not send.
    fn sent(what: impl Into<String>) -> Self {
        Self(format!("sent {}", what.into()))
    }
}

pub(crate) fn clock() -> LinkClock {
    let began = Instant::now();
    Arc::new(move || i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX))
}

/// Starts one end of a link for batches.
pub(crate) fn start_link(
    transport: Box<dyn Transport>,
    opens: bool,
    chunk_capacity: u64,
) -> io::Result<Link> {
    let link = Link::start(protocol::settings(opens), transport, clock())?;
    link.limit_messages(CONTROL, CONTROL_BYTES);
    link.receive_on(CONTROL, CONTROL_CAPACITY);
    link.receive_on(CHUNKS, chunk_capacity);
    Ok(link)
}

impl Remote {
    pub(crate) fn start(name: String, transport: Box<dyn Transport>) -> io::Result<Self> {
        Ok(Self {
            name,
            link: Some(start_link(transport, true, ANSWER_CAPACITY)?),
            gone_since: None,
            was_there: false,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Why its last connection failed, if one has.
    pub(crate) fn failure(&self) -> Option<LinkFailure> {
        self.link.as_ref().and_then(Link::failure)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            // Closing the link sends it.
            let _ = link.send(CONTROL, &BatchControl::End.encode().into(), Duration::ZERO);
        }
    }
}

/// Lets a worker take part in a job until the job is over.
pub(crate) fn drive<R>(
    remote: &mut Remote,
    id: WorkerId,
    number: u64,
    own: &str,
    job: &Job<'_, R>,
    shared: &SharedJob<R>,
    connect: &Connect,
) {
    let mut part = Part {
        id,
        number,
        own,
        job,
        shared,
        progress: Progress::Unknown,
        deaths: 0,
        takes: TakeWatch::default(),
        stalls: StallWatch::new(Instant::now()),
    };
    if remote.link.is_none() {
        part.refuse();
        return;
    }
    while !shared.lock().is_over {
        if let Err(Offence(reason)) = part.turn(remote, connect) {
            let machine = remote.name.clone();
            shared.lock().schedule.lose(id);
            shared.notice(Notice::Dropped { machine, reason });
            part.refuse();
            remote.link = None;
            return;
        }
    }
}

impl<R> Part<'_, R> {
    /// Gives the worker what it may have, and handles what it has sent. Waits a moment for that.
    fn turn(&mut self, remote: &mut Remote, connect: &Connect) -> Result<(), Offence> {
        self.look(remote, connect)?;
        let Some(link) = &remote.link else {
            return Ok(());
        };
        self.introduce(&remote.name, link);
        self.give(link);
        let mut event = link.next_event(POLL_INTERVAL);
        while let Some(next) = event {
            self.accept(&remote.name, link, next)?;
            event = link.next_event(Duration::ZERO);
            // A worker may send without an end.
            if self.shared.lock().is_over {
                return Ok(());
            }
        }
        // After what has arrived was read: this thread may be late.
        self.judge(link)
    }

    /// Checks that the worker works. Nothing is judged right after a stall of this machine.
    fn judge(&mut self, link: &Link) -> Result<(), Offence> {
        if self.stalls.turn(Instant::now()) {
            self.takes.restart();
            return Ok(());
        }
        if link.is_connected() {
            self.check_overdue()?;
        }
        self.check_takes(link)
    }

    /// Looks whether the worker is there.
    fn look(&mut self, remote: &mut Remote, connect: &Connect) -> Result<(), Offence> {
        let Some(link) = &remote.link else {
            return Ok(());
        };
        if link.is_connected() {
            remote.gone_since = None;
            remote.was_there = true;
            if let Progress::Released(lanes) = self.progress {
                self.work(remote.name.clone(), lanes);
            }
            return Ok(());
        }
        let since = *remote.gone_since.get_or_insert_with(Instant::now);
        if let Progress::Accepted(lanes) = self.progress
            && since.elapsed() > RELEASE_AFTER
        {
            self.progress = Progress::Released(lanes);
            self.leave(&remote.name, link.failure().map(|it| it.text));
            self.shared.lock().schedule.release(self.id);
        }
        // It has not answered: perhaps it takes this program for one that was replaced.
        if remote.was_there && since.elapsed() > RECONNECT_AFTER {
            let transport = connect(self.id);
            if let Ok(link) = transport.and_then(|it| start_link(it, true, ANSWER_CAPACITY)) {
                remote.link = Some(link);
                self.forget()?;
            }
            remote.gone_since = None;
            remote.was_there = false;
        }
        Ok(())
    }

    fn check_overdue(&self) -> Result<(), Offence> {
        let longest = self.job.longest_item;
        let longest_us = longest.map(|it| u64::try_from(it.as_micros()).unwrap_or(u64::MAX));
        let now_us = self.shared.now_us();
        let state = self.shared.lock();
        let overdue = state.schedule.overdue(self.id, longest_us, now_us);
        drop(state);
        let Some(Overdue { silent_us, limit }) = overdue else {
            return Ok(());
        };
        let silent = Duration::from_micros(silent_us).as_secs();
        let than = match limit {
            TimeLimit::Others(us) => {
                let other = Duration::from_micros(us).as_secs_f64();
                format!("while others did what it has in {other:.1} s")
            }
            TimeLimit::Items(count) => {
                format!("longer than the {count} items that it has may take")
            }
        };
        Err(Offence(format!(
            "has answered nothing for {silent} s, {than}"
        )))
    }

    fn check_takes(&mut self, link: &Link) -> Result<(), Offence> {
        let takes = matches!(self.progress, Progress::Accepted(_)).then(|| {
            link.refusal(CHUNKS, 0, Duration::ZERO).is_none()
                || self.shared.lock().schedule.has_chunks(self.id)
        });
        match self.takes.turn(takes, Instant::now()) {
            false => Ok(()),
            true => {
                let seconds = TAKE_TIMEOUT.as_secs();
                Err(Offence(format!("has taken nothing for {seconds} s")))
            }
        }
    }

    /// The worker's program does not know the job.
    fn forget(&mut self) -> Result<(), Offence> {
        let mut state = self.shared.lock();
        self.deaths += u32::from(state.schedule.has_chunks(self.id));
        state.schedule.lose(self.id);
        if let Some(standing) = state.standings.get_mut(self.id) {
            *standing = Standing::Awaited;
        }
        drop(state);
        self.progress = Progress::Unknown;
        match self.deaths {
            MOST_DEATHS.. => Err(Offence(format!(
                "was lost {MOST_DEATHS} times in a row before it answered what it had"
            ))),
            _ => Ok(()),
        }
    }

    fn leave(&self, machine: &str, reason: Option<String>) {
        let mut state = self.shared.lock();
        if let Some(standing) = state.standings.get_mut(self.id) {
            *standing = Standing::Awaited;
        }
        drop(state);
        let machine = machine.to_owned();
        self.shared.notice(Notice::Disconnected { machine, reason });
    }

    fn work(&mut self, machine: String, lanes: usize) {
        self.progress = Progress::Accepted(lanes);
        let mut state = self.shared.lock();
        // The next chunk of each lane is there before the one before it is done.
        state.schedule.allow(self.id, 2 * lanes);
        if let Some(standing) = state.standings.get_mut(self.id) {
            *standing = Standing::Working;
        }
        state.has_worked = true;
        drop(state);
        self.shared.notice(Notice::Joined { machine, lanes });
    }

    fn refuse(&mut self) {
        self.progress = Progress::Refused;
        let mut state = self.shared.lock();
        if let Some(standing) = state.standings.get_mut(self.id) {
            *standing = Standing::Refused;
        }
        drop(state);
        self.shared.notify();
    }

    /// Sends the job to a worker that does not know it.
    fn introduce(&mut self, machine: &str, link: &Link) {
        if self.progress != Progress::Unknown || !link.is_connected() {
            return;
        }
        let job = BatchControl::Job {
            machine: self.own.to_owned(),
            number: self.number,
            facts: self.job.facts.clone(),
            job: self.job.task.clone(),
        };
        let body: Arc<[u8]> = job.encode().into();
        if body.len() > CONTROL_BYTES {
            let reason = format!(
                "the job has {} bytes, and may have {CONTROL_BYTES}",
                body.len()
            );
            let (machine, reason) = (machine.to_owned(), Reason::Failed(reason));
            self.shared.notice(Notice::Refused { machine, reason });
            self.refuse();
        } else if link.send(CONTROL, &body, Duration::ZERO).is_ok() {
            self.progress = Progress::Asked;
        }
    }

    /// Gives it as many chunks as it may have.
    fn give(&self, link: &Link) {
        let Progress::Accepted(_) = self.progress else {
            return;
        };
        while link.refusal(CHUNKS, 0, Duration::ZERO).is_none() {
            let now_us = self.shared.now_us();
            let supply = (self.job.supply)();
            let mut state = self.shared.lock();
            state.schedule.set_supply(supply);
            let Some(items) = state.schedule.give(self.id, now_us) else {
                return;
            };
            drop(state);
            let first = items.start;
            match (self.job.encode)(items.clone()) {
                Encoded::Result(result) => {
                    // The rest of the chunk is left to another one.
                    let mut state = self.shared.lock();
                    state.schedule.answer(self.id, first, result);
                    drop(state);
                    self.shared.notify();
                }
                Encoded::Delivered => {
                    self.shared.lock().schedule.take_back(self.id, first);
                }
                Encoded::Items(body, sent) => {
                    let mut state = self.shared.lock();
                    state.schedule.shorten(self.id, first, sent.max(1));
                    drop(state);
                    let chunk = SentChunk {
                        job: self.number,
                        first,
                        body: &body,
                    };
                    let sent = link.send(CHUNKS, &chunk.encode().into(), Duration::ZERO);
                    if sent.is_err() {
                        self.shared.lock().schedule.take_back(self.id, first);
                        return;
                    }
                }
            }
        }
    }

    /// Handles an event of the link.
    fn accept(&mut self, machine: &str, link: &Link, event: Event) -> Result<(), Offence> {
        match event {
            Event::Message { id, body } => {
                let accepted = match id.channel {
                    CONTROL => self.control(machine, &body),
                    _ => self.answer(machine, &body),
                };
                take(link, id);
                accepted
            }
            // It would connect and do it again.
            Event::Disconnected(Some(violation)) if violation.is_final() => Err(Offence::sent(
                format!("what breaks the protocol: it {violation}"),
            )),
            Event::PeerLost => {
                if matches!(self.progress, Progress::Accepted(_)) {
                    self.leave(machine, None);
                }
                self.forget()
            }
            _ => Ok(()),
        }
    }

    fn control(&mut self, machine: &str, body: &[u8]) -> Result<(), Offence> {
        let malformed = || Offence::sent("a malformed message");
        let (name, number, facts, outcome) =
            match BatchControl::decode(body).ok_or_else(malformed)? {
                BatchControl::Accepted {
                    machine,
                    number,
                    facts,
                    lanes,
                } => (machine, number, facts, Ok(lanes)),
                BatchControl::Refused {
                    machine,
                    number,
                    facts,
                    reason,
                } => (machine, number, facts, Err(reason)),
                BatchControl::Job { .. } | BatchControl::End => {
                    return Err(Offence::sent("a message of a coordinator"));
                }
            };
        if name != machine {
            return Err(Offence(format!("is the machine {}", shortened(name))));
        }
        // An answer to an earlier job.
        if number != self.number || self.progress != Progress::Asked {
            return Ok(());
        }
        match self.reason(machine, &facts, outcome) {
            Ok(lanes) => self.work(machine.to_owned(), lanes),
            Err(reason) => {
                let machine = machine.to_owned();
                self.shared.notice(Notice::Refused { machine, reason });
                self.refuse();
            }
        }
        Ok(())
    }

    /// Why a worker does not take part, or with how many lanes it does.
    fn reason(
        &self,
        machine: &str,
        facts: &Facts,
        outcome: Result<usize, Option<String>>,
    ) -> Result<usize, Reason> {
        let differences = self.job.facts.differences(self.own, facts, machine);
        match outcome {
            Err(Some(reason)) => Err(Reason::Failed(shortened(reason))),
            _ if !differences.is_empty() => Err(Reason::Differs(differences)),
            Err(None) => Err(Reason::Failed("it gives no reason".to_owned())),
            Ok(lanes) => Ok(lanes.clamp(1, MAX_LANES)),
        }
    }

    fn answer(&mut self, machine: &str, body: &[u8]) -> Result<(), Offence> {
        let malformed = || Offence::sent("a malformed answer");
        let answer = Answer::decode(body).ok_or_else(malformed)?;
        // Of an earlier job.
        if answer.job != self.number {
            return Ok(());
        }
        if !matches!(self.progress, Progress::Accepted(_) | Progress::Released(_)) {
            return match self.progress {
                Progress::Refused => Ok(()),
                _ => Err(Offence::sent("an answer that was not asked for")),
            };
        }
        let first = answer.first;
        let given = self.shared.lock().schedule.given(self.id, first);
        let items = given.map_err(|error| Offence(error.to_string()))?;
        if answer.kind == AnswerKind::Failed {
            let reason = Reason::Failed(shortened(String::from_utf8_lossy(answer.body).into()));
            let machine = machine.to_owned();
            self.shared.lock().schedule.lose(self.id);
            self.shared.notice(Notice::Refused { machine, reason });
            self.refuse();
            return Ok(());
        }
        let expected = items.end - items.start;
        let is_over = || self.shared.lock().is_over;
        let decoded = (self.job.decode)(machine, items, answer.body, &is_over);
        if is_over() {
            return Ok(());
        }
        let Some(Decoded {
            results,
            heap_bytes,
        }) = decoded.map_err(|reason| Offence::sent(shortened(reason)))?
        else {
            let now_us = self.shared.now_us();
            let mut state = self.shared.lock();
            state.schedule.answered_late(self.id, first, now_us);
            drop(state);
            self.deaths = 0;
            return Ok(());
        };
        if results.is_empty() || results.len() as u64 > expected {
            let found = results.len();
            let what = format!("{found} results for {expected} items");
            return Err(Offence::sent(what));
        }
        let answer = ChunkAnswer {
            results,
            sent_bytes: answer.body.len(),
            heap_bytes,
            took_us: answer.took_us,
        };
        let now_us = self.shared.now_us();
        let mut state = self.shared.lock();
        let completed = state.schedule.complete(self.id, first, answer, now_us);
        drop(state);
        self.shared.notify();
        self.deaths = 0;
        completed.map_err(|error| Offence(error.to_string()))
    }
}

/// Frees the place of a message that has been read.
pub(crate) fn take(link: &Link, id: MessageId) {
    link.take(id.channel);
    link.done(id);
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
