//! The edges between this machine and another one, while the run is active.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_config::pipeline::{PortRef, WhenFull};
use flowpipe_engine::run::remote::{
    Delivery, FinishedCount, IncomingEdge, OutgoingEdge, Receipt, RemoteEnds, Taken,
};
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::{Link, Traffic};
use flowpipe_link::session::{Event, MessageId, Refusal};
use flowpipe_sync::lock;

use crate::control::{self, CHANNEL, Control};
use crate::frame_coding::{FrameDecoder, FrameEncoder, FrameTraffic};
use crate::held::HeldMessage;
use crate::observations::{self, ObservationSender};
use crate::peer::Peer;
use crate::shared_memory::{SharedBlock, Sharing, block_of};
use crate::wire;

/// How often a thread that waits checks whether the bridge closes.
const STEP: Duration = Duration::from_millis(50);
/// How often a bridge that finishes checks whether the other machine is dead. Longer than a link lingers.
const FINISH_STEP: Duration = Duration::from_secs(2);

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
    /// The program of the other machine is dead, or gone for too long. Its stages take part no longer.
    Died,
    /// After [`Self::Died`]: a message that the other machine had and did not finish, or that waited for it.
    Lost {
        /// The edge in the pipeline.
        edge: usize,
        /// Its output.
        source: PortRef,
        /// Its number there.
        sequence: u64,
    },
    /// A message of the other machine was dropped: its stage can't have emitted it.
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
    /// A machine of the pipeline, by its place in the file, has been idle in a cycle.
    Idle {
        /// The cycle.
        cycle: usize,
        /// The machine.
        machine: usize,
    },
    /// The run was stopped on the other machine, or has failed there.
    Stopped {
        /// That a machine is gone, and which.
        reason: Option<String>,
    },
}

/// Moves the messages of all edges between two machines. Dropping it ends the streams to the stages here.
pub struct Bridge {
    shared: Arc<Shared>,
    /// The threads of edges to the other machine.
    outgoing: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

struct Shared {
    link: Arc<Link>,
    report: Box<dyn Fn(BridgeEvent) + Send + Sync>,
    /// What the other machine has not finished, by channel.
    sent: Mutex<HashMap<u32, Unfinished>>,
    /// By edge: whether the other machine takes no more.
    gone: BTreeMap<usize, AtomicBool>,
    is_closing: AtomicBool,
    is_dead: Arc<AtomicBool>,
    /// The channel of what the other machine sends of its stages, and whether it has ended.
    observations: (u32, AtomicBool),
    /// The other clock shows the same time as the one here.
    has_same_clock: bool,
    /// The other machine is given up after so long without a connection.
    patience: Duration,
    /// `None`: the machines are two.
    sharing: Option<Sharing>,
    /// What was sent of frames, by edge.
    traffic: Mutex<BTreeMap<usize, FrameTraffic>>,
}

/// What happened to a message that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SendOutcome {
    Accepted,
    TooLong,
    /// The edge has ended there.
    Ended,
}

/// The messages of a channel that are not finished.
struct Unfinished {
    edge: usize,
    source: PortRef,
    /// Their numbers on the output, by those on the channel, with the frames that the other machine may still read here.
    sequences: BTreeMap<u64, (u64, Option<Frame>)>,
    /// Counts those that are finished.
    finished: FinishedCount,
    /// What those keep that have not arrived.
    receipts: BTreeMap<u64, Receipt>,
}

/// Messages of one edge, on their way from the thread of the link to that of the edge.
type Arrivals = Sender<(MessageId, Vec<u8>)>;

impl Bridge {
    /// Starts to move messages. `ends`: those of the edges between both machines. `patience`: the other machine is given
    /// up after so long without a connection.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(
        peer: Peer,
        ends: RemoteEnds,
        patience: Duration,
        report: impl Fn(BridgeEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let is_local = peer.is_local;
        let early = std::mem::take(&mut *lock(&peer.early));
        let receives = !ends.incoming.is_empty();
        let edges = ends.outgoing.iter().map(OutgoingEdge::index);
        let shared = Arc::new(Shared {
            link: peer.link,
            report: Box::new(report),
            sent: Mutex::default(),
            gone: edges.map(|edge| (edge, AtomicBool::new(false))).collect(),
            is_closing: AtomicBool::new(false),
            is_dead: peer.is_dead,
            observations: (peer.observations, AtomicBool::new(false)),
            has_same_clock: peer.has_same_clock,
            patience,
            sharing: is_local.then(Sharing::default),
            traffic: Mutex::default(),
        });
        let mut bridge = Self {
            shared: shared.clone(),
            outgoing: Vec::new(),
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
            let thread = spawn(move || receive_edge(&own, &mut edge, &receiver, &accepted))?;
            bridge.others.push(thread);
        }
        let (sender, receiver) = crossbeam_channel::unbounded();
        arrivals.insert(peer.observations, sender);
        let link = &shared.link;
        link.receive_on(peer.observations, observations::CAPACITY);
        let (own, observe) = (shared.clone(), peer.observe);
        bridge.others.push(spawn(move || {
            let refuse = |reason: &str| own.refuse(None, reason);
            observations::receive(&own.link, &receiver, observe, &own.observations.1, refuse);
        })?);
        for edge in ends.outgoing {
            let own = shared.clone();
            let frames = FrameEncoder::new(!is_local);
            let thread = spawn(move || send_edge(&own, &edge, frames))?;
            bridge.outgoing.push(thread);
        }
        let offer = shared.sharing.as_ref().filter(|_| receives);
        if let Some(offer) = offer.and_then(Sharing::offer) {
            shared.send_control(&Control::Share(offer));
        }
        let own = shared;
        let thread = spawn(move || receive(&own, early, arrivals))?;
        bridge.others.push(thread);
        Ok(bridge)
    }

    /// Reports to the other machine that the run is stopped here. `reason`: that a machine is gone, and which.
    pub fn stop(&self, reason: Option<String>) {
        self.shared.send_control(&Control::Stop { reason });
    }

    /// Reports to the other machine that a machine has been idle in a cycle.
    pub fn send_idle(&self, cycle: usize, machine: usize) {
        self.shared.send_control(&Control::Idle { cycle, machine });
    }

    /// What was sent of the frames of each edge, by its index in the pipeline.
    #[must_use]
    pub fn frame_traffic(&self) -> BTreeMap<usize, FrameTraffic> {
        lock(&self.shared.traffic).clone()
    }

    /// Sends the other machine what is observed of the stages here.
    #[must_use]
    pub fn observation_sender(&self) -> ObservationSender {
        let shared = &self.shared;
        ObservationSender::new(&shared.link, shared.observations.0, &shared.is_dead)
    }

    /// What has gone over the link so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.link.traffic()
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
        join(&mut self.outgoing);
        while !self.shared.is_dead.load(Ordering::Relaxed) {
            if self.shared.link.finish(FINISH_STEP) {
                return true;
            }
        }
        false
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        join(&mut self.others);
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

    fn send_control(&self, control: &Control) {
        let body = control.encode().into();
        // A peer that takes nothing is not there.
        let _ = self.link.send(CHANNEL, &body, STEP);
    }

    /// Sends a message and notes it.
    fn send(
        &self,
        edge: &OutgoingEdge,
        sequence: u64,
        body: &Arc<[u8]>,
        shared: Option<Frame>,
        mut receipt: Option<Receipt>,
    ) -> SendOutcome {
        let channel = control::channel(edge.index());
        loop {
            // The note is there before the message can be finished.
            let mut sent = lock(&self.sent);
            let refusal = match self.link.send(channel, body, Duration::ZERO) {
                Ok(id) => {
                    let unfinished = sent.entry(channel).or_insert_with(|| Unfinished {
                        edge: edge.index(),
                        source: edge.edge().from,
                        finished: edge.finished_count(),
                        sequences: BTreeMap::new(),
                        receipts: BTreeMap::new(),
                    });
                    unfinished.sequences.insert(id.number, (sequence, shared));
                    unfinished
                        .receipts
                        .extend(receipt.take().map(|it| (id.number, it)));
                    return SendOutcome::Accepted;
                }
                Err(refusal) => refusal,
            };
            drop(sent);
            match refusal {
                Refusal::NoCredit | Refusal::Full => {
                    let _ = self.link.refusal(channel, body.len(), STEP);
                }
                Refusal::TooLong => {
                    (self.report)(BridgeEvent::TooLong {
                        edge: edge.index(),
                        length: body.len(),
                    });
                    edge.finished_count().add(1);
                    return SendOutcome::TooLong;
                }
                Refusal::Ended => return SendOutcome::Ended,
            }
            if self.is_gone(edge.index()) {
                return SendOutcome::Ended;
            }
        }
    }

    /// The frame of a message and where the other machine may read it, if it may.
    fn place_of_frame(
        &self,
        edge: &OutgoingEdge,
        message: &Message,
    ) -> Option<(Frame, SharedBlock)> {
        if !self.sharing.as_ref().is_some_and(Sharing::sends) {
            return None;
        }
        edge.share_frames();
        let frame = message.frame()?;
        Some((frame.clone(), block_of(frame)?))
    }

    fn count_frame(&self, edge: usize, is_shared: bool, bytes: usize, sent_bytes: usize) {
        let mut all = lock(&self.traffic);
        let traffic = all.entry(edge).or_default();
        traffic.frames += 1;
        traffic.shared += u64::from(is_shared);
        traffic.bytes += bytes as u64;
        traffic.sent_bytes += sent_bytes as u64;
    }

    /// These messages are in the hands of the other machine.
    fn note_arrived(&self, last: MessageId) {
        let arrived = lock(&self.sent).get_mut(&last.channel).map(|unfinished| {
            let later = unfinished.receipts.split_off(&(last.number + 1));
            std::mem::replace(&mut unfinished.receipts, later)
        });
        // Without the lock: messages of any link may be finished by this.
        drop(arrived);
    }

    /// The other machine has finished these messages.
    fn note_done(&self, first: MessageId, last: u64) {
        if let Some(unfinished) = lock(&self.sent).get_mut(&first.channel) {
            let count = unfinished.sequences.len();
            let rest = unfinished.sequences.split_off(&first.number);
            let later = rest.into_iter().filter(|(number, _)| *number > last);
            unfinished.sequences.extend(later);
            let finished = count - unfinished.sequences.len();
            unfinished.finished.add(finished as u64);
        }
    }

    /// The other machine is dead: all that it has not finished is lost.
    fn note_death(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        (self.report)(BridgeEvent::Died);
        self.gone.keys().for_each(|edge| self.set_gone(*edge));
        let lost = std::mem::take(&mut *lock(&self.sent));
        let lost: BTreeMap<_, _> = lost.into_iter().collect();
        for unfinished in lost.into_values() {
            let Unfinished { edge, source, .. } = unfinished;
            for (sequence, _) in unfinished.sequences.into_values() {
                (self.report)(BridgeEvent::Lost {
                    edge,
                    source,
                    sequence,
                });
            }
        }
    }

    fn refuse(&self, edge: Option<usize>, reason: &str) {
        let reason = reason.to_owned();
        (self.report)(BridgeEvent::Refused { edge, reason });
    }
}

/// Sends the messages of an edge, until its stream ends or the other machine takes no more.
fn send_edge(shared: &Shared, edge: &OutgoingEdge, mut frames: FrameEncoder) {
    let channel = control::channel(edge.index());
    let drops = edge.edge().queue.when_full != WhenFull::Block;
    loop {
        // What waits in a queue that drops can be dropped until there is room for it.
        while drops && shared.link.refusal(channel, 0, STEP).is_some() {
            if shared.is_gone(edge.index()) {
                return;
            }
        }
        match edge.take() {
            Taken::Message(message, receipt) => {
                let (shared_frame, block) = shared.place_of_frame(edge, &message).unzip();
                let (body, sent_bytes) = wire::encode(&message, &mut frames, block);
                if shared.is_gone(edge.index()) {
                    return;
                }
                let sequence = message.lineage().sequence;
                let sent = shared.send(edge, sequence, &body.into(), shared_frame, receipt);
                match (sent, message.frame()) {
                    (SendOutcome::Accepted, Some(frame)) => {
                        let bytes = frame.pixels().len();
                        shared.count_frame(edge.index(), block.is_some(), bytes, sent_bytes);
                    }
                    (SendOutcome::TooLong, Some(_)) => frames.forget(),
                    (SendOutcome::Accepted | SendOutcome::TooLong, None) => {}
                    (SendOutcome::Ended, _) => return,
                }
            }
            Taken::Empty => {}
            Taken::Ended => break,
        }
    }
    shared.link.end(channel);
}

/// Passes the messages of an edge on to its stage.
fn receive_edge(
    shared: &Shared,
    edge: &mut IncomingEdge,
    arrivals: &Receiver<(MessageId, Vec<u8>)>,
    accepted: &AtomicU64,
) {
    let number = edge.index();
    let mut frames = FrameDecoder::default();
    let nothing = Sharing::default();
    let sharing = shared.sharing.as_ref().unwrap_or(&nothing);
    for (id, body) in arrivals {
        // The first connection measures it.
        let clock = loop {
            match shared.link.peer_clock() {
                _ if shared.has_same_clock => break Offset::NONE,
                Some(clock) => break clock,
                None if shared.is_closing() => return,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let delivery = match wire::decode(&body, clock, &mut frames, sharing) {
            Some(arrived) => {
                let link = shared.link.clone();
                edge.accept(arrived, Some(Arc::new(HeldMessage { link, id })))
            }
            None => {
                shared.link.done(id);
                Err("a message is malformed".to_owned())
            }
        };
        shared.link.take(id.channel);
        accepted.fetch_add(1, Ordering::SeqCst);
        match delivery {
            Ok(Delivery::Queued) => {}
            Ok(Delivery::Gone) => {
                // What arrives now goes nowhere.
                accepted.store(u64::MAX, Ordering::SeqCst);
                shared.send_control(&Control::Gone { edge: number });
                return;
            }
            Err(reason) => shared.refuse(Some(number), &reason),
        }
    }
}

/// Receives all that the other machine sends.
/// `early`: what it has sent before this one has started.
fn receive(shared: &Shared, early: Vec<Event>, mut arrivals: HashMap<u32, Arrivals>) {
    let mut early = early.into_iter();
    let mut gone_since = (!shared.link.is_connected()).then(Instant::now);
    let mut has_finished = false;
    while !shared.is_closing() {
        if !has_finished && gone_since.is_some_and(|since| since.elapsed() >= shared.patience) {
            gone_since = None;
            shared.link.give_up();
        }
        match early.next().or_else(|| shared.link.next_event(STEP)) {
            None | Some(Event::Credit { .. } | Event::Lost { .. } | Event::Unsent { .. }) => {}
            Some(Event::Arrived(id)) => shared.note_arrived(id),
            Some(Event::Connected) => {
                gone_since = None;
                (shared.report)(BridgeEvent::Connected);
            }
            Some(Event::Disconnected(violation)) => {
                gone_since = Some(Instant::now());
                if !has_finished {
                    let reason = violation.map(|it| format!("the other machine {it}"));
                    let reason = reason.or_else(|| shared.link.failure());
                    (shared.report)(BridgeEvent::Disconnected { reason });
                }
            }
            Some(Event::Message { id, body }) if id.channel == CHANNEL => {
                shared.link.take(CHANNEL);
                shared.link.done(id);
                match Control::decode(&body) {
                    Some(Control::Gone { edge }) => shared.set_gone(edge),
                    Some(Control::Stop { reason }) => {
                        (shared.report)(BridgeEvent::Stopped { reason });
                    }
                    // It may learn later that all have started.
                    Some(Control::Missing { .. }) => {}
                    // It was restarted while this machine started.
                    Some(Control::Introduction { .. }) => shared.link.give_up(),
                    Some(Control::Idle { cycle, machine }) => {
                        (shared.report)(BridgeEvent::Idle { cycle, machine });
                    }
                    Some(Control::Share(step)) if shared.sharing.is_some() => {
                        let next = shared.sharing.as_ref().and_then(|it| it.receive(step));
                        next.into_iter()
                            .for_each(|next| shared.send_control(&Control::Share(next)));
                    }
                    _ => shared.refuse(None, "it sent something that it should not"),
                }
            }
            Some(Event::Message { id, body }) => {
                // Gone: the stage has ended, which the other machine is about to learn.
                let rejected = match arrivals.get(&id.channel) {
                    Some(arrivals) => arrivals.send((id, body)).is_err(),
                    None => true,
                };
                if rejected {
                    shared.link.take(id.channel);
                    shared.link.done(id);
                }
            }
            Some(Event::Done { first, last }) => shared.note_done(first, last),
            Some(Event::Ended { channel }) => {
                if channel == shared.observations.0 {
                    shared.observations.1.store(true, Ordering::Relaxed);
                }
                drop(arrivals.remove(&channel));
            }
            Some(Event::Finished) => {
                // Its run is over: it takes nothing more.
                has_finished = true;
                shared.gone.keys().for_each(|edge| shared.set_gone(*edge));
            }
            Some(Event::PeerLost) => {
                shared.note_death();
                // Streams to the stages here end.
                arrivals.clear();
                return;
            }
        }
    }
}
