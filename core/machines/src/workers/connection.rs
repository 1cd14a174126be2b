//! The calls of one instance that another machine has.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crossbeam_channel::Receiver;
use flowpipe_abi as abi;
use flowpipe_engine::run::worker_call::{Polls, WorkerCall, WorkerReply};
use flowpipe_engine::run::worker_proxy::{WorkerConnection, WorkerFault};
use flowpipe_host::frame::Frame;
use flowpipe_host::instance::Death;
use flowpipe_host::run::{Mode, StageProcess};
use flowpipe_sync::lock;

use super::distributor::{Distributor, LaterPacket, Received};
use super::packets::Unsent;
use super::protocol::{Command, MessageHead, ToWorker};

/// The connection to one instance.
pub(super) struct Connection {
    distributor: Arc<Distributor>,
    process: Arc<RemoteProcess>,
    replies: Receiver<Received>,
    /// Whether it is known that it was created.
    is_created: bool,
    /// The times that it has read before its first call.
    clock: Vec<i64>,
    has_message: bool,
    is_destroyed: bool,
}

/// An instance, as what cancels and kills it sees it. Nothing here waits.
pub(super) struct RemoteProcess {
    instance: u64,
    distributor: Weak<Distributor>,
    is_busy: AtomicBool,
    mode: AtomicU32,
    call: AtomicU64,
    cancelled: AtomicU64,
    /// Why it was killed.
    killed: Mutex<Option<String>>,
}

/// What an instance learns of the run.
#[derive(Clone, Copy)]
pub(super) struct RunControl {
    /// The [`Mode`] of the run.
    pub mode: u32,
    /// The call that is cancelled: see [`StageProcess::set_cancelled`].
    pub cancelled: u64,
}

impl Connection {
    pub(super) fn new(
        distributor: Arc<Distributor>,
        process: Arc<RemoteProcess>,
        replies: Receiver<Received>,
    ) -> Self {
        Self {
            distributor,
            process,
            replies,
            is_created: false,
            clock: Vec::new(),
            has_message: false,
            is_destroyed: false,
        }
    }

    /// Waits until it was created, and sends it a command.
    fn send(
        &mut self,
        what: Command,
        json: &[u8],
        frame: Option<&Frame>,
    ) -> Result<(), WorkerFault> {
        self.process.is_busy.store(true, Ordering::SeqCst);
        if !self.is_created
            && let (WorkerReply::Done(created), _) = self.wait()?
        {
            self.is_created = true;
            self.clock = created.clock;
        }
        let instance = self.process.instance;
        let calls = !matches!(what, Command::Status(_));
        if calls {
            self.distributor.note_called(instance, true);
        }
        let sent = self
            .distributor
            .calls
            .send(ToWorker { instance, what }, json, frame);
        sent.map(|_| ()).map_err(|unsent| match unsent {
            Unsent::Over => WorkerFault::Died(self.distributor.death()),
            Unsent::TooLong => {
                if calls {
                    self.distributor.note_called(instance, false);
                }
                let name = self.distributor.name();
                WorkerFault::Unsent(format!("the message is too long for machine {name}"))
            }
        })
    }

    fn wait(&self) -> Result<(WorkerReply, Polls), WorkerFault> {
        match self.replies.recv() {
            Ok(Received::Reply(reply, polls)) => Ok((reply, polls)),
            Ok(Received::Died(death)) => Err(WorkerFault::Died(death)),
            Err(_) => Err(WorkerFault::Died(self.lost())),
        }
    }

    /// How an instance ended that sends nothing more.
    fn lost(&self) -> Death {
        let name = self.distributor.name();
        match lock(&self.process.killed).clone() {
            Some(why) => Death {
                hung: true,
                text: format!("{why}; it was abandoned on machine {name}"),
            },
            None => self.distributor.death(),
        }
    }
}

impl WorkerConnection for Connection {
    fn call(&mut self, call: WorkerCall) -> Result<(), WorkerFault> {
        let message = call.message;
        self.has_message = message.is_some();
        let what = Command::Process {
            event: call.event,
            call: self.process.call.load(Ordering::SeqCst),
            message: message.as_ref().map(MessageHead::new),
        };
        let json = message.as_ref().map_or(&[][..], |it| &it.json);
        let frame = message.as_ref().and_then(|it| it.frame.as_ref());
        self.send(what, json, frame)
    }

    fn reset(&mut self) -> Result<(), WorkerFault> {
        self.has_message = false;
        self.send(Command::Reset, b"", None)
    }

    fn receive(&mut self) -> Result<(WorkerReply, Polls), WorkerFault> {
        let (mut reply, polls) = self.wait()?;
        if let WorkerReply::Done(done) = &mut reply {
            done.clock.splice(..0, std::mem::take(&mut self.clock));
            let count = u64::from(std::mem::take(&mut self.has_message));
            self.distributor
                .processed
                .fetch_add(count, Ordering::Relaxed);
        }
        Ok((reply, polls))
    }

    fn answer(&mut self, status: abi::Status) -> Result<(), WorkerFault> {
        self.distributor.note_answered(self.process.instance);
        match self.send(Command::Status(status), b"", None) {
            // Its machine is dead. What it has sent before is here.
            Err(WorkerFault::Died(_)) => Ok(()),
            result => result,
        }
    }

    fn end_call(&mut self) -> Result<(), WorkerFault> {
        let killed = lock(&self.process.killed);
        self.process.is_busy.store(false, Ordering::SeqCst);
        let is_killed = killed.is_some();
        drop(killed);
        match is_killed {
            true => Err(WorkerFault::Died(self.lost())),
            false => Ok(()),
        }
    }

    fn destroy(&mut self) {
        self.is_destroyed = true;
        self.distributor.forget(self.process.instance);
        let packet = LaterPacket::Destroy(self.process.instance);
        self.distributor.send_later(packet);
    }

    fn process(&self) -> Arc<dyn StageProcess> {
        self.process.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_destroyed {
            self.distributor.forget(self.process.instance);
            let packet = LaterPacket::Kill(self.process.instance);
            self.distributor.send_later(packet);
        }
    }
}

impl RemoteProcess {
    pub(super) fn new(instance: u64, distributor: &Arc<Distributor>) -> Self {
        Self {
            instance,
            distributor: Arc::downgrade(distributor),
            is_busy: AtomicBool::new(false),
            mode: AtomicU32::new(0),
            call: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            killed: Mutex::default(),
        }
    }

    pub(super) fn control(&self) -> RunControl {
        RunControl {
            mode: self.mode.load(Ordering::SeqCst),
            cancelled: self.cancelled.load(Ordering::SeqCst),
        }
    }

    /// Sends a change.
    fn report(&self) {
        if let Some(distributor) = self.distributor.upgrade() {
            distributor.send_later(LaterPacket::Control(self.instance, self.control()));
        }
    }
}

impl StageProcess for RemoteProcess {
    fn id(&self) -> u32 {
        // It is none of this machine.
        0
    }

    fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst)
    }

    fn kill(&self, why: &str) {
        let Some(distributor) = self.distributor.upgrade() else {
            return;
        };
        let is_aborted = self.mode.load(Ordering::SeqCst) >= Mode::Abort as u32;
        // Without a connection, it is not known whether it hangs, or its machine is dead.
        if !is_aborted && !distributor.is_connected() {
            return;
        }
        let mut killed = lock(&self.killed);
        if !self.is_busy() || killed.is_some() {
            return;
        }
        *killed = Some(why.to_owned());
        drop(killed);
        distributor.forget(self.instance);
        distributor.send_later(LaterPacket::Kill(self.instance));
    }

    fn set_mode(&self, mode: Mode) {
        if self.mode.fetch_max(mode as u32, Ordering::SeqCst) < mode as u32 {
            self.report();
        }
    }

    fn set_call(&self, call: u64) {
        // It is sent with the call.
        self.call.store(call, Ordering::SeqCst);
    }

    fn set_cancelled(&self, cancelled: u64) {
        if self.cancelled.swap(cancelled, Ordering::SeqCst) != cancelled {
            self.report();
        }
    }
}

impl fmt::Debug for RemoteProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteProcess")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
