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

/// The most connections of one other machine. What is over leaves when others come. A program has one of them; another
/// one is there while it replaces that one, or belongs to a second program of the same name.
const MOST_CONNECTIONS: usize = 8;

/// Accepts connections of one other machine. Several are open at a time: whoever uses them decides which one stays.
pub struct Acceptor {
    route: Arc<Route>,
    inbox: Arc<Inbox>,
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
    /// The oldest one first. Those that are over are kept, so that what arrives of them late opens none.
    connections: Vec<Requested>,
    /// Nobody accepts connections any more.
    is_closed: bool,
}

/// A connection that the other machine has asked for.
struct Requested {
    channel: Arc<Channel>,
    /// Nobody has it yet.
    is_new: bool,
    /// The other machine has asked for it since the last answer.
    is_asked: bool,
    /// Its end was reported to the other machine.
    is_reported: bool,
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
                seen: 0,
                listener: listener.clone(),
            })
        };
        endpoint.peers.iter().map(accept).collect()
    }

    /// Reports the end of each connection once.
    fn report_ends(&self) {
        let mut state = self.inbox.lock();
        let over = state.connections.iter_mut();
        let over = over.filter(|it| it.channel.is_over() && !it.is_reported);
        let numbers: Vec<u64> = over
            .map(|it| {
                it.is_reported = true;
                it.channel.number()
            })
            .collect();
        drop(state);
        for number in numbers {
            // The other machine may be gone.
            let _ = self.route.put(frame::encode(Kind::Close, number));
        }
    }
}

impl Transport for Acceptor {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let deadline = Instant::now() + wait;
        self.report_ends();
        let mut state = self.inbox.lock();
        loop {
            if let Some((channel, is_new)) = state.next_asked() {
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
        self.report_ends();
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
        match (kind, state.find(number)) {
            (Kind::Open, requested) => {
                match requested {
                    Some(requested) => requested.is_asked = true,
                    None => state.add(number),
                }
                self.changed.notify_all();
            }
            (Kind::Data, Some(requested)) => {
                let channel = requested.channel.clone();
                // It waits while the channel is full.
                drop(state);
                channel.push(message);
            }
            (Kind::Close, Some(requested)) => requested.channel.end(),
            (Kind::Accept, _) | (Kind::Data | Kind::Close, None) => {}
        }
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
    /// The connection with a number.
    fn find(&mut self, number: u64) -> Option<&mut Requested> {
        let mut connections = self.connections.iter_mut();
        connections.find(|it| it.channel.number() == number)
    }

    /// The next connection to accept, and whether nobody has it yet.
    fn next_asked(&mut self) -> Option<(Arc<Channel>, bool)> {
        let mut asked = self.connections.iter_mut();
        let asked = asked.find(|it| it.is_asked && !it.channel.is_over())?;
        asked.is_asked = false;
        let is_new = std::mem::take(&mut asked.is_new);
        Some((asked.channel.clone(), is_new))
    }

    /// Adds a connection, unless there are too many that are not over. The other machine asks again.
    fn add(&mut self, number: u64) {
        if self.connections.len() >= MOST_CONNECTIONS {
            let mut connections = self.connections.iter();
            let Some(oldest) = connections.position(|it| it.channel.is_over()) else {
                return;
            };
            self.connections.remove(oldest);
        }
        self.connections.push(Requested {
            channel: Channel::new(number),
            is_new: true,
            is_asked: true,
            is_reported: false,
        });
    }

    /// The connections get nothing more.
    fn end(&self) {
        for requested in &self.connections {
            match requested.is_new {
                // Nobody takes what has arrived.
                true => requested.channel.close(),
                false => requested.channel.end(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_link::transport::Received;

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

    fn channel(inbox: &Inbox, number: u64) -> Option<Arc<Channel>> {
        inbox.lock().find(number).map(|it| it.channel.clone())
    }

    /// Opens a connection and accepts it.
    fn accepted(inbox: &Inbox, number: u64) -> Arc<Channel> {
        inbox.receive(frame::encode(Kind::Open, number));
        let (channel, is_new) = inbox.lock().next_asked().unwrap();
        assert!(channel.number() == number && is_new);
        channel.accept();
        channel
    }

    #[test]
    fn a_machine_that_does_not_wait_until_it_is_accepted_makes_nobody_wait() {
        let inbox = Inbox::default();
        for number in 0..3 {
            flood(&inbox, number);
            assert!(channel(&inbox, number).unwrap().is_over());
        }
    }

    #[test]
    fn what_arrives_after_the_end_makes_nobody_wait() {
        let inbox = Inbox::default();
        accepted(&inbox, 1);
        inbox.close();
        flood(&inbox, 1);
        flood(&inbox, 2);
        assert!(channel(&inbox, 1).is_some() && channel(&inbox, 2).is_none());
    }

    #[test]
    fn a_second_connection_does_not_end_the_first_one() {
        let inbox = Inbox::default();
        let first = accepted(&inbox, 1);
        let second = accepted(&inbox, 2);
        for (number, bytes) in [(1, b"a"), (2, b"b")] {
            let mut message = frame::encode(Kind::Data, number);
            frame::add_packet(&mut message, bytes);
            inbox.receive(message);
        }
        let mut packet = Vec::new();
        assert_eq!(first.pop(&mut packet), Received::Packet);
        assert_eq!(packet, b"a");
        assert_eq!(second.pop(&mut packet), Received::Packet);
        assert_eq!(packet, b"b");
        inbox.receive(frame::encode(Kind::Close, 2));
        assert!(second.is_over() && !first.is_over());
        // What it asked before that opens no other one.
        inbox.receive(frame::encode(Kind::Open, 2));
        assert!(inbox.lock().next_asked().is_none());
    }

    #[test]
    fn a_machine_has_few_connections() {
        let inbox = Inbox::default();
        let first = accepted(&inbox, 0);
        for number in 1..1_000 {
            inbox.receive(frame::encode(Kind::Open, number));
        }
        assert_eq!(inbox.lock().connections.len(), MOST_CONNECTIONS);
        assert!(!first.is_over());
        // One that is over makes room.
        channel(&inbox, 1).unwrap().end();
        inbox.receive(frame::encode(Kind::Open, 1_000));
        assert!(channel(&inbox, 1).is_none() && channel(&inbox, 1_000).is_some());
        assert_eq!(inbox.lock().connections.len(), MOST_CONNECTIONS);
    }
}
