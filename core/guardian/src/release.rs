//! What a platform has to do for the guardian.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::record::Pressed;

/// A connection to what releases buttons and keys, opened before the guardian's process is forked.
///
/// All but [`Release::connection`] run in that process: they must not allocate, lock or panic, since another thread may
/// have been in the middle of that when the process was forked. [`Errno::TIMEDOUT`] means that there is no answer yet: the
/// next call goes on waiting. Any other error means that the connection is of no use any more.
pub(crate) trait Release {
    /// The connection. The guardian's process has it under another number.
    fn connection(&self) -> BorrowedFd<'_>;
    /// Makes sure that the connection works.
    fn check(&self, connection: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Reads what nobody asked for, without waiting.
    fn drain(&self, connection: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Releases what is pressed, and comes back when that is done. What is released already stays so.
    fn release(&self, connection: BorrowedFd<'_>, pressed: Pressed) -> Result<(), Errno>;
}
