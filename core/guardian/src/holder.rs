//! A thread of the process that presses, which holds the record's futex as long as the process lives.
//!
//! It sleeps until it ends, so that it is free to die at once when its process does.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::priority;
use crate::record::Record;

/// The thread. Dropped, it lets go and ends.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Dropped first, which ends the thread.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Bytes; it calls next to nothing.
const STACK: usize = 256 << 10;

impl Holder {
    /// Starts the thread, and returns when it holds the futex.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(record: Arc<Record>) -> io::Result<Self> {
        let (over, is_over) = channel::<()>();
        let (held, is_held) = channel::<()>();
        let hold = move || {
            priority::raise();
            record.player().hold(|| {
                drop(held);
                // Ends when the sender is dropped.
                let _ = is_over.recv();
            });
        };
        let thread = std::thread::Builder::new()
            .name("mouse-lifeline".into())
            .stack_size(STACK)
            .spawn(hold)?;
        // Ends when the sender is dropped.
        let _ = is_held.recv();
        Ok(Self {
            over: Some(over),
            thread: Some(thread),
        })
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}
