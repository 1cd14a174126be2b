//! Why an end closes a connection: the other end broke the protocol.

/// What the other end did wrong. The text completes "the other machine ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Bytes that are no packet.
    #[error("sent a malformed packet: {0}")]
    Malformed(&'static str),
    /// Another version of the protocol.
    #[error(
        "has version {theirs} of the link, and this one version {ours}: install the same flowpipe on both"
    )]
    Version {
        /// Its version.
        theirs: u16,
        /// That of this end.
        ours: u16,
    },
    /// A program is connected to itself.
    #[error("is this program itself: its address is that of another machine")]
    Itself,
    /// An older program of the same name, which a newer one has replaced, is still there.
    #[error("was given up, or has been replaced by another program of its name")]
    Replaced,
    /// It is connected to another program of this machine, which lives.
    #[error("is connected to another program that runs as this machine")]
    Occupied,
    /// This program counts as dead there.
    #[error("counts this program as dead, and goes on without it")]
    GivenUp,
    /// A connection that is older than the current one.
    #[error("has opened a newer connection")]
    Stale,
    /// A packet at the wrong time.
    #[error("sent {0} when none was expected")]
    Unexpected(&'static str),
    /// Something was lost on the connection.
    #[error("sent item {found}, and item {expected} was next")]
    Gap {
        /// The number that was next.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A ping names an item that should have arrived before it.
    #[error("names item {0} in a ping, which has not arrived")]
    Missing(u64),
    /// Items were acknowledged that were never sent.
    #[error("acknowledged item {received} of {sent}")]
    Acknowledged {
        /// The number that was acknowledged.
        received: u64,
        /// The last one that was sent.
        sent: u64,
    },
    /// A channel that does not exist.
    #[error("used channel {0}, which does not exist")]
    Channel(u32),
    /// More messages than it was permitted.
    #[error("sent more messages on channel {0} than it was granted")]
    Credit(u32),
    /// A message that is too long.
    #[error("sent a message on channel {channel} of more than {limit} bytes")]
    TooLong {
        /// The channel.
        channel: u32,
        /// The most bytes.
        limit: usize,
    },
    /// It withdrew what it had granted, or finished what it did not have.
    #[error("sent a wrong {what} for channel {channel}")]
    Count {
        /// The channel.
        channel: u32,
        /// Of what.
        what: &'static str,
    },
    /// It finishes messages, and too many before them not.
    #[error("has left more than {limit} messages on channel {channel} unfinished, between others")]
    Unfinished {
        /// The channel.
        channel: u32,
        /// The most ranges of finished messages.
        limit: usize,
    },
    /// Nothing came for too long.
    #[error("was silent for {seconds} s")]
    Silent {
        /// How long.
        seconds: u64,
    },
}

impl Violation {
    /// Whether a new connection can't help.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(
            self,
            Self::Gap { .. }
                | Self::Missing(_)
                | Self::Stale
                | Self::Silent { .. }
                | Self::Occupied
        )
    }
}
