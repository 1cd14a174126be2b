//! Whether a stream is ready, and how long a stage waits for that before it checks whether its work is cancelled.

use std::io;

/// Whether there is something to read, or the end.
///
/// # Errors
/// When the system can't report it.
#[cfg(unix)]
pub fn is_readable(of: &impl std::os::fd::AsFd) -> io::Result<bool> {
    const NO_TIME: rustix::event::Timespec = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    wait(of, rustix::event::PollFlags::IN, NO_TIME)
}

/// Waits until something can be written: a hundredth of a second at most. `false`: not yet.
///
/// # Errors
/// When the system can't wait for it.
#[cfg(unix)]
pub fn wait_writable(of: &impl std::os::fd::AsFd) -> io::Result<bool> {
    /// A stage that is to end notices it within this time.
    const LONGEST: rustix::event::Timespec = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    wait(of, rustix::event::PollFlags::OUT, LONGEST)
}

#[cfg(unix)]
fn wait(
    of: &impl std::os::fd::AsFd,
    event: rustix::event::PollFlags,
    longest: rustix::event::Timespec,
) -> io::Result<bool> {
    use rustix::event::{PollFd, poll};
    match poll(&mut [PollFd::new(of, event)], Some(&longest)) {
        // A closed or broken end counts too: reading or writing reports it.
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// As if there was something: reading waits then.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn is_readable<T>(_: &T) -> io::Result<bool> {
    Ok(true)
}

/// As if it could be written to: writing waits then.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn wait_writable<T>(_: &T) -> io::Result<bool> {
    Ok(true)
}
