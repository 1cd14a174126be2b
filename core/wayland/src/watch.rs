//! Reads that do not end: a thread ends their connection. The library reads as long as something comes, and calls nobody for
//! some events, such as those of destroyed objects.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flowpipe_process::patience::Patience;
use rustix::net::{Shutdown, shutdown};

/// How long the compositor may take to answer, and a read to end.
pub const LIMIT: Duration = Duration::from_secs(2);

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
    reads: VecDeque<WatchedRead>,
    thread: ThreadState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    Missing,
    /// It waits for a read to begin.
    Idle,
    /// It looks again after a step.
    Watching,
}

struct WatchedRead {
    socket: Arc<OwnedFd>,
    /// How often it was still going on. This is counted and not the time: a machine that stalls counts once.
    looks: u32,
}

/// After so many looks, the limit is reached.
const LOOKS: u32 = (LIMIT.as_millis() / Patience::STEP.as_millis()) as u32;

/// A read that is watched.
pub(crate) struct Watched(Arc<OwnedFd>);

/// A read of a socket begins.
///
/// # Errors
/// When the system gives no thread or no file.
pub(crate) fn begin(socket: BorrowedFd<'_>) -> io::Result<Watched> {
    let socket = Arc::new(socket.try_clone_to_owned()?);
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
    list.reads.push_back(WatchedRead {
        socket: Arc::clone(&socket),
        looks: 0,
    });
    Ok(Watched(socket))
}

impl Watched {
    /// The read has ended. Returns whether in time: else its connection was ended.
    pub(crate) fn has_ended_in_time(self) -> bool {
        let reads = &mut READS.lock().reads;
        let mut all = reads.iter();
        let place = all.position(|it| Arc::ptr_eq(&it.socket, &self.0));
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
            if list.reads.is_empty() {
                list.thread = ThreadState::Idle;
                let woken = self.begun.wait(list);
                list = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let woken = self.begun.wait_timeout(list, Patience::STEP);
            let (woken, end) = woken.unwrap_or_else(PoisonError::into_inner);
            list = woken;
            if end.timed_out() {
                list.look();
            }
        }
    }
}

impl List {
    /// A step is over. Ends the connections of reads that have reached the limit.
    fn look(&mut self) {
        for watched in &mut self.reads {
            watched.looks += 1;
        }
        while let Some(watched) = self.reads.pop_front_if(|it| it.looks > LOOKS) {
            // The compositor may have closed it.
            let _ = shutdown(&watched.socket, Shutdown::Both);
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
