//! The end that listens.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_link::library::Endpoint;
use flowpipe_link::transport::{Connection, FailureReason, Transport, TransportError};

use crate::channel::Channel;
use crate::connection::RouteConnection;
use crate::frame::{self, Kind};
use crate::route::{self, OpenedSession, Route};

/// Accepts connections of one other machine.
pub struct Acceptor {
    route: Arc<Route>,
    inbox: Arc<Inbox>,
    /// The last connection whose end was reported to the other machine.
    reported: Option<u64>,
    /// The number of the last failure that was returned.
    seen: u64,
    /// The last one closes the session.
    listener: Arc<Listener>,
}

/// What the other machine asks for.
#[derive(Default)]
struct Inbox {
    state: Mutex<Requests>,
    changed: Condvar,
}

#[derive(Default)]
struct Requests {
    /// The connection with the last number.
    current: Option<Arc<Channel>>,
    /// Nobody has it yet.
    is_new: bool,
    /// The other machine has asked for it since the last answer.
    is_asked: bool,
    /// Nobody accepts connections any more.
    is_closed: bool,
}

/// A session that listens, for several machines.
struct Listener {
    opened: OpenedSession,
    failure: Mutex<ListenerFailure>,
}

/// The last connection to a listener that failed: nobody knows of which machine it was.
#[derive(Default)]
struct ListenerFailure {
    /// How many there were.
    number: u64,
    error: Option<(Option<FailureReason>, String)>,
}

impl Acceptor {
    /// Listens. Returns one end for each of the other machines.
    ///
    /// # Errors
    /// When it can't, or when the certificate is wrong.
    pub fn listen(endpoint: &Endpoint<'_>) -> io::Result<Vec<Self>> {
        Route::check(endpoint)?;
        let listener = Arc::new(Listener {
            opened: route::open(endpoint)?,
            failure: Mutex::default(),
        });
        let accept = |peer: &&str| {
            let inbox: Arc<Inbox> = Arc::default();
            let (receiver, end) = (inbox.clone(), inbox.clone());
            let route = Route::new(
                listener.opened.session.clone(),
                [endpoint.own, peer],
                move |message| receiver.receive(message),
                move || end.end(),
            )?;
            Ok(Self {
                route: Arc::new(route),
                inbox,
                reported: None,
                seen: 0,
                listener: listener.clone(),
            })
        };
        endpoint.peers.iter().map(accept).collect()
    }

    /// Reports the end of the current connection once.
    fn report_end(&mut self) {
        let over = self.inbox.lock().current.clone();
        if let Some(channel) = over.filter(|channel| channel.is_over())
            && self.reported.replace(channel.number()) != Some(channel.number())
        {
            // The other machine may be gone.
            let _ = self.route.put(frame::encode(Kind::Close, channel.number()));
        }
    }
}

impl Transport for Acceptor {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let deadline = Instant::now() + wait;
        self.report_end();
        let mut state = self.inbox.lock();
        loop {
            let (is_asked, is_new) = (
                std::mem::take(&mut state.is_asked),
                std::mem::take(&mut state.is_new),
            );
            let current = state.current.clone();
            if let Some(channel) = current.filter(|channel| is_asked && !channel.is_over()) {
                drop(state);
                channel.accept();
                let put = self
                    .route
                    .put(frame::encode(Kind::Accept, channel.number()));
                if let Err(error) = put {
                    // Nobody takes what arrives.
                    channel.close();
                    return Err(error);
                }
                if is_new {
                    return Ok(Some(RouteConnection::start(self.route.clone(), channel)));
                }
                state = self.inbox.lock();
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                // Why the last one was refused, if one was.
                return match self.listener.failure_after(&mut self.seen) {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            }
            let waited = self.inbox.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.inbox.close();
        self.report_end();
    }
}

impl Listener {
    /// The last failure, if it is newer than the one with this number, which becomes its own: each machine that is missing
    /// learns of it.
    fn failure_after(&self, seen: &mut u64) -> Option<io::Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = self.opened.failures.take() {
            failure.number += 1;
            failure.error = Some((TransportError::reason(&error), error.to_string()));
        }
        if std::mem::replace(seen, failure.number) == failure.number {
            return None;
        }
        let (reason, text) = failure.error.clone()?;
        Some(match reason {
            Some(reason) => TransportError::of(reason, text),
            None => io::Error::other(text),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        route::close(self.opened.session.clone()).wait();
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, message: Vec<u8>) {
        let Some((kind, number)) = frame::decode(&message) else {
            return self.end();
        };
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        let current = state.current.clone();
        let current = current.filter(|channel| channel.number() == number);
        match (kind, current) {
            (Kind::Open, Some(_)) => state.is_asked = true,
            (Kind::Open, None) => {
                state.end();
                state.current = Some(Channel::new(number));
                (state.is_new, state.is_asked) = (true, true);
            }
            (Kind::Data, Some(channel)) => {
                // It waits while the channel is full.
                drop(state);
                channel.push(message);
            }
            (Kind::Close, Some(channel)) => channel.end(),
            (Kind::Accept, _) | (Kind::Data | Kind::Close, None) => {}
        }
        self.changed.notify_all();
    }

    /// The other machine is gone.
    fn end(&self) {
        self.lock().end();
    }

    /// Accepts no connection any more.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.end();
    }
}

impl Requests {
    /// The current connection gets nothing more.
    fn end(&self) {
        match &self.current {
            // Nobody takes what has arrived.
            Some(channel) if self.is_new => channel.close(),
            Some(channel) => channel.end(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than a channel has room for.
    const MANY: usize = 100;

    /// Opens a connection and sends more than there is room for, without waiting for anything.
    fn flood(inbox: &Inbox, number: u64) {
        inbox.receive(frame::encode(Kind::Open, number));
        for _ in 0..MANY {
            let mut message = frame::encode(Kind::Data, number);
            frame::add_packet(&mut message, b"a");
            inbox.receive(message);
        }
    }

    #[test]
    fn a_machine_that_does_not_wait_until_it_is_accepted_makes_nobody_wait() {
        let inbox = Inbox::default();
        for number in 0..3 {
            flood(&inbox, number);
            let current = inbox.lock().current.clone().unwrap();
            assert!(current.number() == number && current.is_over());
        }
    }

    #[test]
    fn what_arrives_after_the_end_makes_nobody_wait() {
        let inbox = Inbox::default();
        inbox.receive(frame::encode(Kind::Open, 1));
        // It is accepted.
        inbox.lock().is_new = false;
        let current = inbox.lock().current.clone().unwrap();
        current.accept();
        inbox.close();
        flood(&inbox, 1);
        flood(&inbox, 2);
        assert_eq!(inbox.lock().current.as_ref().unwrap().number(), 1);
    }
}
