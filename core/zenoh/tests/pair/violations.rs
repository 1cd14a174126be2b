//! A machine with a valid certificate that sends on a channel that is not its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::transport::Transport;
use flowpipe_link::violation::Violation;

use super::{LONG, address, certificates, pair};
use crate::forging::{CHANNEL_PLACE, Change, Forging, is_part};

/// The channel of an edge from a stage of `rack`.
const OWN: u32 = 1;
/// That of an edge from a stage of another machine: `desk` receives nothing on it from `rack`.
const OTHER: u32 = 2;
const CHANNELS: u32 = 3;
/// How many messages arrive before one is sent on the wrong channel.
const GOOD: u64 = 20;

/// Sends a part of a message on another channel.
fn set_channel(packet: &mut [u8], channel: u32) {
    if is_part(packet) {
        packet[CHANNEL_PLACE].copy_from_slice(&channel.to_le_bytes());
    }
}

fn link(opens: bool, transport: impl Transport + 'static) -> Link {
    let began = Instant::now();
    let now = Arc::new(move || i64::try_from(began.elapsed().as_nanos()).unwrap());
    // As in a run: a program that counts as dead learns that.
    let settings = Settings {
        keeps_peer: true,
        ..Settings::new(opens, CHANNELS)
    };
    Link::start(settings, Box::new(transport), now).unwrap()
}

/// Sends messages on the own channel until the other end counts this one as dead.
fn send_until_given_up(rack: &Link) {
    let deadline = Instant::now() + LONG;
    let mut number = 0_u64;
    while Instant::now() < deadline {
        let body = number.to_le_bytes().to_vec().into();
        if rack.send(OWN, &body, Duration::from_millis(20)).is_ok() {
            number += 1;
        }
        while let Some(event) = rack.next_event(Duration::ZERO) {
            if event == Event::GivenUp {
                return;
            }
        }
    }
    panic!("it is not given up");
}

/// Receives messages of `rack` until it counts as dead, and returns why. `forge` is set once some have come.
fn receive_until_violation(desk: &Link, forge: &AtomicBool) -> Violation {
    let deadline = Instant::now() + LONG;
    let mut number = 0_u64;
    while Instant::now() < deadline {
        match desk.next_event(Duration::from_millis(100)) {
            Some(Event::Message { id, body }) => {
                assert_eq!((id.channel, &body[..]), (OWN, &number.to_le_bytes()[..]));
                desk.take(OWN);
                desk.done(id);
                number += 1;
                if number == GOOD {
                    forge.store(true, Ordering::SeqCst);
                }
            }
            Some(Event::Disconnected(Some(violation))) if violation.is_final() => {
                let lost = desk.next_event(Duration::ZERO);
                assert_eq!(lost, Some(Event::PeerLost));
                assert!(number >= GOOD, "{number}: {violation}");
                return violation;
            }
            _ => {}
        }
    }
    panic!("it does not count as dead");
}

#[test]
fn a_machine_that_sends_on_the_channel_of_another_one_counts_as_dead() {
    let cases: [(Change, Violation); 2] = [
        // Nothing was granted to it there.
        (
            |packet| set_channel(packet, OTHER),
            Violation::Credit(OTHER),
        ),
        (
            |packet| set_channel(packet, 1_000),
            Violation::Channel(1_000),
        ),
    ];
    for (change, expected) in cases {
        let (created, address) = (certificates(), address());
        let (desk, rack) = pair(&created, &address);
        let has_begun: Arc<AtomicBool> = Arc::default();
        let forging = Forging {
            inner: rack,
            change,
            has_begun: has_begun.clone(),
        };
        let (desk, rack) = (link(false, desk), link(true, forging));
        desk.receive_on(OWN, 64);
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| send_until_given_up(&rack));
            assert_eq!(receive_until_violation(&desk, &has_begun), expected);
            sending.join().unwrap();
        });
    }
}
