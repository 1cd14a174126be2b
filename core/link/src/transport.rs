//! What moves the packets of a link.

use std::io;
use std::sync::Arc;
use std::time::Duration;

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

    /// Waits for a packet and replaces the content of `packet` by it. Returns false when the other end has closed the
    /// connection.
    ///
    /// # Errors
    /// When the connection is broken, or what arrives is no packet.
    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<bool>;

    /// Closes the connection, from any thread: calls that wait return.
    fn close(&self);
}
