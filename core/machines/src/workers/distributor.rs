//! The workers that another machine has for this one.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use flowpipe_engine::run::distributed::{Availability, WorkerMachine, WorkerPlace};
use flowpipe_engine::run::worker_call::{Polls, WorkerDone, WorkerOutput, WorkerReply};
use flowpipe_engine::run::worker_proxy::WorkerProxy;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::instance::{Death, Instance};
use flowpipe_host::run::{Ended, Ending, RunContext, StageProcess};
use flowpipe_host::stage_clock::ClockSource;
use flowpipe_host::table::Host;
use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::Link;
use flowpipe_link::session::MessageId;
use flowpipe_sync::lock;

use super::connection::{Connection, RemoteProcess, RunControl};
use super::packets::{Packet, PacketSender};
use super::protocol::{Command, FromWorker, ToWorker, WorkerAnswer, death, stated};
use crate::frame_coding::FrameDecoder;

/// How much of an instance may wait for the thread that calls it: the marks of a call, one emission or wait, and the end
/// of the call. So one of them may be as long as a message of a link, and the others are short.
const MOST_REPLIES: usize = 2_048;

/// The workers that another machine has for this one.
pub(crate) struct Distributor {
    /// The name of the machine.
    name: String,
    link: Arc<Link>,
    pub(super) calls: PacketSender,
    /// Whether its answers are read.
    is_started: AtomicBool,
    /// By number.
    instances: Mutex<HashMap<u64, Entry>>,
    /// By stage.
    runs: Mutex<BTreeMap<usize, StageRun>>,
    /// How many instances of a stage and worker are being created.
    creating: Mutex<BTreeMap<(usize, usize), usize>>,
    last: AtomicU64,
    /// What a thread of the bridge sends: the control thread of the run must not wait.
    later: (Sender<LaterPacket>, Receiver<LaterPacket>),
    /// How many calls with messages have returned.
    pub(super) processed: AtomicU64,
}

/// Whether an answer of an instance is taken.
enum Admission {
    /// Its instance was given up.
    GivenUp,
    /// Somebody waits for it. `memory`: for its frame, with the owner of that, if it may have one.
    Awaited { memory: Option<(Arc<Pool>, u32)> },
}

/// What comes from an instance, for the thread that calls it.
pub(super) enum Received {
    Reply(WorkerReply, Polls),
    /// It is lost.
    Died(Death),
}

/// A packet that is sent later.
pub(super) enum LaterPacket {
    Create {
        instance: u64,
        place: WorkerPlace,
        clock: ClockSource,
        is_dry: bool,
        process: Arc<RemoteProcess>,
    },
    Control(u64, RunControl),
    Kill(u64),
    Destroy(u64),
    /// Nothing more.
    End,
}

struct Entry {
    place: WorkerPlace,
    is_created: bool,
    /// Whether a call has been sent whose result has not come.
    is_called: bool,
    replies: Sender<Received>,
    /// Whether it has not got the answer to its last emission or wait, which it awaits before the next one.
    is_waiting: bool,
    /// The memory of its frames, and their owner.
    pool: Arc<Pool>,
    owner: u32,
}

/// The run of a distributed stage.
struct StageRun {
    name: String,
    run: Weak<dyn RunContext>,
}

impl Distributor {
    pub(crate) fn new(name: &str, link: &Arc<Link>, calls: PacketSender) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            link: link.clone(),
            calls,
            is_started: AtomicBool::new(false),
            instances: Mutex::default(),
            runs: Mutex::default(),
            creating: Mutex::default(),
            last: AtomicU64::new(0),
            later: crossbeam_channel::unbounded(),
            processed: AtomicU64::new(0),
        })
    }

    /// How many messages the other machine has processed.
    pub(crate) fn processed(&self) -> u64 {
        self.processed.load(Ordering::Relaxed)
    }

    /// Its run here is over: nothing more is sent.
    pub(crate) fn end(&self) {
        self.send_later(LaterPacket::End);
    }

    /// No call returns any more.
    pub(crate) fn close(&self) {
        self.calls.close();
        self.end();
    }

    /// What sends to the workers.
    pub(crate) fn calls(&self) -> &PacketSender {
        &self.calls
    }

    fn is_over(&self) -> bool {
        self.calls.is_over()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How an instance ends when its machine is dead.
    pub(super) fn death(&self) -> Death {
        Death {
            hung: false,
            text: format!("machine {} is dead", self.name),
        }
    }

    pub(super) fn send_later(&self, packet: LaterPacket) {
        // This one has both ends.
        let _ = self.later.0.send(packet);
    }

    /// Sends an instance nothing more, and ignores what it sends.
    pub(super) fn forget(&self, instance: u64) {
        // What it has not received is freed without the lock.
        let entry = lock(&self.instances).remove(&instance);
        if let Some(entry) = entry.filter(|entry| !entry.is_created) {
            self.note_created(entry.place);
        }
    }

    /// A call of an instance starts, or was not sent.
    pub(super) fn note_called(&self, instance: u64, is_called: bool) {
        if let Some(entry) = lock(&self.instances).get_mut(&instance) {
            entry.is_called = is_called;
        }
    }

    /// An instance gets the answer to its emission or wait.
    pub(super) fn note_answered(&self, instance: u64) {
        if let Some(entry) = lock(&self.instances).get_mut(&instance) {
            entry.is_waiting = false;
        }
    }

    fn note_created(&self, place: WorkerPlace) {
        if let Some(count) = lock(&self.creating).get_mut(&(place.stage, place.worker)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Sends what is not sent by the threads of the run, until nothing more comes.
    pub(crate) fn send_later_packets(&self) {
        for packet in &self.later.1 {
            let (instance, what) = match packet {
                LaterPacket::Create {
                    instance,
                    place,
                    clock,
                    is_dry,
                    process,
                } => (
                    instance,
                    Command::Create {
                        stage: place.stage,
                        worker: place.worker,
                        plugin: place.plugin,
                        clock,
                        dry: is_dry,
                        mode: process.control().mode,
                    },
                ),
                LaterPacket::Control(instance, RunControl { mode, cancelled }) => {
                    (instance, Command::Control { mode, cancelled })
                }
                LaterPacket::Kill(instance) => (instance, Command::Kill),
                LaterPacket::Destroy(instance) => (instance, Command::Destroy),
                LaterPacket::End => break,
            };
            // The other machine is dead: nothing is to be done there.
            let _ = self.calls.send(ToWorker { instance, what }, b"", None);
        }
        self.calls.end();
    }

    /// Passes on what the instances send. `clock`: of the other machine. `refuse` is called with what is malformed.
    pub(crate) fn receive(
        &self,
        arrivals: &Receiver<(MessageId, Vec<u8>)>,
        clock: impl Fn(MessageId) -> Option<Offset>,
        refuse: impl Fn(&str),
    ) {
        self.is_started.store(true, Ordering::SeqCst);
        let mut frames = FrameDecoder::default();
        for (id, body) in arrivals {
            let Some(clock) = clock(id) else {
                break;
            };
            let accepted = Packet::<FromWorker>::decode(&body, &mut frames, self.calls.sharing())
                .ok_or("an answer of a worker is malformed")
                .and_then(|packet| self.accept(packet, clock));
            self.link.take(id.channel);
            self.link.done(id);
            if let Err(reason) = accepted {
                refuse(reason);
                // Its call would never return.
                self.link.give_up();
            }
        }
        // Without answers, no call returns.
        self.close();
        let lost = std::mem::take(&mut *lock(&self.instances));
        drop(lost);
    }

    /// A plugin there ends the run, of an instance that may have been given up meanwhile.
    fn end_run(&self, stage: usize, how: Ending, reason: String) -> Result<(), &'static str> {
        let runs = lock(&self.runs);
        let found = runs
            .get(&stage)
            .ok_or("it ends the run of a stage that is not of its workers")?;
        let (stage, run) = (found.name.clone(), found.run.upgrade());
        drop(runs);
        if let Some(run) = run {
            run.end(Ended { stage, how, reason });
        }
        Ok(())
    }

    /// Checks that somebody waits for an answer, if its instance is there.
    fn admit(&self, what: &FromWorker) -> Result<Admission, &'static str> {
        let mut instances = lock(&self.instances);
        let Some(entry) = instances.get_mut(&what.instance) else {
            return Ok(Admission::GivenUp);
        };
        let is_reply = matches!(
            &what.what,
            WorkerAnswer::Done { .. }
                | WorkerAnswer::Emit { .. }
                | WorkerAnswer::Wait { .. }
                | WorkerAnswer::Mark { .. }
        );
        let has_died = matches!(&what.what, WorkerAnswer::Done { death: Some(_), .. });
        // Its thread may die before it is called.
        if is_reply && !entry.is_called && !has_died {
            return Err("nobody waits for an answer of a worker");
        }
        let asks = matches!(
            &what.what,
            WorkerAnswer::Emit { .. } | WorkerAnswer::Wait { .. }
        );
        if asks && std::mem::replace(&mut entry.is_waiting, true) {
            return Err("a worker does not wait for its answer");
        }
        // At most one frame waits: that of the emission that it waits for.
        let memory = asks.then(|| (entry.pool.clone(), entry.owner));
        Ok(Admission::Awaited { memory })
    }

    fn accept(&self, packet: Packet<FromWorker>, clock: Offset) -> Result<(), &'static str> {
        let Packet { what, json, pixels } = packet;
        if !what.is_in_range() {
            return Err("an answer of a worker is out of range");
        }
        let (instance, polls) = (what.instance, what.polls());
        if let WorkerAnswer::End { stage, how, reason } = what.what {
            return self.end_run(stage, how, reason);
        }
        let Admission::Awaited { memory } = self.admit(&what)? else {
            return Ok(());
        };
        // Without the lock: the control thread takes it, and a frame may be large.
        let frame = match memory {
            Some((pool, owner)) => pixels.frame(&pool, owner),
            None => Ok(None),
        };
        let mut instances = lock(&self.instances);
        // A number is that of one instance.
        let Some(entry) = instances.get_mut(&instance) else {
            // It was given up.
            return Ok(());
        };
        let has_died = matches!(&what.what, WorkerAnswer::Done { death: Some(_), .. });
        let died = |hung, text: String| Received::Died(Death { hung, text });
        let received = match what.what {
            WorkerAnswer::Created { clock } if !entry.is_created => {
                entry.is_created = true;
                self.note_created(entry.place);
                // The times that it has read count to its first call.
                let created = WorkerDone {
                    clock,
                    ..WorkerDone::default()
                };
                Received::Reply(WorkerReply::Done(created), polls)
            }
            WorkerAnswer::NotCreated { why } if !entry.is_created => {
                entry.is_created = true;
                self.note_created(entry.place);
                let name = &self.name;
                died(
                    false,
                    format!("it can't be started on machine {name}: {why}"),
                )
            }
            WorkerAnswer::Done {
                death: Some((hung, text)),
                ..
            } if !entry.is_created => {
                entry.is_created = true;
                self.note_created(entry.place);
                died(hung, text)
            }
            WorkerAnswer::Done {
                status,
                error,
                clock,
                death: its_death,
            } => {
                entry.is_called = false;
                let done = WorkerDone {
                    status,
                    error,
                    clock,
                    death: its_death.map(death),
                };
                Received::Reply(WorkerReply::Done(done), polls)
            }
            WorkerAnswer::Emit {
                is_whole,
                port,
                schema,
                has_json,
                captured_ns,
            } => match frame {
                Err(why) => died(false, why),
                Ok(frame) => {
                    let output = WorkerOutput {
                        port,
                        schema,
                        json: has_json.then_some(json),
                        frame,
                        captured_ns: stated(captured_ns, clock),
                    };
                    Received::Reply(WorkerReply::Emit(is_whole.then_some(output)), polls)
                }
            },
            WorkerAnswer::Wait { deadline_ns } => {
                let deadline_ns = clock.to_own(deadline_ns);
                Received::Reply(WorkerReply::Wait { deadline_ns }, polls)
            }
            WorkerAnswer::Mark { name, at_ns } => {
                let at_ns = clock.to_own(at_ns);
                Received::Reply(WorkerReply::Mark { name, at_ns }, polls)
            }
            WorkerAnswer::Created { .. } | WorkerAnswer::NotCreated { .. } => {
                return Err("a worker was created twice");
            }
            // It was handled above.
            WorkerAnswer::End { .. } => return Ok(()),
        };
        let sent = entry.replies.try_send(received);
        if has_died {
            // It does nothing more.
            instances.remove(&instance);
        }
        match sent {
            Err(TrySendError::Full(_)) => Err("a worker sends more than it may"),
            // Gone: its call was given up.
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }
}

/// A machine that has workers for this one.
pub(crate) struct PeerWorkers(pub Arc<Distributor>);

impl WorkerMachine for PeerWorkers {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn availability(&self, stage: usize, worker: usize) -> Availability {
        let this = &self.0;
        if this.is_over() {
            return Availability::Dead;
        }
        let creating = lock(&this.creating).get(&(stage, worker)).copied();
        let is_ready = this.is_started.load(Ordering::SeqCst)
            && creating.unwrap_or_default() == 0
            && this.is_connected();
        match is_ready {
            true => Availability::Ready,
            false => Availability::Away,
        }
    }

    fn create(&self, place: WorkerPlace, host: Arc<Host>, run: &Arc<dyn RunContext>) -> Instance {
        let this = &self.0;
        let instance = this.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, replies) = crossbeam_channel::bounded(MOST_REPLIES);
        let entry = Entry {
            place,
            is_created: false,
            is_called: false,
            replies: sender,
            is_waiting: false,
            pool: host.pool().clone(),
            owner: host.owner(),
        };
        let stage_run = StageRun {
            name: host.name().to_owned(),
            run: Arc::downgrade(run),
        };
        lock(&this.runs).insert(place.stage, stage_run);
        let process = Arc::new(RemoteProcess::new(instance, this));
        let follower: Arc<dyn StageProcess> = process.clone();
        run.follow(&follower);
        *lock(&this.creating)
            .entry((place.stage, place.worker))
            .or_default() += 1;
        lock(&this.instances).insert(instance, entry);
        if this.is_over() {
            // Nothing comes from it.
            this.forget(instance);
        }
        let clock = host.stage_clock().source();
        this.send_later(LaterPacket::Create {
            instance,
            place,
            clock,
            is_dry: run.is_dry(),
            process: process.clone(),
        });
        let connection = Connection::new(this.clone(), process, replies);
        WorkerProxy::instance(Box::new(connection), host)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use flowpipe_link::session::Settings;
    use flowpipe_link::tcp::TcpAcceptor;
    use serde_json::{Value, json};

    use super::*;

    const AHEAD: Offset = Offset {
        offset_ns: 1_000,
        error_ns: 0,
    };
    const INSTANCE: u64 = 3;

    /// The workers of a machine that never connects.
    fn distributor() -> Arc<Distributor> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let acceptor = TcpAcceptor::listen(any, &["desk"]).unwrap().remove(0);
        let settings = Settings::new(false, 1);
        let link = Link::start(settings, Box::new(acceptor), Arc::new(|| 0_i64));
        let link = Arc::new(link.unwrap());
        let calls = PacketSender::new(&link, 0, None);
        Distributor::new("rack", &link, calls)
    }

    /// What the thread that calls an instance receives when the instance sends this.
    fn received(what: &Value) -> WorkerReply {
        let distributor = distributor();
        let (sender, replies) = crossbeam_channel::bounded(1);
        let entry = Entry {
            place: WorkerPlace {
                stage: 1,
                worker: 0,
                plugin: 0,
            },
            is_created: true,
            is_called: true,
            replies: sender,
            is_waiting: false,
            pool: Pool::new(1),
            owner: 0,
        };
        lock(&distributor.instances).insert(INSTANCE, entry);
        let what = json!({ "instance": INSTANCE, "polls": 0, "cancelled": null, "what": what });
        let head = json!({ "what": what, "json": 0, "frame": null }).to_string();
        let length = (head.len() as u32).to_le_bytes();
        let bytes = [&length[..], head.as_bytes()].concat();
        let sharing = distributor.calls.sharing();
        let packet = Packet::<FromWorker>::decode(&bytes, &mut FrameDecoder::default(), sharing);
        assert_eq!(distributor.accept(packet.unwrap(), AHEAD), Ok(()));
        match replies.try_recv().unwrap() {
            Received::Reply(reply, _) => reply,
            Received::Died(death) => panic!("{}", death.text),
        }
    }

    /// When the frame of an emission was captured, for a plugin that states this time.
    fn captured(captured_ns: i64) -> i64 {
        let emit = json!({
            "is_whole": true, "port": 0, "schema": null, "has_json": false, "captured_ns": captured_ns,
        });
        match received(&json!({ "Emit": emit })) {
            WorkerReply::Emit(Some(output)) => output.captured_ns,
            _ => panic!("it emits"),
        }
    }

    #[test]
    fn times_of_a_worker_are_converted_to_those_of_this_machine() {
        match received(&json!({ "Wait": { "deadline_ns": 5_000 } })) {
            WorkerReply::Wait { deadline_ns } => assert_eq!(deadline_ns, 4_000),
            _ => panic!("it waits"),
        }
        match received(&json!({ "Mark": { "name": "action", "at_ns": 6_000 } })) {
            WorkerReply::Mark { name, at_ns } => assert_eq!((&*name, at_ns), ("action", 5_000)),
            _ => panic!("it marks"),
        }
        assert_eq!(captured(7_000), 6_000);
        // It states none.
        assert_eq!(captured(0), 0);
    }
}
