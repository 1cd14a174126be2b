//! What machines send each other besides messages: JSON on channel 0.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agreement::{Difference, Facts, Observers};
use crate::shared_memory::Handshake;

/// The channel of [`Control`].
pub(crate) const CHANNEL: u32 = 0;
/// How many of them may wait.
pub(crate) const CAPACITY: u64 = 64;
/// How long they are at most, in bytes.
pub(crate) const MESSAGE_BYTES: usize = 1 << 20;
/// No clock shows a later time, in nanoseconds: 36 years. Recordings hold no later one.
pub(crate) const LATEST_TIME: i64 = 1 << 60;

/// A message between machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Control {
    /// The first one: what the machine runs.
    Introduction { machine: String, facts: Facts },
    /// To the parent: the machines that are missing in this part of the tree, and those of it that observe the run. To a
    /// child: those that are missing anywhere, and all that observe the run; none is missing: the run starts.
    Missing {
        machines: BTreeSet<usize>,
        observers: Observers,
    },
    /// The clock of the observer minus that of the sender, and its error: for a machine whose way to the observer is
    /// over the sender.
    Clock { ahead_ns: i64, error_ns: i64 },
    /// What two machines of the run do not have in common: it does not start.
    Different { differences: Vec<Difference> },
    /// The run has started: a program that comes now can't take part.
    Started,
    /// The run was stopped there, or has failed.
    Stop {
        /// The machine that has ended it.
        machine: usize,
        /// That a machine is dead or did not start, and which.
        reason: Option<String>,
    },
    /// The run does not start on the sender, which takes part no longer, and why.
    NotStarted { reason: String },
    /// A machine of the pipeline is dead that has workers alone: the run goes on.
    WorkersDied { machine: usize },
    /// The sender has been idle in a cycle: see [`flowpipe_engine::run::remote::DividedCycle`].
    Idle { cycle: usize },
    /// Between machines that are one: a step towards shared memory.
    Share(Handshake),
}

/// The channel of an edge.
pub(crate) fn channel(edge: usize) -> u32 {
    u32::try_from(edge).map_or(u32::MAX, |edge| edge.saturating_add(1))
}

/// The channel on which machines send each other what they observe of their stages, in a pipeline with so many edges.
pub(crate) fn observations(edges: usize) -> u32 {
    channel(edges)
}

/// The channels of the workers of distributed stages: what they are to do, and what they do.
pub(crate) fn workers(edges: usize) -> [u32; 2] {
    [1, 2].map(|after| observations(edges).saturating_add(after))
}

/// How many channels the links of a pipeline with so many edges have.
pub(crate) fn channels(edges: usize) -> u32 {
    let [.., last] = workers(edges);
    last.saturating_add(1)
}

impl Control {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // The keys of its maps are text or numbers, so that it is always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }
}
