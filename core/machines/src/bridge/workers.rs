//! The workers of distributed stages, on both sides of a bridge.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::{Arrivals, Shared, spawn};
use crate::workers::CAPACITY;
use crate::workers::distributor::Distributor;
use crate::workers::server::{Served, Server};

/// The workers of a bridge.
pub(super) struct SharedWorkers {
    /// Those that the other machine has for this one.
    distributor: Option<Arc<Distributor>>,
    /// Whether the other machine may need those that this one has for it.
    is_serving: AtomicBool,
    /// Whether the other machine is dead, or the bridge closes.
    is_over: Arc<AtomicBool>,
}

impl SharedWorkers {
    pub(super) fn new(distributor: Option<Arc<Distributor>>, serves: bool) -> Self {
        Self {
            distributor,
            is_serving: AtomicBool::new(serves),
            is_over: Arc::default(),
        }
    }

    /// The run here is over.
    pub(super) fn end(&self) {
        if let Some(distributor) = &self.distributor {
            distributor.end();
        }
    }

    /// The other machine is dead, or the bridge closes: no call returns.
    pub(super) fn close(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(distributor) = &self.distributor {
            distributor.close();
        }
    }

    pub(super) fn is_serving(&self) -> bool {
        self.is_serving.load(Ordering::SeqCst)
    }

    pub(super) fn processed(&self) -> Option<u64> {
        self.distributor.as_ref().map(|it| it.processed())
    }
}

/// Starts the threads of the workers. `channels`: those of the workers, and whether the connection is slow.
pub(super) fn start(
    shared: &Arc<Shared>,
    ([calls, answers], compresses): ([u32; 2], bool),
    served: Option<Served>,
    arrivals: &mut HashMap<u32, Arrivals>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    let mut receive_on = |channel: u32| {
        let (sender, receiver) = crossbeam_channel::unbounded();
        arrivals.insert(channel, sender);
        shared.link.receive_on(channel, CAPACITY);
        receiver
    };
    if let Some(distributor) = &shared.workers.distributor {
        let received = receive_on(answers);
        let (own, its) = (shared.clone(), distributor.clone());
        threads.push(spawn(move || {
            let refuse = |reason: &str| own.refuse(None, reason);
            its.receive(&received, |id| own.clock_of(id), refuse);
        })?);
        let its = distributor.clone();
        threads.push(spawn(move || its.run_errands())?);
    }
    if let Some(served) = served {
        let received = receive_on(calls);
        let own = shared.clone();
        let is_over = &shared.workers.is_over;
        let server = Server::new(served, &shared.link, answers, compresses, is_over);
        threads.push(spawn(move || {
            let refuse = |reason: &str| own.refuse(None, reason);
            server.serve(&own.link, &received, |id| own.clock_of(id), refuse);
            own.workers.is_serving.store(false, Ordering::SeqCst);
        })?);
    }
    Ok(threads)
}
