//! Messages to the other machine, and those of them that it has not finished.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_config::pipeline::WhenFull;
use flowpipe_engine::run::remote::{FinishedCount, OutgoingEdge, Receipt, Taken};
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_link::session::{MessageId, Refusal};
use flowpipe_sync::lock;

use super::{BridgeEvent, STEP, Shared};
use crate::control;
use crate::frame_coding::{FrameEncoder, MOST_FRAME_BYTES};
use crate::lent_frames::LentFrames;
use crate::ranges::take_range;
use crate::shared_memory::SharedBlock;
use crate::wire;

/// How many messages of an edge may be unfinished: a machine that finishes none costs no more memory.
const MOST_UNFINISHED: usize = 1 << 17;

/// What happened to a message that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SendOutcome {
    Accepted,
    TooLong,
    /// The edge has ended there.
    Ended,
}

/// The messages of a channel that are not finished.
pub(super) struct Unfinished {
    edge: usize,
    /// Their numbers on the output, by those on the channel.
    sequences: BTreeMap<u64, u64>,
    lent: LentFrames,
    /// Counts those that are finished.
    finished: FinishedCount,
    /// What those keep that have not arrived.
    receipts: BTreeMap<u64, Receipt>,
    /// What was counted of the frames of those that have not arrived.
    frames: BTreeMap<u64, CountedFrame>,
}

/// The frame of a message, as it is counted.
#[derive(Clone, Copy)]
struct CountedFrame {
    is_shared: bool,
    bytes: usize,
    sent_bytes: usize,
}

/// A message that is to be sent.
struct Outgoing {
    sequence: u64,
    body: Arc<[u8]>,
    /// The frame that the other machine reads in the memory of this one.
    lent: Option<Frame>,
    counted: Option<CountedFrame>,
    receipt: Option<Receipt>,
}

impl Shared {
    /// Sends a message and notes it.
    fn send(&self, edge: &OutgoingEdge, message: Outgoing) -> SendOutcome {
        let Outgoing {
            sequence,
            body,
            lent,
            counted,
            receipt,
        } = message;
        let channel = control::channel(edge.index());
        loop {
            // The note is there before the message can be finished.
            let mut sent = lock(&self.sent);
            // With the lock: what is sent on an edge that the other machine has left is known when it leaves it.
            if self.is_gone(edge.index()) {
                return SendOutcome::Ended;
            }
            let is_full = sent
                .get(&channel)
                .is_some_and(|it| it.sequences.len() >= MOST_UNFINISHED);
            let result = match is_full {
                true => Err(Refusal::NoCredit),
                false => self.link.send(channel, &body, Duration::ZERO),
            };
            let refusal = match result {
                Ok(id) => {
                    let unfinished = sent.entry(channel).or_insert_with(|| Unfinished {
                        edge: edge.index(),
                        finished: edge.finished_count(),
                        sequences: BTreeMap::new(),
                        lent: LentFrames::default(),
                        receipts: BTreeMap::new(),
                        frames: BTreeMap::new(),
                    });
                    unfinished.sequences.insert(id.number, sequence);
                    if let Some(frame) = lent {
                        unfinished.lent.keep(id.number, frame);
                    }
                    if let Some(frame) = counted {
                        unfinished.frames.insert(id.number, frame);
                        self.count_frame(edge.index(), frame);
                    }
                    unfinished
                        .receipts
                        .extend(receipt.map(|it| (id.number, it)));
                    return SendOutcome::Accepted;
                }
                Err(refusal) => refusal,
            };
            drop(sent);
            match refusal {
                Refusal::NoCredit if is_full => std::thread::sleep(STEP),
                Refusal::NoCredit | Refusal::Full => {
                    let _ = self.link.refusal(channel, body.len(), STEP);
                }
                Refusal::TooLong => {
                    self.drop_too_long(edge, body.len());
                    return SendOutcome::TooLong;
                }
                Refusal::Ended => return SendOutcome::Ended,
            }
            if self.is_gone(edge.index()) {
                return SendOutcome::Ended;
            }
        }
    }

    /// A message is longer than the other machine accepts.
    fn drop_too_long(&self, edge: &OutgoingEdge, length: usize) {
        (self.report)(BridgeEvent::TooLong {
            edge: edge.index(),
            length,
        });
        edge.finished_count().add(1);
    }

    /// The frame of a message and where the other machine may read it, if it may.
    fn place_of_frame(&self, channel: u32, message: &Message) -> Option<(Frame, SharedBlock)> {
        let (sharing, frame) = (self.sharing.as_ref()?, message.frame()?);
        let sent = lock(&self.sent);
        if sent.get(&channel).is_some_and(|it| !it.lent.have_room()) {
            return None;
        }
        drop(sent);
        let block = sharing.place_of(frame)?;
        Some((frame.clone(), block))
    }

    fn count_frame(&self, edge: usize, frame: CountedFrame) {
        let mut all = lock(&self.traffic);
        let traffic = all.entry(edge).or_default();
        traffic.add(frame.bytes, frame.is_shared, frame.sent_bytes);
    }

    /// This message was never sent.
    pub(super) fn uncount_frame(&self, id: MessageId) {
        let mut sent = lock(&self.sent);
        let Some(unfinished) = sent.get_mut(&id.channel) else {
            return;
        };
        if let Some(frame) = unfinished.frames.remove(&id.number)
            && let Some(traffic) = lock(&self.traffic).get_mut(&unfinished.edge)
        {
            traffic.frames -= 1;
            traffic.shared -= u64::from(frame.is_shared);
            traffic.bytes -= frame.bytes as u64;
            traffic.sent_bytes -= frame.sent_bytes as u64;
        }
    }

    /// These messages have arrived at the other machine.
    pub(super) fn note_arrived(&self, last: MessageId) {
        let arrived = lock(&self.sent).get_mut(&last.channel).map(|unfinished| {
            unfinished.frames = unfinished.frames.split_off(&(last.number + 1));
            let later = unfinished.receipts.split_off(&(last.number + 1));
            std::mem::replace(&mut unfinished.receipts, later)
        });
        // Without the lock: messages of any link may be finished by this.
        drop(arrived);
    }

    /// The other machine has finished these messages.
    pub(super) fn note_done(&self, first: MessageId, last: u64) {
        let mut sent = lock(&self.sent);
        let Some(unfinished) = sent.get_mut(&first.channel) else {
            return;
        };
        let finished = take_range(&mut unfinished.sequences, first.number, last);
        let frames = unfinished.lent.take(first.number, last);
        unfinished.finished.add(finished.len() as u64);
        drop(sent);
        drop(frames);
    }

    /// The other machine is dead.
    pub(super) fn note_death(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        (self.report)(BridgeEvent::Died);
        self.gone.keys().for_each(|edge| self.set_gone(*edge));
    }

    /// These messages are lost: the dead machine had not finished them, or they were on the way to it. Returns their edge,
    /// and their numbers there.
    pub(super) fn note_lost(&self, first: MessageId, last: u64) -> Option<(usize, Vec<u64>)> {
        let mut sent = lock(&self.sent);
        let unfinished = sent.get_mut(&first.channel)?;
        let edge = unfinished.edge;
        let lost = take_range(&mut unfinished.sequences, first.number, last);
        let receipts = take_range(&mut unfinished.receipts, first.number, last);
        // The frames that were lent stay until the bridge is dropped: a program that only counts as dead may go on, and
        // would read other pixels in memory that was used again.
        // A cycle does not wait for the messages.
        unfinished.finished.add(lost.len() as u64);
        // Without the lock: messages of any link may be finished by this.
        drop(sent);
        drop(receipts);
        let sequences = lost.into_iter().map(|(_, sequence)| sequence);
        Some((edge, sequences.collect()))
    }

    /// The other machine sends nothing more on a channel. If it is that of an edge to it, the stage there has ended early: it
    /// takes nothing more, and what was sent is not lost.
    pub(super) fn note_early_end(&self, channel: u32) {
        let mut edges = self.gone.keys();
        if let Some(edge) = edges.find(|edge| control::channel(**edge) == channel) {
            self.set_gone(*edge);
        }
    }

    /// The other machine sends nothing more at all, so that it finishes no more messages. What it had is lost, except on
    /// edges whose stages have ended early, as it has reported.
    pub(super) fn note_finish(&self) {
        let mut lost: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut kept = Vec::new();
        let mut sent = lock(&self.sent);
        let edges = self.gone.keys().copied();
        let left: Vec<usize> = edges.filter(|edge| !self.is_gone(*edge)).collect();
        for unfinished in sent.values_mut() {
            if left.contains(&unfinished.edge) {
                let sequences = std::mem::take(&mut unfinished.sequences);
                // A cycle does not wait for them.
                unfinished.finished.add(sequences.len() as u64);
                kept.push((
                    std::mem::take(&mut unfinished.receipts),
                    unfinished.lent.take(0, u64::MAX),
                ));
                lost.insert(unfinished.edge, sequences.into_values().collect());
            }
        }
        lock(&self.left).extend(&left);
        left.iter().for_each(|edge| self.set_gone(*edge));
        // Without the lock: messages of any link may be finished by this.
        drop(sent);
        drop(kept);
        self.report_lost(lost);
    }

    /// These messages are lost, by edge.
    pub(super) fn report_lost(&self, lost: BTreeMap<usize, Vec<u64>>) {
        for (edge, mut sequences) in lost {
            if !sequences.is_empty() {
                sequences.sort_unstable();
                (self.report)(BridgeEvent::Lost { edge, sequences });
            }
        }
    }

    /// A message was taken for the other machine, which takes no more.
    fn note_unsent(&self, edge: &OutgoingEdge, sequence: u64) {
        edge.finished_count().add(1);
        let is_lost =
            self.is_dead.load(Ordering::Relaxed) || lock(&self.left).contains(&edge.index());
        if is_lost {
            self.report_lost([(edge.index(), vec![sequence])].into());
        }
    }
}

fn size_of_frame(message: &Message) -> usize {
    message.frame().map_or(0, Frame::size)
}

/// Sends the messages of an edge, until its stream ends or the other machine takes no more.
pub(super) fn send_edge(shared: &Shared, edge: &OutgoingEdge, mut frames: FrameEncoder) {
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
            Taken::Message(message, _) if size_of_frame(&message) > MOST_FRAME_BYTES => {
                shared.drop_too_long(edge, size_of_frame(&message));
            }
            Taken::Message(message, receipt) => {
                let (lent, block) = shared.place_of_frame(channel, &message).unzip();
                let (body, sent_bytes) = wire::encode(&message, &mut frames, block);
                let sequence = message.lineage().sequence;
                if shared.is_gone(edge.index()) {
                    shared.note_unsent(edge, sequence);
                    return;
                }
                let counted = message.frame().map(|frame| CountedFrame {
                    is_shared: block.is_some(),
                    bytes: frame.size(),
                    sent_bytes,
                });
                let outgoing = Outgoing {
                    sequence,
                    body,
                    lent,
                    counted,
                    receipt,
                };
                match shared.send(edge, outgoing) {
                    SendOutcome::TooLong if counted.is_some() => frames.forget(),
                    SendOutcome::Accepted | SendOutcome::TooLong => {}
                    SendOutcome::Ended => {
                        shared.note_unsent(edge, sequence);
                        return;
                    }
                }
            }
            Taken::Empty => {}
            Taken::Ended => break,
        }
    }
    shared.link.end(channel);
}
