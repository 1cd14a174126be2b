//! What a session is created with: limits and times.

use crate::packet::Incarnation;

/// The limits of a session. The ends may have different numbers of channels: each one uses only those on which the other
/// one has granted it messages, and it counts as dead when it uses one that the other end does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Channels in each direction.
    pub channels: u32,
    /// The most bytes of a message.
    pub message_bytes: usize,
    /// The most bytes of messages that were accepted and not acknowledged. One message is always accepted.
    pub unacknowledged_bytes: usize,
}

/// Times of a session, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How often each end pings the other.
    pub ping_ns: i64,
    /// A connection on which nothing arrives for so long is closed.
    pub silence_ns: i64,
    /// What has arrived, and which messages are finished, is reported with what is sent anyway. If that is nothing, it is
    /// reported at once, but not more often than this.
    pub report_ns: i64,
}

/// What a session is created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// This execution of the program.
    pub incarnation: Incarnation,
    /// Whether this end opens the connections; the other one waits for them.
    pub opens: bool,
    /// Its limits.
    pub limits: Limits,
    /// Its times.
    pub timing: Timing,
    /// Another program of the peer is refused while the one before is connected. Otherwise it replaces that one. A program
    /// that counts as dead and connects again receives that.
    pub keeps_peer: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            channels: 1,
            message_bytes: 64 << 20,
            unacknowledged_bytes: 64 << 20,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ping_ns: 500_000_000,
            silence_ns: 3_000_000_000,
            report_ns: 1_000_000,
        }
    }
}

impl Settings {
    /// The default settings, with a random incarnation.
    #[must_use]
    pub fn new(opens: bool, channels: u32) -> Self {
        Self {
            incarnation: Incarnation(fastrand::u128(..)),
            opens,
            limits: Limits {
                channels,
                ..Limits::default()
            },
            timing: Timing::default(),
            keeps_peer: false,
        }
    }
}
