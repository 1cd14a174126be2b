//! A link over connections that are cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::transport::Transport;

use super::proxy::Proxy;
use super::{LINGER, LONG, acceptor, address, certificates, dialer};

const CHANNEL: u32 = 0;

fn link(opens: bool, transport: impl Transport + 'static) -> Link {
    let began = Instant::now();
    let now = Arc::new(move || i64::try_from(began.elapsed().as_nanos()).unwrap());
    let link = Link::start(Settings::new(opens, 1), Box::new(transport), now).unwrap();
    link.receive_on(CHANNEL, 64);
    link
}

/// The message of a number. Some are longer than a packet.
fn message(number: u32, is_last: bool) -> Arc<[u8]> {
    let mut message = vec![is_last.into()];
    message.extend(number.to_le_bytes());
    if number.is_multiple_of(10) {
        message.resize(100_000, 7);
    }
    message.into()
}

/// Receives messages to the last one, and finishes them. Counts how often the connection is lost.
fn receive(link: &Link, losses: &AtomicUsize) {
    let deadline = Instant::now() + 2 * LONG;
    for number in 0.. {
        let (id, body) = loop {
            assert!(Instant::now() < deadline, "{number}: {:?}", link.failure());
            match link.next_event(Duration::from_millis(100)) {
                Some(Event::Message { id, body }) => break (id, body),
                Some(Event::Disconnected(violation)) => {
                    assert_eq!(violation, None);
                    losses.fetch_add(1, Ordering::Relaxed);
                }
                Some(Event::PeerLost | Event::Lost { .. } | Event::Unsent { .. }) => {
                    panic!("nobody has died");
                }
                _ => {}
            }
        };
        let is_last = body[0] == 1;
        assert_eq!(*body, *message(number, is_last), "{number}");
        link.take(CHANNEL);
        link.done(id);
        if is_last {
            return;
        }
    }
}

#[test]
fn a_link_loses_and_repeats_nothing_however_often_its_connection_is_cut() {
    /// Each end reports a cut.
    const LOSSES: usize = 8;
    let (created, target) = (certificates(), address());
    let desk = acceptor(&created, &target);
    let proxy = Proxy::start(target.strip_prefix("tls/").unwrap().parse().unwrap());
    let through = format!("tls/{}", proxy.address);
    let links = [link(false, desk), link(true, dialer(&created, &through))];
    let losses = AtomicUsize::new(0);
    // One connection arrives after rack has given it up and opened another one.
    proxy.hold_back_next();
    let are_enough = || losses.load(Ordering::Relaxed) >= LOSSES;
    std::thread::scope(|scope| {
        for link in &links {
            scope.spawn(|| receive(link, &losses));
            scope.spawn(|| {
                for number in 0.. {
                    let is_last = are_enough();
                    let message = message(number, is_last);
                    link.send(CHANNEL, &message, 2 * LONG).unwrap();
                    if is_last {
                        return;
                    }
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
        while !are_enough() {
            proxy.cut_often(1);
            // Time for the next connection.
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let deadline = Instant::now() + LONG;
    while proxy.overtakings() == 0 {
        assert!(Instant::now() < deadline, "no connection was overtaken");
        std::thread::sleep(Duration::from_millis(1));
    }
    let [desk, rack] = links;
    let other = std::thread::spawn(move || rack.finish(LONG, LINGER));
    assert!(desk.finish(LONG, LINGER));
    assert!(other.join().unwrap());
}
