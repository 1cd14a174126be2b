//! What the machines of a run send each other of their stages, such as their reports.
//!
//! Each link has a channel for it. A message there begins with its kind and with the machine whose stages it is about,
//! which may be another one than the sender: machines pass on what is not for them ([`ObservationRouter`]).

mod router;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::Receiver;
use flowpipe_link::link::Link;
use flowpipe_link::session::{MessageId, Refusal};

use crate::peer::{Arrival, Peer, ReceiveObservations};
pub use router::{ObservationRouter, ObservationSender};

/// How many messages of the channel may wait at the receiver.
pub(crate) const CAPACITY: u64 = 4;
/// The most bytes of a message of the channel.
pub(crate) const MESSAGE_BYTES: usize = 1 << 20;
/// The most bytes of what a machine sends at once.
pub const LONGEST_OBSERVATION: usize = MESSAGE_BYTES - HEAD;
/// Bytes in front of it: its kind and its machine.
const HEAD: usize = 5;
/// How often a thread that waits checks whether it has to go on.
const STEP: Duration = Duration::from_millis(50);

/// How long counts wait for room, which entries may take all the time.
const COUNTS_WAIT: Duration = Duration::from_millis(20);

/// Why a message of another machine is refused that nothing there sends.
pub const UNEXPECTED: &str = "it sent something that it should not";

/// What machines send of their stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A part of its entries for a recording or a trace: to the observer.
    Entries,
    /// How its clock was set: to the observer.
    Clock,
    /// Its counts while the run goes on: to all. Those that follow replace it, so that it waits for nothing.
    Counts,
    /// The report of its run, and the last of all: to all.
    Report,
}

/// What another machine has sent of its stages.
#[derive(Debug)]
pub enum Observed<'a> {
    /// What it has sent.
    Sent(Observation, &'a [u8]),
    /// Nothing more arrives from it.
    Ended,
    /// It is dead, or a machine on the way to it: the rest is missing.
    Lost,
}

impl Observation {
    const ALL: [Self; 4] = [Self::Entries, Self::Clock, Self::Counts, Self::Report];

    fn encode(self, machine: usize, body: &[u8]) -> Arc<[u8]> {
        // A pipeline has fewer machines.
        let machine = u32::try_from(machine).unwrap_or(u32::MAX);
        let head = [self as u8].into_iter().chain(machine.to_le_bytes());
        let message: Vec<u8> = head.chain(body.iter().copied()).collect();
        message.into()
    }

    /// The kind, the machine and what it has sent. `None`: it is malformed.
    fn decode(message: &[u8]) -> Option<(Self, usize, &[u8])> {
        let (kind, rest) = message.split_first()?;
        let kind = *Self::ALL.get(usize::from(*kind))?;
        let (machine, body) = rest.split_first_chunk()?;
        let machine = u32::from_le_bytes(*machine);
        Some((kind, usize::try_from(machine).ok()?, body))
    }
}

/// The sending end of the channel of a link.
struct ChannelSender {
    link: Arc<Link>,
    channel: u32,
    is_dead: Arc<AtomicBool>,
    /// How many messages wait for room.
    waiting: AtomicUsize,
}

impl ChannelSender {
    fn to(peer: &Peer) -> Self {
        Self {
            link: peer.link.clone(),
            channel: peer.observations,
            is_dead: peer.is_dead.clone(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Sends a message once the other machine has room for it. Returns false if it takes no more, or if it is too long.
    fn send(&self, message: &Arc<[u8]>, is_closing: &AtomicBool) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let is_sent = self.send_when_accepted(message, is_closing);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        is_sent
    }

    /// Whether a message waits for room.
    fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn send_when_accepted(&self, message: &Arc<[u8]>, is_closing: &AtomicBool) -> bool {
        let is_over = || self.is_dead.load(Ordering::Relaxed) || is_closing.load(Ordering::Relaxed);
        while message.len() <= MESSAGE_BYTES && !is_over() {
            match self.link.send(self.channel, message, STEP) {
                Ok(_) => return true,
                Err(Refusal::NoCredit | Refusal::Full) => {}
                Err(Refusal::Ended | Refusal::TooLong) => return false,
            }
        }
        false
    }

    /// Sends a message if the other machine has room for it soon.
    fn try_send(&self, message: &Arc<[u8]>) {
        if message.len() <= MESSAGE_BYTES {
            // What follows replaces it.
            let _ = self.link.send(self.channel, message, COUNTS_WAIT);
        }
    }

    /// Sends nothing more.
    fn end(&self) {
        self.link.end(self.channel);
    }
}

/// Passes on what arrives on the channel of a link. `has_ended`: whether the last message has arrived.
pub(crate) fn receive(
    link: &Link,
    arrivals: &Receiver<(MessageId, Vec<u8>)>,
    mut receiver: Option<Box<ReceiveObservations>>,
    has_ended: &AtomicBool,
    refuse: impl Fn(&str),
) {
    let mut pass = |arrival| {
        if let Some(Err(reason)) = receiver.as_mut().map(|receive| receive(arrival)) {
            refuse(&reason);
        }
    };
    for (id, body) in arrivals {
        pass(Arrival::Message(body));
        // Only now is there room for another one.
        link.take(id.channel);
        link.done(id);
    }
    pass(match has_ended.load(Ordering::Relaxed) {
        true => Arrival::Ended,
        false => Arrival::Lost,
    });
}
