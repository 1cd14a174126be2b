//! The protocol of a link as a state machine, without threads, clocks and I/O.
//!
//! The owner reports connections ([`Session::open`], [`Session::close`]), packets ([`Session::receive`]) and the time,
//! and sends the packets that [`Session::transmit`] returns. Times are in nanoseconds of any clock that never goes back.
//!
//! **Items.** Each direction is one stream of numbered items: parts of messages, credits, finished messages, ends. An
//! item is kept until the peer acknowledges it, and sent again on the next connection. A connection that loses an item
//! is closed: that is noticed by the next item, or by a ping.
//!
//! **Handshake.** Each end introduces itself with its incarnation and a nonce, and answers with the nonce of the peer
//! and the number of the last item that it has. Only a live program knows the nonce, so a delayed connection of a dead
//! one is never established. Of several connections between the same programs the one with the highest number counts.
//!
//! **Death.** A peer with another incarnation is a program that knows nothing of what was sent. Both streams start
//! again. The owner learns which messages the dead one had ([`Event::Lost`]) and which it never had
//! ([`Event::Unsent`]). A program that breaks the protocol counts as dead: it would do that again on each connection. A
//! connection on which something was lost does not ([`Violation::is_final`]). A session that keeps its peer
//! ([`Settings::keeps_peer`]) refuses another program while the one before is connected: two programs have the name of
//! one machine. It also reports to a program that counts as dead, and connects again, that it does
//! ([`Event::GivenUp`]).

mod connection;
mod event;
mod incoming;
mod outgoing;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::clock_offset::{ClockOffset, Offset};
use crate::packet::{Hello, Incarnation, Item, Numbered, Packet, VERSION};
use crate::session::connection::ConnectionState;
pub use crate::session::event::{Event, MessageId, Refusal};
use crate::session::incoming::Incoming;
use crate::session::outgoing::Outgoing;
pub use crate::session::settings::{Limits, Settings, Timing};
use crate::violation::Violation;

/// The most connections at once: one that is established, and some that replace it.
const MOST_CONNECTIONS: usize = 8;
/// How many dead programs of the peer are remembered, and how many refused ones.
const MOST_FORMER: usize = 256;

/// A connection of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(u64);

/// What to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Send the packet.
    Packet,
    /// There is nothing to send.
    Nothing,
    /// Close it: the session has given it up.
    Close,
}

/// One end of a link.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    random: fastrand::Rng,
    connections: BTreeMap<ConnectionId, ConnectionState>,
    /// How many connections there were.
    opened: u64,
    /// How many of them were established.
    established: u64,
    current: Option<ConnectionId>,
    peer: Option<Incarnation>,
    /// The number of the last connection that was established with the peer.
    newest: u64,
    former: VecDeque<Incarnation>,
    /// Programs that were refused, and reported.
    refused: VecDeque<Incarnation>,
    epoch: u32,
    outgoing: Outgoing,
    incoming: Incoming,
    /// The peer does not know of something that has arrived, or is finished.
    owes_report: bool,
    /// When it was last reported to the peer.
    reported_ns: i64,
    clock: ClockOffset,
    /// That of the peer before, for what it has sent.
    former_clock: ClockOffset,
    events: VecDeque<Event>,
}

impl Session {
    /// A session without a connection. `seed`: for the nonces.
    #[must_use]
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            random: fastrand::Rng::with_seed(seed),
            connections: BTreeMap::new(),
            opened: 0,
            established: 0,
            current: None,
            peer: None,
            newest: 0,
            former: VecDeque::new(),
            refused: VecDeque::new(),
            epoch: 0,
            outgoing: Outgoing::new(settings.limits),
            incoming: Incoming::new(settings.limits),
            owes_report: false,
            reported_ns: i64::MIN,
            clock: ClockOffset::default(),
            former_clock: ClockOffset::default(),
            events: VecDeque::new(),
        }
    }

    /// Receives messages on a channel: at most `capacity` that were not taken.
    pub fn receive_on(&mut self, channel: u32, capacity: u64) {
        self.incoming.open(channel, capacity);
    }

    /// Receives messages of at most so many bytes on a channel. Call it before [`Self::receive_on`].
    pub fn limit_messages(&mut self, channel: u32, bytes: usize) {
        self.incoming.limit(channel, bytes);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When it is not accepted.
    pub fn send(&mut self, channel: u32, body: Arc<[u8]>) -> Result<MessageId, Refusal> {
        let number = self.outgoing.send(channel, body)?;
        Ok(MessageId {
            epoch: self.epoch,
            channel,
            number,
        })
    }

    /// Why a message of this length would not be accepted.
    #[must_use]
    pub fn refusal(&self, channel: u32, length: usize) -> Option<Refusal> {
        self.outgoing.refusal(channel, length)
    }

    /// How many messages of a channel have arrived, whether or not their events were taken.
    #[must_use]
    pub fn arrived(&self, channel: u32) -> u64 {
        self.incoming.arrived(channel)
    }

    /// Frees the place of a message that has arrived: there is room for another one. Returns whether a credit is due,
    /// so that there is something to transmit.
    pub fn take(&mut self, channel: u32) -> bool {
        self.incoming.take(channel)
    }

    /// Reports that a message is finished: the death of this program no longer loses it. Returns whether the peer knew
    /// everything before, so that there was nothing to transmit.
    pub fn done(&mut self, id: MessageId) -> bool {
        let is_new = id.epoch == self.epoch && self.incoming.done(id.channel, id.number);
        is_new && !std::mem::replace(&mut self.owes_report, true)
    }

    /// What the peer does not know is reported to it without a delay.
    pub fn report_now(&mut self) {
        self.reported_ns = i64::MIN;
    }

    /// Sends nothing more on a channel.
    pub fn end(&mut self, channel: u32) {
        self.outgoing.end(channel);
    }

    /// Sends nothing more at all. Call it when all messages are finished.
    pub fn finish(&mut self) {
        self.outgoing.finish();
    }

    /// Whether both ends have sent and received everything.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.outgoing.is_finished() && self.incoming.is_finished() && !self.owes_report
    }

    /// Whether the peer may have everything and have ended: it sends nothing more, and all was sent to it.
    #[must_use]
    pub fn may_have_ended(&self) -> bool {
        self.incoming.is_finished() && self.outgoing.has_sent_last()
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.current.is_some()
    }

    /// How many connections were established so far.
    #[must_use]
    pub fn established(&self) -> u64 {
        self.established
    }

    /// The clock of the peer.
    #[must_use]
    pub fn clock(&self, now_ns: i64) -> Option<Offset> {
        self.clock.at(now_ns)
    }

    /// The clock of the peer that has sent a message, also if it was lost since.
    #[must_use]
    pub fn clock_of(&self, message: MessageId, now_ns: i64) -> Option<Offset> {
        match self.epoch.checked_sub(message.epoch) {
            Some(0) => self.clock.at(now_ns),
            Some(1) => self.former_clock.at(now_ns),
            _ => None,
        }
    }

    /// Gives the peer up: its program counts as dead.
    pub fn give_up(&mut self) {
        if let Some(current) = self.current {
            self.close(current);
        }
        self.lose_peer();
    }

    /// The next event.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether a connection is still in use: otherwise close it.
    #[must_use]
    pub fn uses(&self, id: ConnectionId) -> bool {
        self.connections.contains_key(&id)
    }

    /// There is a new connection.
    pub fn open(&mut self, now_ns: i64) -> ConnectionId {
        self.opened += 1;
        let id = ConnectionId(self.opened);
        let settings = self.settings;
        let hello = Hello {
            version: VERSION,
            incarnation: settings.incarnation,
            attempt: if settings.opens { self.opened } else { 0 },
            nonce: self.random.u64(..),
        };
        if self.connections.len() == MOST_CONNECTIONS {
            let unfinished = self.connections.iter().find(|(_, it)| !it.is_established);
            if let Some((&oldest, _)) = unfinished {
                self.connections.remove(&oldest);
            }
        }
        self.connections
            .insert(id, ConnectionState::new(hello, now_ns));
        id
    }

    /// A connection is closed.
    pub fn close(&mut self, id: ConnectionId) {
        self.close_because(id, None);
    }

    /// A packet has arrived on a connection.
    ///
    /// # Errors
    /// When it breaks the protocol. The session has given the connection up: close it. It has given the peer up, too, if a
    /// new connection to it can't help.
    pub fn receive(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now_ns: i64,
    ) -> Result<(), Violation> {
        let received = Packet::decode(bytes).and_then(|packet| self.accept(id, packet, now_ns));
        if let Err(violation) = received {
            let is_of_peer = self.current == Some(id);
            self.close_because(id, Some(violation));
            if is_of_peer && violation.is_final() {
                self.lose_peer();
            }
        }
        received
    }

    /// Writes the next packet of a connection into `packet`.
    pub fn transmit(&mut self, id: ConnectionId, now_ns: i64, packet: &mut Vec<u8>) -> Transmit {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Transmit::Close;
        };
        let next = match connection.next_greeting() {
            None if connection.is_established => self.next_packet(id, now_ns),
            greeting => greeting,
        };
        match next {
            Some(next) => {
                next.encode(packet);
                Transmit::Packet
            }
            None => Transmit::Nothing,
        }
    }

    /// When [`Self::tick`] is due. `None`: not before the next connection.
    #[must_use]
    pub fn next_tick_ns(&self) -> Option<i64> {
        let due = |it: &ConnectionState| {
            let silent = it.silent_ns(self.settings.timing);
            match it.is_established {
                true => silent.min(it.ping_due_ns()),
                false => silent,
            }
        };
        let due = self.connections.values().map(due).min();
        // A report waits for a connection.
        let report = self.current.and(self.report_due_ns());
        due.min(report.or(due))
    }

    /// Gives silent connections up, and returns why if there was one. Afterwards connections may have something to
    /// transmit.
    pub fn tick(&mut self, now_ns: i64) -> Option<Violation> {
        let timing = self.settings.timing;
        let connections = self.connections.iter();
        let silent = connections.filter(|(_, it)| now_ns >= it.silent_ns(timing));
        let silent: Vec<_> = silent.map(|(&id, _)| id).collect();
        let mut why = None;
        for id in silent {
            let seconds = (timing.silence_ns / 1_000_000_000).unsigned_abs();
            why = Some(Violation::Silent { seconds });
            self.close_because(id, why);
        }
        why
    }

    fn close_because(&mut self, id: ConnectionId, violation: Option<Violation>) {
        self.connections.remove(&id);
        if self.current == Some(id) {
            self.current = None;
            self.events.push_back(Event::Disconnected(violation));
        }
    }

    fn next_packet(&mut self, id: ConnectionId, now_ns: i64) -> Option<Packet<outgoing::Slice>> {
        let last_item = self.outgoing.last_sent();
        let timing = self.settings.timing;
        let connection = self.connections.get_mut(&id)?;
        if let Some(packet) = connection.next_measurement(now_ns, last_item, timing) {
            return Some(packet);
        }
        while self.outgoing.has_room()
            && let Some(item) = self.incoming.next_credit()
        {
            self.outgoing.append(item);
        }
        let is_due = self.report_due_ns().is_some_and(|due| now_ns >= due);
        if !is_due && !self.outgoing.has_next() {
            return None;
        }
        // Before the last item, behind which there is none.
        while self.outgoing.has_room()
            && let Some(item) = self.incoming.next_done()
        {
            self.outgoing.append(item);
        }
        self.owes_report = self.outgoing.is_open() && self.incoming.has_unreported();
        self.reported_ns = now_ns;
        let received = self.incoming.received();
        let item = self.outgoing.next_item(received);
        Some(item.map_or(Packet::Ack { received }, Packet::Item))
    }

    /// When that is reported to the peer, if nothing else is sent.
    fn report_due_ns(&self) -> Option<i64> {
        let next = self
            .reported_ns
            .saturating_add(self.settings.timing.report_ns);
        self.owes_report.then_some(next)
    }

    fn accept(
        &mut self,
        id: ConnectionId,
        packet: Packet<&[u8]>,
        now_ns: i64,
    ) -> Result<(), Violation> {
        let connection = self.connections.get_mut(&id).ok_or(Violation::Stale)?;
        connection.hear(now_ns);
        match packet {
            Packet::Hello(hello) => {
                let is_known = self.peer == Some(hello.incarnation);
                let received = if is_known {
                    self.incoming.received()
                } else {
                    0
                };
                connection.hello(hello, received)?;
                if self.former.contains(&hello.incarnation) {
                    if !self.settings.keeps_peer {
                        return Err(Violation::Replaced);
                    }
                    let nonce = hello.nonce;
                    connection.refuse(Packet::GivenUp { nonce });
                    return Ok(());
                }
                if self.keeps_other(hello.incarnation) {
                    if let Some(connection) = self.connections.get_mut(&id) {
                        connection.refuse(Packet::Occupied);
                    }
                    self.report_refused(hello.incarnation);
                    return Ok(());
                }
                self.establish(id)
            }
            Packet::Occupied => Err(Violation::Occupied),
            Packet::GivenUp { nonce } => {
                let by = connection.given_up_by(nonce)?;
                if self.peer == Some(by) {
                    self.events.push_back(Event::GivenUp);
                    self.give_up();
                }
                Err(Violation::GivenUp)
            }
            Packet::Welcome(welcome) => {
                connection.welcome(welcome)?;
                self.establish(id)
            }
            _ if !connection.is_established => Err(Violation::Unexpected("a packet")),
            Packet::Item(numbered) => self.accept_item(numbered),
            Packet::Ack { received } => self.acknowledge(received),
            Packet::Ping { sent_ns, last_item } => {
                connection.ping(sent_ns, now_ns);
                match last_item <= self.incoming.received() {
                    true => Ok(()),
                    false => Err(Violation::Missing(last_item)),
                }
            }
            Packet::Pong {
                ping_sent_ns,
                received_ns,
                sent_ns,
            } => {
                if connection.pong(ping_sent_ns, now_ns) {
                    self.clock
                        .measure(ping_sent_ns, received_ns, sent_ns, now_ns);
                }
                Ok(())
            }
        }
    }

    fn accept_item(&mut self, numbered: Numbered<&[u8]>) -> Result<(), Violation> {
        self.acknowledge(numbered.received)?;
        self.owes_report = true;
        let (epoch, events) = (self.epoch, &mut self.events);
        let report = |event| events.push_back(event);
        match self.incoming.accept(numbered, epoch, report)? {
            Some(Item::Credit { channel, limit }) => {
                self.outgoing.credit(channel, limit)?;
            }
            Some(Item::Done {
                channel,
                first,
                last,
            }) => {
                self.outgoing.done(channel, first, last)?;
                let first = MessageId {
                    epoch,
                    channel,
                    number: first,
                };
                self.events.push_back(Event::Done { first, last });
            }
            _ => {}
        }
        Ok(())
    }

    fn acknowledge(&mut self, received: u64) -> Result<(), Violation> {
        let (epoch, events) = (self.epoch, &mut self.events);
        self.outgoing.acknowledge(received, arrivals(epoch, events))
    }

    /// Whether another program of the peer is connected and stays.
    fn keeps_other(&self, incarnation: Incarnation) -> bool {
        let is_other = self.peer != Some(incarnation);
        self.settings.keeps_peer && self.current.is_some() && is_other
    }

    /// Reports a program that is refused, once: it tries again and again.
    fn report_refused(&mut self, incarnation: Incarnation) {
        if self.refused.contains(&incarnation) {
            return;
        }
        remember(&mut self.refused, incarnation);
        // Once for all that come before it is read.
        if self.events.back() != Some(&Event::Occupied) {
            self.events.push_back(Event::Occupied);
        }
    }

    /// Establishes a connection whose handshake is complete.
    fn establish(&mut self, id: ConnectionId) -> Result<(), Violation> {
        let connection = self.connections.get(&id).ok_or(Violation::Stale)?;
        let Some((peer, received)) = connection.handshake() else {
            return Ok(());
        };
        let number = connection.number();
        // Both may have changed since the introduction.
        if self.former.contains(&peer.incarnation) {
            return Err(Violation::Replaced);
        }
        if self.peer == Some(peer.incarnation) {
            if number <= self.newest {
                return Err(Violation::Stale);
            }
        } else if self.keeps_other(peer.incarnation) {
            // Both began before one was connected.
            return Err(Violation::Occupied);
        } else {
            self.lose_peer();
            self.peer = Some(peer.incarnation);
        }
        let (epoch, events) = (self.epoch, &mut self.events);
        self.outgoing.resume(received, arrivals(epoch, events))?;
        self.newest = number;
        if let Some(before) = self.current.take() {
            self.connections.remove(&before);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_established = true;
        }
        self.current = Some(id);
        self.established += 1;
        self.events.push_back(Event::Connected);
        Ok(())
    }

    /// What the peer's program knew is gone.
    fn lose_peer(&mut self) {
        let Some(peer) = self.peer.take() else {
            return;
        };
        remember(&mut self.former, peer);
        self.newest = 0;
        self.former_clock = std::mem::take(&mut self.clock);
        self.events.push_back(Event::PeerLost);
        let events = &mut self.events;
        self.outgoing
            .reset(self.epoch, |event| events.push_back(event));
        self.incoming.reset();
        self.owes_report = false;
        self.epoch += 1;
    }
}

/// Adds a program to those that are remembered.
fn remember(programs: &mut VecDeque<Incarnation>, program: Incarnation) {
    programs.push_back(program);
    if programs.len() > MOST_FORMER {
        programs.pop_front();
    }
}

/// Reports what has arrived at the peer.
fn arrivals(epoch: u32, events: &mut VecDeque<Event>) -> impl FnMut(u32, u64) {
    move |channel, number| {
        events.push_back(Event::Arrived(MessageId {
            epoch,
            channel,
            number,
        }));
    }
}
