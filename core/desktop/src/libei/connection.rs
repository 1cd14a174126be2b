//! The socket: a thread reads what the other side sends, and everybody may send.
//!
//! A message is sent whole, so that those of the thread, of the caller and of the guardian's process do not get into each
//! other.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_process::patience::Patience;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::time::{ClockId, clock_gettime};

use super::interface;
use super::server::Server;
use super::wire::Incoming;

/// How long an answer may take, and how long the other side may take nothing.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// How many bytes are read at once.
const CHUNK: usize = 4096;
/// The most messages in a second. A compositor sends a few for each key of a person.
const MOST_MESSAGES: u32 = 5000;
/// How many files may come with the bytes that are read at once.
const FILES: usize = 4;

pub(super) struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    socket: UnixStream,
    server: Mutex<Server>,
    has_changed: Condvar,
}

impl Connection {
    /// # Errors
    /// When the system gives no thread, or no file.
    pub(super) fn open(socket: OwnedFd) -> std::io::Result<Self> {
        let socket = UnixStream::from(socket);
        socket.set_nonblocking(false)?;
        let shared = Arc::new(Shared {
            socket,
            server: Mutex::default(),
            has_changed: Condvar::new(),
        });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("libei-events".to_owned())
            .spawn(move || {
                let reason = reader.read_all();
                reader.end(reason);
            })?;
        Ok(Self { shared })
    }

    /// The socket, under another number.
    ///
    /// # Errors
    /// When the system gives none.
    pub(super) fn socket(&self) -> std::io::Result<UnixStream> {
        self.shared.socket.try_clone()
    }

    /// What the other side has said until now.
    pub(super) fn server(&self) -> MutexGuard<'_, Server> {
        self.shared.server()
    }

    /// Waits until something has come. `what`: that.
    ///
    /// # Errors
    /// When it is over, or takes too long.
    pub(super) fn wait<T>(
        &self,
        what: &str,
        limit: Duration,
        mut find: impl FnMut(&mut Server) -> Option<T>,
    ) -> Result<T, String> {
        // The thread that reads may get to what has come during a stall only after this one.
        let mut patience = Patience::new(limit);
        let mut server = self.server();
        loop {
            if let Some(reason) = &server.end {
                return Err(reason.clone());
            }
            if let Some(found) = find(&mut server) {
                return Ok(found);
            }
            let has_changed = &self.shared.has_changed;
            let waited = patience.wait(|step| has_changed.wait_timeout(server, step));
            let waited =
                waited.ok_or_else(|| format!("it has not sent {what} within {limit:?}"))?;
            server = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends messages.
    ///
    /// # Errors
    /// When it is over, or the other side takes nothing.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), String> {
        if let Some(reason) = &self.server().end {
            return Err(reason.clone());
        }
        self.shared.send(bytes)
    }

    /// Waits until the other side has done all that was sent.
    ///
    /// # Errors
    /// As [`Connection::wait`] and [`Connection::send`].
    pub(super) fn sync(&self) -> Result<(), String> {
        let (connection, callback) = {
            let mut server = self.server();
            (server.connection, server.next_question())
        };
        let connection = connection.ok_or("it has sent no connection")?;
        self.send(&interface::sync(connection, callback))?;
        self.wait("an answer", LIMIT, |server| {
            (server.answered >= callback).then_some(())
        })
    }

    /// Ends it. The other side then releases what its devices have pressed.
    pub(super) fn end(&self, reason: &str) {
        self.shared.end(reason.to_owned());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The thread ends too. The guardian's process has the same socket, which this ends for it as well.
        self.end("it was closed");
    }
}

impl Shared {
    fn server(&self) -> MutexGuard<'_, Server> {
        // A panic in the middle of it leaves nothing that is trusted more than what the other side sends.
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, reason: String) {
        self.server().end(reason);
        // The other side may have ended it before.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.has_changed.notify_all();
    }

    /// Reads until it is over. Returns why.
    fn read_all(&self) -> String {
        let mut incoming = Incoming::default();
        let (mut since, mut messages) = (Instant::now(), 0);
        loop {
            match self.read(&mut incoming) {
                Ok(0) => return "it has closed the connection".to_owned(),
                Ok(_) => {}
                Err(error) => return format!("the connection broke: {error}"),
            }
            loop {
                let message = match incoming.next() {
                    Ok(Some(message)) => message,
                    Ok(None) => break,
                    Err(error) => return format!("it sends what can't be read: {error}"),
                };
                if since.elapsed() > Duration::from_secs(1) {
                    (since, messages) = (Instant::now(), 0);
                }
                messages += 1;
                if messages > MOST_MESSAGES {
                    return "it sends messages without end".to_owned();
                }
                let mut server = self.server();
                let taken = server.take(&message, &mut incoming);
                let end = server.end.clone();
                drop(server);
                match (end, taken) {
                    (Some(end), _) => return end,
                    (None, Err(broken)) => return broken.to_string(),
                    (None, Ok(reply)) => {
                        if let Err(reason) = self.send(&reply) {
                            return reason;
                        }
                    }
                }
                self.has_changed.notify_all();
            }
        }
    }

    /// Reads what is there, or waits for it. Returns how many bytes that is; none: it is the end.
    fn read(&self, incoming: &mut Incoming) -> std::io::Result<usize> {
        let mut bytes = [0; CHUNK];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut files = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            recvmsg(
                &self.socket,
                &mut parts,
                &mut files,
                RecvFlags::CMSG_CLOEXEC,
            )
        })?;
        let files = files.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let read = bytes.get(..received.bytes).unwrap_or_default();
        incoming
            .add(read, files.flatten())
            .map_err(std::io::Error::other)?;
        Ok(received.bytes)
    }

    /// Sends messages, and waits while the other side takes nothing.
    fn send(&self, bytes: &[u8]) -> Result<(), String> {
        let broke = |error: Errno| format!("the connection broke: {error}");
        let mut patience = Patience::new(LIMIT);
        while !bytes.is_empty() {
            match send(
                &self.socket,
                bytes,
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            ) {
                Ok(count) if count == bytes.len() => return Ok(()),
                // Nothing is understood after a part of a message.
                Ok(_) => return Err("the connection broke in the middle of a message".to_owned()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let socket = self.socket.as_fd();
                    let mut files = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
                    let waited = patience
                        .wait(|step| poll(&mut files, Timespec::try_from(step).ok().as_ref()));
                    // An end of the connection shows in the next attempt.
                    _ = waited.ok_or_else(|| format!("it has taken nothing within {LIMIT:?}"))?;
                }
                Err(error) => return Err(broke(error)),
            }
        }
        Ok(())
    }
}

/// The time of the monotonic clock, in microseconds.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
}
