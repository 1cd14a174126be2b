//! What machines send of their stages, over others.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use flowpipe_link::clock_offset::Offset;
use flowpipe_machines::{
    BridgeEvent, LONGEST_OBSERVATION, Observation, ObservationRouter, Observed, Topology, Wanted,
    observer_clock,
};

use crate::chain::{Machine, Running, agreed, chain, finish_each, start_each};
use crate::common::{finish, until};
use crate::{LONG, facts, line};

/// What arrives: the machine whose it is, and what it is.
type Arrived = (usize, Option<(Observation, Vec<u8>)>);

/// Three machines in a chain, of which the first one observes the run, and what arrives at each.
struct Observing {
    machines: Vec<Machine>,
    routers: Vec<ObservationRouter>,
    arrived: Vec<Receiver<Arrived>>,
}

fn note(to: Sender<Arrived>) -> impl Fn(usize, Observed<'_>) -> Result<(), String> + Send + Sync {
    move |machine, observed| {
        let sent = match observed {
            Observed::Sent(kind, body) => Some((kind, body.to_vec())),
            Observed::Ended | Observed::Lost => None,
        };
        // The test may have ended.
        let _ = to.send((machine, sent));
        Ok(())
    }
}

impl Observing {
    /// `forge`: what the last machine takes for its place.
    fn new(forge: impl Fn(&mut Topology)) -> Self {
        let mut machines = agreed(chain(None));
        let (mut routers, mut arrived) = (Vec::new(), Vec::new());
        for (own, machine) in machines.iter_mut().enumerate() {
            let mut topology = machine.topology.clone();
            if own == 2 {
                forge(&mut topology);
            }
            let (to, received) = channel();
            let peers = machine.peers.iter_mut();
            routers.push(ObservationRouter::start(
                &topology,
                Some(0),
                peers,
                note(to),
            ));
            arrived.push(received);
        }
        Self {
            machines,
            routers,
            arrived,
        }
    }

    fn start(self, count: u64) -> (Vec<Running>, Vec<ObservationRouter>, Vec<Receiver<Arrived>>) {
        (
            start_each(self.machines, &line(count)),
            self.routers,
            self.arrived,
        )
    }
}

fn next(arrived: &Receiver<Arrived>) -> Arrived {
    arrived.recv_timeout(LONG).unwrap()
}

#[test]
fn what_machines_send_arrives_over_others_in_order() {
    let (running, routers, arrived) = Observing::new(|_| {}).start(3);
    let sender = routers[2].sender();
    for number in 0..100 {
        assert!(sender.send(Observation::Entries, &[number]));
    }
    for number in 0..100 {
        assert_eq!(
            next(&arrived[0]),
            (2, Some((Observation::Entries, vec![number])))
        );
    }
    // To all.
    assert!(sender.send(Observation::Report, b"report"));
    for at in [0, 1] {
        assert_eq!(
            next(&arrived[at]),
            (2, Some((Observation::Report, b"report".to_vec())))
        );
    }
    // A long one is sent, and a longer one is not.
    assert!(sender.send(Observation::Entries, &vec![7; LONGEST_OBSERVATION]));
    assert_eq!(next(&arrived[0]).1.unwrap().1.len(), LONGEST_OBSERVATION);
    assert!(!sender.send(Observation::Entries, &vec![7; LONGEST_OBSERVATION + 1]));
    // The ends of all, and then nothing is sent.
    routers.iter().for_each(|router| router.sender().end());
    for (at, others) in [(0, [1, 2]), (2, [0, 1])] {
        let mut ended = [next(&arrived[at]), next(&arrived[at])].map(|(machine, sent)| {
            assert_eq!(sent, None);
            machine
        });
        ended.sort_unstable();
        assert_eq!(ended, others);
    }
    assert!(!sender.send(Observation::Entries, &[1]));
    drop(routers);
    for (_, _, events) in finish_each(running) {
        let is_fault = |event: &BridgeEvent| *event != BridgeEvent::Connected;
        assert!(!events.iter().any(is_fault), "{events:?}");
    }
}

#[test]
fn a_machine_speaks_for_itself_and_those_behind_it() {
    for claimed in [0, 1, 7, usize::MAX] {
        let observing = Observing::new(|topology| {
            // What is for the observer goes to the middle in any case.
            topology.own = claimed;
        });
        let (running, routers, arrived) = observing.start(3);
        let sender = routers[2].sender();
        for kind in [
            Observation::Entries,
            Observation::Counts,
            Observation::Report,
        ] {
            assert!(sender.send(kind, b"forged"));
        }
        // What the middle sends itself comes later.
        let refused = || {
            let events = running[1].events.lock().unwrap();
            let refused = events.iter().filter(
                |event| matches!(event, BridgeEvent::Refused { reason, .. } if reason.contains("not behind it")),
            );
            refused.count()
        };
        until("all are refused", || refused() == 3);
        assert!(routers[1].sender().send(Observation::Report, b"own"));
        assert_eq!(
            next(&arrived[0]),
            (1, Some((Observation::Report, b"own".to_vec())))
        );
        routers.iter().for_each(|router| router.sender().end());
        drop(routers);
        finish_each(running);
    }
}

#[test]
fn what_nobody_is_to_get_is_refused() {
    // For the last machine, the observer is another one than for the others.
    let mut observing = Observing::new(|_| {});
    let (to, _arrived) = channel();
    let topology = observing.machines[1].topology.clone();
    let peers = observing.machines[1].peers.iter_mut();
    observing.routers[1] = ObservationRouter::start(&topology, None, peers, note(to));
    let (running, routers, _) = observing.start(3);
    assert!(routers[2].sender().send(Observation::Entries, b"x"));
    until("it is refused", || {
        let events = running[1].events.lock().unwrap();
        events
            .iter()
            .any(|event| matches!(event, BridgeEvent::Refused { .. }))
    });
    routers.iter().for_each(|router| router.sender().end());
    drop(routers);
    finish_each(running);
}

#[test]
fn a_machine_in_between_keeps_little_and_the_sender_waits() {
    let mut observing = Observing::new(|_| {});
    // The observer takes nothing until it may.
    let (open, gate) = channel::<()>();
    let (to, arrived) = channel();
    let (gate, consume) = (Mutex::new(gate), note(to));
    let topology = observing.machines[0].topology.clone();
    let peers = observing.machines[0].peers.iter_mut();
    observing.routers[0] = ObservationRouter::start(&topology, Some(0), peers, move |it, sent| {
        if matches!(&sent, Observed::Sent(_, body) if body == b"first") {
            // Also when the test has failed.
            let _ = gate.lock().unwrap().recv_timeout(LONG);
        }
        consume(it, sent)
    });
    let (running, routers, _) = observing.start(3);
    let sender = routers[2].sender();
    assert!(sender.send(Observation::Entries, b"first"));
    let (count, counted) = channel();
    let sending = std::thread::spawn(move || {
        for _ in 0..60 {
            assert!(sender.send(Observation::Entries, &[0; 1000]));
            count.send(()).unwrap();
        }
    });
    std::thread::sleep(Duration::from_secs(1));
    // Four wait at each of two, and each has taken one more.
    let sent = counted.try_iter().count();
    assert!((4..=10).contains(&sent), "{sent}");
    drop(open);
    for _ in 0..=60 {
        next(&arrived);
    }
    sending.join().unwrap();
    routers.iter().for_each(|router| router.sender().end());
    drop(routers);
    finish_each(running);
}

#[test]
fn a_death_in_between_ends_what_comes_from_behind() {
    let mut observing = Observing::new(|_| {});
    let pipeline = line(1_000_000);
    let each = observing.machines.into_iter().enumerate();
    let running: Vec<_> = each
        .map(|(own, machine)| machine.start(&pipeline, &[own], Duration::from_millis(300)))
        .collect();
    let sender = observing.routers[2].sender();
    assert!(sender.send(Observation::Entries, b"x"));
    assert_eq!(next(&observing.arrived[0]).0, 2);
    let [first, middle, last] = <[Running; 3]>::try_from(running).ok().unwrap();
    drop(observing.routers.remove(1));
    drop(middle.bridges);
    drop(middle.run);
    let mut gone = [next(&observing.arrived[0]), next(&observing.arrived[0])];
    gone.sort_unstable_by_key(|(machine, _)| *machine);
    assert_eq!(gone, [(1, None), (2, None)]);
    until("it is noticed", || !sender.send(Observation::Entries, b"x"));
    for running in [first, last] {
        let _ = finish(running.run);
        for bridge in running.bridges {
            assert!(!bridge.finish());
        }
    }
}

#[test]
fn all_know_the_observer_and_its_clock() {
    let machines = chain(None);
    let wanted = Wanted {
        recording: false,
        trace: true,
    };
    let found = std::thread::scope(|scope| {
        let each = machines.iter().enumerate().map(|(own, machine)| {
            scope.spawn(move || {
                let own_wish = if own == 2 { wanted } else { Wanted::default() };
                let observers = machine.agree_with(&facts(), own_wish, LONG).unwrap();
                assert_eq!(observers, [(2, wanted)].into());
                let peers: Vec<_> = machine.peers.iter().collect();
                let measured = Duration::from_millis(600);
                observer_clock(&machine.topology, &peers, 2, measured, LONG).unwrap()
            })
        });
        let each: Vec<_> = each.collect();
        each.into_iter()
            .map(|it| it.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(found[2], Offset::NONE);
    for own in [0, 1] {
        // Both are read at about the same time.
        let (here, observer) = (machines[own].clock.now(), machines[2].clock.now());
        let Offset {
            offset_ns,
            error_ns,
        } = found[own];
        let wrong = (observer - here - offset_ns).abs();
        assert!(wrong <= error_ns + 5_000_000, "{own}: {wrong} ± {error_ns}");
        assert!((1..1_000_000_000).contains(&error_ns), "{error_ns}");
    }
}

#[test]
fn an_observer_that_is_not_reached_has_no_clock_here() {
    let machines = agreed(chain(None));
    let peers: Vec<_> = machines[0].peers.iter().collect();
    let topology = &machines[0].topology;
    let none = observer_clock(topology, &peers, 7, Duration::ZERO, Duration::ZERO);
    assert!(none.unwrap_err().to_string().contains("is not connected"));
    // The middle sends none.
    let none = observer_clock(
        topology,
        &peers,
        2,
        Duration::ZERO,
        Duration::from_millis(100),
    );
    let text = none.unwrap_err().to_string();
    assert_eq!(text, "the clock of machine sink can't be measured");
}
