//! Runs a session over a transport.
//!
//! One thread makes connections and watches the time. Each connection has a thread that sends and one that receives.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock_offset::Offset;
use crate::session::{ConnectionId, Event, MessageId, Refusal, Session, Settings, Transmit};
use crate::signal::LinkSignal;
use crate::transport::{Connection, FailureReason, Received, Transport, TransportError};
use crate::violation::Violation;

/// How long the thread that makes connections waits for one before it checks the time.
const CONNECT_WAIT: Duration = Duration::from_millis(100);
/// How often an end that does not open connections checks for another one while it has one.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(50);
/// The pauses after failed attempts to connect: the first one, and the longest.
const RETRY: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];
/// Bytes of packets that are sent at once, or received before anybody learns of them.
const BATCH: usize = 64 << 10;
/// The packets of a closing link are sent within this time.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time of a link, in nanoseconds. It never goes back.
pub type LinkClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// A link to another machine. Dropping it closes it.
pub struct Link {
    shared: Arc<Shared>,
    connector: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// There may be something to send.
    outgoing: Condvar,
    /// There may be an event, or room to send.
    incoming: Condvar,
    /// A connection is closed, or the link.
    closed: Condvar,
    /// Who waits for this link and others.
    signal: Mutex<Option<LinkSignal>>,
    clock: LinkClock,
    opens: bool,
}

struct State {
    session: Session,
    connections: BTreeMap<ConnectionId, Arc<dyn Connection>>,
    /// Threads that send.
    senders: usize,
    is_closing: bool,
    /// Why the last connection ended, or could not be made.
    failure: Option<io::Error>,
    traffic: Traffic,
    /// Since when there is no connection to a peer that may have ended, as far as [`Link::finish`] has seen.
    gone_since: Option<Instant>,
}

/// Why a connection ended, or could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// The reason, if it is one about which something can be done.
    pub reason: Option<FailureReason>,
    /// What happened, as the transport reports it.
    pub text: String,
}

/// What has gone over all connections of a link, in bytes of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// To the peer.
    pub sent: u64,
    /// From the peer.
    pub received: u64,
}

impl Link {
    /// Starts a link.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(
        settings: Settings,
        transport: Box<dyn Transport>,
        clock: LinkClock,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                session: Session::new(settings, fastrand::u64(..)),
                connections: BTreeMap::new(),
                senders: 0,
                is_closing: false,
                failure: None,
                traffic: Traffic::default(),
                gone_since: None,
            }),
            outgoing: Condvar::new(),
            incoming: Condvar::new(),
            closed: Condvar::new(),
            signal: Mutex::default(),
            clock,
            opens: settings.opens,
        });
        let own = shared.clone();
        let connector = std::thread::Builder::new()
            .name("flowpipe-link".into())
            .spawn(move || connect(&own, transport))?;
        Ok(Self {
            shared,
            connector: Some(connector),
        })
    }

    /// As [`Session::receive_on`].
    pub fn receive_on(&self, channel: u32, capacity: u64) {
        self.change(|session| session.receive_on(channel, capacity));
    }

    /// As [`Session::limit_messages`].
    pub fn limit_messages(&self, channel: u32, bytes: usize) {
        self.change(|session| session.limit_messages(channel, bytes));
    }

    /// Sends a message, waiting until it is accepted, at most for this time.
    ///
    /// # Errors
    /// When it was not accepted.
    pub fn send(
        &self,
        channel: u32,
        body: &Arc<[u8]>,
        timeout: Duration,
    ) -> Result<MessageId, Refusal> {
        let (mut state, refusal) = self.wait_until_accepted(channel, body.len(), timeout);
        match refusal {
            None => {
                let sent = state.session.send(channel, body.clone());
                drop(state);
                self.shared.outgoing.notify_all();
                sent
            }
            Some(refusal) => Err(refusal),
        }
    }

    /// Waits until a message of this length would be accepted, at most for this time. Returns why it would not be.
    #[must_use]
    pub fn refusal(&self, channel: u32, length: usize, timeout: Duration) -> Option<Refusal> {
        self.wait_until_accepted(channel, length, timeout).1
    }

    fn wait_until_accepted(
        &self,
        channel: u32,
        length: usize,
        timeout: Duration,
    ) -> (MutexGuard<'_, State>, Option<Refusal>) {
        let deadline = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            let refusal = state.session.refusal(channel, length);
            let left = deadline.saturating_duration_since(Instant::now());
            let may_wait = matches!(refusal, Some(Refusal::NoCredit | Refusal::Full));
            if !may_wait || left.is_zero() {
                return (state, refusal);
            }
            state = wait(&self.shared.incoming, state, left);
        }
    }

    /// Waits for the next event, at most for this time. One thread at a time calls this.
    #[must_use]
    pub fn next_event(&self, timeout: Duration) -> Option<Event> {
        let deadline = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            let event = state.session.next_event();
            let left = deadline.saturating_duration_since(Instant::now());
            if event.is_some() || left.is_zero() {
                return event;
            }
            state = wait(&self.shared.incoming, state, left);
        }
    }

    /// From now on, `signal` counts the changes of this link: events, connections, and room to send.
    pub fn set_signal(&self, signal: Option<LinkSignal>) {
        *self.shared.signal() = signal;
    }

    /// As [`Session::arrived`].
    #[must_use]
    pub fn arrived(&self, channel: u32) -> u64 {
        self.shared.lock().session.arrived(channel)
    }

    /// As [`Session::take`].
    pub fn take(&self, channel: u32) {
        let is_due = self.shared.lock().session.take(channel);
        if is_due {
            self.shared.outgoing.notify_all();
        }
    }

    /// As [`Session::done`].
    pub fn done(&self, id: MessageId) {
        let is_first = self.shared.lock().session.done(id);
        // Otherwise the thread that sends knows already that there is something to report.
        if is_first {
            self.shared.outgoing.notify_all();
        }
    }

    /// As [`Session::end`].
    pub fn end(&self, channel: u32) {
        self.change(|session| session.end(channel));
        // Who waits to send on it.
        self.shared.notify_incoming();
    }

    /// As [`Session::give_up`].
    pub fn give_up(&self) {
        let mut state = self.shared.lock();
        state.session.give_up();
        self.shared.changed(state);
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.lock().session.is_connected()
    }

    /// Why the last connection ended, or could not be made.
    #[must_use]
    pub fn failure(&self) -> Option<LinkFailure> {
        let state = self.shared.lock();
        state.failure.as_ref().map(|error| LinkFailure {
            reason: TransportError::reason(error),
            text: error.to_string(),
        })
    }

    /// The clock of the peer.
    #[must_use]
    pub fn peer_clock(&self) -> Option<Offset> {
        let now = self.shared.now();
        self.shared.lock().session.clock(now)
    }

    /// The clock of the peer that has sent a message, also if it was lost since. `None`: it was never measured.
    #[must_use]
    pub fn clock_of(&self, message: MessageId) -> Option<Offset> {
        let now = self.shared.now();
        self.shared.lock().session.clock_of(message, now)
    }

    /// What has gone over it so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.lock().traffic
    }

    /// Whether the peer may have everything and have ended. It ends when it has everything, and can't know whether its last
    /// acknowledgement has arrived.
    #[must_use]
    pub fn may_have_ended(&self) -> bool {
        self.shared.lock().session.may_have_ended()
    }

    /// Sends nothing more, and waits until both ends have everything, at most for this time. Returns whether they have.
    /// Without a connection, a peer that may have ended counts as one that has after `linger`, also over several calls.
    /// What arrives meanwhile can be read by another thread.
    #[must_use]
    pub fn finish(&self, timeout: Duration, linger: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        self.change(Session::finish);
        // Who waits to send.
        self.shared.notify_incoming();
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            let session = &state.session;
            let is_gone = session.may_have_ended() && !session.is_connected();
            let is_finished = session.is_finished();
            let since = is_gone.then(|| *state.gone_since.get_or_insert(now));
            state.gone_since = since;
            let has_ended = since.is_some_and(|since| now.duration_since(since) >= linger);
            if is_finished || has_ended {
                return true;
            }
            let left = deadline.saturating_duration_since(now);
            if left.is_zero() {
                return false;
            }
            state = wait(&self.shared.incoming, state, left.min(CONNECT_WAIT));
        }
    }

    /// Changes what is to be sent.
    fn change(&self, change: impl FnOnce(&mut Session)) {
        change(&mut self.shared.lock().session);
        self.shared.outgoing.notify_all();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let mut state = self.shared.lock();
        state.is_closing = true;
        state.session.report_now();
        self.shared.outgoing.notify_all();
        self.shared.closed.notify_all();
        while state.senders > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wait(&self.shared.incoming, state, left);
        }
        for connection in std::mem::take(&mut state.connections).into_values() {
            connection.close();
        }
        drop(state);
        if let Some(connector) = self.connector.take() {
            // A panic of the thread has been printed.
            let _ = connector.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Closes what the session has given up, and wakes all threads.
    fn changed(&self, mut state: MutexGuard<'_, State>) {
        let State {
            session,
            connections,
            ..
        } = &mut *state;
        connections.retain(|&id, connection| {
            let is_used = session.uses(id);
            if !is_used {
                connection.close();
            }
            is_used
        });
        if connections.is_empty() {
            self.closed.notify_all();
        }
        drop(state);
        self.outgoing.notify_all();
        self.notify_incoming();
    }

    /// There may be an event, or room to send.
    fn notify_incoming(&self) {
        self.incoming.notify_all();
        if let Some(signal) = &*self.signal() {
            signal.notify();
        }
    }

    fn signal(&self) -> MutexGuard<'_, Option<LinkSignal>> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes connections until the link closes.
fn connect(shared: &Arc<Shared>, mut transport: Box<dyn Transport>) {
    let mut pause = RETRY[0];
    let (mut has_failed, mut established) = (false, 0);
    loop {
        let mut state = shared.lock();
        if let Some(violation) = state.session.tick(shared.now()) {
            // Nobody else reports it of a connection whose handshake is not complete.
            state.failure = Some(violation_error(violation));
        }
        shared.changed(state);
        state = shared.lock();
        if state.is_closing {
            return;
        }
        if std::mem::replace(&mut established, state.session.established())
            != state.session.established()
        {
            (pause, has_failed) = (RETRY[0], false);
        }
        if shared.opens && !state.connections.is_empty() {
            // One at a time: a second one would replace it.
            drop(wait(&shared.closed, state, CONNECT_WAIT));
            continue;
        }
        if std::mem::take(&mut has_failed) {
            drop(wait(&shared.closed, state, pause));
            pause = RETRY[1].min(pause * 2);
            continue;
        }
        // A new one is seldom, and a transport that waits for it may wake up often.
        let wait_for_one = match state.session.is_connected() {
            true => {
                drop(wait(&shared.closed, state, ACCEPT_INTERVAL));
                Duration::ZERO
            }
            false => {
                drop(state);
                CONNECT_WAIT
            }
        };
        match transport.connect(wait_for_one) {
            Ok(Some(connection)) => {
                // Unless the session establishes it.
                has_failed = shared.opens;
                start(shared, connection);
            }
            Ok(None) => {}
            Err(error) => {
                has_failed = true;
                shared.lock().failure = Some(error);
            }
        }
    }
}

/// Starts the threads of a connection.
fn start(shared: &Arc<Shared>, connection: Arc<dyn Connection>) {
    let mut state = shared.lock();
    if state.is_closing {
        connection.close();
        return;
    }
    let id = state.session.open(shared.now());
    state.connections.insert(id, connection.clone());
    state.senders += 1;
    drop(state);
    let (own, other) = (shared.clone(), connection.clone());
    let sender = std::thread::Builder::new()
        .name("flowpipe-link-send".into())
        .spawn(move || {
            let ended = send(&own, &*other, id);
            own.lock().senders -= 1;
            end(&own, &*other, id, ended);
        });
    if let Err(error) = sender {
        shared.lock().senders -= 1;
        end(shared, &*connection, id, Err(error));
        return;
    }
    let (own, other) = (shared.clone(), connection.clone());
    let receiver = std::thread::Builder::new()
        .name("flowpipe-link-receive".into())
        .spawn(move || {
            let ended = receive(&own, &*other, id);
            end(&own, &*other, id, ended);
        });
    if let Err(error) = receiver {
        end(shared, &*connection, id, Err(error));
    }
}

/// Ends a connection.
fn end(shared: &Shared, connection: &dyn Connection, id: ConnectionId, ended: io::Result<()>) {
    connection.close();
    let mut state = shared.lock();
    // What fails after the first end is a consequence of it.
    if let Err(error) = ended
        && state.session.uses(id)
    {
        state.failure = Some(error);
    }
    state.session.close(id);
    shared.changed(state);
}

/// Sends what a connection has to send, until it is closed.
fn send(shared: &Shared, connection: &dyn Connection, id: ConnectionId) -> io::Result<()> {
    let mut packet = Vec::new();
    loop {
        let mut bytes = 0;
        let mut state = shared.lock();
        let last = loop {
            let next = state.session.transmit(id, shared.now(), &mut packet);
            if next != Transmit::Packet {
                break next;
            }
            drop(state);
            connection.send(&packet)?;
            bytes += packet.len();
            if bytes >= BATCH {
                connection.flush()?;
                bytes = 0;
            }
            state = shared.lock();
            state.traffic.sent += packet.len() as u64;
        };
        if bytes > 0 {
            let is_finished = state.session.is_finished();
            drop(state);
            connection.flush()?;
            // Who waits for the end does not see what is sent.
            if is_finished {
                shared.notify_incoming();
            }
            // Something may have come meanwhile.
            continue;
        }
        if last == Transmit::Close || state.is_closing {
            return Ok(());
        }
        let now = shared.now();
        let tick = state.session.next_tick_ns().unwrap_or(now);
        let left = u64::try_from(tick.saturating_sub(now)).unwrap_or(0);
        let left = Duration::from_nanos(left).max(Duration::from_millis(1));
        drop(wait(&shared.outgoing, state, left));
    }
}

/// Passes what arrives to the session, until the connection is closed.
fn receive(shared: &Shared, connection: &dyn Connection, id: ConnectionId) -> io::Result<()> {
    let mut packet = Vec::new();
    let mut bytes = 0;
    loop {
        let next = connection.receive(&mut packet)?;
        if next == Received::Closed {
            return Ok(());
        }
        bytes += packet.len();
        let mut state = shared.lock();
        state.traffic.received += packet.len() as u64;
        let received = state.session.receive(id, &packet, shared.now());
        let is_over = received.is_err();
        if let Err(violation) = received {
            state.failure = Some(violation_error(violation));
        }
        // Once for all that have arrived.
        if is_over || next == Received::Packet || bytes >= BATCH {
            bytes = 0;
            shared.changed(state);
        }
        if is_over {
            return Ok(());
        }
    }
}

/// The other end has broken the protocol, or was silent.
fn violation_error(violation: Violation) -> io::Error {
    let text = format!("the other machine {violation}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    timeout: Duration,
) -> MutexGuard<'a, State> {
    let waited = condition.wait_timeout(state, timeout);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
