//! The edges between this machine and another one, while the run is active. [`sending`] and [`receiving`] move the messages.

mod ending;
mod receiving;
mod sending;
mod workers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use flowpipe_engine::run::remote::{IncomingEdge, OutgoingEdge, RemoteEnds};
use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::{Link, LinkFailure, Traffic};
use flowpipe_link::session::MessageId;
use flowpipe_sync::lock;

use self::ending::IncomingProgress;
use self::sending::Unfinished;
use self::workers::SharedWorkers;
use crate::control::{self, CHANNEL, Control};
use crate::frame_coding::{FrameEncoder, FrameTraffic};
use crate::observations;
use crate::peer::Peer;
use crate::shared_memory::Sharing;
use crate::workers::PacketSender;

/// How often a thread that waits checks whether the bridge closes.
const STEP: Duration = Duration::from_millis(50);
/// How often a bridge that finishes checks whether the other machine is dead. Longer than a link lingers.
const FINISH_STEP: Duration = Duration::from_secs(2);

/// For how long a machine that is connected may leave its clock unmeasured. A measurement takes one round trip.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a thread that waits for a clock checks whether it is measured.
const CLOCK_CHECK: Duration = Duration::from_millis(1);
/// Why a machine is given up whose clock is not measured by then.
const WITHOUT_CLOCK: &str = "it has answered no ping for 10 s";

/// What happens on a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeEvent {
    /// There is a connection.
    Connected,
    /// There is none. Nothing is lost.
    Disconnected {
        /// Why, if it is known.
        reason: Option<String>,
    },
    /// There is no connection for a while, and why it can't be made again, when that is new.
    NotReconnected(LinkFailure),
    /// Another program connects as the other machine, which is connected. It is refused.
    SecondProgram,
    /// The other machine counts this one as dead, and goes on without it. [`Self::Died`] follows.
    GivenUp,
    /// The run did not start on the other machine. [`Self::Died`] follows.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// The program of the other machine is dead, apart from this one for too long, or has broken the protocol. Its stages
    /// take part no longer.
    Died,
    /// Messages that the other machine had and did not finish, or that waited for it: after [`Self::Died`], or when it sends
    /// nothing more and has not reported that the stage of the edge ended early.
    Lost {
        /// The edge in the pipeline.
        edge: usize,
        /// Their numbers, ascending.
        sequences: Vec<u64>,
    },
    /// Messages that workers here had when the other machine died, or whose answers it has not finished: after
    /// [`Self::Died`].
    Unanswered {
        /// The stage in the pipeline.
        stage: usize,
        /// Their numbers, ascending.
        sequences: Vec<u64>,
    },
    /// The other machine reports that a machine is dead that has workers alone. It may be no such machine.
    WorkersDied {
        /// The machine.
        machine: usize,
    },
    /// A message of the other machine was dropped. Its stage can't have emitted it, and [`Self::Died`] follows; or it is one
    /// of no edge; or this machine lacks what it needs for it, such as memory.
    Refused {
        /// The edge in the pipeline. `None`: it was for none.
        edge: Option<usize>,
        /// Why.
        reason: String,
    },
    /// A message is longer than a link permits, and was dropped.
    TooLong {
        /// The edge in the pipeline.
        edge: usize,
        /// Its length in bytes.
        length: usize,
    },
    /// The other machine has been idle in a cycle.
    Idle {
        /// The cycle.
        cycle: usize,
    },
    /// The other machine reports that the run was stopped, or has failed.
    Stopped {
        /// The machine that has ended it, as the other one reports: it may be no machine of the pipeline.
        machine: usize,
        /// That a machine is dead or did not start, and which.
        reason: Option<String>,
    },
}

/// Moves the messages of all edges between two machines. Dropping it ends the streams to the stages here.
pub struct Bridge {
    shared: Arc<Shared>,
    /// The threads of edges to the other machine.
    outgoing: Vec<JoinHandle<()>>,
    /// The thread that receives all.
    receiving: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

struct Shared {
    link: Arc<Link>,
    report: Box<dyn Fn(BridgeEvent) + Send + Sync>,
    /// What the other machine has not finished, by channel.
    sent: Mutex<HashMap<u32, Unfinished>>,
    /// By edge: whether the other machine takes no more.
    gone: BTreeMap<usize, AtomicBool>,
    /// The edges on which it takes no more since it sends nothing more, without having ended them.
    left: Mutex<BTreeSet<usize>>,
    /// By edge: what has come from the other machine.
    incoming: BTreeMap<usize, IncomingProgress>,
    is_closing: AtomicBool,
    is_dead: Arc<AtomicBool>,
    /// The other machine sends nothing more, and what it has left is reported.
    has_peer_finished: AtomicBool,
    /// The channel of what the other machine sends of its stages.
    observations: u32,
    /// Whether the last message of that channel has arrived.
    have_observations_ended: AtomicBool,
    /// The other clock shows the same time as the one here.
    has_same_clock: bool,
    /// The other machine was given up because its clock was not measured.
    is_without_clock: AtomicBool,
    /// The other machine is given up after so long without a connection.
    reconnect_timeout: Duration,
    /// `None`: the machines are two.
    sharing: Option<Arc<Sharing>>,
    /// What was sent of frames, by edge.
    traffic: Mutex<BTreeMap<usize, FrameTraffic>>,
    workers: SharedWorkers,
}

/// Messages of one edge, on their way from the thread of the link to that of the edge.
type Arrivals = Sender<(MessageId, Vec<u8>)>;

impl Bridge {
    /// Starts to move messages. `ends`: those of the edges between both machines. `reconnect_timeout`: the other machine is given
    /// up after so long without a connection.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(
        peer: Peer,
        ends: RemoteEnds,
        reconnect_timeout: Duration,
        report: impl Fn(BridgeEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let is_local = peer.is_local;
        let early = std::mem::take(&mut *lock(&peer.early));
        let receives = !ends.incoming.is_empty();
        let edges = ends.outgoing.iter().map(OutgoingEdge::index);
        let incoming = ends.incoming.iter().map(IncomingEdge::index);
        let answers = peer.served.is_some().then(|| {
            let [_, answers] = peer.worker_channels;
            PacketSender::new(&peer.link, answers, peer.sharing.clone())
        });
        let shared = Arc::new(Shared {
            link: peer.link,
            report: Box::new(report),
            sent: Mutex::default(),
            gone: edges.map(|edge| (edge, AtomicBool::new(false))).collect(),
            left: Mutex::default(),
            incoming: incoming
                .map(|edge| (edge, IncomingProgress::default()))
                .collect(),
            is_closing: AtomicBool::new(false),
            is_dead: peer.is_dead,
            has_peer_finished: AtomicBool::new(false),
            observations: peer.observations,
            have_observations_ended: AtomicBool::new(false),
            has_same_clock: peer.has_same_clock,
            is_without_clock: AtomicBool::new(false),
            reconnect_timeout,
            sharing: peer.sharing,
            traffic: Mutex::default(),
            workers: SharedWorkers::new(peer.distributor, answers),
        });
        let mut bridge = Self {
            shared: shared.clone(),
            outgoing: Vec::new(),
            receiving: Vec::new(),
            others: Vec::new(),
        };
        let mut arrivals = HashMap::new();
        for mut edge in ends.incoming {
            let channel = control::channel(edge.index());
            // What may arrive is limited by the credit.
            let (sender, receiver) = crossbeam_channel::unbounded();
            arrivals.insert(channel, sender);
            shared.link.receive_on(channel, edge.capacity() as u64);
            let accepted = Arc::new(AtomicU64::new(0));
            for cycle in &ends.cycles {
                if cycle.stages().contains(&edge.edge().to.stage) {
                    let (link, accepted) = (shared.link.clone(), accepted.clone());
                    // The dead have a new count.
                    cycle.watch_arrivals(move || {
                        link.arrived(channel) > accepted.load(Ordering::SeqCst)
                    });
                }
            }
            let own = shared.clone();
            let thread =
                spawn(move || receiving::receive_edge(&own, &mut edge, &receiver, &accepted))?;
            bridge.others.push(thread);
        }
        let (sender, receiver) = crossbeam_channel::unbounded();
        arrivals.insert(peer.observations, sender);
        let link = &shared.link;
        link.limit_messages(peer.observations, observations::MESSAGE_BYTES);
        link.receive_on(peer.observations, observations::CAPACITY);
        let (own, receive) = (shared.clone(), peer.receiver);
        bridge.others.push(spawn(move || {
            let refuse = |reason: &str| own.refuse(None, reason);
            let has_ended = &own.have_observations_ended;
            observations::receive(&own.link, &receiver, receive, has_ended, refuse);
        })?);
        bridge.others.extend(workers::start(
            &shared,
            peer.worker_channels,
            peer.served,
            &mut arrivals,
        )?);
        for edge in ends.outgoing {
            let own = shared.clone();
            let frames = FrameEncoder::new(!is_local);
            let thread = spawn(move || sending::send_edge(&own, &edge, frames))?;
            bridge.outgoing.push(thread);
        }
        let receives = receives || shared.workers.receive_frames();
        let offer = shared.sharing.as_ref().filter(|_| receives);
        if let Some(offer) = offer.and_then(|it| it.offer()) {
            // Otherwise frames are sent.
            let _ = shared.send_control(&Control::Share(offer));
        }
        let own = shared;
        let thread = spawn(move || receiving::receive(&own, early, arrivals))?;
        bridge.receiving.push(thread);
        Ok(bridge)
    }

    /// Reports to the other machine that the run is ending. `machine`: which one has ended it. `reason`: that a machine is
    /// dead, and which. Returns false if it takes nothing now.
    #[must_use]
    pub fn stop(&self, machine: usize, reason: Option<String>) -> bool {
        self.shared.send_control(&Control::Stop { machine, reason })
    }

    /// Reports to the other machine that one is dead that has workers alone. Returns false if it takes nothing now.
    #[must_use]
    pub fn send_workers_died(&self, machine: usize) -> bool {
        self.shared.send_control(&Control::WorkersDied { machine })
    }

    /// Reports to the other machine that this one has been idle in a cycle. Returns false if it takes nothing now.
    #[must_use]
    pub fn send_idle(&self, cycle: usize) -> bool {
        self.shared.send_control(&Control::Idle { cycle })
    }

    /// What was sent of the frames of each edge, by its index in the pipeline.
    #[must_use]
    pub fn frame_traffic(&self) -> BTreeMap<usize, FrameTraffic> {
        lock(&self.shared.traffic).clone()
    }

    /// What was sent of the frames of distributed stages: to workers, and by workers.
    #[must_use]
    pub fn worker_frame_traffic(&self) -> Vec<FrameTraffic> {
        self.shared.workers.frame_traffic()
    }

    /// The run here is over: the workers that the other machine has for it are needed no more.
    pub fn end_workers(&self) {
        self.shared.workers.end();
    }

    /// Whether the other machine may need the workers that this one has for it.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.shared.workers.is_serving()
    }

    /// How many messages the workers have processed that the other machine has for this one.
    #[must_use]
    pub fn processed(&self) -> Option<u64> {
        self.shared.workers.processed()
    }

    /// What has gone over the link so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.link.traffic()
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.link.is_connected()
    }

    /// The clock of the other machine, compared with that of this one.
    #[must_use]
    pub fn peer_clock(&self) -> Option<Offset> {
        self.shared.link.peer_clock()
    }

    /// After the end of the run here: waits until the other machine has everything, and its run has ended too. Returns
    /// false if it died before.
    #[must_use]
    pub fn finish(mut self) -> bool {
        self.end_workers();
        join(&mut self.outgoing);
        ending::end_incoming(&self.shared);
        while !self.shared.is_dead.load(Ordering::Relaxed) {
            if self
                .shared
                .link
                .finish(FINISH_STEP, self.shared.reconnect_timeout)
            {
                self.wait_for_report();
                return true;
            }
        }
        false
    }

    /// The last item of the other machine has arrived: waits until the thread that receives it has reported what that machine
    /// has left.
    fn wait_for_report(&self) {
        let shared = &self.shared;
        let is_over = || {
            shared.has_peer_finished.load(Ordering::SeqCst)
                || shared.is_dead.load(Ordering::Relaxed)
                // It has panicked.
                || self.receiving.iter().all(JoinHandle::is_finished)
        };
        while !is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        self.shared.workers.close();
        join(&mut self.receiving);
        join(&mut self.others);
        self.shared.workers.release_frames();
        // Those of edges to the other machine end with their stages, which may be later.
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("flowpipe-bridge".into())
        .spawn(work)
}

fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        // A panic has been printed.
        let _ = thread.join();
    }
}

impl Shared {
    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    fn is_gone(&self, edge: usize) -> bool {
        let gone = self.gone.get(&edge);
        self.is_closing() || gone.is_none_or(|gone| gone.load(Ordering::Relaxed))
    }

    fn set_gone(&self, edge: usize) {
        if let Some(gone) = self.gone.get(&edge) {
            gone.store(true, Ordering::Relaxed);
        }
    }

    /// The clock of the machine that has sent a message, once it is known. `None`: the machine is dead, or the bridge
    /// closes, before. A machine that leaves it unknown for too long is given up.
    fn clock_of(&self, message: MessageId) -> Option<Offset> {
        let (mut connected, mut last) = (Duration::ZERO, Instant::now());
        loop {
            // Read first: a clock that is not known after the death is never known.
            let is_over = self.is_closing() || self.is_dead.load(Ordering::SeqCst);
            match self.link.clock_of(message) {
                _ if self.has_same_clock => return Some(Offset::NONE),
                Some(clock) => return Some(clock),
                None if is_over => return None,
                // The first connection measures it.
                None => std::thread::sleep(CLOCK_CHECK),
            }
            let passed = last.elapsed();
            last += passed;
            if self.link.is_connected() {
                // While this program stands still, it reads no answer.
                connected += passed.min(STEP);
            }
            let is_late = connected >= CLOCK_TIMEOUT;
            if is_late && !self.is_without_clock.swap(true, Ordering::SeqCst) {
                self.refuse(None, WITHOUT_CLOCK);
                self.link.give_up();
            }
        }
    }

    /// Returns false if the other machine takes nothing now. A dead one needs nothing.
    fn send_control(&self, control: &Control) -> bool {
        let body = control.encode().into();
        self.is_dead.load(Ordering::Relaxed) || self.link.send(CHANNEL, &body, STEP).is_ok()
    }

    fn refuse(&self, edge: Option<usize>, reason: &str) {
        let reason = reason.to_owned();
        (self.report)(BridgeEvent::Refused { edge, reason });
    }
}
