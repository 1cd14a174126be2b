//! The direction to the peer: messages in pieces, and all that was sent and not acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::packet::{Item, MAX_FRAGMENT, Numbered};
use crate::ranges::Ranges;
use crate::session::Limits;
use crate::session::event::{Event, MessageId, Refusal};
use crate::violation::Violation;

/// Without acknowledgement no more items are sent, so that a peer that acknowledges nothing takes bounded memory.
const MOST_ITEMS: usize = 1 << 16;

/// A peer may finish messages in any order. Between so many ranges of finished messages of a channel there are as many
/// that it has not finished, which no peer keeps: so what it takes to remember them is bounded.
const MOST_RANGES: usize = 1 << 16;

/// The channel of short messages that do not wait until the peer has acknowledged long ones.
const URGENT: u32 = 0;
/// How long they are at most.
const URGENT_BYTES: usize = 64 << 10;

/// A part of a message's body.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    body: Arc<[u8]>,
    range: Range<usize>,
}

/// What is sent to the peer.
#[derive(Debug)]
pub(crate) struct Outgoing {
    limits: Limits,
    channels: Vec<OutChannel>,
    /// The channel whose turn it is.
    next: usize,
    /// The items after `acknowledged`, in order.
    items: VecDeque<Item<Slice>>,
    acknowledged: u64,
    /// How many of the items were sent on the current connection.
    sent: usize,
    /// The number of the last item that was sent on any.
    highest: u64,
    /// Bytes of messages that were accepted and not acknowledged.
    bytes: usize,
    finish: Ending,
    /// The items after `acknowledged` with which a message ends: their numbers, the channel, and the number of the message.
    ends: VecDeque<(u64, u32, u64)>,
}

#[derive(Debug, Default)]
struct OutChannel {
    /// Messages that are not wholly among the items, with how many of their bytes are.
    queue: VecDeque<(Arc<[u8]>, usize)>,
    /// How many messages were accepted.
    accepted: u64,
    /// How many the peer has granted.
    limit: u64,
    /// Those that the peer has finished.
    done: Ranges,
    end: Ending,
}

/// How far an end has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    #[default]
    Open,
    /// It follows what is queued.
    Requested,
    /// It is among the items.
    Sent,
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self.body.get(self.range.clone()).unwrap_or_default()
    }
}

impl Outgoing {
    pub(crate) fn new(limits: Limits) -> Self {
        let channels = (0..limits.channels).map(|_| OutChannel::default());
        Self {
            limits,
            channels: channels.collect(),
            next: 0,
            items: VecDeque::new(),
            acknowledged: 0,
            sent: 0,
            highest: 0,
            bytes: 0,
            finish: Ending::Open,
            ends: VecDeque::new(),
        }
    }

    /// Why a message of this length would not be accepted.
    pub(crate) fn refusal(&self, channel: u32, length: usize) -> Option<Refusal> {
        let is_open = |it: &&OutChannel| it.end == Ending::Open && self.finish == Ending::Open;
        let index = channel;
        let Some(channel) = self.channels.get(index as usize).filter(is_open) else {
            return Some(Refusal::Ended);
        };
        if length > self.limits.message_bytes {
            return Some(Refusal::TooLong);
        }
        if channel.accepted >= channel.limit {
            return Some(Refusal::NoCredit);
        }
        // What is urgent does not wait for frames: its credits limit it.
        let is_urgent = index == URGENT && length <= URGENT_BYTES;
        (!is_urgent
            && self.bytes > 0
            && self.bytes.saturating_add(length) > self.limits.unacknowledged_bytes)
            .then_some(Refusal::Full)
    }

    /// Queues a message. Returns its number on the channel.
    pub(crate) fn send(&mut self, channel: u32, body: Arc<[u8]>) -> Result<u64, Refusal> {
        if let Some(refusal) = self.refusal(channel, body.len()) {
            return Err(refusal);
        }
        let channel = self.channels.get_mut(channel as usize);
        let channel = channel.ok_or(Refusal::Ended)?;
        self.bytes += body.len();
        channel.accepted += 1;
        channel.queue.push_back((body, 0));
        Ok(channel.accepted)
    }

    pub(crate) fn end(&mut self, channel: u32) {
        let channel = self.channels.get_mut(channel as usize);
        if let Some(channel) = channel.filter(|it| it.end == Ending::Open) {
            channel.end = Ending::Requested;
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.finish == Ending::Open {
            self.finish = Ending::Requested;
        }
    }

    /// Whether the peer has acknowledged the last item.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish == Ending::Sent && self.items.is_empty()
    }

    /// Whether the last item was sent, on a connection that may have lost it.
    pub(crate) fn has_sent_last(&self) -> bool {
        self.finish == Ending::Sent && self.highest == self.acknowledged + self.items.len() as u64
    }

    /// Whether there is room for one more item.
    pub(crate) fn has_room(&self) -> bool {
        self.is_open() && self.items.len() < MOST_ITEMS
    }

    /// Whether items can be appended, now or when the peer has acknowledged others.
    pub(crate) fn is_open(&self) -> bool {
        self.finish != Ending::Sent
    }

    /// Whether there is an item to send on the current connection.
    pub(crate) fn has_next(&self) -> bool {
        let has_new =
            || self.finish == Ending::Requested || self.channels.iter().any(OutChannel::has_next);
        self.sent < self.items.len() || (self.has_room() && has_new())
    }

    /// Appends an item that is no part of a message.
    pub(crate) fn append(&mut self, item: Item<Slice>) {
        self.items.push_back(item);
    }

    /// The next item to send on the current connection.
    pub(crate) fn next_item(&mut self, received: u64) -> Option<Numbered<Slice>> {
        if self.sent == self.items.len() {
            if !self.has_room() {
                return None;
            }
            let item = self.cut()?;
            self.items.push_back(item);
            self.note_end();
        }
        let item = self.items.get(self.sent)?.clone();
        self.sent += 1;
        self.highest = self.highest.max(self.last_sent());
        Some(Numbered {
            sequence: self.last_sent(),
            received,
            item,
        })
    }

    /// The number of the last item that was sent on the current connection, or acknowledged.
    pub(crate) fn last_sent(&self) -> u64 {
        self.acknowledged + self.sent as u64
    }

    /// Creates the next item: the channels alternate, so that a long message does not delay the short ones of others.
    fn cut(&mut self) -> Option<Item<Slice>> {
        let count = self.channels.len();
        for turn in 0..count {
            let index = (self.next + turn) % count;
            let item = self.channels.get_mut(index)?.cut(index as u32);
            if item.is_some() {
                self.next = index + 1;
                return item;
            }
        }
        (self.finish == Ending::Requested).then(|| {
            self.finish = Ending::Sent;
            Item::Finish
        })
    }

    /// Notes whether a message ends with the last item.
    fn note_end(&mut self) {
        if let Some(Item::Fragment {
            channel,
            is_last: true,
            ..
        }) = self.items.back()
            && let Some(given) = self.channels.get(*channel as usize).map(OutChannel::given)
        {
            let item = self.acknowledged + self.items.len() as u64;
            self.ends.push_back((item, *channel, given));
        }
    }

    /// The peer has all items up to this number. `arrived`: is called with each channel of which it has messages now, and the
    /// number of the last of them.
    pub(crate) fn acknowledge(
        &mut self,
        received: u64,
        mut arrived: impl FnMut(u32, u64),
    ) -> Result<(), Violation> {
        let sent = self.highest;
        if received > sent {
            return Err(Violation::Acknowledged { received, sent });
        }
        while self.acknowledged < received {
            self.acknowledged += 1;
            self.sent = self.sent.saturating_sub(1);
            if let Some(Item::Fragment { body, .. }) = self.items.pop_front() {
                self.bytes = self.bytes.saturating_sub(body.range.len());
            }
        }
        let mut last = BTreeMap::new();
        while let Some((_, channel, number)) =
            self.ends.pop_front_if(|(item, ..)| *item <= received)
        {
            last.insert(channel, number);
        }
        last.into_iter()
            .for_each(|(channel, number)| arrived(channel, number));
        Ok(())
    }

    /// A new connection: what the peer does not have is sent again.
    pub(crate) fn resume(
        &mut self,
        received: u64,
        arrived: impl FnMut(u32, u64),
    ) -> Result<(), Violation> {
        self.acknowledge(received, arrived)?;
        self.sent = 0;
        Ok(())
    }

    /// The peer grants messages up to this number.
    pub(crate) fn credit(&mut self, channel: u32, limit: u64) -> Result<(), Violation> {
        let unknown = Violation::Channel(channel);
        let found = self.channels.get_mut(channel as usize).ok_or(unknown)?;
        if limit < found.limit {
            let what = "limit";
            return Err(Violation::Count { channel, what });
        }
        found.limit = limit;
        Ok(())
    }

    /// The peer has finished these messages.
    pub(crate) fn done(&mut self, channel: u32, first: u64, last: u64) -> Result<(), Violation> {
        let unknown = Violation::Channel(channel);
        let found = self.channels.get_mut(channel as usize).ok_or(unknown)?;
        // It can't have what is still queued.
        let given = found.given();
        if first == 0 || last > given || !found.done.insert(first, last) {
            let what = "range of finished messages";
            return Err(Violation::Count { channel, what });
        }
        if found.done.count() > MOST_RANGES {
            return Err(Violation::Unfinished {
                channel,
                limit: MOST_RANGES,
            });
        }
        Ok(())
    }

    /// The peer is dead: reports what it had and what it never had, and starts again.
    pub(crate) fn reset(&mut self, epoch: u32, mut report: impl FnMut(Event)) {
        let old = std::mem::replace(self, Self::new(self.limits));
        for (channel, old) in (0..).zip(old.channels) {
            let given = old.given();
            let id = |number| MessageId {
                epoch,
                channel,
                number,
            };
            for (first, last) in old.done.missing(given) {
                let first = id(first);
                report(Event::Lost { first, last });
            }
            for (number, (body, _)) in (given + 1..).zip(old.queue) {
                let id = id(number);
                report(Event::Unsent { id, body });
            }
        }
    }
}

impl OutChannel {
    /// How many messages are wholly among the items.
    fn given(&self) -> u64 {
        self.accepted - self.queue.len() as u64
    }

    /// Whether there is a part of its queue, or its end, to send.
    fn has_next(&self) -> bool {
        !self.queue.is_empty() || self.end == Ending::Requested
    }

    /// The next part of its queue, or its end.
    fn cut(&mut self, channel: u32) -> Option<Item<Slice>> {
        let Some((body, cut)) = self.queue.front_mut() else {
            return (self.end == Ending::Requested).then(|| {
                self.end = Ending::Sent;
                Item::End { channel }
            });
        };
        let range = *cut..body.len().min(*cut + MAX_FRAGMENT);
        *cut = range.end;
        let is_last = range.end == body.len();
        let body = Slice {
            body: body.clone(),
            range,
        };
        if is_last {
            self.queue.pop_front();
        }
        Some(Item::Fragment {
            channel,
            is_last,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_finished_messages_are_bounded() {
        let limits = Limits {
            channels: 1,
            message_bytes: 1,
            unacknowledged_bytes: 1,
        };
        let mut outgoing = Outgoing::new(limits);
        outgoing.credit(0, u64::MAX).unwrap();
        let most = MOST_RANGES as u64;
        // Every second one is finished.
        for number in 1..=most {
            for _ in 0..2 {
                outgoing.send(0, [].into()).unwrap();
                let sent = outgoing.next_item(0).unwrap().sequence;
                outgoing.acknowledge(sent, |_, _| {}).unwrap();
            }
            outgoing.done(0, 2 * number, 2 * number).unwrap();
        }
        outgoing.send(0, [].into()).unwrap();
        outgoing.send(0, [].into()).unwrap();
        while outgoing.next_item(0).is_some() {}
        let refused = outgoing.done(0, 2 * most + 2, 2 * most + 2);
        let expected = Violation::Unfinished {
            channel: 0,
            limit: MOST_RANGES,
        };
        assert_eq!(refused, Err(expected));
    }
}
