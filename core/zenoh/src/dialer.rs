//! The end that opens connections.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use flowpipe_link::library::Endpoint;
use flowpipe_link::transport::{Connection, FailureReason, Transport, TransportError};

use crate::channel::Channel;
use crate::connection::RouteConnection;
use crate::frame::{self, Kind};
use crate::route::{self, Closing, Route};

/// How often the other machine is asked to accept a connection: it hears nothing until it knows the session.
const ASK_INTERVAL: Duration = Duration::from_millis(20);
/// How long it is asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens connections to one other machine, each with a session of its own.
pub struct Dialer {
    endpoint: OwnedEndpoint,
    attempt: Attempt,
    /// The session of the last connection, and its number.
    last: Option<(Arc<Route>, u64)>,
    /// Whether there was a connection.
    has_connected: bool,
}

/// A session, and the end of the connection that it is for.
type Opened = (Route, Arc<Channel>);

/// An attempt to connect.
enum Attempt {
    None,
    /// A session is being opened.
    Opening(Receiver<io::Result<Opened>>),
    /// The other machine is asked to accept a connection, since this time.
    Asking(Arc<Route>, Arc<Channel>, Instant),
}

#[derive(Clone)]
struct OwnedEndpoint {
    address: String,
    machines: [String; 2],
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Dialer {
    /// Opens connections to an address, when it is asked to.
    ///
    /// # Errors
    /// When the certificate is wrong.
    pub fn new(endpoint: &Endpoint<'_>) -> io::Result<Self> {
        Route::check(endpoint)?;
        Ok(Self {
            endpoint: OwnedEndpoint {
                address: endpoint.address.to_owned(),
                machines: [endpoint.own, endpoint.peers.first().unwrap_or(&"")].map(str::to_owned),
                authority: endpoint.authority.to_vec(),
                certificate: endpoint.certificate.to_vec(),
                key: endpoint.key.to_vec(),
            },
            attempt: Attempt::None,
            last: None,
            has_connected: false,
        })
    }

    /// Opens a session on a thread of its own: that may take longer than a call of `connect`.
    fn open(&mut self) -> io::Result<Receiver<io::Result<Opened>>> {
        // There is nothing to wait for.
        self.last.take().map(end);
        let endpoint = self.endpoint.clone();
        let (sender, receiver) = mpsc::sync_channel(1);
        std::thread::Builder::new()
            .name("flowpipe-zenoh-open".into())
            .spawn(move || {
                // If nobody waits, the session is dropped, and closes.
                let _ = sender.send(endpoint.open());
            })?;
        Ok(receiver)
    }
}

impl OwnedEndpoint {
    fn open(&self) -> io::Result<Opened> {
        let [own, peer] = &self.machines;
        let endpoint = Endpoint {
            opens: true,
            address: &self.address,
            own,
            peers: &[peer],
            authority: &self.authority,
            certificate: &self.certificate,
            key: &self.key,
        };
        let channel = Channel::new(fastrand::u64(..));
        let (receiver, end) = (channel.clone(), channel.clone());
        let route = Route::new(
            route::open(&endpoint)?.session,
            [own, peer],
            move |message| receive(&receiver, message),
            move || end.end(),
        )?;
        Ok((route, channel))
    }
}

impl Transport for Dialer {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match std::mem::replace(&mut self.attempt, Attempt::None) {
                Attempt::None => self.attempt = Attempt::Opening(self.open()?),
                Attempt::Opening(receiver) => match receiver.recv_timeout(left) {
                    Ok(opened) => {
                        let (route, channel) = opened?;
                        let route = Arc::new(route);
                        self.attempt = Attempt::Asking(route, channel, Instant::now());
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        self.attempt = Attempt::Opening(receiver);
                        return Ok(None);
                    }
                    // The thread has panicked, which has been printed.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(io::Error::other("zenoh has failed"));
                    }
                },
                Attempt::Asking(route, channel, since) => {
                    route.put(frame::encode(Kind::Open, channel.number()))?;
                    let accepted = channel.wait_until_accepted(ASK_INTERVAL.min(left));
                    match accepted {
                        Some(true) => {
                            self.last = Some((route.clone(), channel.number()));
                            self.has_connected = true;
                            return Ok(Some(RouteConnection::start(route, channel)));
                        }
                        None if since.elapsed() < ASK_TIMEOUT => {
                            self.attempt = Attempt::Asking(route, channel, since);
                            if Instant::now() >= deadline {
                                return Ok(None);
                            }
                        }
                        Some(false) | None => {
                            let peer = &self.endpoint.machines[1];
                            let error = match self.has_connected {
                                true => io::Error::other(format!(
                                    "machine {peer} may still hold the last connection, and is asked again"
                                )),
                                false => TransportError::of(
                                    FailureReason::OtherMachine,
                                    format!(
                                        "the machine that listens there is not {peer}, or refuses this one"
                                    ),
                                ),
                            };
                            // Nobody takes what arrives.
                            channel.close();
                            drop(end((route, channel.number())));
                            return Err(error);
                        }
                    }
                }
            }
        }
    }
}

impl Drop for Dialer {
    fn drop(&mut self) {
        if let Attempt::Asking(_, channel, _) = &self.attempt {
            // Nobody takes what arrives.
            channel.close();
        }
        if let Some(last) = self.last.take() {
            end(last).wait();
        }
    }
}

/// Reports that a connection has ended, and closes its session. Otherwise the other machine learns of the end only when no
/// program with the name of this one is connected.
fn end((route, number): (Arc<Route>, u64)) -> Closing {
    route.close_after(frame::encode(Kind::Close, number))
}

fn receive(channel: &Channel, message: Vec<u8>) {
    let decoded = frame::decode(&message);
    match decoded.filter(|(_, number)| *number == channel.number()) {
        Some((Kind::Accept, _)) => channel.accept(),
        Some((Kind::Data, _)) => channel.push(message),
        Some((Kind::Close, _)) => channel.end(),
        Some((Kind::Open, _)) => {}
        // It is malformed, or about another connection.
        None if decoded.is_none() => channel.end(),
        None => {}
    }
}
