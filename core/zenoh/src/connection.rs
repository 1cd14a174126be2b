//! A connection.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use flowpipe_link::MAX_PACKET;
use flowpipe_link::transport::{Connection, Received};

use crate::channel::Channel;
use crate::frame::{self, Kind};
use crate::route::Route;

/// One end of a connection over a route.
pub struct RouteConnection {
    route: Arc<Route>,
    channel: Arc<Channel>,
    /// The message that is being filled.
    message: Mutex<Vec<u8>>,
}

impl RouteConnection {
    /// The end that receives what the channel has.
    pub fn start(route: Arc<Route>, channel: Arc<Channel>) -> Arc<dyn Connection> {
        let message = frame::encode(Kind::Data, channel.number());
        Arc::new(Self {
            route,
            channel,
            message: Mutex::new(message),
        })
    }

    fn put(&self, message: &mut Vec<u8>) -> io::Result<()> {
        if self.channel.is_over() {
            let why = "it was cut, or the other end has closed it";
            return Err(io::Error::new(io::ErrorKind::NotConnected, why));
        }
        if !frame::has_packets(message) {
            return Ok(());
        }
        let next = frame::encode(Kind::Data, self.channel.number());
        self.route.put(std::mem::replace(message, next))
    }
}

impl Connection for RouteConnection {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        if packet.len() > MAX_PACKET {
            let why = "a packet is too long";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut message = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        if !frame::fits(&message, packet.len()) {
            self.put(&mut message)?;
        }
        frame::add_packet(&mut message, packet);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut message = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(&mut message)
    }

    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Received> {
        Ok(self.channel.pop(packet))
    }

    fn close(&self) {
        self.channel.close();
    }
}

impl Drop for RouteConnection {
    fn drop(&mut self) {
        self.channel.close();
    }
}
