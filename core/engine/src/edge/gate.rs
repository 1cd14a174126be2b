//! Where a stage's thread is asked to pause: at a message boundary, also while it waits for messages.

use crossbeam_channel::{Receiver, Select, Sender};
use flowpipe_sync::gate::Bell;

/// The gate that a stage's thread passes before each message.
#[derive(Default)]
pub(crate) struct Gate {
    state: flowpipe_sync::gate::Gate,
    bell: Channel,
}

/// Holds something while the gate is closed, so that who sleeps wakes up.
struct Channel(Sender<()>, Receiver<()>);

impl Default for Channel {
    fn default() -> Self {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        Self(sender, receiver)
    }
}

impl Bell for Channel {
    fn ring(&self) {
        // Full: it rings already.
        let _ = self.0.try_send(());
    }

    fn silence(&self) {
        let _ = self.1.try_recv();
    }
}

impl Gate {
    /// Asks whoever comes to the gate to pause.
    pub(crate) fn close(&self) {
        self.state.close(&self.bell);
    }

    /// Whoever comes need not pause any more. False: somebody does already.
    pub(crate) fn open_again(&self) -> bool {
        self.state.open_again(&self.bell)
    }

    /// Lets through again, now that whoever came has ended its thread.
    pub(crate) fn open(&self) {
        self.state.open(&self.bell);
    }

    /// Whether whoever comes is to pause.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// Somebody comes, and pauses if this returns true.
    pub(crate) fn pauses(&self) -> bool {
        self.state.pauses()
    }

    /// Makes a select wake up when the gate closes. It takes nothing out.
    pub(crate) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.bell.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_opens_it_again_learns_whether_somebody_pauses() {
        let gate = Gate::default();
        assert!(!gate.pauses(), "it is open");
        gate.close();
        assert!(gate.is_closed());
        assert!(gate.open_again() && !gate.pauses(), "nobody came");
        gate.close();
        assert!(gate.pauses() && !gate.open_again());
        gate.open();
        assert!(!gate.is_closed() && gate.open_again());
    }
}
