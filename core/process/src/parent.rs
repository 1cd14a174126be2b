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

/// Calls `gone` on a thread of its own when the program has closed its end. It is never called when the plugin closes the
/// child's end.
///
/// # Errors
/// When the system has no thread left.
pub fn watch(end: OwnedFd, gone: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let watch = move || {
        loop {
            let mut ends = [PollFd::new(&end, PollFlags::empty())];
            match poll(&mut ends, None) {
                Ok(_) if ends[0].revents().contains(PollFlags::HUP) => break,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
        gone();
    };
    let thread = std::thread::Builder::new().name("flowpipe-watch".into());
    thread.spawn(watch).map(drop)
}
