//! A machine whose link breaks the protocol takes part no longer, one that is restarted before the start costs no room, one
//! that is restarted later learns that, and one that counts as dead before the start ends.

use std::sync::atomic::{AtomicBool, Ordering};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};

use super::*;
use crate::forging::{CHANNEL_PLACE, Change, Forging, is_part};

/// The channel of the edge from the stage of the forging machine, and that of the edge to it.
const CHANNELS: [u32; 2] = [2, 1];

/// Whether a packet has a part of a message of the forging machine's edge.
fn is_message(packet: &[u8]) -> bool {
    is_part(packet) && packet.get(CHANNEL_PLACE) == Some(&CHANNELS[0].to_le_bytes()[..])
}

/// Changes the head of a message: a key that it needs has another name.
fn rename_key(packet: &mut [u8]) {
    replace(packet, b"\"sequence\":", b"\"sequenze\":");
}

/// Changes where a message began: at a stage that the pipeline does not have.
fn move_root(packet: &mut [u8]) {
    replace(packet, b"\"root\":[0,", b"\"root\":[9,");
}

fn replace(packet: &mut [u8], old: &[u8], new: &[u8]) {
    let found = packet.windows(old.len()).position(|it| it == old);
    if let Some(place) = found.filter(|_| is_message(packet)) {
        packet[place..place + new.len()].copy_from_slice(new);
    }
}

fn set_channel(packet: &mut [u8], channel: u32) {
    if is_message(packet) {
        packet[CHANNEL_PLACE].copy_from_slice(&channel.to_le_bytes());
    }
}

/// Two machines, of which the second one changes what it sends until the first one counts it as dead.
fn give_up_forging(change: Change) -> [Running; 2] {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = Remote(TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap());
    let has_begun: Arc<AtomicBool> = Arc::default();
    let forging = Forging {
        inner: acceptor,
        change,
        has_begun: has_begun.clone(),
    };
    let machines = [
        machine(["desk", "rack"], 2, true, dialer),
        machine(["rack", "desk"], 2, false, forging),
    ];
    // The second one ends soon after it is refused.
    let [desk, rack] = start_without_end(machines, Duration::from_secs(1));
    let events = || desk.events.lock().unwrap().clone();
    common::until("messages", || desk.watcher.from(1).len() > 20);
    has_begun.store(true, Ordering::SeqCst);
    common::until("it is given up", || events().contains(&BridgeEvent::Died));
    [desk, rack]
}

/// Ends both, once the first one counts the second one as dead.
fn finish_given_up(desk: Running, rack: Running) {
    desk.run.stop();
    let report = finish(desk.run);
    assert!(!desk.bridge.finish());
    // Each message that was sent to it has come back, was refused, or is lost.
    let events = desk.events.lock().unwrap();
    let lost = events.iter().map(|event| match event {
        BridgeEvent::Lost { edge: 0, sequences } => sequences.len() as u64,
        _ => 0,
    });
    let (lost, back) = (lost.sum::<u64>(), desk.watcher.from(1).len() as u64);
    let is_refused = |event: &&BridgeEvent| matches!(event, BridgeEvent::Refused { .. });
    let refused = events.iter().filter(is_refused).count() as u64;
    let sent = report.edges[0].sent - report.edges[0].discarded;
    assert!(
        lost > 0 && lost + back + refused >= sent,
        "{lost} + {back} + {refused} of {sent}"
    );
    rack.run.abort();
    let _ = finish(rack.run);
}

#[test]
fn a_machine_that_breaks_the_protocol_counts_as_dead() {
    let changes: [(Change, &str); 4] = [
        // The other machine grants nothing on an edge from it.
        (
            |packet| set_channel(packet, CHANNELS[1]),
            "sent more messages on channel 1 than it was granted",
        ),
        (
            |packet| set_channel(packet, 1_000),
            "used channel 1000, which does not exist",
        ),
        (
            |packet| {
                if is_message(packet) {
                    packet[0] = 99;
                }
            },
            "sent a malformed packet: its kind is unknown",
        ),
        // Acknowledgements of what was never sent.
        (
            |packet| {
                if is_message(packet) {
                    packet[9..17].fill(0xff);
                }
            },
            "acknowledged item",
        ),
    ];
    for (change, why) in changes {
        let [desk, rack] = give_up_forging(change);
        let disconnections: Vec<_> = desk
            .events
            .lock()
            .unwrap()
            .clone()
            .into_iter()
            .filter_map(|event| match event {
                BridgeEvent::Disconnected { reason } => reason,
                _ => None,
            })
            .collect();
        let [reason] = &disconnections[..] else {
            panic!("{why}: {disconnections:?}");
        };
        assert!(reason.contains(why), "{reason}, not {why}");
        finish_given_up(desk, rack);
    }
}

#[test]
fn a_machine_that_sends_what_its_stage_can_not_emit_counts_as_dead() {
    let changes: [(Change, &str); 2] = [
        (rename_key, "a message is malformed"),
        (move_root, "the frame that a message descends from is wrong"),
    ];
    for (change, why) in changes {
        let [desk, rack] = give_up_forging(change);
        let refused: Vec<_> = desk.events.lock().unwrap().clone();
        let refused: Vec<_> = refused
            .into_iter()
            .filter(|event| matches!(event, BridgeEvent::Refused { .. }))
            .collect();
        // Others may have arrived with it.
        let reason = why.to_owned();
        let edge = Some(1);
        assert!(!refused.is_empty());
        for event in refused {
            let reason = reason.clone();
            assert_eq!(event, BridgeEvent::Refused { edge, reason });
        }
        finish_given_up(desk, rack);
    }
}

/// Changes an answer to a ping: it is that to none.
fn spoil_answer(packet: &mut [u8]) {
    if let [6, time, ..] = packet {
        *time ^= 1;
    }
}

#[test]
fn a_machine_whose_clock_is_never_measured_counts_as_dead() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = Remote(TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap());
    let forging = Forging {
        inner: acceptor,
        change: spoil_answer,
        has_begun: Arc::new(AtomicBool::new(true)),
    };
    let machines = [
        machine(["desk", "rack"], 2, true, dialer),
        machine(["rack", "desk"], 2, false, forging),
    ];
    let [desk, rack] = start_without_end(machines, LONG);
    let events = || desk.events.lock().unwrap().clone();
    common::until("it is given up", || events().contains(&BridgeEvent::Died));
    let refused = BridgeEvent::Refused {
        edge: None,
        reason: "it has answered no ping for 10 s".to_owned(),
    };
    assert!(events().contains(&refused), "{:?}", events());
    assert!(desk.watcher.from(1).is_empty());
    desk.run.stop();
    let _ = finish(desk.run);
    assert!(!desk.bridge.finish());
    rack.run.abort();
    let _ = finish(rack.run);
}

#[test]
fn a_program_that_introduces_itself_in_the_run_counts_as_dead() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let rack = machine(["rack", "desk"], 2, false, acceptor);
    let rack = rack.start(&line(WITHOUT_END), &[1], LONG);
    let clock = Clock::start();
    let now = Arc::new(move || clock.now());
    let link = Link::start(Settings::new(true, 6), Box::new(dialer), now).unwrap();
    let introduction = json!({ "Introduction": { "machine": "desk", "facts": facts() } });
    let body = introduction.to_string().into_bytes().into();
    link.send(0, &body, LONG).unwrap();
    let events = || rack.events.lock().unwrap().clone();
    common::until("it is given up", || events().contains(&BridgeEvent::Died));
    let refused = BridgeEvent::Refused {
        edge: None,
        reason: "it has introduced itself again: it was restarted, or breaks the protocol"
            .to_owned(),
    };
    assert!(events().contains(&refused), "{:?}", events());
    rack.run.abort();
    let _ = finish(rack.run);
}

/// How many messages a program sends for the run: just more than half of the control messages that may wait. A link grants
/// credit by halves, so that it grants none while these keep their places.
const EARLY: u64 = 64 / 2 + 1;

#[test]
fn what_is_kept_for_the_run_takes_no_room_of_a_restarted_machine() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let rack = machine(["rack", "desk"], 2, false, acceptor);
    // The other machine decides when it starts, and never does.
    let starting = std::thread::spawn(move || rack.agree(&facts(), 10 * LONG));
    let introduction = json!({ "Introduction": { "machine": "desk", "facts": facts() } });
    let early = json!({ "Idle": { "cycle": 0 } });
    for program in 1..=3 {
        let clock = Clock::start();
        let now = Arc::new(move || clock.now());
        let transport = Box::new(dialer.clone());
        let link = Link::start(Settings::new(true, 6), transport, now).unwrap();
        let send = |message: &serde_json::Value| {
            let body = message.to_string().into_bytes().into();
            let sent = link.send(0, &body, LONG);
            assert!(sent.is_ok(), "program {program}: {sent:?}");
        };
        send(&introduction);
        for _ in 0..EARLY {
            send(&early);
        }
        // They have arrived.
        common::until("an acknowledgement", || {
            let event = link.next_event(Duration::ZERO);
            matches!(event, Some(Event::Arrived(id)) if id.number == 1 + EARLY)
        });
    }
    assert!(!starting.is_finished());
}

#[test]
fn a_program_that_is_restarted_while_clocks_are_measured_learns_that_the_run_has_started() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let pair = [
        machine(["desk", "rack"], 2, true, dialer.clone()),
        machine(["rack", "desk"], 2, false, acceptor),
    ];
    for agreed in agree(&pair, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = pair;
    drop(desk);
    // The second program sends a clock, too: then all of it has come once the clock is known.
    let clock = Clock::start();
    let now = Arc::new(move || clock.now());
    let link = Link::start(Settings::new(true, 6), Box::new(dialer), now).unwrap();
    link.receive_on(0, 4);
    for message in [
        json!({ "Introduction": { "machine": "desk", "facts": facts() } }),
        json!({ "Clock": { "ahead_ns": 0, "error_ns": 0 } }),
    ] {
        let sent = link.send(0, &message.to_string().into_bytes().into(), LONG);
        assert!(sent.is_ok(), "{message}: {sent:?}");
    }
    let peers = [&rack.peer];
    flowpipe_machines::observer_clock(&rack.topology, &peers, 0, Duration::ZERO, LONG).unwrap();
    let rack = rack.start(&line(WITHOUT_END), &[1], LONG);
    common::until("it learns that", || {
        let event = link.next_event(Duration::ZERO);
        matches!(event, Some(Event::Message { body, .. }) if body == br#""Started""#)
    });
    rack.run.abort();
    let _ = finish(rack.run);
}

#[test]
fn a_machine_that_counts_as_dead_before_it_has_started_ends() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let rack = machine(["rack", "desk"], 2, false, acceptor);
    let starting = std::thread::spawn(move || rack.agree(&facts(), 10 * LONG));
    let clock = Clock::start();
    let now = Arc::new(move || clock.now());
    let settings = Settings {
        keeps_peer: true,
        ..Settings::new(true, 6)
    };
    let link = Link::start(settings, Box::new(dialer), now).unwrap();
    link.receive_on(0, 4);
    // Then both know that they are connected.
    common::until("an introduction", || {
        let event = link.next_event(Duration::ZERO);
        matches!(event, Some(Event::Message { .. }))
    });
    link.give_up();
    let error = starting.join().unwrap().unwrap_err();
    assert!(matches!(error, AgreementError::GivenUp(_)), "{error}");
}
