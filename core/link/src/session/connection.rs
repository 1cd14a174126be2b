//! One connection of a session: its handshake and its pings.

use crate::packet::{Hello, Incarnation, Packet, Welcome};
use crate::session::Timing;
use crate::session::outgoing::Slice;
use crate::violation::Violation;

/// So many pings follow each other at the start, for a first measurement of the clock.
const FIRST_PINGS: u32 = 8;

/// A connection.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// What this end introduces itself with.
    own: Hello,
    is_introduced: bool,
    peer: Option<Hello>,
    /// The answer to the peer's hello, until it is sent.
    welcome: Option<Welcome>,
    /// What the peer has received: its answer to the hello of this end.
    resumes_after: Option<u64>,
    pub is_established: bool,
    /// Another program is connected as the peer, or the peer counts as dead.
    is_refused: bool,
    /// What the peer receives when it is refused, until it is sent.
    owes_refusal: Option<Packet<Slice>>,
    /// When something arrived last.
    heard_ns: i64,
    ping_due_ns: i64,
    /// When the last ping was sent, until it is answered.
    pinged_ns: Option<i64>,
    pings: u32,
    /// The last ping that is not answered: its time, and when it arrived.
    unanswered: Option<(i64, i64)>,
}

impl ConnectionState {
    pub(crate) fn new(own: Hello, now_ns: i64) -> Self {
        Self {
            own,
            is_introduced: false,
            peer: None,
            welcome: None,
            resumes_after: None,
            is_established: false,
            is_refused: false,
            owes_refusal: None,
            heard_ns: now_ns,
            ping_due_ns: now_ns,
            pinged_ns: None,
            pings: 0,
            unanswered: None,
        }
    }

    /// The peer, and what it has received, once both are known.
    pub(crate) fn handshake(&self) -> Option<(Hello, u64)> {
        let both = self.peer.zip(self.resumes_after);
        both.filter(|_| !self.is_refused)
    }

    /// Refuses the peer, which receives `why` instead of a welcome, and closes the connection.
    pub(crate) fn refuse(&mut self, why: Packet<Slice>) {
        self.welcome = None;
        self.is_refused = true;
        self.owes_refusal = Some(why);
    }

    /// Who counts this program as dead: the peer, if it answers the introduction of this end.
    pub(crate) fn given_up_by(&self, nonce: u64) -> Result<Incarnation, Violation> {
        // As for a welcome: what something on the way kept does not know the nonce.
        let is_answer = self.is_introduced && nonce == self.own.nonce;
        let by = self.peer.filter(|_| is_answer);
        by.map(|peer| peer.incarnation)
            .ok_or(Violation::Unexpected("an answer"))
    }

    /// The number of the connection, which both ends know.
    pub(crate) fn number(&self) -> u64 {
        let theirs = self.peer.map_or(0, |peer| peer.attempt);
        self.own.attempt.max(theirs)
    }

    pub(crate) fn hear(&mut self, now_ns: i64) {
        self.heard_ns = now_ns;
    }

    /// The peer introduces itself; this end has received its items up to `received`.
    pub(crate) fn hello(&mut self, hello: Hello, received: u64) -> Result<(), Violation> {
        if self.peer.is_some() {
            return Err(Violation::Unexpected("a second introduction"));
        }
        if hello.incarnation == self.own.incarnation {
            return Err(Violation::Itself);
        }
        self.peer = Some(hello);
        self.welcome = Some(Welcome {
            nonce: hello.nonce,
            incarnation: hello.incarnation,
            received,
        });
        Ok(())
    }

    /// The peer answers the introduction of this end.
    pub(crate) fn welcome(&mut self, welcome: Welcome) -> Result<(), Violation> {
        // Bytes of an earlier program, which something on the way kept, do not know the nonce.
        let is_answer = self.is_introduced
            && welcome.nonce == self.own.nonce
            && welcome.incarnation == self.own.incarnation;
        if !is_answer || self.resumes_after.is_some() {
            return Err(Violation::Unexpected("an answer"));
        }
        self.resumes_after = Some(welcome.received);
        Ok(())
    }

    /// The next packet of the handshake.
    pub(crate) fn next_greeting(&mut self) -> Option<Packet<Slice>> {
        if !std::mem::replace(&mut self.is_introduced, true) {
            return Some(Packet::Hello(self.own));
        }
        if let Some(refusal) = self.owes_refusal.take() {
            return Some(refusal);
        }
        self.welcome.take().map(Packet::Welcome)
    }

    /// The next packet that measures the connection. `last_item`: the last item that was sent on it.
    pub(crate) fn next_measurement(
        &mut self,
        now_ns: i64,
        last_item: u64,
        timing: Timing,
    ) -> Option<Packet<Slice>> {
        if let Some((ping_sent_ns, received_ns)) = self.unanswered.take() {
            return Some(Packet::Pong {
                ping_sent_ns,
                received_ns,
                sent_ns: now_ns,
            });
        }
        if now_ns < self.ping_due_ns {
            return None;
        }
        self.ping_due_ns = now_ns.saturating_add(timing.ping_ns);
        self.pinged_ns = Some(now_ns);
        Some(Packet::Ping {
            sent_ns: now_ns,
            last_item,
        })
    }

    pub(crate) fn ping(&mut self, sent_ns: i64, now_ns: i64) {
        self.unanswered = Some((sent_ns, now_ns));
    }

    /// Whether a pong answers the last ping.
    pub(crate) fn pong(&mut self, ping_sent_ns: i64, now_ns: i64) -> bool {
        let is_answer = self.pinged_ns == Some(ping_sent_ns);
        if is_answer {
            self.pinged_ns = None;
            self.pings += 1;
            if self.pings < FIRST_PINGS {
                self.ping_due_ns = now_ns;
            }
        }
        is_answer
    }

    /// When the next ping is due.
    pub(crate) fn ping_due_ns(&self) -> i64 {
        self.ping_due_ns
    }

    /// When the connection is given up if nothing arrives.
    pub(crate) fn silent_ns(&self, timing: Timing) -> i64 {
        self.heard_ns.saturating_add(timing.silence_ns)
    }
}
