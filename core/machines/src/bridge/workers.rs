//! The workers of distributed stages, on both sides of a bridge.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::{Arrivals, BridgeEvent, Shared, spawn};
use crate::frame_coding::FrameTraffic;
use crate::workers::distributor::Distributor;
use crate::workers::server::{Served, Server};
use crate::workers::{CAPACITY, HeldNumbers, PacketSender};

/// The workers of a bridge.
pub(super) struct SharedWorkers {
    /// Those that the other machine has for this one.
    distributor: Option<Arc<Distributor>>,
    /// What those of this machine send.
    answers: Option<Arc<PacketSender>>,
    /// Whether the other machine may need those that this one has for it.
    is_serving: AtomicBool,
}

impl SharedWorkers {
    pub(super) fn new(
        distributor: Option<Arc<Distributor>>,
        answers: Option<PacketSender>,
    ) -> Self {
        Self {
            distributor,
            is_serving: AtomicBool::new(answers.is_some()),
            answers: answers.map(Arc::new),
        }
    }

    /// Whether frames come from the other machine.
    pub(super) fn receive_frames(&self) -> bool {
        self.distributor.is_some() || self.answers.is_some()
    }

    /// The other machine has finished all packets of a channel up to this number.
    pub(super) fn note_done(&self, channel: u32, last: u64) {
        self.senders().for_each(|it| it.note_done(channel, last));
    }

    /// What was sent of frames.
    pub(super) fn frame_traffic(&self) -> Vec<FrameTraffic> {
        self.senders().map(PacketSender::traffic).collect()
    }

    fn senders(&self) -> impl Iterator<Item = &PacketSender> {
        let calls = self.distributor.as_ref().map(|it| it.calls());
        calls.into_iter().chain(self.answers.as_deref())
    }

    /// The run here is over.
    pub(super) fn end(&self) {
        if let Some(distributor) = &self.distributor {
            distributor.end();
        }
    }

    /// The other machine is dead, or the bridge closes: no call returns.
    pub(super) fn close(&self) {
        self.senders().for_each(PacketSender::close);
        if let Some(distributor) = &self.distributor {
            distributor.close();
        }
    }

    /// The bridge is dropped, after [`Self::close`].
    pub(super) fn release_frames(&self) {
        self.senders().for_each(PacketSender::release_frames);
    }

    pub(super) fn is_serving(&self) -> bool {
        self.is_serving.load(Ordering::SeqCst)
    }

    pub(super) fn processed(&self) -> Option<u64> {
        self.distributor.as_ref().map(|it| it.processed())
    }
}

/// Reports what the workers here had of the other machine, if that is dead.
fn report_unanswered(shared: &Shared, held: HeldNumbers) {
    // Otherwise the bridge closes.
    if shared.is_dead.load(Ordering::SeqCst) {
        for (stage, sequences) in held {
            let sequences = sequences.into_iter().collect();
            (shared.report)(BridgeEvent::Unanswered { stage, sequences });
        }
    }
}

/// Starts the threads of the workers. `channels`: those of the workers.
pub(super) fn start(
    shared: &Arc<Shared>,
    [calls, answers]: [u32; 2],
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
        threads.push(spawn(move || its.send_later_packets())?);
    }
    if let (Some(served), Some(answers)) = (served, &shared.workers.answers) {
        let received = receive_on(calls);
        let own = shared.clone();
        let server = Server::new(served, answers);
        threads.push(spawn(move || {
            let refuse = |reason: &str| own.refuse(None, reason);
            let report = |held: HeldNumbers| report_unanswered(&own, held);
            server.serve(&own.link, &received, |id| own.clock_of(id), refuse, report);
            own.workers.is_serving.store(false, Ordering::SeqCst);
        })?);
    }
    Ok(threads)
}
