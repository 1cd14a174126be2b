//! A session of zenoh, and in it the way to another machine: two keys, one for each direction.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_link::library::Endpoint;
use flowpipe_link::transport::TransportError;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::{Session, Wait as _};

use crate::log::{self, FailureLog};
use crate::{certificates, settings};

/// How long a route that closes is waited for.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A way to the other machine.
pub struct Route {
    session: Session,
    publisher: Publisher<'static>,
}

/// A session that is open, and the failures of its connections.
pub struct OpenedSession {
    /// The session.
    pub session: Session,
    /// Why connections to it, or of it, were not made.
    pub failures: FailureLog,
}

impl Route {
    /// Checks what can be known without a session: names, the address, and this machine's certificates and private key.
    ///
    /// # Errors
    /// When one is wrong.
    pub fn check(endpoint: &Endpoint<'_>) -> io::Result<()> {
        settings::check(endpoint).map_err(io::Error::other)?;
        certificates::check(endpoint)
            .map_err(|error| TransportError::of(error.reason(), error.to_string()))
    }

    /// The way to another machine. What arrives is passed to `receive`, and `gone` is called when that machine listens no
    /// longer.
    ///
    /// # Errors
    /// When the session is closed.
    pub fn new(
        session: Session,
        [own, peer]: [&str; 2],
        receive: impl Fn(Vec<u8>) + Send + Sync + 'static,
        gone: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let publisher = session
            .declare_publisher(settings::key(own, peer))
            .congestion_control(CongestionControl::Block)
            .priority(Priority::Data)
            .express(true)
            .wait()
            .map_err(|error| log::plain(&error))?;
        publisher
            .matching_listener()
            .callback(move |status| {
                if !status.matching() {
                    gone();
                }
            })
            .background()
            .wait()
            .map_err(|error| log::plain(&error))?;
        session
            .declare_subscriber(settings::key(peer, own))
            .callback(move |sample| receive(sample.payload().to_bytes().into_owned()))
            .background()
            .wait()
            .map_err(|error| log::plain(&error))?;
        Ok(Self { session, publisher })
    }

    /// Sends a message. It is lost when the other machine does not listen.
    ///
    /// # Errors
    /// When the session is closed.
    pub fn put(&self, message: Vec<u8>) -> io::Result<()> {
        let put = self.publisher.put(message).wait();
        put.map_err(|error| log::plain(&error))
    }

    /// Sends a last message and closes its session, on a thread of its own.
    pub fn close_after(self: &Arc<Self>, last: Vec<u8>) -> Closing {
        let route = self.clone();
        Closing::start(move || {
            // The other machine may be gone, and the session closed.
            let _ = route.put(last);
            let _ = route.session.close().wait();
        })
    }
}

/// Opens a session.
///
/// # Errors
/// When it can't listen or connect.
pub fn open(endpoint: &Endpoint<'_>) -> io::Result<OpenedSession> {
    let failures = FailureLog::start();
    let config = settings::config(endpoint, &failures).map_err(|error| log::plain(&error))?;
    let session = zenoh::open(config).wait();
    let session = session.map_err(|error| failures.take_or(&error))?;
    Ok(OpenedSession { session, failures })
}

/// Closes a session, on a thread of its own.
pub fn close(session: Session) -> Closing {
    Closing::start(move || {
        // It may be closed already.
        let _ = session.close().wait();
    })
}

/// A session that is closing.
pub struct Closing(Option<std::sync::mpsc::Receiver<()>>);

impl Closing {
    /// Closes one in a thread.
    fn start(close: impl FnOnce() + Send + 'static) -> Self {
        let (done, closed) = std::sync::mpsc::channel::<()>();
        let closing = std::thread::Builder::new()
            .name("flowpipe-zenoh-close".into())
            .spawn(move || {
                close();
                drop(done);
            });
        Self(closing.is_ok().then_some(closed))
    }

    /// Waits until it is closed, at most for a second.
    pub fn wait(self) {
        if let Some(closed) = self.0 {
            // Disconnected: it is closed.
            let _ = closed.recv_timeout(CLOSE_TIMEOUT);
        }
    }
}
