//! What a session reports.

use std::sync::Arc;

use crate::violation::Violation;

/// A message of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// How many programs the peer was before: numbers start again with each.
    pub epoch: u32,
    /// Its channel.
    pub channel: u32,
    /// Its number on the channel, from 1.
    pub number: u64,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The link has a connection. What was sent meanwhile follows.
    Connected,
    /// The link has no connection. Nothing is lost.
    Disconnected(Option<Violation>),
    /// Another program connects as the peer, which is connected: it is refused. Each program is reported once. See
    /// [`Settings::keeps_peer`].
    ///
    /// [`Settings::keeps_peer`]: crate::session::Settings::keeps_peer
    Occupied,
    /// The peer counts this program as dead, and goes on without it. [`Self::PeerLost`] follows. See
    /// [`Settings::keeps_peer`].
    ///
    /// [`Settings::keeps_peer`]: crate::session::Settings::keeps_peer
    GivenUp,
    /// The program of the peer is dead: it was replaced, was given up, or has broken the protocol. All channels are as at the
    /// start.
    PeerLost,
    /// After [`Self::PeerLost`]: the dead program had these messages of a channel, and had not finished them.
    Lost {
        /// The first one.
        first: MessageId,
        /// The number of the last one.
        last: u64,
    },
    /// After [`Self::PeerLost`]: the dead program never had this message.
    Unsent {
        /// Its id, which is no longer valid.
        id: MessageId,
        /// Its body.
        body: Arc<[u8]>,
    },
    /// A message has arrived.
    Message {
        /// Its id.
        id: MessageId,
        /// Its body.
        body: Vec<u8>,
    },
    /// The peer has all messages of the channel up to this one.
    Arrived(MessageId),
    /// The peer has finished these messages.
    Done {
        /// The first one.
        first: MessageId,
        /// The number of the last one.
        last: u64,
    },
    /// The channel's last message has arrived.
    Ended {
        /// The channel.
        channel: u32,
    },
    /// The peer sends nothing more on any channel: if it is gone next, it has not died.
    Finished,
}

/// Why a message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The receiver has no room for it now.
    #[error("the receiver has no room for it")]
    NoCredit,
    /// Too much has not been acknowledged.
    #[error("too much has not been acknowledged")]
    Full,
    /// It is longer than the link permits.
    #[error("it is longer than the link permits")]
    TooLong,
    /// The channel has ended, or does not exist.
    #[error("the channel has ended")]
    Ended,
}
