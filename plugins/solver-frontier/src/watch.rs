//! Whether to go on, asked often enough.

use std::cell::Cell;

use thiserror::Error;

/// Why the work ended without an answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Stop {
    /// The answer is no longer wanted.
    #[error("cancelled")]
    Cancelled,
    /// As many states as [`max_states`](crate::config::Config::max_states) allows.
    #[error("stopped after {0} states (max_states)")]
    States(u64),
    /// As much memory as [`max_mebibytes`](crate::config::Config::max_mebibytes) allows.
    #[error("stopped at {0} MiB of memory (max_mebibytes)")]
    Memory(u64),
    /// All solutions together take more memory than
    /// [`max_mebibytes`](crate::config::Config::max_mebibytes) allows.
    #[error("all solutions together would take more than {0} MiB (max_mebibytes): set a limit")]
    List(u64),
    /// Where flows may not touch themselves, states hold a table of the frontier's nodes by each
    /// other, and this frontier is too wide for it.
    #[error(
        "the frontier has {nodes} nodes, at most {most} can be distinguished under the rule against touching"
    )]
    Wide {
        /// The nodes of the frontier.
        nodes: usize,
        /// The most that can be distinguished.
        most: usize,
    },
}

/// Asks whether the work was cancelled, but not each time.
pub struct Watch<'a> {
    cancelled: &'a dyn Fn() -> bool,
    left: Cell<u32>,
}

impl<'a> Watch<'a> {
    /// Steps of work, each of some dozen microseconds at most, between two questions.
    const STEPS: u32 = 32;

    /// A watch that asks this function.
    pub fn new(cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            cancelled,
            left: Cell::new(0),
        }
    }

    /// To be called at each step of work.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    #[inline]
    pub fn tick(&self) -> Result<(), Stop> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(Self::STEPS);
                if (self.cancelled)() {
                    Err(Stop::Cancelled)
                } else {
                    Ok(())
                }
            }
        }
    }
}
