//! More than two machines.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_engine::report::Report;
use flowpipe_engine::run::remote::RemoteEnds;
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::clock::Clock;
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::Transport;
use flowpipe_machines::{
    AgreementError, Bridge, BridgeEvent, Facts, Observers, Peer, PeerSettings, Topology, Wanted,
};

use crate::common::{Builder, Watcher, catalogue, edges_add_up, finish, seen};
use crate::proxy::Proxy;
use crate::{LONG, LOOPBACK, facts, line};

/// A machine.
pub struct Machine {
    pub clock: Clock,
    pub topology: Topology,
    pub peers: Vec<Peer>,
}

/// A machine in a run.
pub struct Running {
    pub run: flowpipe_engine::run::RunHandle,
    pub bridges: Vec<Bridge>,
    watcher: Arc<Watcher>,
    pub events: Arc<Mutex<Vec<BridgeEvent>>>,
}

/// A transport to a machine, and whether it opens the connections.
type Way = (usize, bool, Box<dyn Transport>);

/// Machines with these links. The first one of each listens, at one address for all, behind a proxy if there are some.
fn machines(
    names: &[&str],
    links: &[(usize, usize)],
    edges: usize,
    mut through: Option<&mut Vec<Proxy>>,
) -> Vec<Machine> {
    let mut transports: Vec<Vec<Way>> = Vec::new();
    transports.resize_with(names.len(), Vec::new);
    for listening in 0..names.len() {
        let others = links.iter().filter(|(one, _)| *one == listening);
        let others: Vec<_> = others.map(|(_, other)| *other).collect();
        let called: Vec<_> = others.iter().map(|other| names[*other]).collect();
        let acceptors = TcpAcceptor::listen(LOOPBACK, &called).unwrap();
        for (acceptor, other) in acceptors.into_iter().zip(others) {
            let mut address = acceptor.address().unwrap();
            if let Some(proxies) = &mut through {
                let proxy = Proxy::start(address);
                address = proxy.address;
                proxies.push(proxy);
            }
            let dialer = TcpDialer::new(address, names[other]).unwrap();
            transports[listening].push((other, false, Box::new(acceptor)));
            transports[other].push((listening, true, Box::new(dialer)));
        }
    }
    let all: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let links: BTreeSet<_> = links.iter().copied().collect();
    let each = transports.into_iter().enumerate().map(|(own, transports)| {
        // Their clocks differ.
        std::thread::sleep(Duration::from_millis(20));
        let clock = Clock::start();
        let peers = transports.into_iter().map(|(peer, opens, transport)| {
            let now = Arc::new(move || clock.now());
            let peer = PeerSettings {
                machine: peer,
                name: names[peer],
                edges,
                opens,
            };
            Peer::connect(peer, transport, now).unwrap()
        });
        let peers = peers.collect();
        let topology = Topology::new(all.clone(), own, &links);
        Machine {
            clock,
            topology,
            peers,
        }
    });
    each.collect()
}

/// Three machines, of which the second one is connected to the others.
pub fn chain(through: Option<&mut Vec<Proxy>>) -> Vec<Machine> {
    machines(&["source", "middle", "sink"], &[(1, 0), (1, 2)], 2, through)
}

/// Lets all agree. The last one is there last.
fn agree(machines: &mut [Machine], facts: &[Facts]) -> Vec<Result<(), AgreementError>> {
    std::thread::scope(|scope| {
        let each = machines.iter_mut().zip(facts).map(|(machine, facts)| {
            std::thread::sleep(Duration::from_millis(50));
            scope.spawn(|| machine.agree(facts, LONG))
        });
        let each: Vec<_> = each.collect();
        each.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

/// Lets all agree that run the same.
pub fn agreed(mut machines: Vec<Machine>) -> Vec<Machine> {
    let facts = vec![facts(); machines.len()];
    for agreed in agree(&mut machines, &facts) {
        agreed.unwrap();
    }
    machines
}

/// Starts the run of each: machine N has stage N.
pub fn start_each(machines: Vec<Machine>, pipeline: &Builder) -> Vec<Running> {
    let each = machines.into_iter().enumerate();
    each.map(|(own, machine)| machine.start(pipeline, &[own], LONG))
        .collect()
}

/// Waits for the end of all.
pub fn finish_each(running: Vec<Running>) -> Vec<(Report, Arc<Watcher>, Vec<BridgeEvent>)> {
    std::thread::scope(|scope| {
        let each = running.into_iter().map(|it| scope.spawn(|| it.finish()));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

impl Machine {
    fn agree(&self, facts: &Facts, timeout: Duration) -> Result<(), AgreementError> {
        self.agree_with(facts, Wanted::default(), timeout).map(drop)
    }

    /// Agrees, and returns what all want.
    pub fn agree_with(
        &self,
        facts: &Facts,
        wanted: Wanted,
        timeout: Duration,
    ) -> Result<Observers, AgreementError> {
        let peers: Vec<_> = self.peers.iter().collect();
        flowpipe_machines::agree(&self.topology, &peers, facts, wanted, timeout, |_| {})
    }

    /// Starts its run. `here`: the stages that it runs.
    pub fn start(self, pipeline: &Builder, here: &[usize], patience: Duration) -> Running {
        let watcher = Arc::new(Watcher::default());
        let all: BTreeSet<_> = (0..pipeline.0.stages.len()).collect();
        let options = Options {
            observers: vec![watcher.clone()],
            elsewhere: all.into_iter().filter(|it| !here.contains(it)).collect(),
            clock: self.clock,
            ..Options::default()
        };
        let run = Run::start(pipeline.0.clone(), catalogue(), options);
        let mut run = run.unwrap_or_else(|error| panic!("{error}"));
        let events: Arc<Mutex<Vec<_>>> = Arc::default();
        let mut ends = run.take_remote_ends();
        let bridges = self.peers.into_iter().map(|peer| {
            let machine = peer.machine();
            let is_peer = |stage: usize| stage == machine;
            let own_ends = RemoteEnds {
                outgoing: ends
                    .outgoing
                    .extract_if(.., |it| is_peer(it.edge().to.stage))
                    .collect(),
                incoming: ends
                    .incoming
                    .extract_if(.., |it| is_peer(it.edge().from.stage))
                    .collect(),
                cycles: Vec::new(),
            };
            let own = events.clone();
            let report = move |event| own.lock().unwrap().push(event);
            Bridge::start(peer, own_ends, patience, report).unwrap()
        });
        let bridges = bridges.collect();
        Running {
            run,
            bridges,
            watcher,
            events,
        }
    }
}

impl Running {
    /// Waits for the end, of the run and of the link.
    fn finish(self) -> (Report, Arc<Watcher>, Vec<BridgeEvent>) {
        let report = finish(self.run);
        std::thread::scope(|scope| {
            for bridge in self.bridges {
                scope.spawn(|| assert!(bridge.finish()));
            }
        });
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        (report, self.watcher, events)
    }
}

#[test]
fn three_machines_do_what_one_does() {
    let (_, alone) = line(300).run();
    let pipeline = line(300);
    let running = start_each(agreed(chain(None)), &pipeline);
    let ended = finish_each(running);
    for (own, (report, watcher, events)) in ended.iter().enumerate() {
        assert_eq!(report.failure, None);
        edges_add_up(report);
        assert_eq!(seen(&alone, own), seen(watcher, own), "stage {own}");
        let is_fault = |event: &BridgeEvent| *event != BridgeEvent::Connected;
        assert!(!events.iter().any(is_fault), "{events:?}");
    }
}

#[test]
fn cuts_between_three_machines_lose_nothing() {
    const MESSAGES: u64 = 1_000;
    let (_, alone) = line(MESSAGES).run();
    let pipeline = line(MESSAGES);
    let mut proxies = Vec::new();
    let running = start_each(agreed(chain(Some(&mut proxies))), &pipeline);
    let ended = std::thread::scope(|scope| {
        let ended = scope.spawn(|| finish_each(running));
        for proxy in &proxies {
            scope.spawn(|| proxy.cut_often(20));
        }
        ended.join().unwrap()
    });
    let (report, watcher, _) = &ended[2];
    assert_eq!(seen(&alone, 2), seen(watcher, 2));
    assert_eq!(report.failure, None);
    // The middle has nothing left when it ends, although its two connections break at different times.
    let mut events = ended.iter().flat_map(|(.., events)| events);
    let lost = events.find(|it| matches!(it, BridgeEvent::Lost { .. }));
    assert_eq!(lost, None);
    for own in [0, 2] {
        let events = &ended[own].2;
        let cuts = events.iter();
        let cuts = cuts.filter(|it| matches!(it, BridgeEvent::Disconnected { .. }));
        assert!(cuts.count() > 0, "{events:?}");
    }
}

#[test]
fn machines_in_a_ring_start_and_end() {
    let mut pipeline = line(50);
    // The first stage also feeds the last one.
    let mut edge = pipeline.0.edges[0];
    edge.to = pipeline.0.edges[1].to;
    pipeline.0.edges.push(edge);
    let links = [(0, 1), (1, 2), (0, 2)];
    let machines = machines(&["a", "b", "c"], &links, 3, None);
    let ended = finish_each(start_each(agreed(machines), &pipeline));
    let (_, watcher, _) = &ended[2];
    assert_eq!(watcher.from(2).len(), 100);
}

#[test]
fn a_difference_anywhere_is_named_everywhere() {
    let mut other = facts();
    other.0.insert("the file".to_owned(), "2".to_owned());
    let all = [facts(), facts(), other];
    for (links, expected) in [
        // The first one has nothing to do with the last one.
        ([(1, 0), (1, 2)], "the file differs: "),
        ([(0, 1), (2, 1)], "the file differs: "),
    ] {
        let mut machines = machines(&["source", "middle", "sink"], &links, 2, None);
        for agreed in agree(&mut machines, &all) {
            let text = agreed.unwrap_err().to_string();
            assert!(
                text.contains(expected) && text.contains("2 on sink"),
                "{text}"
            );
        }
    }
}

#[test]
fn every_machine_knows_which_one_is_missing() {
    let mut machines = chain(None);
    drop(machines.pop());
    let facts = facts();
    let timeout = Duration::from_secs(2);
    let errors = std::thread::scope(|scope| {
        let each = machines.iter_mut();
        let each = each.map(|it| scope.spawn(|| it.agree(&facts, timeout).unwrap_err()));
        let each: Vec<_> = each.collect();
        each.into_iter()
            .map(|it| it.join().unwrap().to_string())
            .collect::<Vec<_>>()
    });
    assert!(errors[0].starts_with("sink did not answer"), "{errors:?}");
    assert!(errors[1].starts_with("sink did not answer"), "{errors:?}");
}
