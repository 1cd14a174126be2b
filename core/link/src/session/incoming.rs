//! The direction from the peer: the next item, messages from their pieces, and what the peer is granted.

use crate::packet::{Item, Numbered};
use crate::ranges::Ranges;
use crate::session::Limits;
use crate::session::event::{Event, MessageId};
use crate::session::outgoing::Slice;
use crate::violation::Violation;

/// What arrives from the peer.
#[derive(Debug)]
pub(crate) struct Incoming {
    limits: Limits,
    channels: Vec<InChannel>,
    /// The channel whose turn it is.
    next: usize,
    /// The number of the last item.
    received: u64,
    is_finished: bool,
}

#[derive(Debug, Default)]
struct InChannel {
    /// How many messages the program takes; 0: it does not receive on this channel.
    capacity: u64,
    /// The most bytes of a message, if they are fewer than on other channels.
    most_bytes: Option<usize>,
    /// The messages that it has not taken, of all peers.
    held: u64,
    /// The messages of this peer that have arrived.
    arrived: u64,
    /// The limit that this peer knows.
    granted: u64,
    /// The message whose last part has not arrived.
    partial: Option<Vec<u8>>,
    /// The messages of this peer that the program has finished.
    finished: Ranges,
    /// Those of them that the peer does not know of.
    unreported: Ranges,
    has_ended: bool,
}

impl Incoming {
    pub(crate) fn new(limits: Limits) -> Self {
        let channels = (0..limits.channels).map(|_| InChannel::default());
        Self {
            limits,
            channels: channels.collect(),
            next: 0,
            received: 0,
            is_finished: false,
        }
    }

    /// The number of the last item that has arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// How many messages of a channel have arrived.
    pub(crate) fn arrived(&self, channel: u32) -> u64 {
        let channel = self.channels.get(channel as usize);
        channel.map_or(0, |it| it.arrived)
    }

    /// Whether the peer's last item has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Receives messages on a channel, and grants the peer that many.
    pub(crate) fn open(&mut self, channel: u32, capacity: u64) {
        if let Some(channel) = self.channels.get_mut(channel as usize) {
            channel.capacity = capacity;
        }
    }

    /// The messages of a channel have at most so many bytes.
    pub(crate) fn limit(&mut self, channel: u32, bytes: usize) {
        if let Some(channel) = self.channels.get_mut(channel as usize) {
            channel.most_bytes = Some(bytes);
        }
    }

    /// The program has taken one message: there is room for another. Returns whether messages are to be granted to the peer.
    pub(crate) fn take(&mut self, channel: u32) -> bool {
        let channel = self.channels.get_mut(channel as usize);
        channel.is_some_and(|channel| {
            channel.held = channel.held.saturating_sub(1);
            channel.due_limit().is_some()
        })
    }

    /// The program has finished a message of this peer. Returns false if it had before, or has no such message.
    pub(crate) fn done(&mut self, channel: u32, number: u64) -> bool {
        let channel = self.channels.get_mut(channel as usize);
        channel.is_some_and(|channel| channel.done(number))
    }

    /// The peer is dead: what arrives next is of another program.
    pub(crate) fn reset(&mut self) {
        self.received = 0;
        self.is_finished = false;
        for channel in &mut self.channels {
            *channel = InChannel {
                capacity: channel.capacity,
                most_bytes: channel.most_bytes,
                held: channel.held,
                ..InChannel::default()
            };
        }
    }

    /// Messages that are granted to the peer, and of which it does not know.
    pub(crate) fn next_credit(&mut self) -> Option<Item<Slice>> {
        self.next_of(InChannel::next_credit)
    }

    /// Messages that are finished, and of which the peer does not know that.
    pub(crate) fn next_done(&mut self) -> Option<Item<Slice>> {
        self.next_of(InChannel::next_done)
    }

    /// The first item of a channel, beginning with the one whose turn it is.
    fn next_of(
        &mut self,
        next: impl Fn(&mut InChannel, u32) -> Option<Item<Slice>>,
    ) -> Option<Item<Slice>> {
        let count = self.channels.len();
        for turn in 0..count {
            let index = (self.next + turn) % count;
            let item = next(self.channels.get_mut(index)?, index as u32);
            if item.is_some() {
                self.next = index + 1;
                return item;
            }
        }
        None
    }

    /// Whether the peer does not know of all messages that are finished.
    pub(crate) fn has_unreported(&self) -> bool {
        self.channels.iter().any(|it| it.unreported.count() > 0)
    }

    /// Accepts the next item of the stream. Returns what is not for this direction; `None`: it has arrived before, or
    /// was for this direction.
    pub(crate) fn accept<'a>(
        &mut self,
        numbered: Numbered<&'a [u8]>,
        epoch: u32,
        mut report: impl FnMut(Event),
    ) -> Result<Option<Item<&'a [u8]>>, Violation> {
        let expected = self.received + 1;
        let found = numbered.sequence;
        if found < expected {
            return Ok(None);
        }
        if found > expected {
            return Err(Violation::Gap { expected, found });
        }
        if self.is_finished {
            return Err(Violation::Unexpected("an item"));
        }
        let event = match numbered.item {
            Item::Fragment {
                channel,
                is_last,
                body,
            } => {
                let limits = self.limits;
                let message = self
                    .channel(channel)?
                    .part(channel, is_last, body, limits)?;
                message.map(|(number, body)| {
                    let id = MessageId {
                        epoch,
                        channel,
                        number,
                    };
                    Event::Message { id, body }
                })
            }
            Item::End { channel } => {
                self.channel(channel)?.end()?;
                Some(Event::Ended { channel })
            }
            Item::Finish => {
                self.is_finished = true;
                Some(Event::Finished)
            }
            Item::Credit { .. } | Item::Done { .. } => None,
        };
        self.received = found;
        event.into_iter().for_each(&mut report);
        let is_other = matches!(numbered.item, Item::Credit { .. } | Item::Done { .. });
        Ok(is_other.then_some(numbered.item))
    }

    fn channel(&mut self, channel: u32) -> Result<&mut InChannel, Violation> {
        let found = self.channels.get_mut(channel as usize);
        found.ok_or(Violation::Channel(channel))
    }
}

impl InChannel {
    /// A part of a message. Returns the number and the body of the message that it completes.
    fn part(
        &mut self,
        channel: u32,
        is_last: bool,
        body: &[u8],
        limits: Limits,
    ) -> Result<Option<(u64, Vec<u8>)>, Violation> {
        if self.has_ended {
            return Err(Violation::Unexpected("a message"));
        }
        if self.arrived >= self.granted {
            return Err(Violation::Credit(channel));
        }
        let limit = limits.message_bytes;
        let limit = self.most_bytes.map_or(limit, |most| most.min(limit));
        let partial = self.partial.get_or_insert_default();
        if partial.len() + body.len() > limit {
            return Err(Violation::TooLong { channel, limit });
        }
        partial.extend_from_slice(body);
        if !is_last {
            return Ok(None);
        }
        self.arrived += 1;
        self.held += 1;
        let body = self.partial.take().unwrap_or_default();
        Ok(Some((self.arrived, body)))
    }

    fn end(&mut self) -> Result<(), Violation> {
        if self.has_ended || self.partial.is_some() {
            return Err(Violation::Unexpected("the end of a channel"));
        }
        self.has_ended = true;
        Ok(())
    }

    fn done(&mut self, number: u64) -> bool {
        let is_new = (1..=self.arrived).contains(&number) && self.finished.insert(number, number);
        is_new && self.unreported.insert(number, number)
    }

    fn next_done(&mut self, channel: u32) -> Option<Item<Slice>> {
        let (first, last) = self.unreported.pop()?;
        Some(Item::Done {
            channel,
            first,
            last,
        })
    }

    fn next_credit(&mut self, channel: u32) -> Option<Item<Slice>> {
        let limit = self.due_limit()?;
        self.granted = limit;
        Some(Item::Credit { channel, limit })
    }

    /// How many messages are granted in all by the credit that is due, if one is.
    fn due_limit(&self) -> Option<u64> {
        let limit = (self.arrived + self.capacity).saturating_sub(self.held);
        // Half of the capacity at once, so that not each message causes a packet.
        let step = (self.capacity / 2).max(1);
        let is_due = !self.has_ended && limit.saturating_sub(self.granted) >= step;
        is_due.then_some(limit)
    }
}
