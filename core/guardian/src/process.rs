//! Starts and ends the guardian's process.
//!
//! It is forked and executes no other file. A second file could be missing, could be of another version than this
//! library, or could be forbidden in a sandbox. It detaches from what it inherits and does not use (`detach`).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_process::host_status;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use crate::child::{self, Inherited};
use crate::detach::InheritedState;
use crate::error::GuardianError;
use crate::holder::Holder;
use crate::record::{Pressed, Record};
use crate::release::Release;

/// The guardian's process. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    id: Pid,
    record: Arc<Record>,
    /// A thread that ends with this process: the guardian waits for that.
    holder: Option<Holder>,
    /// Closed when this process has ended, and when this value is dropped.
    lifeline: Option<OwnedFd>,
}

/// How long it may take to become ready, and to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to end while something is pressed.
const PATIENCE_PRESSED: Duration = Duration::from_secs(1);
/// How often a waiting thread checks it.
const NAP: Duration = Duration::from_micros(200);

impl Process {
    /// Forks a process that releases what is in its record when this one dies. `pressed`: what is pressed already.
    ///
    /// # Errors
    /// When the system can't create one, or it does not become ready.
    pub(crate) fn start(release: impl Release, pressed: Pressed) -> Result<Self, GuardianError> {
        let record = Arc::new(Record::new(pressed)?);
        let holder = Holder::start(record.clone())?;
        let (waits, lifeline) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let itself = rustix::process::getpid();
        let inherited_state = InheritedState::of_this_process();
        let inherited = Inherited {
            lifeline: waits.as_fd(),
            // A second indication, in case another fork of this process keeps the lifeline open. Old kernels lack it.
            player: rustix::process::pidfd_open(itself, PidfdFlags::empty()).ok(),
            // It may be unreadable; then the button is released after the core is dumped, not before.
            status: std::fs::File::open("/proc/self/status").ok(),
            host_status: host_status::find(),
            record: &record,
            release: &release,
            inherited_state: &inherited_state,
        };
        let id = fork(|| child::run(&inherited))?;
        // From here on, an early return ends the process.
        let mut process = Self {
            id,
            record,
            holder: Some(holder),
            lifeline: Some(lifeline),
        };
        process.wait_ready()?;
        Ok(process)
    }

    fn wait_ready(&mut self) -> Result<(), GuardianError> {
        let began = Instant::now();
        while !self.record.is_ready() {
            if !self.is_alive() || began.elapsed() > PATIENCE {
                return Err(GuardianError::NotReady);
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Whether it still guards.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.lifeline.is_some() && !self.has_ended()
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    pub(crate) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it has ended; its id is not used after that. A stopped guardian guards nothing: it is killed.
    fn has_ended(&mut self) -> bool {
        let ended = match self.wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(None) | Err(Errno::INTR) => false,
            Ok(Some(status)) if status.stopped() => {
                self.kill();
                while matches!(self.wait(WaitOptions::empty()), Err(Errno::INTR)) {}
                true
            }
            Ok(Some(_)) | Err(_) => true,
        };
        if ended {
            self.lifeline = None;
        }
        ended
    }

    fn wait(&self, options: WaitOptions) -> Result<Option<WaitStatus>, Errno> {
        // It was forked without a signal for its end, so that nobody else waits for it by chance.
        let options = options | WaitOptions::from_bits_retain(libc::__WALL as u32);
        let ended = rustix::process::waitpid(Some(self.id), options)?;
        Ok(ended.map(|(_, status)| status))
    }

    fn kill(&self) {
        // It fails when it has just ended.
        let _ = rustix::process::kill_process(self.id, Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.record.dismiss();
        if self.lifeline.take().is_none() {
            return;
        }
        // Wakes it.
        self.holder = None;
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > PATIENCE_PRESSED && !self.record.pressed().is_empty() {
                // The display server stands still. The guardian outlives this program, and releases once that goes on.
                return;
            }
            if began.elapsed() > PATIENCE {
                self.kill();
            }
            std::thread::sleep(NAP);
        }
    }
}

/// Forks a process that runs `child`.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    // A signal handler of this program would write into wrong files in the other process.
    let before = block_signals()?;
    // SAFETY: without flags and with no other stack, this is fork(2). The handlers of pthread_atfork are left out: they
    // prepare the child to continue as this program, which it does not. The child calls nothing that may wait for
    // another thread, and does not return.
    let forked = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if forked == 0 {
        let code = child();
        // SAFETY: ends the process at once, without any handlers.
        unsafe { libc::_exit(code) };
    }
    let error = io::Error::last_os_error();
    restore_signals(&before);
    let id = i32::try_from(forked).ok().and_then(Pid::from_raw);
    id.filter(|_| forked > 0).ok_or(error)
}

/// Blocks all signals to this thread. Returns those that were blocked before.
fn block_signals() -> io::Result<libc::sigset_t> {
    // SAFETY: both are plain data that the functions fill in.
    let (result, before) = unsafe {
        let (mut all, mut before) = std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
        libc::sigfillset(&raw mut all);
        let result = libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        (result, before)
    };
    match result {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: the set was filled in by the same function. It can't fail for a known way of setting.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::io::{Read as _, Write as _};
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixStream;

    use rustix::io::Errno;

    use super::*;
    use crate::input::CleanUp;

    /// Releases nothing, and cleans up.
    struct CleaningUp {
        connection: UnixStream,
        clean_up: CleanUp,
    }

    impl Release for CleaningUp {
        fn connection(&self) -> BorrowedFd<'_> {
            self.connection.as_fd()
        }

        fn clean_up(&self) -> Option<&CleanUp> {
            Some(&self.clean_up)
        }

        fn check(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
            Ok(())
        }

        fn drain(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
            Ok(())
        }

        fn release(
            &self,
            _: BorrowedFd<'_>,
            _: Option<BorrowedFd<'_>>,
            _: Pressed,
            _: bool,
        ) -> Result<(), Errno> {
            Ok(())
        }
    }

    #[test]
    fn what_cleans_up_is_sent_when_the_player_dies_and_not_when_it_ends_the_guardian() {
        for has_died in [true, false] {
            let (connection, _other) = UnixStream::pair().unwrap();
            let (socket, mut server) = UnixStream::pair().unwrap();
            let messages = [b"first ", b"second"].map(|it| it.to_vec());
            let clean_up = CleanUp {
                socket,
                messages: messages.to_vec(),
            };
            let release = CleaningUp {
                connection,
                clean_up,
            };
            let mut process = Process::start(release, Pressed::default()).unwrap();
            let mut got = [0; 6];
            if has_died {
                // What the guardian waits for ends, as at the death of this process.
                (process.holder, process.lifeline) = (None, None);
                for message in messages {
                    server.read_exact(&mut got).unwrap();
                    assert_eq!(got.as_slice(), message);
                    server.write_all(b"{}").unwrap();
                }
            }
            drop(process);
            assert_eq!(server.read(&mut got).unwrap(), 0, "{has_died}");
        }
    }

    /// Reads freed memory in the guardian's process.
    struct Faulty {
        connection: UnixStream,
        gone: *const u64,
    }

    impl Release for Faulty {
        fn connection(&self) -> BorrowedFd<'_> {
            self.connection.as_fd()
        }

        fn check(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
            // SAFETY: there is none: this is to be reported.
            black_box(unsafe { self.gone.read_volatile() });
            Ok(())
        }

        fn drain(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
            Ok(())
        }

        fn release(
            &self,
            _: BorrowedFd<'_>,
            _: Option<BorrowedFd<'_>>,
            _: Pressed,
            _: bool,
        ) -> Result<(), Errno> {
            Ok(())
        }
    }

    /// `./x check deep` demands that a sanitizer reports it. Whether the process ends with that is up to the sanitizer.
    #[test]
    #[ignore = "only a sanitizer notices it"]
    fn planted_free_in_guardian() {
        let gone = black_box(Box::into_raw(Box::new(1)));
        // SAFETY: it came from a box.
        drop(unsafe { Box::from_raw(gone) });
        let (connection, _other) = UnixStream::pair().unwrap();
        let _ = Process::start(Faulty { connection, gone }, Pressed::default());
    }
}
