//! Passes on what machines send of their stages, along the tree of the links.
//!
//! A message that arrives is passed on before the next one is taken, so that a machine in between keeps at most the
//! messages that it has granted. In a tree, no two machines wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::observations::{ChannelSender, Observation, Observed, UNEXPECTED};
use crate::peer::{Arrival, Peer};
use crate::topology::Topology;

/// Takes what a machine has sent. The error is why it is refused.
type Consume = dyn Fn(usize, Observed<'_>) -> Result<(), String> + Send + Sync;

/// Passes on what the machines of a run send of their stages. Dropping it ends all that waits.
pub struct ObservationRouter(Arc<Router>);

/// Sends what is observed of the stages here.
#[derive(Clone)]
pub struct ObservationSender(Arc<Router>);

struct Router {
    topology: Topology,
    observer: Option<usize>,
    /// By peer of the tree.
    links: BTreeMap<usize, TreeLink>,
    consume: Box<Consume>,
    is_closing: AtomicBool,
}

/// The way to a peer of the tree.
struct TreeLink {
    sender: ChannelSender,
    /// How many send on it that have not ended: this machine, and those that it passes something on from.
    sources: AtomicUsize,
}

impl ObservationRouter {
    /// Starts to pass on what arrives from these peers, once their bridges start. `observer`: the machine that records or
    /// traces the run. `consume` gets what other machines send, on several threads, which may wait.
    #[must_use]
    pub fn start<'a>(
        topology: &Topology,
        observer: Option<usize>,
        peers: impl IntoIterator<Item = &'a mut Peer>,
        consume: impl Fn(usize, Observed<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let neighbours = topology.neighbours();
        let (mut links, mut receiving) = (BTreeMap::new(), Vec::new());
        for peer in peers {
            let sender = ChannelSender::to(peer);
            if neighbours.contains(&peer.machine) {
                let sources = AtomicUsize::new(neighbours.len());
                links.insert(peer.machine, TreeLink { sender, sources });
                receiving.push(peer);
            } else {
                sender.end();
                peer.set_receiver(|arrival| match arrival {
                    Arrival::Message(_) => Err(UNEXPECTED.to_owned()),
                    Arrival::Ended | Arrival::Lost => Ok(()),
                });
            }
        }
        let router = Arc::new(Router {
            topology: topology.clone(),
            observer,
            links,
            consume: Box::new(consume),
            is_closing: AtomicBool::new(false),
        });
        for peer in receiving {
            let (own, machine) = (router.clone(), peer.machine);
            peer.set_receiver(move |arrival| own.receive(machine, arrival));
        }
        Self(router)
    }

    /// Sends what is observed of the stages here.
    #[must_use]
    pub fn sender(&self) -> ObservationSender {
        ObservationSender(self.0.clone())
    }

    /// The machines that something is to be sent to, and that have no room for it now.
    #[must_use]
    pub fn awaited(&self) -> BTreeSet<usize> {
        let links = self.0.links.iter();
        let awaited = links.filter(|(_, link)| link.sender.is_waiting());
        awaited.map(|(peer, _)| *peer).collect()
    }
}

impl Drop for ObservationRouter {
    fn drop(&mut self) {
        self.0.is_closing.store(true, Ordering::Relaxed);
    }
}

impl ObservationSender {
    /// Sends it once there is room for it. Returns false if a machine takes no more, or if it is longer than
    /// [`LONGEST_OBSERVATION`](crate::LONGEST_OBSERVATION).
    pub fn send(&self, kind: Observation, body: &[u8]) -> bool {
        let router = &self.0;
        router.pass_on(None, kind, &kind.encode(router.topology.own, body))
    }

    /// Sends nothing more.
    pub fn end(&self) {
        self.0.end_source(None);
    }
}

impl Router {
    fn receive(&self, from: usize, arrival: Arrival) -> Result<(), String> {
        let over = match arrival {
            Arrival::Message(message) => return self.receive_message(from, &message),
            Arrival::Ended => || Observed::Ended,
            Arrival::Lost => || Observed::Lost,
        };
        self.end_source(Some(from));
        let behind = self.topology.ways.iter().filter(|(_, way)| **way == from);
        behind
            .map(|(machine, _)| (self.consume)(*machine, over()))
            .fold(Ok(()), Result::and)
    }

    fn receive_message(&self, from: usize, message: &[u8]) -> Result<(), String> {
        let (kind, machine, body) = Observation::decode(message).ok_or(UNEXPECTED)?;
        if !self.topology.is_behind(machine, from) {
            let name = self.topology.name(machine);
            return Err(format!(
                "it sent what the stages of machine {name} do, which is not behind it"
            ));
        }
        let is_for_one = matches!(kind, Observation::Entries | Observation::Clock);
        let is_own = self.observer == Some(self.topology.own);
        if is_for_one && !is_own && self.way_to_observer(Some(from)).is_none() {
            return Err(UNEXPECTED.to_owned());
        }
        if !is_for_one || !is_own {
            // False: the next one is dead, which ends the run.
            self.pass_on(Some(from), kind, &message.into());
        }
        match is_for_one && !is_own {
            true => Ok(()),
            false => (self.consume)(machine, Observed::Sent(kind, body)),
        }
    }

    /// The peer on the way to the observer, if what comes from another one is for it.
    fn way_to_observer(&self, from: Option<usize>) -> Option<usize> {
        let way = self.topology.ways.get(&self.observer?).copied();
        way.filter(|way| Some(*way) != from)
    }

    /// Passes a message on. `from`: the peer that it came from. Returns false if one takes no more.
    fn pass_on(&self, from: Option<usize>, kind: Observation, message: &Arc<[u8]>) -> bool {
        let others = || self.links.iter().filter(|(peer, _)| Some(**peer) != from);
        match kind {
            Observation::Entries | Observation::Clock => {
                let way = self.way_to_observer(from);
                let link = way.and_then(|way| self.links.get(&way));
                link.is_some_and(|link| link.sender.send(message, &self.is_closing))
            }
            Observation::Counts => {
                others().for_each(|(_, link)| link.sender.try_send(message));
                true
            }
            Observation::Report => others().fold(true, |all, (_, link)| {
                link.sender.send(message, &self.is_closing) && all
            }),
        }
    }

    /// Nothing more comes from a peer; `None`: from this machine.
    fn end_source(&self, from: Option<usize>) {
        for (peer, link) in &self.links {
            if Some(*peer) != from && link.sources.fetch_sub(1, Ordering::AcqRel) == 1 {
                link.sender.end();
            }
        }
    }
}
