//! Pauses a stage's thread at a message boundary, also while it waits for messages.

use crossbeam_channel::{Receiver, Select, Sender};
use flowpipe_sync::gate::Bell;

/// The gate that a stage's thread passes before each message.
#[derive(Default)]
pub(crate) struct Gate {
    state: flowpipe_sync::gate::Gate,
    bell: Channel,
}

/// Holds an item while the gate is closed, so that a sleeping thread wakes up.
struct Channel(Sender<()>, Receiver<()>);

impl Default for Channel {
    fn default() -> Self {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        Self(sender, receiver)
    }
}

impl Bell for Channel {
    fn ring(&self) {
        // Full: it is ringing already.
        let _ = self.0.try_send(());
    }

    fn silence(&self) {
        let _ = self.1.try_recv();
    }
}

impl Gate {
    /// Closes the gate: the thread that reaches it next pauses.
    pub(crate) fn close(&self) {
        self.state.close(&self.bell);
    }

    /// Opens the gate again, unless a thread has paused at it. Returns whether it is open.
    pub(crate) fn open_again(&self) -> bool {
        self.state.open_again(&self.bell)
    }

    /// Opens the gate after the thread that paused at it has ended.
    pub(crate) fn open(&self) {
        self.state.open(&self.bell);
    }

    /// Whether the gate is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// Called by a thread that reaches the gate. It must pause if this returns true.
    pub(crate) fn pauses(&self) -> bool {
        self.state.pauses()
    }

    /// Makes a select wake up when the gate closes. Nothing is received.
    pub(crate) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.bell.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reopening_reports_whether_a_thread_has_paused() {
        let gate = Gate::default();
        assert!(!gate.pauses(), "it is open");
        gate.close();
        assert!(gate.is_closed());
        assert!(gate.open_again() && !gate.pauses(), "no thread reached it");
        gate.close();
        assert!(gate.pauses() && !gate.open_again());
        gate.open();
        assert!(!gate.is_closed() && gate.open_again());
    }
}
