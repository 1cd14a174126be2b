//! The machines that this one is connected to, before the run.

use flowpipe_machines::Peer;

use crate::exit::Failure;

/// What the others learn in front of the reason.
const NOT_STARTED: &str = "it could not start";

/// The machines that this one is connected to, until the run starts here. If it does not, they learn that.
pub(super) struct StartingPeers {
    pub all: Vec<(usize, Peer)>,
    /// What they learn then.
    reason: String,
}

impl StartingPeers {
    pub(super) fn new(all: Vec<(usize, Peer)>) -> Self {
        Self {
            all,
            reason: NOT_STARTED.to_owned(),
        }
    }

    /// The run does not start here: the others learn why.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.reason = format!("{NOT_STARTED}: {failure}");
    }
}

impl Drop for StartingPeers {
    fn drop(&mut self) {
        for (_, peer) in &self.all {
            peer.abandon(&self.reason);
        }
    }
}
