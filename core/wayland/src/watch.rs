//! Reads that do not end: a thread ends their connection. The library reads as long as something comes, and calls nobody for
//! some events, such as those of destroyed objects.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

/// How long the compositor may take to answer, and a read to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The reads of this process.
static READS: Reads = Reads {
    list: Mutex::new(List {
        reads: VecDeque::new(),
        thread: ThreadState::Missing,
    }),
    begun: Condvar::new(),
};

struct Reads {
    list: Mutex<List>,
    begun: Condvar,
}

struct List {
    /// The first one ends first.
    reads: VecDeque<Arc<Read>>,
    thread: ThreadState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    Missing,
    /// It waits for a read to begin.
    Idle,
    /// It looks again when the first read has to have ended.
    Watching,
}

struct Read {
    socket: OwnedFd,
    end: Instant,
}

/// A read that is watched.
pub(crate) struct Watched(Arc<Read>);

/// A read of a socket begins.
///
/// # Errors
/// When the system gives no thread or no file.
pub(crate) fn begin(socket: BorrowedFd<'_>) -> io::Result<Watched> {
    let read = Arc::new(Read {
        socket: socket.try_clone_to_owned()?,
        end: Instant::now() + PATIENCE,
    });
    let mut list = READS.lock();
    match list.thread {
        ThreadState::Missing => {
            let thread = std::thread::Builder::new().name("wayland-watch".to_owned());
            thread.spawn(|| READS.watch())?;
        }
        ThreadState::Idle => READS.begun.notify_one(),
        ThreadState::Watching => {}
    }
    list.thread = ThreadState::Watching;
    list.reads.push_back(Arc::clone(&read));
    Ok(Watched(read))
}

impl Watched {
    /// The read has ended. Returns whether in time: else its connection was ended.
    pub(crate) fn has_ended_in_time(self) -> bool {
        let reads = &mut READS.lock().reads;
        let place = reads.iter().position(|it| Arc::ptr_eq(it, &self.0));
        place.and_then(|place| reads.remove(place)).is_some()
    }
}

impl Reads {
    fn lock(&self) -> MutexGuard<'_, List> {
        // Nothing here can be left half done.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut list = self.lock();
        loop {
            let first = list.reads.front().map(|it| it.end);
            let rest = first.map(|end| end.saturating_duration_since(Instant::now()));
            list = match rest {
                None => {
                    list.thread = ThreadState::Idle;
                    let woken = self.begun.wait(list);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
                Some(Duration::ZERO) => {
                    if let Some(read) = list.reads.pop_front() {
                        // The compositor may have closed it.
                        let _ = shutdown(&read.socket, Shutdown::Both);
                    }
                    list
                }
                Some(rest) => {
                    let woken = self.begun.wait_timeout(list, rest);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_read_that_does_not_end_ends_with_its_connection() {
        let (mut near, _far) = UnixStream::pair().unwrap();
        let (open, mut peer) = UnixStream::pair().unwrap();
        let watched = begin(near.as_fd()).unwrap();
        assert!(begin(open.as_fd()).unwrap().has_ended_in_time());
        // Nobody writes.
        assert_eq!(near.read(&mut [0; 8]).unwrap(), 0);
        assert!(!watched.has_ended_in_time());
        // Another one, whose read has ended, is still there.
        std::io::Write::write_all(&mut &open, b"whole").unwrap();
        peer.read_exact(&mut [0; 5]).unwrap();
    }
}
