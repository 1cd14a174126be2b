//! A machine that ends its part without having finished what it was sent.

use flowpipe_config::pipeline::OnError;
use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};

use super::*;

const COUNT: u64 = 10;
/// The channel of the edge to the machine that is made up.
const CHANNEL: u32 = 1;

/// No messages.
const NONE: Vec<u64> = Vec::new();

/// How a machine that is made up ends.
type End = fn(&Link);

/// Receives on the edge at most so many messages that it has not taken, and finishes those for which `finishes` returns true;
/// then ends as a machine does that has done its part. Returns how many have arrived.
fn run_made_up(transport: TcpAcceptor, capacity: u64, finishes: fn(u64) -> bool, end: End) -> u64 {
    let clock = Clock::start();
    let now = Arc::new(move || clock.now());
    let link = Link::start(Settings::new(false, 6), Box::new(transport), now).unwrap();
    link.receive_on(0, 64);
    link.receive_on(CHANNEL, capacity);
    let mut arrived = 0;
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < LONG, "{arrived} have arrived");
        match link.next_event(Duration::from_millis(20)) {
            Some(Event::Message { id, .. }) => {
                link.take(id.channel);
                if id.channel == CHANNEL {
                    arrived += 1;
                }
                if id.channel != CHANNEL || finishes(id.number) {
                    link.done(id);
                }
            }
            Some(Event::Ended { channel: CHANNEL }) => break,
            Some(Event::Connected) if capacity == 0 => break,
            _ => {}
        }
    }
    end(&link);
    assert!(link.finish(LONG, LONG), "the other machine does not end");
    arrived
}

/// Runs a source whose messages go to a machine that is made up. Returns what was lost there, and how many have arrived.
fn lost_at_made_up(capacity: u64, finishes: fn(u64) -> bool, end: End) -> (Vec<u64>, u64) {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let desk = machine(["desk", "rack"], 2, true, Remote(dialer));
    let rack = std::thread::spawn(move || run_made_up(acceptor, capacity, finishes, end));
    let pipeline = Builder::line(COUNT, "pass", json!({}));
    let desk = desk.start(&pipeline, &[0], LONG);
    let report = finish(desk.run);
    assert_eq!(report.failure, None);
    assert!(desk.bridge.finish());
    let arrived = rack.join().unwrap();
    let events = desk.events.lock().unwrap();
    assert!(!events.contains(&BridgeEvent::Died), "{events:?}");
    let lost = events.iter().filter_map(|event| match event {
        BridgeEvent::Lost { edge: 0, sequences } => Some(sequences.clone()),
        _ => None,
    });
    (lost.flatten().collect(), arrived)
}

fn nothing(_: &Link) {}

#[test]
fn what_a_machine_leaves_that_ends_is_lost() {
    let lost = lost_at_made_up(2 * COUNT, |number| ![3, 8, 9].contains(&number), nothing);
    assert_eq!(lost, (vec![3, 8, 9], COUNT));
    let lost = lost_at_made_up(2 * COUNT, |_| false, nothing);
    let all: Vec<u64> = (1..=COUNT).collect();
    assert_eq!(lost, (all, COUNT));
}

#[test]
fn what_waits_for_a_machine_that_ends_is_lost() {
    // It grants nothing: the first message is about to be sent, and the others wait behind it, or are still the source's.
    assert_eq!(lost_at_made_up(0, |_| true, nothing), (vec![1], 0));
}

#[test]
fn a_machine_that_finishes_all_leaves_nothing() {
    let lost = lost_at_made_up(2 * COUNT, |_| true, nothing);
    assert_eq!(lost, (NONE, COUNT));
}

#[test]
fn the_streams_from_a_machine_end_with_it() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let desk = machine(["desk", "rack"], 2, true, Remote(dialer));
    // It never ends the channel of the edge from its stage.
    let rack = std::thread::spawn(move || run_made_up(acceptor, 2 * COUNT, |_| true, nothing));
    let pipeline = Builder::line(COUNT, "pass", json!({}));
    let desk = desk.start(&pipeline, &[0, 2], LONG);
    let report = finish(desk.run);
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[2].received, 0);
    assert!(desk.bridge.finish());
    assert_eq!(rack.join().unwrap(), COUNT);
}

#[test]
fn a_stage_that_has_ended_early_leaves_nothing() {
    let end_channel: End = |link| link.end(CHANNEL);
    let lost = lost_at_made_up(2 * COUNT, |number| number < 5, end_channel);
    assert_eq!(lost, (NONE, COUNT));
    let lost = lost_at_made_up(0, |_| true, end_channel);
    assert_eq!(lost, (NONE, 0));
}

/// Runs a pipeline whose source is on one machine, and the rest on another one. Nothing happens between them. Returns the
/// report of the other one.
fn without_events(pipeline: &Builder) -> Report {
    let machines = machines(2, None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    let desk = desk.start(pipeline, &[0], LONG);
    let rack = rack.start(pipeline, &[1, 2], LONG);
    let rack = std::thread::spawn(move || end(rack));
    let (report, events) = end(desk);
    let (other_report, other_events) = rack.join().unwrap();
    assert_eq!((&report.failure, &other_report.failure), (&None, &None));
    for events in [events, other_events] {
        let is_fault = |event: &BridgeEvent| *event != BridgeEvent::Connected;
        assert!(!events.iter().any(is_fault), "{events:?}");
    }
    other_report
}

/// Waits for the end of a machine.
fn end(running: Running) -> (Report, Vec<BridgeEvent>) {
    let report = finish(running.run);
    assert!(running.bridge.finish());
    let events = std::mem::take(&mut *running.events.lock().unwrap());
    (report, events)
}

#[test]
fn a_machine_whose_stage_needs_no_more_leaves_nothing() {
    let pipeline = Builder::line(WITHOUT_END, "act", json!({ "do": "end", "on": 10 }));
    let report = without_events(&pipeline);
    assert_eq!(report.stages[1].received, 10);
}

#[test]
fn a_machine_whose_plugin_hangs_leaves_nothing() {
    let mut pipeline = Builder::line(COUNT, "act", json!({ "do": "hang", "on": 4 }));
    let short = Duration::from_millis(150);
    let stage = &mut pipeline.0.stages[1];
    stage.timeout = Some(short);
    stage.watchdog = short;
    stage.on_error = OnError::Skip;
    // The call that never returns loses its message, which its machine reports itself.
    let report = without_events(&pipeline);
    assert_eq!(report.stages[1].abandoned, 1);
    assert_eq!(report.stages[2].received, COUNT - 1);
}
