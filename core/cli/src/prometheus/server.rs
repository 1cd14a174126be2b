//! The thread that answers scrapers.
//!
//! Any process of the computer may connect. Connections, what is read of each and the time that each may take are limited; a
//! new connection closes the oldest one where there are too many. No stage waits: the counts are read ten times a second at
//! most, however often they are asked for.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_terminal::eprintln;

use super::address::ScrapeListener;
use super::exposition;
use super::http::{LONGEST_REQUEST, Response};
use crate::exit::Failure;
use crate::metric_families::source::FamilySource;

/// The most connections.
const MOST_CONNECTIONS: usize = 32;
/// The most connections that are accepted at once.
const MOST_ACCEPTED: usize = 16;
/// How long the thread rests after each step, so that no client keeps a processor busy.
const REST: Duration = Duration::from_millis(2);
/// How long it rests when the system has no room for a connection.
const REST_WITHOUT_ROOM: Duration = Duration::from_millis(100);
/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to read the response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to close its side. Until then what it still sends is read: otherwise the system would discard
/// the response.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a page is served again.
const PAGE_AGE: Duration = Duration::from_millis(100);
/// The most bytes that are read of a connection at once.
const MOST_READ: usize = 64 << 10;

/// The thread. Dropping it ends the thread and closes all connections.
pub struct ScrapeServer {
    thread: Option<JoinHandle<()>>,
    shutdown: Option<wait::ShutdownSignal>,
}

/// What the thread knows.
struct ScrapeThread {
    listener: TcpListener,
    is_local: bool,
    source: FamilySource,
    page: Option<(Instant, String)>,
    /// Oldest first.
    connections: VecDeque<ScrapeConnection>,
}

/// A client.
struct ScrapeConnection {
    stream: TcpStream,
    state: RequestState,
    /// When it has to have left this state.
    deadline: Instant,
}

enum RequestState {
    /// What has arrived of the request.
    Receives(Vec<u8>),
    /// The response, and how much of it is sent.
    Sends(Vec<u8>, usize),
    /// The response is sent.
    Closes,
}

/// Whether a connection remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    Yes,
    No,
}

/// Starts to answer, and prints where.
///
/// # Errors
/// When the system has no thread or socket for it.
pub fn serve(at: ScrapeListener, source: FamilySource) -> Result<ScrapeServer, Failure> {
    let failed = |error| Failure::Run(format!("--metrics: can't answer: {error}"));
    let (signal, waiter) = wait::shutdown_pair().map_err(failed)?;
    let server = ScrapeThread {
        listener: at.listener,
        is_local: at.is_local,
        source,
        page: None,
        connections: VecDeque::new(),
    };
    let thread = std::thread::Builder::new()
        .name("flowpipe-metrics".into())
        .spawn(move || server.run(&waiter))
        .map_err(failed)?;
    eprintln!("metrics at http://{}/metrics", at.address);
    Ok(ScrapeServer {
        thread: Some(thread),
        shutdown: Some(signal),
    })
}

impl Drop for ScrapeServer {
    fn drop(&mut self) {
        // The thread is woken and ends.
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

impl ScrapeThread {
    fn run(mut self, shutdown: &wait::ShutdownWaiter) {
        loop {
            let now = Instant::now();
            let deadlines = self.connections.iter().map(|it| it.deadline);
            let timeout = deadlines.min().map(|at| at.saturating_duration_since(now));
            let sockets = self.connections.iter().map(|it| (&it.stream, it.sends()));
            match wait::wait(shutdown, &self.listener, sockets, timeout) {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!("the metrics can't be read any more: {error}");
                    return;
                }
            }
            let has_room = self.accept();
            self.step();
            std::thread::sleep(if has_room { REST } else { REST_WITHOUT_ROOM });
        }
    }

    /// Accepts some of the connections that wait. Returns whether the system has room for more.
    fn accept(&mut self) -> bool {
        for _ in 0..MOST_ACCEPTED {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => {
                    let kinds_with_room = [
                        ErrorKind::WouldBlock,
                        ErrorKind::Interrupted,
                        ErrorKind::ConnectionAborted,
                    ];
                    return kinds_with_room.contains(&error.kind());
                }
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.connections.len() >= MOST_CONNECTIONS {
                self.connections.pop_front();
            }
            self.connections.push_back(ScrapeConnection {
                stream,
                state: RequestState::Receives(Vec::new()),
                deadline: Instant::now() + REQUEST_TIMEOUT,
            });
        }
        true
    }

    /// Reads and sends what is possible without waiting.
    fn step(&mut self) {
        let Self {
            connections,
            source,
            page,
            is_local,
            ..
        } = self;
        let mut page = || current(page, source).to_owned();
        connections.retain_mut(|connection| {
            let step = connection.step(*is_local, &mut page);
            matches!(step, Ok(Remains::Yes)) && Instant::now() < connection.deadline
        });
    }
}

/// The page, which is made again when it is old.
fn current<'a>(page: &'a mut Option<(Instant, String)>, source: &FamilySource) -> &'a str {
    if page
        .as_ref()
        .is_some_and(|(made, _)| made.elapsed() >= PAGE_AGE)
    {
        *page = None;
    }
    let (_, text) = page.get_or_insert_with(|| {
        let text = exposition::page(&source.families());
        // After it: making it may take long.
        (Instant::now(), text)
    });
    text
}

impl ScrapeConnection {
    /// Whether it waits until it can send.
    fn sends(&self) -> bool {
        matches!(self.state, RequestState::Sends(..))
    }

    /// Goes on as far as possible without waiting. An error ends it.
    fn step(&mut self, is_local: bool, page: &mut impl FnMut() -> String) -> io::Result<Remains> {
        if let RequestState::Receives(request) = &mut self.state {
            let is_open = read(&mut self.stream, |bytes| {
                let room = LONGEST_REQUEST.saturating_sub(request.len());
                request.extend(&bytes[..bytes.len().min(room)]);
                request.len() < LONGEST_REQUEST
            })?;
            let Some(response) = Response::to(request, is_local) else {
                return Ok(if is_open { Remains::Yes } else { Remains::No });
            };
            let text = match response.wants_metrics() {
                true => page(),
                false => String::new(),
            };
            self.state = RequestState::Sends(response.bytes(&text), 0);
            self.deadline = Instant::now() + RESPONSE_TIMEOUT;
        }
        if let RequestState::Sends(response, sent) = &mut self.state {
            while *sent < response.len() {
                match self.stream.write(&response[*sent..]) {
                    Ok(0) => return Ok(Remains::No),
                    Ok(count) => *sent += count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Remains::Yes),
                    Err(error) => return Err(error),
                }
            }
            self.stream.shutdown(Shutdown::Write)?;
            self.state = RequestState::Closes;
            self.deadline = Instant::now() + CLOSE_TIMEOUT;
        }
        let is_open = read(&mut self.stream, |_| true)?;
        Ok(if is_open { Remains::Yes } else { Remains::No })
    }
}

/// Reads what has arrived, up to a limit, until `take` returns false. Returns whether the client may send more.
fn read(stream: &mut TcpStream, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    let mut total = 0;
    while total < MOST_READ {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(count) => {
                total += count;
                if !take(&bytes[..count]) {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Waits for sockets.
#[cfg(unix)]
mod wait {
    use std::io;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Dropping it wakes the thread.
    pub struct ShutdownSignal(
        #[expect(dead_code, reason = "closing it wakes the thread")] UnixStream,
    );
    pub struct ShutdownWaiter(UnixStream);

    pub fn shutdown_pair() -> io::Result<(ShutdownSignal, ShutdownWaiter)> {
        let (signal, waiter) = UnixStream::pair()?;
        Ok((ShutdownSignal(signal), ShutdownWaiter(waiter)))
    }

    /// Waits until there is something to do, or for this time. `sockets`: each with whether it is to send. Returns whether
    /// the signal is dropped.
    pub fn wait<'a>(
        shutdown: &ShutdownWaiter,
        listener: &TcpListener,
        sockets: impl Iterator<Item = (&'a TcpStream, bool)>,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let mut wakers = vec![
            PollFd::new(&shutdown.0, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        wakers.extend(sockets.map(|(socket, sends)| {
            let flags = if sends { PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(socket, flags)
        }));
        let timeout = timeout.and_then(|it| Timespec::try_from(it).ok());
        match poll(&mut wakers, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!wakers[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Looks at sockets now and then.
#[cfg(not(unix))]
mod wait {
    use std::io;
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    /// How often.
    const INTERVAL: Duration = Duration::from_millis(20);

    /// Dropping it ends the thread.
    pub struct ShutdownSignal(#[expect(dead_code, reason = "dropping it ends the thread")] Arc<()>);
    pub struct ShutdownWaiter(Weak<()>);

    pub fn shutdown_pair() -> io::Result<(ShutdownSignal, ShutdownWaiter)> {
        let signal = Arc::new(());
        let waiter = Arc::downgrade(&signal);
        Ok((ShutdownSignal(signal), ShutdownWaiter(waiter)))
    }

    /// Returns whether the signal is dropped.
    pub fn wait<'a>(
        shutdown: &ShutdownWaiter,
        _: &TcpListener,
        _: impl Iterator<Item = (&'a TcpStream, bool)>,
        _: Option<Duration>,
    ) -> io::Result<bool> {
        std::thread::sleep(INTERVAL);
        Ok(shutdown.0.strong_count() == 0)
    }
}
