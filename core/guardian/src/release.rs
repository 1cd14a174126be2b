//! The interface that a platform implements for the guardian.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::input::CleanUp;
use crate::record::Pressed;

/// A connection to what releases buttons and keys, opened before the guardian's process is forked.
///
/// All functions but [`Release::connection`], [`Release::shared`] and [`Release::clean_up`] run in that process: they
/// must not allocate, lock or panic, since another thread may have been in the middle of that at the fork. [`Errno::TIMEDOUT`] means that there is
/// no answer yet: the next call continues to wait. Any other error means that the connection can't be used any more.
pub(crate) trait Release {
    /// The connection. The guardian's process has it under another number.
    fn connection(&self) -> BorrowedFd<'_>;
    /// A second connection, if it needs one. The guardian's process has it under another number, too.
    fn shared(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// What is to be sent once the player has died.
    fn clean_up(&self) -> Option<&CleanUp> {
        None
    }
    /// Makes sure that the connection works.
    fn check(&self, connection: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Reads unsolicited data, without blocking.
    fn drain(&self, connection: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Releases what is pressed, and returns when that is done. Released inputs stay released. `is_last`: nothing is left of
    /// the player, and this is not called again.
    fn release(
        &self,
        connection: BorrowedFd<'_>,
        shared: Option<BorrowedFd<'_>>,
        pressed: Pressed,
        is_last: bool,
    ) -> Result<(), Errno>;
}
