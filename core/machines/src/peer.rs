//! Another machine of a run.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_engine::run::distributed::WorkerMachine;
use flowpipe_link::link::{Link, LinkClock};
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::transport::Transport;

use crate::control::{self, CHANNEL, Control};
use crate::shared_memory::Sharing;
use crate::workers::PacketSender;
use crate::workers::distributor::{Distributor, PeerWorkers};
use crate::workers::server::Served;

/// How long it may take until the other machine knows that this one does not start.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(1);

/// What arrives on the channel of observations of a link.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A message.
    Message(Vec<u8>),
    /// The other machine has sent everything.
    Ended,
    /// The other machine is dead: the rest is missing.
    Lost,
}

/// Takes what arrives on the channel of observations of a link. The error is why it is refused.
pub(crate) type ReceiveObservations = dyn FnMut(Arrival) -> Result<(), String> + Send + Sync;

/// Another machine of the run, and the link to it.
pub struct Peer {
    /// Its index among the machines.
    pub(crate) machine: usize,
    pub(crate) name: String,
    /// This machine makes the connections, and the other one listens.
    pub(crate) opens: bool,
    pub(crate) link: Arc<Link>,
    /// What it has sent before this machine has started: it may start first.
    pub(crate) early: Mutex<Vec<Event>>,
    /// Whether both are on one machine.
    pub(crate) is_local: bool,
    /// The memory that both share then.
    pub(crate) sharing: Option<Arc<Sharing>>,
    pub(crate) observations: u32,
    pub(crate) receiver: Option<Box<ReceiveObservations>>,
    pub(crate) is_dead: Arc<AtomicBool>,
    /// Its clock shows the same time as the one here.
    pub(crate) has_same_clock: bool,
    /// The channels of the workers of distributed stages.
    pub(crate) worker_channels: [u32; 2],
    /// The workers that it has for this machine.
    pub(crate) distributor: Option<Arc<Distributor>>,
    /// The workers that this machine has for it.
    pub(crate) served: Option<Served>,
}

/// Which machine a link leads to.
#[derive(Clone, Copy, Debug)]
pub struct PeerSettings<'a> {
    /// Its index among the machines.
    pub machine: usize,
    /// Its name.
    pub name: &'a str,
    /// How many edges the pipeline has.
    pub edges: usize,
    /// This machine makes the connections, and the other one listens.
    pub opens: bool,
}

impl Peer {
    /// Starts the link to a machine of the run.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn connect(
        peer: PeerSettings<'_>,
        transport: Box<dyn Transport>,
        clock: LinkClock,
    ) -> io::Result<Self> {
        let PeerSettings {
            machine,
            name,
            edges,
            opens,
        } = peer;
        let is_local = transport.is_local();
        let settings = Settings {
            // A program that is started twice by mistake must not end the run.
            keeps_peer: true,
            ..Settings::new(opens, control::channels(edges))
        };
        let link = Link::start(settings, transport, clock)?;
        link.limit_messages(CHANNEL, control::MESSAGE_BYTES);
        link.receive_on(CHANNEL, control::CAPACITY);
        Ok(Self {
            machine,
            name: name.to_owned(),
            opens,
            link: Arc::new(link),
            early: Mutex::default(),
            is_local,
            sharing: is_local.then(Arc::default),
            observations: control::observations(edges),
            receiver: None,
            is_dead: Arc::default(),
            has_same_clock: false,
            worker_channels: control::workers(edges),
            distributor: None,
            served: None,
        })
    }

    /// Its index among the machines.
    #[must_use]
    pub fn machine(&self) -> usize {
        self.machine
    }

    /// The clocks of both runs were set to the same time: nothing is converted.
    pub fn set_same_clock(&mut self) {
        self.has_same_clock = true;
    }

    /// It has workers of stages that this machine distributes.
    #[must_use]
    pub fn worker_machine(&mut self) -> Arc<dyn WorkerMachine> {
        let distributor = self.distributor.get_or_insert_with(|| {
            let [calls, _] = self.worker_channels;
            let calls = PacketSender::new(&self.link, calls, self.sharing.clone());
            Distributor::new(&self.name, &self.link, calls)
        });
        Arc::new(PeerWorkers(distributor.clone()))
    }

    /// This machine has workers of stages that it distributes.
    pub fn serve(&mut self, served: Served) {
        self.served = Some(served);
    }

    /// The run does not start here. The other machine learns that, if it takes it soon.
    pub fn abandon(&self, reason: &str) {
        let reason = reason.to_owned();
        if self.send(&Control::NotStarted { reason }) {
            // A machine that has no time for it sees that this one is dead.
            let _ = self.link.finish(ABANDON_TIMEOUT, ABANDON_TIMEOUT);
        }
    }

    /// What arrives on its channel of observations is passed to `receiver`, on a thread of its own, which may wait.
    pub(crate) fn set_receiver(
        &mut self,
        receiver: impl FnMut(Arrival) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.receiver = Some(Box::new(receiver));
    }
}
