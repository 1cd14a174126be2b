//! Another machine of a run.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::{Link, LinkClock};
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::transport::Transport;

use flowpipe_sync::lock;

use crate::agreement::Wanted;
use crate::control::{self, CHANNEL};
use crate::observations::{ObservationSender, Observe, Observed};

/// Another machine of the run, and the link to it.
pub struct Peer {
    /// Its index among the machines.
    pub(crate) machine: usize,
    pub(crate) name: String,
    pub(crate) link: Arc<Link>,
    /// What it has sent before this machine has started: it may start first.
    pub(crate) early: Mutex<Vec<Event>>,
    /// Whether both are on one machine.
    pub(crate) is_local: bool,
    pub(crate) observations: u32,
    pub(crate) observe: Option<Box<Observe>>,
    pub(crate) is_dead: Arc<AtomicBool>,
    pub(crate) wanted: Wanted,
    pub(crate) its_wanted: Mutex<Wanted>,
    /// Its clock shows the same time as the one here.
    pub(crate) has_same_clock: bool,
}

impl Peer {
    /// Starts the link to a machine of the run of a pipeline with this number of edges. `opens`: this machine makes the
    /// connections, and the other one listens.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn connect(
        (machine, name): (usize, &str),
        edges: usize,
        opens: bool,
        transport: Box<dyn Transport>,
        clock: LinkClock,
    ) -> io::Result<Self> {
        let is_local = transport.is_local();
        let settings = Settings::new(opens, control::channels(edges));
        let link = Link::start(settings, transport, clock)?;
        link.receive_on(CHANNEL, control::CAPACITY);
        Ok(Self {
            machine,
            name: name.to_owned(),
            link: Arc::new(link),
            early: Mutex::default(),
            is_local,
            observations: control::observations(edges),
            observe: None,
            is_dead: Arc::default(),
            wanted: Wanted::default(),
            its_wanted: Mutex::default(),
            has_same_clock: false,
        })
    }

    /// What this machine wants to have of the whole run. Call it before [`agree`](crate::agree).
    pub fn set_wanted(&mut self, wanted: Wanted) {
        self.wanted = wanted;
    }

    /// What the other machine wants to have of the whole run. Nothing before [`agree`](crate::agree).
    #[must_use]
    pub fn its_wanted(&self) -> Wanted {
        *lock(&self.its_wanted)
    }

    /// Its index among the machines.
    #[must_use]
    pub fn machine(&self) -> usize {
        self.machine
    }

    /// The clock of the other machine. `None`: it was not measured yet.
    #[must_use]
    pub fn clock(&self) -> Option<Offset> {
        self.link.peer_clock()
    }

    /// The clocks of both runs were set to the same time: nothing is converted.
    pub fn set_same_clock(&mut self) {
        self.has_same_clock = true;
    }

    /// What it sends of its stages is passed to `observe`, on a thread of its own, which may wait.
    pub fn observe(
        &mut self,
        observe: impl FnMut(Observed) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.observe = Some(Box::new(observe));
    }

    /// Sends it what is observed of the stages here.
    #[must_use]
    pub fn observation_sender(&self) -> ObservationSender {
        ObservationSender::new(&self.link, self.observations, &self.is_dead)
    }
}
