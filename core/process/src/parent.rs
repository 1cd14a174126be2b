//! In a child process: notices that the program that started it is gone.
//!
//! The program holds one end of a socket or pipe as long as it lives; the child watches the other one from a thread of its
//! own, so that it ends whatever its plugin is doing.

#![cfg(unix)]

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Takes standard input, which is the child's end, and puts `/dev/null` in its place: no plugin reads from it, and what a
/// plugin starts does not get it.
///
/// # Errors
/// When standard input is closed, or the system has no file descriptor left.
pub fn take_stdin() -> io::Result<OwnedFd> {
    let end = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(end)
}

/// Why a child can't be connected to the program any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnected {
    /// The program has closed its end, or is gone.
    Program,
    /// The child's end was closed here, by a plugin that closes files that are not its own.
    Here,
}

/// Calls `disconnected` on a thread of its own when one of the ends is closed.
///
/// # Errors
/// When the system has no thread left.
pub fn watch(
    end: OwnedFd,
    disconnected: impl FnOnce(Disconnected) + Send + 'static,
) -> io::Result<()> {
    let watch = move || {
        loop {
            let mut ends = [PollFd::new(&end, PollFlags::empty())];
            match poll(&mut ends, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) if ends[0].revents().contains(PollFlags::HUP) => {
                    return disconnected(Disconnected::Program);
                }
                Ok(_) | Err(_) => {
                    // There is nothing left to close.
                    std::mem::forget(end);
                    return disconnected(Disconnected::Here);
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("flowpipe-watch".into());
    thread.spawn(watch).map(drop)
}
