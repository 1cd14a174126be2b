//! Another machine of a run, before it starts.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::{Link, LinkClock};
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::transport::Transport;

use crate::agreement::{Difference, Facts, Wanted};
use crate::control::{self, CHANNEL, Control};
use crate::observations::{ObservationSender, Observe, Observed};

/// Another machine of the run, and the link to it.
pub struct Peer {
    pub(crate) name: String,
    pub(crate) link: Arc<Link>,
    own: String,
    /// Whether both are on one machine.
    pub(crate) is_local: bool,
    pub(crate) observations: u32,
    pub(crate) observe: Option<Box<Observe>>,
    pub(crate) is_dead: Arc<AtomicBool>,
    wanted: Wanted,
    its_wanted: OnceLock<Wanted>,
    /// Its clock shows the same time as the one here.
    pub(crate) has_same_clock: bool,
}

/// Why two machines do not start together.
#[derive(Debug, thiserror::Error)]
pub enum AgreementError {
    /// It was not there in time.
    #[error("{peer} did not answer within {seconds} s{}", .failure.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    Absent {
        /// The other machine.
        peer: String,
        /// How long it was awaited.
        seconds: u64,
        /// Why the last connection to it failed.
        failure: Option<String>,
    },
    /// It is another machine.
    #[error("{peer} was expected, and {name} answered")]
    Other {
        /// The expected machine.
        peer: String,
        /// The one that answered.
        name: String,
    },
    /// It sent something else than its introduction.
    #[error("{0} sent something that is no introduction")]
    Malformed(String),
    /// They do not run the same.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Differences(Vec<Difference>),
}

impl Peer {
    /// Starts the link to a machine of the run of a pipeline with this number of edges. `opens`: this machine makes the
    /// connections, and the other one listens.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn connect(
        [own, peer]: [&str; 2],
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
            name: peer.to_owned(),
            link: Arc::new(link),
            own: own.to_owned(),
            is_local,
            observations: control::observations(edges),
            observe: None,
            is_dead: Arc::default(),
            wanted: Wanted::default(),
            its_wanted: OnceLock::new(),
            has_same_clock: false,
        })
    }

    /// What this machine wants to have of the whole run. Call it before [`Self::agree`].
    pub fn set_wanted(&mut self, wanted: Wanted) {
        self.wanted = wanted;
    }

    /// What the other machine wants to have of the whole run. Nothing before [`Self::agree`].
    #[must_use]
    pub fn its_wanted(&self) -> Wanted {
        self.its_wanted.get().copied().unwrap_or_default()
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

    /// Waits until the other machine is there, and compares what both run.
    ///
    /// # Errors
    /// When it is not there in time, or when it does not run the same. The other machine finds the same.
    pub fn agree(&self, facts: &Facts, timeout: Duration) -> Result<(), AgreementError> {
        let deadline = Instant::now() + timeout;
        let absent = || AgreementError::Absent {
            peer: self.name.clone(),
            seconds: timeout.as_secs(),
            failure: self.link.failure(),
        };
        let introduction = Control::Introduction {
            machine: self.own.clone(),
            facts: facts.clone(),
            wanted: self.wanted,
        };
        self.send(&introduction, deadline).ok_or_else(absent)?;
        match self.receive(deadline).ok_or_else(absent)? {
            Some(Control::Introduction { machine, .. }) if machine != self.name => {
                return Err(AgreementError::Other {
                    peer: self.name.clone(),
                    name: machine,
                });
            }
            Some(Control::Introduction {
                facts: theirs,
                wanted,
                ..
            }) => {
                let _ = self.its_wanted.set(wanted);
                let differences = facts.differences(&self.own, &theirs, &self.name);
                if !differences.is_empty() {
                    // It can't be sure that this end has its introduction unless all arrives.
                    let left = deadline.saturating_duration_since(Instant::now());
                    let _ = self.link.finish(left.min(Duration::from_secs(2)));
                    return Err(AgreementError::Differences(differences));
                }
            }
            _ => return Err(AgreementError::Malformed(self.name.clone())),
        }
        self.send(&Control::Ready, deadline).ok_or_else(absent)?;
        match self.receive(deadline).ok_or_else(absent)? {
            Some(Control::Ready) => Ok(()),
            _ => Err(AgreementError::Malformed(self.name.clone())),
        }
    }

    /// Why the last connection failed, or could not be made.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.link.failure()
    }

    fn send(&self, control: &Control, deadline: Instant) -> Option<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let body = control.encode().into();
        self.link.send(CHANNEL, &body, left).ok().map(drop)
    }

    /// The next control message; `None` within: it is malformed.
    fn receive(&self, deadline: Instant) -> Option<Option<Control>> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.link.next_event(left)? {
                Event::Message { id, body } if id.channel == CHANNEL => {
                    self.link.take(CHANNEL);
                    self.link.done(id);
                    return Some(Control::decode(&body));
                }
                Event::Message { .. } => return Some(None),
                // The peer was restarted, and awaits another introduction.
                Event::PeerLost => return None,
                _ => {}
            }
        }
    }
}
