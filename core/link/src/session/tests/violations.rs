//! What breaks the protocol, and what follows.

use super::*;

#[test]
fn the_messages_of_one_channel_can_be_shorter_than_those_of_others() {
    let mut network = Network::new(1, false, false);
    network.ends[1].session.limit_messages(1, 100);
    network.settle(0);
    let send = |network: &mut Network, channel, length| {
        let body = vec![0; length].into();
        network.ends[0].session.send(channel, body).unwrap();
        network.transmit(0, 0, 9);
        network.deliver(0, 1, 9);
        network.ends[1].session.is_connected()
    };
    assert!(send(&mut network, 0, 101));
    assert!(send(&mut network, 1, 100));
    assert!(!send(&mut network, 1, 101), "it breaks the protocol");
}

/// Such as one on the channel of an edge that does not end here.
#[test]
fn a_message_without_credit_breaks_the_protocol() {
    const CLOSED: u32 = 1;
    let mut network = Network::new(1, false, false);
    let mut session = Session::new(settings(false, 2), 2);
    (0..CHANNELS)
        .filter(|channel| *channel != CLOSED)
        .for_each(|channel| session.receive_on(channel, CAPACITY));
    network.ends[1].session = session;
    network.settle(0);
    let send = |network: &mut Network, channel| {
        let body = Arc::from([0]);
        network.ends[0].session.send(channel, body).unwrap();
        network.transmit(0, 0, 9);
        let (id, wire) = (network.wires[0].ids[1].unwrap(), &mut network.wires[0]);
        let packets = wire.packets[1].drain(..).collect::<Vec<_>>();
        let session = &mut network.ends[1].session;
        packets
            .iter()
            .try_for_each(|packet| session.receive(id, packet, network.now_ns))
    };
    assert_eq!(send(&mut network, 0), Ok(()));
    // This sender believes that it has some.
    let outgoing = &mut network.ends[0].session.outgoing;
    outgoing.credit(CLOSED, 1).unwrap();
    assert_eq!(send(&mut network, CLOSED), Err(Violation::Credit(CLOSED)));
    assert!(!network.ends[1].session.is_connected());
    let session = &mut network.ends[1].session;
    let events: Vec<_> = std::iter::from_fn(|| session.next_event()).collect();
    let is_of_closed =
        |event: &Event| matches!(event, Event::Message { id, .. } if id.channel == CLOSED);
    assert!(!events.iter().any(is_of_closed), "{events:?}");
    let [.., disconnected, lost] = &events[..] else {
        panic!("{events:?}");
    };
    let why = Some(Violation::Credit(CLOSED));
    assert_eq!(disconnected, &Event::Disconnected(why));
    assert_eq!(lost, &Event::PeerLost);
    // It would do that again.
    let sessions = network.ends.each_mut().map(|it| &mut it.session);
    let violations = reconnect(sessions, network.now_ns);
    assert_eq!(violations, [Violation::Replaced]);
}

/// Such as those of two pipeline files with different numbers of edges: only messages show what differs.
#[test]
fn ends_with_different_numbers_of_channels_use_what_both_have() {
    let usual = settings(true, 2);
    let limits = Limits {
        channels: CHANNELS + 1,
        ..usual.limits
    };
    let mut desk = Session::new(settings(false, 1), 1);
    let mut rack = Session::new(Settings { limits, ..usual }, 2);
    desk.receive_on(0, CAPACITY);
    rack.receive_on(0, CAPACITY);
    let (here, there) = (desk.open(0), rack.open(0));
    let violations = exchange((&mut desk, here), (&mut rack, there), 0);
    assert_eq!(violations, []);
    desk.send(0, Arc::from([1])).unwrap();
    rack.send(0, Arc::from([2])).unwrap();
    let violations = exchange((&mut desk, here), (&mut rack, there), 0);
    assert_eq!(violations, []);
    for (session, expected) in [(&mut desk, 2), (&mut rack, 1)] {
        let events = std::iter::from_fn(|| session.next_event());
        let bodies = events.filter_map(|event| match event {
            Event::Message { body, .. } => Some(body),
            _ => None,
        });
        assert_eq!(bodies.collect::<Vec<_>>(), [[expected]]);
    }
    // What only one end has is not granted to it, and it can grant nothing there.
    let refusal = rack.refusal(CHANNELS, 1);
    assert_eq!(refusal, Some(Refusal::NoCredit));
    rack.receive_on(CHANNELS, CAPACITY);
    let violations = exchange((&mut desk, here), (&mut rack, there), 0);
    assert_eq!(violations.first(), Some(&Violation::Channel(CHANNELS)));
    assert!(!desk.is_connected());
}

/// Connects two ends again. Returns why an end closed the connection.
fn reconnect([one, other]: [&mut Session; 2], now_ns: i64) -> Vec<Violation> {
    let (here, there) = (one.open(now_ns), other.open(now_ns));
    exchange((one, here), (other, there), now_ns)
}

/// Not the other program has done that, but what is between both.
#[test]
fn what_is_lost_on_a_connection_loses_no_peer() {
    let mut network = Network::new(1, false, false);
    network.settle(0);
    let sender = &mut network.ends[0].session;
    for _ in 0..2 {
        sender.send(0, Arc::from([0])).unwrap();
    }
    network.transmit(0, 0, 9);
    let (id, wire) = (network.wires[0].ids[1].unwrap(), &mut network.wires[0]);
    let packets: Vec<_> = wire.packets[1].drain(..).collect();
    let session = &mut network.ends[1].session;
    let second = packets.last().unwrap();
    let lost = session.receive(id, second, network.now_ns).unwrap_err();
    assert!(matches!(lost, Violation::Gap { .. }), "{lost:?}");
    let events: Vec<_> = std::iter::from_fn(|| session.next_event()).collect();
    assert_eq!(events.last(), Some(&Event::Disconnected(Some(lost))));
    let sessions = network.ends.each_mut().map(|it| &mut it.session);
    assert_eq!(reconnect(sessions, network.now_ns), []);
    let session = &mut network.ends[1].session;
    let arrived = std::iter::from_fn(|| session.next_event());
    let arrived = arrived.filter(|event| matches!(event, Event::Message { .. }));
    assert_eq!(arrived.count(), 2);
}

#[test]
fn a_ping_that_names_an_item_that_has_not_arrived_says_so() {
    let mut network = Network::new(1, false, false);
    network.settle(0);
    let id = network.wires[0].ids[1].unwrap();
    let session = &mut network.ends[1].session;
    let next = session.incoming.received() + 1;
    let mut packet = Vec::new();
    let ping = Packet::<&[u8]>::Ping {
        sent_ns: 0,
        last_item: next,
    };
    ping.encode(&mut packet);
    let violation = session.receive(id, &packet, network.now_ns).unwrap_err();
    assert_eq!(violation, Violation::Missing(next));
    assert!(!violation.is_final());
    let text = format!("names item {next} in a ping, which has not arrived");
    assert_eq!(violation.to_string(), text);
}

/// Moves packets between two ends of a connection until there are none. Returns why an end closed it.
fn exchange(
    one: (&mut Session, ConnectionId),
    other: (&mut Session, ConnectionId),
    now_ns: i64,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut packet = Vec::new();
    let mut ends = [one, other];
    let mut is_busy = true;
    while std::mem::take(&mut is_busy) {
        for _ in 0..2 {
            let [(from, from_id), (to, to_id)] = &mut ends;
            while from.transmit(*from_id, now_ns, &mut packet) == Transmit::Packet {
                is_busy = true;
                violations.extend(to.receive(*to_id, &packet, now_ns).err());
            }
            ends.reverse();
        }
    }
    violations
}

#[test]
fn a_second_program_of_a_peer_is_refused_while_the_first_one_is_connected() {
    let mut desk = Session::new(
        Settings {
            keeps_peer: true,
            ..settings(false, 1)
        },
        1,
    );
    let [mut first, mut second] = [2, 3].map(|it| Session::new(settings(true, it), 2));
    let [here, there] = [desk.open(0), first.open(0)];
    let violations = exchange((&mut desk, here), (&mut first, there), 0);
    assert_eq!(violations, []);
    assert!(first.is_connected());
    assert_eq!(desk.next_event(), Some(Event::Connected));
    // It tries again and again, and is reported once, as each other one is.
    let mut third = Session::new(settings(true, 4), 2);
    for (round, other) in [&mut second, &mut third].into_iter().enumerate() {
        for attempt in 0..3 {
            let [here, there] = [desk.open(0), other.open(0)];
            let violations = exchange((&mut desk, here), (&mut *other, there), 0);
            assert_eq!(violations, [Violation::Occupied]);
            assert!(!other.is_connected() && desk.is_connected());
            let expected = (attempt == 0).then_some(Event::Occupied);
            assert_eq!(desk.next_event(), expected, "{round} {attempt}");
        }
    }
    // That of the first one ends with it.
    desk.close(here);
    let [here, there] = [desk.open(0), second.open(0)];
    let violations = exchange((&mut desk, here), (&mut second, there), 0);
    assert_eq!(violations, []);
    assert!(second.is_connected());
    let events: Vec<_> = std::iter::from_fn(|| desk.next_event()).collect();
    assert!(events.contains(&Event::PeerLost), "{events:?}");
}

#[test]
fn a_program_that_counts_as_dead_learns_that_when_it_connects_again() {
    let keeping = |opens, incarnation| {
        let settings = Settings {
            keeps_peer: true,
            ..settings(opens, incarnation)
        };
        Session::new(settings, incarnation as u64)
    };
    let (mut desk, mut rack) = (keeping(false, 1), keeping(true, 2));
    assert_eq!(reconnect([&mut desk, &mut rack], 0), []);
    // Who does not know the nonce of a connection can't end anything.
    let mut packet = Vec::new();
    Packet::<&[u8]>::GivenUp { nonce: 1 }.encode(&mut packet);
    let other = rack.open(0);
    let violation = rack.receive(other, &packet, 0).unwrap_err();
    assert_eq!(violation, Violation::Unexpected("an answer"));
    assert!(rack.is_connected());
    desk.give_up();
    rack.close(rack.current.unwrap());
    while rack.next_event().is_some() {}
    assert_eq!(reconnect([&mut desk, &mut rack], 0), [Violation::GivenUp]);
    let events: Vec<_> = std::iter::from_fn(|| rack.next_event()).collect();
    assert_eq!(events, [Event::GivenUp, Event::PeerLost]);
    // It is reported once, and neither end takes the other one back.
    assert_eq!(reconnect([&mut desk, &mut rack], 0), [Violation::GivenUp]);
    assert_eq!(rack.next_event(), None);
    assert!(!desk.is_connected() && !rack.is_connected());
}
