//! How long a stage waits for a stream, before it checks whether its work is cancelled.

use std::io;

/// Waits until there is something to read, or the end: a hundredth of a second at most. `false`: not yet.
///
/// # Errors
/// When the system can't wait for it.
#[cfg(unix)]
pub fn wait_readable(of: &impl std::os::fd::AsFd) -> io::Result<bool> {
    wait(of, rustix::event::PollFlags::IN)
}

/// Waits until something can be written: a hundredth of a second at most. `false`: not yet.
///
/// # Errors
/// When the system can't wait for it.
#[cfg(unix)]
pub fn wait_writable(of: &impl std::os::fd::AsFd) -> io::Result<bool> {
    wait(of, rustix::event::PollFlags::OUT)
}

#[cfg(unix)]
fn wait(of: &impl std::os::fd::AsFd, event: rustix::event::PollFlags) -> io::Result<bool> {
    use rustix::event::{PollFd, Timespec, poll};
    /// A stage that is to end notices it within this time.
    const LONGEST: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    match poll(&mut [PollFd::new(of, event)], Some(&LONGEST)) {
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
pub fn wait_readable<T>(_: &T) -> io::Result<bool> {
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
