//! Two runs of one pipeline, connected as two machines are.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

mod chain;
#[path = "../../../engine/tests/common/mod.rs"]
mod common;
mod drops;
#[path = "../../../link/tests/support/forging.rs"]
mod forging;
mod left;
#[cfg(target_os = "linux")]
mod lent;
mod loops;
mod observations;
mod outages;
#[path = "../../../link/tests/processes/proxy.rs"]
mod proxy;
mod report;
mod violations;
mod worker_protocol;
mod workers;

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::WhenFull;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::remote::DividedCycle;
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::clock::Clock;
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::{Connection, Transport};
use flowpipe_machines::{
    AgreementError, Bridge, BridgeEvent, Facts, FrameTraffic, Peer, PeerSettings, Topology, Wanted,
};
use serde_json::json;

use crate::common::{Builder, Watcher, catalogue, edges_add_up, finish, queue, seen};
use crate::proxy::Proxy;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// No step of a test takes so long.
const LONG: Duration = Duration::from_secs(60);

/// One of two machines.
struct Machine {
    clock: Clock,
    topology: Topology,
    peer: Peer,
}

/// One machine in a run.
struct Running {
    run: flowpipe_engine::run::RunHandle,
    bridge: Bridge,
    cycles: Vec<DividedCycle>,
    watcher: Arc<Watcher>,
    events: Arc<Mutex<Vec<BridgeEvent>>>,
}

fn machine(
    names: [&str; 2],
    edges: usize,
    opens: bool,
    transport: impl Transport + 'static,
) -> Machine {
    let clock = Clock::start();
    let now = Arc::new(move || clock.now());
    // The one that connects is the first one.
    let (own, other) = (usize::from(!opens), usize::from(opens));
    let peer = PeerSettings {
        machine: other,
        name: names[1],
        edges,
        opens,
    };
    let peer = Peer::connect(peer, Box::new(transport), now);
    let mut all = names.map(str::to_owned).to_vec();
    all.sort_unstable();
    Machine {
        clock,
        topology: Topology::new(all, own, &[(0, 1)].into()),
        peer: peer.unwrap(),
    }
}

/// A transport between two machines, although both ends are on one.
struct Remote<T>(T);

impl<T: Transport> Transport for Remote<T> {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        self.0.connect(wait)
    }
}

/// Two machines: the first one connects to the second, through a proxy if there is one. Then they share no memory.
fn machines(edges: usize, through: Option<&mut Option<Proxy>>) -> [Machine; 2] {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let address = acceptor.address().unwrap();
    if let Some(proxy) = through {
        let started = Proxy::start(address);
        let address = started.address;
        *proxy = Some(started);
        let dialer = Remote(TcpDialer::new(address, "desk").unwrap());
        let one = machine(["desk", "rack"], edges, true, dialer);
        return [
            one,
            machine(["rack", "desk"], edges, false, Remote(acceptor)),
        ];
    }
    let one = machine(
        ["desk", "rack"],
        edges,
        true,
        TcpDialer::new(address, "desk").unwrap(),
    );
    // Their clocks differ.
    std::thread::sleep(Duration::from_millis(20));
    let other = machine(["rack", "desk"], edges, false, acceptor);
    [one, other]
}

fn facts() -> Facts {
    Facts([("the file".to_owned(), "1".to_owned())].into())
}

/// Lets both agree.
fn agree(machines: &[Machine; 2], facts: [Facts; 2]) -> [Result<(), AgreementError>; 2] {
    std::thread::scope(|scope| {
        let agree = |machine: usize| machines[machine].agree(&facts[machine], LONG);
        let other = scope.spawn(move || agree(1));
        [agree(0), other.join().unwrap()]
    })
}

impl Machine {
    fn agree(&self, facts: &Facts, timeout: Duration) -> Result<(), AgreementError> {
        let none = |_: &[flowpipe_machines::Missing]| {};
        let (peers, wanted) = ([&self.peer], Wanted::default());
        flowpipe_machines::agree(&self.topology, &peers, facts, wanted, timeout, none).map(drop)
    }

    /// Starts its run. `here`: the stages that it runs.
    fn start(self, pipeline: &Builder, here: &[usize], patience: Duration) -> Running {
        self.start_with(pipeline, here, patience, Options::default())
    }

    fn start_with(
        self,
        pipeline: &Builder,
        here: &[usize],
        patience: Duration,
        options: Options,
    ) -> Running {
        let watcher = Arc::new(Watcher::default());
        let all: BTreeSet<_> = (0..pipeline.0.stages.len()).collect();
        let options = Options {
            observers: vec![watcher.clone()],
            elsewhere: all.into_iter().filter(|it| !here.contains(it)).collect(),
            clock: self.clock,
            ..options
        };
        let run = Run::start(pipeline.0.clone(), catalogue(), options);
        let mut run = run.unwrap_or_else(|error| panic!("{error}"));
        let events: Arc<Mutex<Vec<_>>> = Arc::default();
        let own = events.clone();
        let report = move |event| own.lock().unwrap().push(event);
        let ends = run.take_remote_ends();
        let cycles = ends.cycles.clone();
        let bridge = Bridge::start(self.peer, ends, patience, report).unwrap();
        Running {
            run,
            bridge,
            cycles,
            watcher,
            events,
        }
    }
}

impl Running {
    /// Waits for the end, of the run and of the link. Returns also how many frames were read in this one's memory.
    fn finish(self) -> (Report, Arc<Watcher>, Vec<BridgeEvent>, u64) {
        let report = finish(self.run);
        let traffic = self.bridge.frame_traffic();
        assert!(self.bridge.finish());
        for traffic in traffic.values() {
            let FrameTraffic {
                frames,
                bytes,
                sent_bytes,
                ..
            } = *traffic;
            assert_eq!(bytes, frames * 128 * 128 * 4);
            // One is whole; of the others, one tile of four is sent.
            let most = bytes / frames + (frames - 1) * (bytes / frames / 4 + 1);
            assert!(
                sent_bytes <= most,
                "{frames} frames: {sent_bytes} bytes of {bytes}"
            );
        }
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        let shared = traffic.values().map(|it| it.shared).sum();
        (report, self.watcher, events, shared)
    }
}

/// Frames of 2 x 2 tiles through three stages. One pixel changes from frame to frame.
fn line(count: u64) -> Builder {
    let mut line = Builder::line(count, "pass", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": count, "width": 128, "height": 128 });
    line
}

/// More messages than a test waits for: it stops the run.
const WITHOUT_END: u64 = 1_000_000;

/// How often the connection was lost.
fn disconnections(events: &[BridgeEvent]) -> usize {
    let is_one = |event: &&BridgeEvent| matches!(event, BridgeEvent::Disconnected { .. });
    events.iter().filter(is_one).count()
}

#[test]
fn two_machines_do_what_one_does() {
    let (_, alone) = line(100).run();
    let pipeline = line(100);
    let machines = machines(2, None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    let desk = desk.start(&pipeline, &[0, 2], LONG);
    let rack = rack.start(&pipeline, &[1], LONG);
    let rack = std::thread::spawn(move || rack.finish());
    let (report, watcher, events, shared) = desk.finish();
    let (other_report, other_watcher, other_events, other_shared) = rack.join().unwrap();
    for stage in [0, 1, 2] {
        assert_eq!(seen(&alone, stage), seen(&watcher, stage), "stage {stage}");
    }
    assert_eq!(seen(&alone, 1), seen(&other_watcher, 1));
    // Both run on one machine. The first frames may be sent before that is known.
    if cfg!(target_os = "linux") {
        assert!(shared > 50 && other_shared > 50, "{shared}, {other_shared}");
    }
    for report in [&report, &other_report] {
        assert_eq!(report.failure, None);
        edges_add_up(report);
    }
    let is_fault = |event: &&BridgeEvent| **event != BridgeEvent::Connected;
    let events: Vec<_> = events.iter().chain(&other_events).collect();
    assert!(!events.into_iter().any(|it| is_fault(&it)));
    // Times are of one clock: a frame is captured before what descends from it is emitted, and not long before.
    for seen in watcher.from(2) {
        let age = seen.age_ns.unwrap();
        assert!((0..60_000_000_000).contains(&age), "{age}");
    }
    for seen in other_watcher.from(1) {
        // By a measured clock, whose error is small on one machine.
        let age = seen.age_ns.unwrap();
        assert!((-10_000_000..60_000_000_000).contains(&age), "{age}");
    }
}

#[test]
fn cuts_lose_nothing() {
    const CUTS: usize = 30;
    let pipeline = line(WITHOUT_END);
    let mut proxy = None;
    let machines = machines(2, Some(&mut proxy));
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let proxy = proxy.unwrap();
    let [desk, rack] = machines;
    let desk = desk.start(&pipeline, &[0, 2], LONG);
    let rack = rack.start(&pipeline, &[1], LONG);
    let rack = std::thread::spawn(move || rack.finish());
    assert!(proxy.cut_often(CUTS) >= CUTS);
    desk.run.stop();
    let (report, watcher, events, shared) = desk.finish();
    rack.join().unwrap();
    assert_eq!(shared, 0);
    let (_, alone) = line(report.stages[0].emitted).run();
    assert_eq!(seen(&alone, 2), seen(&watcher, 2));
    assert_eq!(report.failure, None);
    let disconnections = disconnections(&events);
    assert!(disconnections >= CUTS / 2, "{events:?}");
}

#[test]
fn machines_that_run_something_else_do_not_start() {
    let machines = machines(2, None);
    let mut other = facts();
    other.0.insert("the file".to_owned(), "2".to_owned());
    other.0.insert("the plugin a".to_owned(), "3".to_owned());
    let agreed = agree(&machines, [facts(), other]);
    for (agreed, expected) in agreed.into_iter().zip([
        "the file differs: 1 on desk, 2 on rack; desk lacks the plugin a",
        "the file differs: 2 on rack, 1 on desk; desk lacks the plugin a",
    ]) {
        assert_eq!(agreed.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_machine_that_is_not_there_is_named() {
    let [desk, rack] = machines(2, None);
    drop(rack);
    let error = desk.agree(&facts(), Duration::from_millis(200));
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("rack did not answer within 0 s"),
        "{error}"
    );
}

#[test]
fn a_machine_that_does_not_start_ends_the_run_of_the_other_one() {
    let pipeline = line(WITHOUT_END);
    let machines = machines(2, None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    // Without what the other one sends, it would wait for so long.
    let desk = desk.start(&pipeline, &[0, 2], Duration::from_secs(3600));
    rack.peer.abandon("its disk is full");
    let events = || desk.events.lock().unwrap().clone();
    common::until("the end", || events().contains(&BridgeEvent::Died));
    let reason = "its disk is full".to_owned();
    let not_started = BridgeEvent::NotStarted { reason };
    assert!(events().contains(&not_started), "{:?}", events());
    desk.run.stop();
    finish(desk.run);
    assert!(!desk.bridge.finish());
}

/// Starts a pipeline without an end on two machines, of which the second one has the stage in the middle. `timeout`: how
/// long that one waits for a broken connection.
fn start_without_end(machines: [Machine; 2], timeout: Duration) -> [Running; 2] {
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let pipeline = line(WITHOUT_END);
    let [desk, rack] = machines;
    [
        desk.start(&pipeline, &[0, 2], LONG),
        rack.start(&pipeline, &[1], timeout),
    ]
}

/// Waits until a count has not changed for a while.
fn until_still(what: &str, count: impl Fn() -> u64) -> u64 {
    let (mut last, mut since) = (count(), Instant::now());
    common::until(what, || {
        let now = count();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() > Duration::from_millis(400)
    });
    last
}

#[test]
fn a_death_is_reported_with_every_message_that_it_loses() {
    const CAPACITY: usize = 4;
    const PASSED: u64 = 20;
    // The other machine's stage passes some messages on, and never returns from the next one.
    let config = json!({ "do": "slow", "on": PASSED + 1 });
    let mut pipeline = Builder::line(1_000, "act", config);
    pipeline.0.edges[0].queue = queue(CAPACITY, WhenFull::Block);
    let mut proxy = None;
    let machines = machines(2, Some(&mut proxy));
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    let desk = desk.start(&pipeline, &[0, 2], Duration::from_millis(300));
    let rack = rack.start(&pipeline, &[1], LONG);
    common::until("it blocks", || {
        rack.run.progress().stages[1].received > PASSED
    });
    // Everything that can move has moved, and what has arrived is known here.
    until_still("nothing moves", || {
        let stages = desk.run.progress().stages;
        stages[0].emitted + stages[2].received
    });
    // From here on, it is as dead.
    proxy.unwrap().close();
    let report = finish(desk.run);
    assert!(!desk.bridge.finish());
    // Before what may fail: its stage never returns.
    rack.run.abort();
    let _ = finish(rack.run);
    let events = desk.events.lock().unwrap();
    assert!(events.contains(&BridgeEvent::Died), "{events:?}");
    let lost = events.iter().filter_map(|event| match event {
        BridgeEvent::Lost { sequences, edge } => {
            assert!(sequences.is_sorted(), "{sequences:?}");
            Some(sequences.iter().map(|it| (*edge, *it)))
        }
        _ => None,
    });
    let lost: Vec<_> = lost.flatten().collect();
    let delivered = desk.watcher.from(1);
    let delivered = delivered
        .iter()
        .map(|it| (0, it.json["n"].as_u64().unwrap()));
    let delivered: Vec<_> = delivered.collect();
    assert_eq!(delivered.len() as u64, PASSED);
    // In work, in the queue, and on the way.
    assert!(
        (CAPACITY + 1..=CAPACITY + 3).contains(&lost.len()),
        "{lost:?}"
    );
    // Each number once, and none that was sent is missing.
    let mut known: Vec<_> = delivered.into_iter().chain(lost).collect();
    known.sort_unstable();
    let sent = report.edges[0].sent - report.edges[0].discarded;
    let all: Vec<_> = (1..=sent).map(|sequence| (0, sequence)).collect();
    assert_eq!(known, all, "{:?}", report.edges[0]);
}
