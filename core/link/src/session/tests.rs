//! Two sessions over a network that delays, cuts and loses, and whose connections overtake each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::packet::MAX_FRAGMENT;
use crate::session::tests::end::{End, body};

mod end;
mod reports;
mod violations;

const CHANNELS: u32 = 3;
const CAPACITY: u64 = 4;

/// A connection between both ends.
struct Wire {
    ids: [Option<ConnectionId>; 2],
    /// The packets on the way to each end.
    packets: [VecDeque<Vec<u8>>; 2],
    /// It delivers what is on the way to an end, and then that end learns that it is closed.
    is_cut: bool,
}

struct Network {
    random: fastrand::Rng,
    ends: [End; 2],
    wires: Vec<Wire>,
    now_ns: i64,
    cuts: usize,
    /// A connection may also lose packets in the middle.
    is_lossy: bool,
}

fn settings(opens: bool, incarnation: u128) -> Settings {
    Settings {
        incarnation: Incarnation(incarnation),
        opens,
        limits: Limits {
            channels: CHANNELS,
            message_bytes: 4 * MAX_FRAGMENT,
            unacknowledged_bytes: 3 * MAX_FRAGMENT,
        },
        timing: Timing::default(),
        keeps_peer: false,
    }
}

impl Network {
    fn new(seed: u64, is_lossy: bool, keeps_peer: bool) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            ends: [
                End::new(true, 1, keeps_peer),
                End::new(false, 2, keeps_peer),
            ],
            wires: Vec::new(),
            now_ns: 0,
            cuts: 0,
            is_lossy,
        }
    }

    fn connect(&mut self) {
        let now = self.now_ns;
        let ids = [0, 1].map(|end| Some(self.ends[end].session.open(now)));
        self.wires.push(Wire {
            ids,
            packets: Default::default(),
            is_cut: false,
        });
    }

    /// Cuts a connection: each direction loses a random tail of what is on the way.
    fn cut(&mut self, wire: usize) {
        let wire = &mut self.wires[wire];
        self.cuts += usize::from(!wire.is_cut);
        wire.is_cut = true;
        for packets in &mut wire.packets {
            packets.truncate(self.random.usize(0..=packets.len()));
        }
    }

    /// One end of a connection sends up to `count` packets.
    fn transmit(&mut self, wire: usize, end: usize, count: usize) -> bool {
        let wire = &mut self.wires[wire];
        let Some(id) = wire.ids[end] else {
            return false;
        };
        let mut packet = Vec::new();
        for sent in 0..count {
            let sender = &mut self.ends[end];
            match sender.session.transmit(id, self.now_ns, &mut packet) {
                Transmit::Packet => {
                    sender.check_sent(&packet);
                    if !wire.is_cut {
                        wire.packets[1 - end].push_back(packet.clone());
                    }
                }
                Transmit::Nothing => return sent > 0,
                Transmit::Close => {
                    wire.ids[end] = None;
                    wire.is_cut = true;
                    return true;
                }
            }
        }
        true
    }

    /// One end of a connection receives up to `count` packets.
    fn deliver(&mut self, wire: usize, end: usize, count: usize) -> bool {
        let wire = &mut self.wires[wire];
        for delivered in 0..count {
            let Some(id) = wire.ids[end] else {
                wire.packets[end].clear();
                return delivered > 0;
            };
            let session = &mut self.ends[end].session;
            match wire.packets[end].pop_front() {
                Some(packet) => {
                    if session.receive(id, &packet, self.now_ns).is_err() {
                        wire.ids[end] = None;
                        wire.is_cut = true;
                    }
                }
                None if wire.is_cut => {
                    session.close(id);
                    wire.ids[end] = None;
                }
                None => return delivered > 0,
            }
        }
        true
    }

    /// One end takes what has arrived.
    fn take(&mut self, end: usize, longest: usize) {
        let [first, second] = &mut self.ends;
        match end {
            0 => first.take(second, longest),
            _ => second.take(first, longest),
        }
    }

    /// Something happens.
    fn step(&mut self, longest: usize) {
        self.now_ns += self.random.i64(0..2_000_000);
        let end = self.random.usize(0..2);
        let count = self.random.usize(1..20);
        let wire = self.random.usize(0..self.wires.len().max(1));
        match self.random.u32(0..100) {
            0 if self.wires.len() < 4 => self.connect(),
            0 | 1 if !self.wires.is_empty() => self.cut(wire),
            2 if self.is_lossy && !self.wires.is_empty() => {
                let packets = &mut self.wires[wire].packets[end];
                if !packets.is_empty() {
                    packets.remove(count % packets.len());
                }
            }
            3..=39 if !self.wires.is_empty() => drop(self.transmit(wire, end, count)),
            40..=74 if !self.wires.is_empty() => drop(self.deliver(wire, end, count)),
            75..=84 => {
                let channel = self.random.u32(0..CHANNELS);
                (0..count).all(|_| self.ends[end].send(channel, longest));
            }
            85..=98 => {
                self.take(end, longest);
                (0..count).for_each(|at| self.ends[end].finish_one(at));
            }
            // Seldom: most channels stay open for long.
            99 if self.random.u32(0..10) == 0 => {
                let channel = self.random.u32(0..CHANNELS);
                self.ends[end].end(channel);
            }
            _ => {
                self.ends[end].session.tick(self.now_ns);
            }
        }
        self.wires.retain(|wire| wire.ids != [None, None]);
    }

    /// Without further faults: everything that is on the way arrives.
    fn settle(&mut self, longest: usize) {
        (0..self.wires.len()).for_each(|wire| self.cut(wire));
        for _ in 0..10_000 {
            self.now_ns += 1_000_000;
            if self.wires.iter().all(|wire| wire.is_cut) {
                self.connect();
            }
            let mut is_busy = false;
            for wire in 0..self.wires.len() {
                for end in 0..2 {
                    is_busy |= self.transmit(wire, end, 999);
                }
                for end in 0..2 {
                    is_busy |= self.deliver(wire, end, 999);
                }
            }
            self.wires.retain(|wire| wire.ids != [None, None]);
            for end in 0..2 {
                self.ends[end].session.tick(self.now_ns);
                self.take(end, longest);
                let end = &mut self.ends[end];
                is_busy |= !end.held.is_empty();
                (0..end.held.len()).for_each(|_| end.finish_one(0));
            }
            if !is_busy {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// Both ends send nothing more, one after the other, and faults go on. Then everything that is on the way arrives.
    fn finish(&mut self, longest: usize) {
        let first = self.random.usize(0..2);
        for end in [first, 1 - first] {
            (0..self.random.u32(0..100)).for_each(|_| self.step(longest));
            self.ends[end].finish();
        }
        (0..self.random.u32(0..300)).for_each(|_| self.step(longest));
        self.settle(longest);
    }

    /// All that one end has sent has arrived at the other, once, and it knows that.
    fn check_arrived(&mut self) {
        for (end, other) in [(0, 1), (1, 0)] {
            let (sender, receiver) = (&self.ends[end], &self.ends[other]);
            assert_eq!(sender.next, receiver.expected);
            assert_eq!(sender.next, sender.arrived.map(|last| last + 1));
            assert_eq!(sender.ended, receiver.peer_ended);
            let rest = self.ends[end].session.outgoing.next_item(0);
            assert!(rest.is_none(), "{rest:?}");
        }
    }

    /// All that one end has sent has arrived at the other and is finished, once.
    fn check_complete(&mut self) {
        self.check_arrived();
        for sender in &self.ends {
            let sent = |channel: u32| 1..sender.next[channel as usize];
            let sent = (0..CHANNELS).flat_map(|it| sent(it).map(move |number| (it, number)));
            assert!(sent.eq(sender.finished.iter().copied()));
        }
    }

    /// Both ends have sent and received everything, and only measure their connection.
    fn check_finished(&mut self) {
        self.check_arrived();
        for end in &self.ends {
            assert!(end.peer_has_finished && end.session.is_finished());
        }
        let mut pings = 0;
        for _ in 0..10 {
            self.now_ns += Timing::default().ping_ns;
            for (wire, end) in (0..self.wires.len()).flat_map(|wire| [(wire, 0), (wire, 1)]) {
                self.transmit(wire, end, 999);
                for packet in &self.wires[wire].packets[1 - end] {
                    match Packet::decode(packet).unwrap() {
                        Packet::Ping { .. } => pings += 1,
                        Packet::Pong { .. } => {}
                        packet => panic!("{packet:?}"),
                    }
                }
                self.deliver(wire, 1 - end, 999);
            }
        }
        assert!(pings > 0);
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_repeated(
        seed in any::<u64>(),
        is_lossy in any::<bool>(),
        keeps_peer in any::<bool>(),
    ) {
        let longest = 2 * MAX_FRAGMENT;
        let mut network = Network::new(seed, is_lossy, keeps_peer);
        (0..3000).for_each(|_| network.step(longest));
        network.settle(longest);
        network.check_complete();
        network.finish(longest);
        network.check_finished();
    }

    #[test]
    fn a_death_loses_what_the_dead_had(
        seed in any::<u64>(),
        steps in 1usize..2000,
        died in 0usize..2,
        keeps_peer in any::<bool>(),
    ) {
        let longest = 2 * MAX_FRAGMENT;
        let mut network = Network::new(seed, false, keeps_peer);
        (0..steps).for_each(|_| network.step(longest));
        (0..2).for_each(|end| network.take(end, longest));
        // The program dies and is started again. What it had sent may still arrive.
        let restarted = End::new(died == 0, 3, keeps_peer);
        let dead = std::mem::replace(&mut network.ends[died], restarted);
        for wire in 0..network.wires.len() {
            if network.wires[wire].ids[died].take().is_some() {
                network.cut(wire);
            }
        }
        let survivor = 1 - died;
        let before = network.ends[survivor].next;
        // What the dead one had sent to the survivor may arrive in part; the new one starts from 1.
        while network.wires.iter().any(|wire| wire.ids[survivor].is_some()) {
            for wire in 0..network.wires.len() {
                network.deliver(wire, survivor, 999);
            }
            network.ends[survivor].take(&dead, longest);
        }
        let arrived = network.ends[survivor].expected;
        for (arrived, sent) in arrived.iter().zip(dead.next) {
            prop_assert!(*arrived <= sent);
        }
        let finished = std::mem::take(&mut network.ends[survivor].finished);
        network.ends[survivor].expected = [1; CHANNELS as usize];
        network.ends[survivor].next = [1; CHANNELS as usize];
        network.ends[survivor].events.clear();
        network.settle(longest);

        let (mut lost, mut unsent) = (BTreeSet::new(), BTreeMap::new());
        let events = std::mem::take(&mut network.ends[survivor].events);
        for event in &events {
            match event {
                Event::Lost { first, last } => {
                    for number in first.number..=*last {
                        prop_assert!(lost.insert((first.channel, number)));
                    }
                }
                Event::Unsent { id, body } => {
                    prop_assert!(unsent.insert((id.channel, id.number), body.clone()).is_none());
                }
                _ => {}
            }
        }
        let deaths = events.iter().filter(|it| **it == Event::PeerLost).count();
        let was_known = dead.session.epoch == 0 && network.ends[survivor].session.former.len() == 1;
        prop_assert_eq!(deaths, usize::from(was_known));
        if was_known {
            for channel in 0..CHANNELS {
                for number in 1..before[channel as usize] {
                    let key = (channel, number);
                    let places = [finished.contains(&key), lost.contains(&key), unsent.contains_key(&key)];
                    prop_assert_eq!(places.iter().filter(|it| **it).count(), 1, "{:?} {:?}", key, places);
                    let had = number < dead.expected[channel as usize];
                    // What arrived is finished or lost. What is lost had been sent, which does not mean that it arrived.
                    prop_assert!(!had || !unsent.contains_key(&key));
                    prop_assert!(unsent.get(&key).is_none_or(|it| *it == body(number, longest)));
                }
            }
        }
        // The link works on, in both directions.
        for end in 0..2 {
            for channel in 0..CHANNELS {
                while network.ends[end].send(channel, longest) {}
            }
        }
        network.settle(longest);
        network.check_complete();
        network.finish(longest);
        network.check_finished();
    }

    #[test]
    fn fuzz_hostile_packets(
        packets in prop::collection::vec((0u8..8, prop::collection::vec(any::<u8>(), 0..40)), 1..60),
        small in any::<bool>(),
    ) {
        let mut network = Network::new(1, false, false);
        network.settle(0);
        while network.ends[0].send(1, 0) {}
        network.settle(0);
        let session = &mut network.ends[0].session;
        let mut id = network.wires[0].ids[0].unwrap();
        let mut sent = Vec::new();
        for (kind, bytes) in packets {
            let mut packet = vec![kind];
            // Small numbers come further.
            packet.extend(bytes.iter().map(|byte| if small { byte % 3 } else { *byte }));
            if session.receive(id, &packet, network.now_ns).is_err() {
                prop_assert_eq!(session.transmit(id, 0, &mut sent), Transmit::Close);
                id = session.open(network.now_ns);
            }
            let _ = session.transmit(id, network.now_ns, &mut sent);
        }
        session.tick(i64::MAX);
        prop_assert!(!session.is_connected() && session.connections.is_empty());
    }
}

#[test]
fn a_million_messages_survive_a_hundred_cuts() {
    let mut network = Network::new(20, false, false);
    for end in &mut network.ends {
        (0..CHANNELS).for_each(|channel| end.session.receive_on(channel, 64));
    }
    network.connect();
    let (mut left, mut next_cut) = (1_000_000u64, 990_000);
    while left > 0 {
        network.now_ns += 1_000;
        while left > 0 && network.ends[0].send(left as u32 % CHANNELS, 0) {
            left -= 1;
        }
        if left < next_cut && !network.wires.is_empty() {
            next_cut = left.saturating_sub(9_500);
            network.transmit(0, 0, 5);
            network.cut(0);
        }
        if network.wires.iter().all(|wire| wire.is_cut) {
            network.connect();
        }
        for wire in 0..network.wires.len() {
            for end in 0..2 {
                network.transmit(wire, end, 99);
                network.deliver(wire, end, 99);
            }
        }
        network.wires.retain(|wire| wire.ids != [None, None]);
        for end in 0..2 {
            network.take(end, 0);
            let end = &mut network.ends[end];
            (0..end.held.len()).for_each(|_| end.finish_one(0));
        }
    }
    network.settle(0);
    network.check_complete();
    assert_eq!(network.ends[0].finished.len(), 1_000_000);
    assert!(network.cuts >= 100, "{}", network.cuts);
}

/// Messages that arrived before the death are taken after it: their times are of the dead peer's clock.
#[test]
fn the_clock_of_a_dead_peer_is_known_for_what_it_has_sent() {
    let mut network = Network::new(1, false, false);
    network.settle(0);
    let of = |epoch| MessageId {
        epoch,
        channel: 0,
        number: 1,
    };
    let now = network.now_ns;
    let end = &mut network.ends[0];
    let clock = end.session.clock(now);
    assert!(clock.is_some());
    assert_eq!(end.session.clock_of(of(0), now), clock);
    end.session.give_up();
    assert_eq!(end.session.clock(now), None);
    assert_eq!(end.session.clock_of(of(0), now), clock);
    // Nothing is known of the clock of its successor.
    assert_eq!(end.session.clock_of(of(1), now), None);
    network.ends[1] = End::new(false, 3, false);
    network.wires.clear();
    network.settle(0);
    let session = &mut network.ends[0].session;
    assert!(session.clock_of(of(1), network.now_ns).is_some());
    session.give_up();
    assert_eq!(session.clock_of(of(0), network.now_ns), None);
}
