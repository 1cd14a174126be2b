//! What moves the packets of a link.

use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Why something with a transport failed, if that is known: then there is something to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// Nothing listens at the address.
    Unreachable,
    /// The name of the host has no address.
    UnknownHost,
    /// Nothing at the address has answered in time.
    NoAnswer,
    /// The certificates of both ends are of different authorities.
    UnknownAuthority,
    /// A certificate has expired, or is not valid yet.
    Expired,
    /// The certificate of the other machine names another host.
    OtherHost,
    /// The certificate of the other machine is wrong in another way.
    WrongCertificate,
    /// The other machine refuses the certificate of this one.
    RefusedCertificate,
    /// The machine that answers is another one, or does not expect this one.
    OtherMachine,
    /// The certificate of this machine is malformed, that of another machine, or not valid now.
    OwnCertificate,
    /// The private key of this machine is malformed, or is not that of its certificate.
    OwnKey,
    /// This machine's copy of the certificate of the authority is malformed.
    OwnAuthority,
}

/// An error of a transport whose reason is known, as the inner error of an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TransportError {
    /// The reason.
    pub reason: FailureReason,
    /// What happened.
    pub text: String,
}

impl TransportError {
    /// An error with a reason.
    #[must_use]
    pub fn of(reason: FailureReason, text: impl Into<String>) -> io::Error {
        let text = text.into();
        io::Error::other(Self { reason, text })
    }

    /// The reason of an error, if it has one.
    #[must_use]
    pub fn reason(error: &io::Error) -> Option<FailureReason> {
        let inner = error.get_ref()?.downcast_ref::<Self>();
        inner.map(|it| it.reason)
    }
}

/// Makes connections to one other machine.
pub trait Transport: Send {
    /// Opens a connection, or waits for one that the other end opens, at most for about this time. `None`: there was none.
    ///
    /// # Errors
    /// When there can be none now. It is called again later.
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>>;

    /// Whether both ends are on one machine, so that a connection is as fast as memory.
    fn is_local(&self) -> bool {
        false
    }
}

/// What [`Connection::receive`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// There is a packet, and the next call may wait.
    Packet,
    /// There is a packet, and the next one has arrived, too: the next call does not wait.
    PacketOfSeveral,
    /// The other end has closed the connection.
    Closed,
}

/// A connection. One thread sends, another one receives.
///
/// Packets arrive in order. Each has at most [`MAX_PACKET`](crate::MAX_PACKET) bytes. When one is lost, a session closes
/// the connection; a transport that loses more than a few should close it first.
pub trait Connection: Send + Sync {
    /// Sends a packet, or buffers it until [`Self::flush`].
    ///
    /// # Errors
    /// When the connection is closed.
    fn send(&self, packet: &[u8]) -> io::Result<()>;

    /// Sends what is buffered.
    ///
    /// # Errors
    /// When the connection is closed.
    fn flush(&self) -> io::Result<()>;

    /// Waits for a packet and replaces the content of `packet` by it.
    ///
    /// # Errors
    /// When the connection is broken, or what arrives is no packet.
    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Received>;

    /// Closes the connection, from any thread: calls that wait return.
    fn close(&self);
}
