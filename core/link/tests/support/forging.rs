//! A transport that forges what it sends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flowpipe_link::transport::{Connection, Received, Transport};

/// What changes a packet that is sent, once it begins.
pub type Change = fn(&mut [u8]);

/// A transport that changes packets on their way out from some time on.
pub struct Forging<T> {
    pub inner: T,
    pub change: Change,
    pub has_begun: Arc<AtomicBool>,
}

struct ForgingConnection {
    inner: Arc<dyn Connection>,
    change: Change,
    has_begun: Arc<AtomicBool>,
}

impl<T: Transport> Transport for Forging<T> {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let connection = self.inner.connect(wait)?;
        Ok(connection.map(|inner| -> Arc<dyn Connection> {
            Arc::new(ForgingConnection {
                inner,
                change: self.change,
                has_begun: self.has_begun.clone(),
            })
        }))
    }
}

impl Connection for ForgingConnection {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        let mut packet = packet.to_vec();
        if self.has_begun.load(Ordering::SeqCst) {
            (self.change)(&mut packet);
        }
        self.inner.send(&packet)
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()
    }

    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Received> {
        self.inner.receive(packet)
    }

    fn close(&self) {
        self.inner.close();
    }
}

/// Where the channel of an item is in its packet: behind its kind, its number, the last one that has arrived, and its tag.
pub const CHANNEL_PLACE: std::ops::Range<usize> = 18..22;

/// Whether a packet has a part of a message.
pub fn is_part(packet: &[u8]) -> bool {
    packet.first() == Some(&3) && packet.get(17).is_some_and(|tag| *tag <= 1)
}
