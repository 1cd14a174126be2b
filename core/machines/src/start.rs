//! How the machines of a run start together.
//!
//! Each machine compares what it runs with each peer. It reports to its parent in the tree of the machines which ones are
//! missing, of those that its part of the tree knows of. The machine without a parent reports to its children what is
//! missing anywhere, and they to theirs. When that is nothing, all start. So do all learn which ones observe the run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use flowpipe_link::link::LinkFailure;
use flowpipe_link::session::Event;
use flowpipe_link::signal::LinkSignal;
use flowpipe_sync::lock;

use crate::agreement::{Difference, Facts, Observers, Wanted};
use crate::control::{CHANNEL, Control};
use crate::peer::Peer;
use crate::topology::Topology;

/// How often the time is checked, although no link changes.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How often the caller learns what is missing.
const NOTICE_INTERVAL: Duration = Duration::from_secs(5);
/// How long it may take until the others have what differs.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);
/// One that is gone for so long has what was sent to it, or does not come back.
const REFUSAL_LINGER: Duration = Duration::from_secs(1);
/// The most differences that a machine reports of others.
const MOST_DIFFERENCES: usize = 256;

/// A machine that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The machine.
    pub machine: String,
    /// What this machine knows of that.
    pub absence: Absence,
}

/// What a machine knows of another one that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// This machine connects to it, which has failed, or not yet.
    NotReached(Option<LinkFailure>),
    /// It should connect to this machine. Why the last connection that came failed, if one has.
    NotConnected(Option<LinkFailure>),
    /// It is connected, and not ready.
    Connected,
    /// It has no link to this machine: others miss it.
    Elsewhere,
}

impl Absence {
    fn failure(&self) -> Option<&LinkFailure> {
        match self {
            Self::NotReached(failure) | Self::NotConnected(failure) => failure.as_ref(),
            Self::Connected | Self::Elsewhere => None,
        }
    }
}

/// Why the machines do not start together.
#[derive(Debug, thiserror::Error)]
pub enum AgreementError {
    /// Some were not there in time.
    #[error("{}", absent(.missing, *.seconds))]
    Absent {
        /// The others.
        missing: Vec<Missing>,
        /// How long they were awaited.
        seconds: u64,
    },
    /// One is another machine.
    #[error("{peer} was expected, and {name} answered")]
    Other {
        /// The expected machine.
        peer: String,
        /// The one that answered.
        name: String,
    },
    /// One sent something that it should not.
    #[error("{0} sent something that is no introduction")]
    Malformed(String),
    /// The others run already.
    #[error(
        "{0} has started the run already, and this machine can't come back into it: start all of them again"
    )]
    Started(String),
    /// This program counts as dead there.
    #[error(
        "{0} goes on without this program: they were apart for too long, or another program runs as this machine"
    )]
    GivenUp(String),
    /// They do not run the same.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Differences(Vec<Difference>),
}

impl AgreementError {
    fn malformed(peer: &Peer) -> Self {
        Self::Malformed(peer.name.clone())
    }
}

fn absent(missing: &[Missing], seconds: u64) -> String {
    let each = missing.iter().map(|Missing { machine, absence }| {
        let failure = absence.failure().map(|it| format!(": {}", it.text));
        let failure = failure.unwrap_or_default();
        format!("{machine} did not answer within {seconds} s{failure}")
    });
    each.collect::<Vec<_>>().join("; ")
}

/// What is known of a peer.
#[derive(Default)]
struct Known {
    /// It has this machine's introduction.
    has_introduction: bool,
    /// It runs the same.
    agrees: bool,
    /// What it has reported.
    reported: Option<KnownPart>,
    /// What it was sent.
    sent: Option<KnownPart>,
}

/// What is known of the machines of a part of the tree, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnownPart {
    missing: BTreeSet<usize>,
    observers: Observers,
}

/// The start of one machine.
struct Start<'a> {
    topology: &'a Topology,
    facts: &'a Facts,
    wanted: Wanted,
    peers: &'a [&'a Peer],
    known: Vec<Known>,
}

/// Waits until all machines are there and run the same. `peers`: those of the topology. `facts`: what runs here. `wanted`:
/// what this machine wants of the whole run. Returns what all want. `notice` is called when others are missing that were not,
/// and every five seconds.
///
/// # Errors
/// When one is not there in time, or when they do not run the same. The others find the same.
pub fn agree(
    topology: &Topology,
    peers: &[&Peer],
    facts: &Facts,
    wanted: Wanted,
    timeout: Duration,
    notice: impl FnMut(&[Missing]),
) -> Result<Observers, AgreementError> {
    let signal = LinkSignal::default();
    let set_signal = |signal: Option<LinkSignal>| {
        for peer in peers {
            peer.link.set_signal(signal.clone());
        }
    };
    set_signal(Some(signal.clone()));
    let known = peers.iter().map(|_| Known::default()).collect();
    let start = Start {
        topology,
        facts,
        wanted,
        peers,
        known,
    };
    let agreed = start.run(&signal, timeout, notice);
    set_signal(None);
    agreed
}

impl Start<'_> {
    /// Runs the start until all machines agree.
    fn run(
        mut self,
        signal: &LinkSignal,
        timeout: Duration,
        mut notice: impl FnMut(&[Missing]),
    ) -> Result<Observers, AgreementError> {
        let began = Instant::now();
        let mut noticed: Option<(BTreeSet<usize>, Instant)> = None;
        loop {
            // Before the links are read: what changes meanwhile ends the wait.
            let changes = signal.changes();
            if let Err(error) = self.receive() {
                if let AgreementError::Differences(differences) = &error {
                    self.refuse(differences);
                }
                return Err(error);
            }
            if self.send() {
                return Ok(self.observers());
            }
            let missing = self.missing();
            if began.elapsed() >= timeout {
                let missing = self.describe(&missing);
                let seconds = timeout.as_secs();
                return Err(AgreementError::Absent { missing, seconds });
            }
            let is_known = noticed.as_ref().is_some_and(|(known, at)| {
                missing.is_subset(known) && at.elapsed() < NOTICE_INTERVAL
            });
            if !is_known {
                notice(&self.describe(&missing));
                noticed = Some((missing, Instant::now()));
            }
            signal.wait(changes, CHECK_INTERVAL);
        }
    }

    /// Receives what has arrived.
    fn receive(&mut self) -> Result<(), AgreementError> {
        for index in 0..self.peers.len() {
            while let Some(event) = self.next_event(index) {
                self.accept(index, event)?;
            }
        }
        Ok(())
    }

    fn next_event(&self, index: usize) -> Option<Event> {
        let peer = self.peers.get(index)?;
        peer.link.next_event(Duration::ZERO)
    }

    /// Handles an event of a peer's link, or keeps it for the run.
    fn accept(&mut self, index: usize, event: Event) -> Result<(), AgreementError> {
        let (Some(peer), Some(known)) = (self.peers.get(index), self.known.get_mut(index)) else {
            return Ok(());
        };
        let is_early = match &event {
            // It was restarted, and awaits another introduction.
            Event::PeerLost => {
                *known = Known::default();
                // The places of its messages are those of the next program, too.
                for event in std::mem::take(&mut *lock(&peer.early)) {
                    if let Event::Message { id, .. } = event {
                        peer.link.take(id.channel);
                    }
                }
                false
            }
            Event::Message { id, body } if id.channel == CHANNEL => {
                let control = Control::decode(body);
                let control = control.ok_or_else(|| AgreementError::malformed(peer))?;
                let is_early = self.accept_control(index, control)?;
                if !is_early {
                    peer.link.take(CHANNEL);
                    peer.link.done(*id);
                }
                is_early
            }
            // A run that has started has more to send than that it has.
            Event::Message { id, .. } if !known.agrees => {
                peer.link.take(id.channel);
                peer.link.done(*id);
                false
            }
            Event::Message { .. } => return Err(AgreementError::malformed(peer)),
            Event::Ended { .. } | Event::Finished => known.agrees,
            // It takes nothing of this program any more.
            Event::GivenUp => return Err(AgreementError::GivenUp(peer.name.clone())),
            // The run reports it, once.
            Event::Occupied => !lock(&peer.early).contains(&event),
            _ => false,
        };
        if is_early {
            // They are limited by the credit of the channel, and by the number of channels.
            lock(&peer.early).push(event);
        }
        Ok(())
    }

    /// Handles a control message of a peer. Returns whether it is for the run.
    fn accept_control(&mut self, index: usize, control: Control) -> Result<bool, AgreementError> {
        let (Some(peer), Some(known)) = (self.peers.get(index), self.known.get_mut(index)) else {
            return Ok(false);
        };
        match control {
            Control::Introduction { machine, facts } if !known.agrees => {
                let own = self.topology.name(self.topology.own);
                if machine != peer.name {
                    let (peer, name) = (peer.name.clone(), machine);
                    return Err(AgreementError::Other { peer, name });
                }
                let differences = self.facts.differences(own, &facts, &peer.name);
                if !differences.is_empty() {
                    return Err(AgreementError::Differences(differences));
                }
                known.agrees = true;
                Ok(false)
            }
            Control::Started => Err(AgreementError::Started(peer.name.clone())),
            Control::Different { differences }
                if (1..=MOST_DIFFERENCES).contains(&differences.len()) =>
            {
                Err(AgreementError::Differences(differences))
            }
            Control::Missing {
                machines,
                observers,
            } if known.agrees && machines.iter().all(|it| *it < self.topology.names.len()) => {
                // A machine reports those behind it.
                let is_behind = |it: &(usize, Wanted)| self.topology.is_behind(it.0, peer.machine);
                known.reported = Some(KnownPart {
                    missing: machines,
                    observers: observers.into_iter().filter(is_behind).collect(),
                });
                Ok(false)
            }
            Control::Clock { .. }
            | Control::Stop { .. }
            | Control::NotStarted { .. }
            | Control::Idle { .. }
            | Control::WorkersDied { .. }
            // It means a program that was here before.
            | Control::Share(_) => Ok(known.agrees),
            Control::Introduction { .. } | Control::Different { .. } | Control::Missing { .. } => {
                Err(AgreementError::malformed(peer))
            }
        }
    }

    /// Sends what the peers do not have. Returns whether all machines start.
    fn send(&mut self) -> bool {
        let topology = self.topology;
        let here = self.part_here();
        let everywhere = match topology.parent {
            None => Some(here.clone()),
            Some(parent) => self.reported_by(parent).map(|reported| KnownPart {
                missing: reported.missing.clone(),
                observers: self.observers(),
            }),
        };
        let mut is_start = everywhere.as_ref().is_some_and(|it| it.missing.is_empty());
        for (peer, known) in self.peers.iter().zip(&mut self.known) {
            if !known.has_introduction {
                known.has_introduction = peer.send(&introduction(topology, self.facts));
            }
            let to_send = if topology.parent == Some(peer.machine) {
                Some(&here)
            } else if topology.children.contains(&peer.machine) {
                everywhere.as_ref()
            } else {
                None
            };
            if let Some(part) = to_send
                && known.has_introduction
                && known.sent.as_ref() != Some(part)
            {
                let missing = Control::Missing {
                    machines: part.missing.clone(),
                    observers: part.observers.clone(),
                };
                if peer.send(&missing) {
                    known.sent = Some(part.clone());
                }
            }
            let is_child = topology.children.contains(&peer.machine);
            // It is sent more when all have come.
            let has_started = known.sent.as_ref().is_some_and(|it| it.missing.is_empty());
            is_start &= !is_child || has_started;
        }
        is_start
    }

    fn reported_by(&self, machine: usize) -> Option<&KnownPart> {
        let mut all = self.peers.iter().zip(&self.known);
        let (_, known) = all.find(|(peer, _)| peer.machine == machine)?;
        known.reported.as_ref()
    }

    /// What is known of this part of the tree.
    fn part_here(&self) -> KnownPart {
        let of_children = self.peers.iter().zip(&self.known);
        let of_children =
            of_children.filter(|(peer, _)| self.topology.children.contains(&peer.machine));
        let reported = of_children.filter_map(|(_, known)| known.reported.as_ref());
        let observers = reported.flat_map(|it| it.observers.clone());
        KnownPart {
            missing: self.missing_here(),
            observers: observers.chain(self.own_wish()).collect(),
        }
    }

    /// All that observe the run, as far as this machine knows.
    fn observers(&self) -> Observers {
        let reported = self.known.iter().filter_map(|it| it.reported.as_ref());
        let observers = reported.flat_map(|it| it.observers.clone());
        observers.chain(self.own_wish()).collect()
    }

    fn own_wish(&self) -> Option<(usize, Wanted)> {
        self.wanted
            .is_any()
            .then_some((self.topology.own, self.wanted))
    }

    /// The machines that are missing in this part of the tree.
    fn missing_here(&self) -> BTreeSet<usize> {
        let mut missing = BTreeSet::new();
        for (peer, known) in self.peers.iter().zip(&self.known) {
            let is_child = self.topology.children.contains(&peer.machine);
            match &known.reported {
                // One that is disconnected may be dead.
                _ if !known.agrees || !peer.link.is_connected() => {
                    missing.insert(peer.machine);
                }
                Some(reported) if is_child => missing.extend(&reported.missing),
                None if is_child => {
                    missing.insert(peer.machine);
                }
                _ => {}
            }
        }
        missing
    }

    /// All that are missing, as far as this machine knows.
    fn missing(&self) -> BTreeSet<usize> {
        let mut missing = self.missing_here();
        let reported = self.topology.parent.and_then(|it| self.reported_by(it));
        missing.extend(reported.into_iter().flat_map(|it| &it.missing));
        missing.remove(&self.topology.own);
        missing
    }

    fn describe(&self, missing: &BTreeSet<usize>) -> Vec<Missing> {
        let describe = |&machine: &usize| {
            let peer = self.peers.iter().find(|peer| peer.machine == machine);
            let absence = match peer {
                None => Absence::Elsewhere,
                Some(peer) if peer.link.is_connected() => Absence::Connected,
                Some(peer) if peer.opens => Absence::NotReached(peer.link.failure()),
                Some(peer) => Absence::NotConnected(peer.link.failure()),
            };
            Missing {
                machine: self.topology.name(machine).to_owned(),
                absence,
            }
        };
        missing.iter().map(describe).collect()
    }

    /// Sends to all peers what differs, and waits until those that are there have it.
    fn refuse(&self, differences: &[Difference]) {
        let differences = differences.iter().take(MOST_DIFFERENCES);
        let refusal = Control::Different {
            differences: differences.cloned().collect(),
        };
        let deadline = Instant::now() + REFUSAL_TIMEOUT;
        let left = || deadline.saturating_duration_since(Instant::now());
        let send = |peer: &Peer, control: &Control| {
            let body = control.encode().into();
            peer.link.send(CHANNEL, &body, left()).is_ok()
        };
        std::thread::scope(|scope| {
            for (peer, known) in self.peers.iter().zip(&self.known) {
                let refusal = &refusal;
                scope.spawn(move || {
                    // The one that differs finds that by itself.
                    let has_all = (known.has_introduction
                        || send(peer, &introduction(self.topology, self.facts)))
                        && send(peer, refusal);
                    has_all && peer.link.finish(left(), REFUSAL_LINGER)
                });
            }
        });
    }
}

fn introduction(topology: &Topology, facts: &Facts) -> Control {
    Control::Introduction {
        machine: topology.name(topology.own).to_owned(),
        facts: facts.clone(),
    }
}

impl Peer {
    /// Sends a control message. Returns false if there is no room for it now.
    pub(crate) fn send(&self, control: &Control) -> bool {
        let body = control.encode().into();
        self.link.send(CHANNEL, &body, Duration::ZERO).is_ok()
    }
}
