//! What has arrived on a connection.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_link::transport::Received;

use crate::frame;

/// The messages that wait to be received. The peer waits when there are so many.
const CAPACITY: usize = 32;
/// A full channel is closed when nobody receives for so long: the peer would wait, and others with it.
const STALLED_AFTER: Duration = Duration::from_secs(3);

/// One end of a connection. Messages are put in by zenoh, and taken out packet by packet.
pub struct Channel {
    number: u64,
    state: Mutex<Arrived>,
    changed: Condvar,
}

#[derive(Default)]
struct Arrived {
    messages: VecDeque<Vec<u8>>,
    /// The bytes of the first message's packets that are taken.
    taken: usize,
    /// The end that listens accepts it.
    is_accepted: bool,
    /// Nothing more arrives.
    has_ended: bool,
    /// This end is closed.
    is_closed: bool,
}

impl Channel {
    /// The end of a connection with this number.
    pub fn new(number: u64) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The number of the connection.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Adds a message that `frame::decode` has accepted. Waits while there are too many, until one of the ends is closed,
    /// and at most for three seconds, after which this end is closed: zenoh calls this on a thread that receives for all
    /// machines. What comes before the connection is accepted, which nobody would take, closes it.
    pub fn push(&self, message: Vec<u8>) {
        let mut state = self.lock();
        if !state.is_accepted {
            drop(state);
            return self.close();
        }
        let deadline = Instant::now() + STALLED_AFTER;
        while state.messages.len() >= CAPACITY && !state.is_closed && !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                return self.close();
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.is_closed && !state.has_ended {
            state.messages.push_back(message);
            self.changed.notify_all();
        }
    }

    /// Waits for a packet, and replaces the content of `packet` by it.
    pub fn pop(&self, packet: &mut Vec<u8>) -> Received {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return Received::Closed;
            }
            let taken = state.taken;
            if let Some(message) = state.messages.front() {
                let packets = frame::packets(message).get(taken..).unwrap_or_default();
                if let Some((next, rest)) = frame::split_packet(packets) {
                    packet.clear();
                    packet.extend_from_slice(next);
                    let taken = taken + packets.len() - rest.len();
                    let has_next = !rest.is_empty()
                        || state
                            .messages
                            .get(1)
                            .is_some_and(|it| frame::has_packets(it));
                    state.taken = taken;
                    return match has_next {
                        true => Received::PacketOfSeveral,
                        false => Received::Packet,
                    };
                }
                state.messages.pop_front();
                state.taken = 0;
                self.changed.notify_all();
                continue;
            }
            if state.has_ended {
                return Received::Closed;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The end that listens has accepted the connection.
    pub fn accept(&self) {
        self.lock().is_accepted = true;
        self.changed.notify_all();
    }

    /// Waits until the peer has accepted the connection, or closed it, at most for this time. `None`: it has not.
    pub fn wait_until_accepted(&self, wait: Duration) -> Option<bool> {
        let deadline = Instant::now() + wait;
        let mut state = self.lock();
        loop {
            if state.has_ended || state.is_closed {
                return Some(false);
            }
            if state.is_accepted {
                return Some(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The peer sends nothing more. What has arrived can be received.
    pub fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Closes this end: calls that wait return.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.messages.clear();
        self.changed.notify_all();
    }

    /// Whether one of the ends is closed.
    pub fn is_over(&self) -> bool {
        let state = self.lock();
        state.is_closed || state.has_ended
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;

    fn message(packets: &[&[u8]]) -> Vec<u8> {
        let mut message = frame::encode(Kind::Data, 1);
        for packet in packets {
            frame::add_packet(&mut message, packet);
        }
        message
    }

    /// The end of a connection that is accepted.
    fn accepted() -> Arc<Channel> {
        let channel = Channel::new(1);
        channel.accept();
        channel
    }

    #[test]
    fn a_message_before_the_acceptance_closes_the_channel() {
        let channel = Channel::new(1);
        for _ in 0..2 * CAPACITY {
            channel.push(message(&[b"a"]));
        }
        assert!(channel.is_over() && channel.lock().messages.is_empty());
        assert_eq!(channel.wait_until_accepted(Duration::ZERO), Some(false));
    }

    #[test]
    fn packets_leave_in_order_and_before_the_end() {
        let channel = accepted();
        channel.push(message(&[b"a", b"", b"bc"]));
        channel.push(message(&[]));
        channel.push(message(&[b"d"]));
        channel.end();
        let mut packet = Vec::new();
        // What follows the third one has no packet: the next call could wait.
        for (expected, received) in [
            (&b"a"[..], Received::PacketOfSeveral),
            (b"", Received::PacketOfSeveral),
            (b"bc", Received::Packet),
            (b"d", Received::Packet),
        ] {
            assert_eq!(channel.pop(&mut packet), received);
            assert_eq!(packet, expected);
        }
        assert_eq!(channel.pop(&mut packet), Received::Closed);
        channel.push(message(&[b"late"]));
        assert_eq!(channel.pop(&mut packet), Received::Closed);
    }

    /// A full channel, and a thread that waits to push one message more.
    fn full() -> (Arc<Channel>, std::thread::JoinHandle<()>) {
        let channel = accepted();
        for _ in 0..CAPACITY {
            channel.push(message(&[b"a"]));
        }
        let own = channel.clone();
        let pushing = std::thread::spawn(move || own.push(message(&[b"b"])));
        std::thread::sleep(Duration::from_millis(50));
        (channel, pushing)
    }

    #[test]
    fn a_full_channel_makes_the_peer_wait_until_it_is_closed() {
        let (channel, pushing) = full();
        assert!(!pushing.is_finished());
        assert_eq!(channel.lock().messages.len(), CAPACITY);
        channel.close();
        pushing.join().unwrap();
        assert_eq!(channel.pop(&mut Vec::new()), Received::Closed);
        assert!(channel.lock().messages.is_empty());
    }

    #[test]
    fn a_full_channel_that_nobody_receives_from_is_closed() {
        let (channel, pushing) = full();
        pushing.join().unwrap();
        assert!(channel.is_over() && channel.lock().messages.is_empty());
    }

    #[test]
    fn a_full_channel_makes_nobody_wait_once_it_has_ended() {
        let (channel, pushing) = full();
        channel.end();
        pushing.join().unwrap();
        channel.push(message(&[b"c"]));
        // What had arrived before can be received.
        let mut packet = Vec::new();
        for left in (0..CAPACITY).rev() {
            let received = match left {
                0 => Received::Packet,
                _ => Received::PacketOfSeveral,
            };
            assert_eq!(channel.pop(&mut packet), received);
            assert_eq!(packet, b"a");
        }
        assert_eq!(channel.pop(&mut packet), Received::Closed);
    }

    #[test]
    fn a_message_that_is_taken_makes_room() {
        let channel = accepted();
        for _ in 0..CAPACITY {
            channel.push(message(&[b"a"]));
        }
        let own = channel.clone();
        let pushing = std::thread::spawn(move || own.push(message(&[b"b"])));
        let mut packet = Vec::new();
        for _ in 0..CAPACITY {
            assert_ne!(channel.pop(&mut packet), Received::Closed);
            assert_eq!(packet, b"a");
        }
        assert_eq!(channel.pop(&mut packet), Received::Packet);
        assert_eq!(packet, b"b");
        pushing.join().unwrap();
    }
}
