//! Workers of a stage on other machines, as the machine that distributes the stage's messages sees them.
//!
//! The stage is one of this run, with its queue, its order and its lifecycle. The instances of some of its workers are on
//! other machines: each is a [`StageInstance`](flowpipe_host::instance::StageInstance) that forwards its calls. So what
//! holds for workers holds for these. There are two differences:
//!
//! - A worker takes a message only while its machine is there. A message that it has taken from the queue when the
//!   connection breaks is the next one of the others.
//! - When a machine is dead, its workers end, and the message of each is lost. The run ends when no worker is left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use flowpipe_host::instance::Instance;
use flowpipe_host::run::RunContext;
use flowpipe_host::table::Host;
use flowpipe_sync::lock;

use crate::run::outcome::Outcome;
use crate::run::stage::Stage;
use crate::supervisor::Slot;

/// A machine that has workers of stages whose messages are distributed here.
pub trait WorkerMachine: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Whether a worker of a stage can take messages.
    fn availability(&self, stage: usize, worker: usize) -> Availability;

    /// Creates an instance there, and does not wait for it: the first call reports a failure. `host`: that of the stage
    /// here. `run`: the run here.
    fn create(&self, place: WorkerPlace, host: Arc<Host>, run: &Arc<dyn RunContext>) -> Instance;
}

/// Whether a worker can take messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// There is no connection now, or its instances are being created.
    Away,
    /// Never again: the machine is dead.
    Dead,
}

/// The place of an instance in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerPlace {
    /// The stage.
    pub stage: usize,
    /// Its worker.
    pub worker: usize,
    /// The plugin of the worker: not 0 only in a race.
    pub plugin: usize,
}

/// The workers of a stage that are on other machines.
pub(crate) struct RemoteWorkers {
    stage: usize,
    /// By worker. Empty: all are here.
    machines: Vec<Option<Arc<dyn WorkerMachine>>>,
    /// Those whose machines are dead.
    lost: Mutex<BTreeSet<usize>>,
}

impl From<Slot> for WorkerPlace {
    fn from(slot: Slot) -> Self {
        Self {
            stage: slot.stage,
            worker: slot.worker,
            plugin: slot.contestant,
        }
    }
}

impl RemoteWorkers {
    /// Those of a stage with so many workers. `machines`: of all stages.
    pub(crate) fn new(
        machines: &BTreeMap<(usize, usize), Arc<dyn WorkerMachine>>,
        stage: usize,
        workers: usize,
    ) -> Self {
        let of = |worker| machines.get(&(stage, worker)).cloned();
        Self {
            stage,
            machines: match machines.is_empty() {
                true => Vec::new(),
                false => (0..workers).map(of).collect(),
            },
            lost: Mutex::default(),
        }
    }

    /// The machine of a worker. `None`: this one.
    pub(crate) fn machine(&self, worker: usize) -> Option<&Arc<dyn WorkerMachine>> {
        self.machines.get(worker)?.as_ref()
    }

    /// Whether a worker can take messages.
    pub(crate) fn availability(&self, worker: usize) -> Availability {
        let machine = self.machine(worker);
        machine.map_or(Availability::Ready, |machine| {
            machine.availability(self.stage, worker)
        })
    }

    /// Whether the machine of a worker is dead.
    pub(crate) fn is_dead(&self, worker: usize) -> bool {
        self.availability(worker) == Availability::Dead
    }

    /// Whether a call has failed because the machine of its worker is dead.
    pub(crate) fn is_lost(&self, worker: usize, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Failed(..)) && self.is_dead(worker)
    }

    /// A worker ends because its machine is dead. Returns how many have ended so.
    pub(crate) fn lose(&self, worker: usize) -> usize {
        let mut lost = lock(&self.lost);
        lost.insert(worker);
        lost.len()
    }

    /// How many workers have ended because their machines are dead.
    pub(crate) fn lost(&self) -> usize {
        lock(&self.lost).len()
    }
}

/// Lets the workers of a stage whose machines are dead end, also those that wait for a message.
pub(crate) fn end_workers_of_dead_machines(stage: &Stage) {
    for (worker, gate) in stage.gates.iter().enumerate() {
        if stage.remote_workers.is_dead(worker) {
            gate.close();
        }
    }
}
