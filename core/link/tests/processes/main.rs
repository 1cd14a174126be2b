//! Links between processes, whose connections are cut and whose programs are killed.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

mod ending;
mod proxy;
mod worker;

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_link::link::{Link, LinkClock};
use flowpipe_link::session::{Event, Settings, Timing};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::Transport;

use proxy::Proxy;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// No step of a test takes so long.
const LONG: Duration = Duration::from_secs(60);
/// After so long without a connection, a peer that may have ended has.
const LINGER: Duration = Duration::from_secs(1);

fn clock() -> LinkClock {
    let began = Instant::now();
    Arc::new(move || began.elapsed().as_nanos() as i64)
}

fn body(number: u64) -> Arc<[u8]> {
    let mut body = number.to_le_bytes().to_vec();
    if number.is_multiple_of(1_000) {
        // Several packets.
        body.resize(200_000, number as u8);
    }
    body.into()
}

/// A process of this program that does what one of [`worker`]'s functions does. Killed when dropped.
struct Process(Child);

impl Process {
    fn start(work: &str, address: SocketAddr) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker::work", "--nocapture", "--test-threads=1"])
            .env("FLOWPIPE_LINK_WORK", work)
            .env("FLOWPIPE_LINK_ADDRESS", address.to_string())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    fn output(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.0.stdout.take().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The rest of the first line with this word in front.
fn line(output: &mut impl BufRead, word: &str) -> String {
    let mut lines = output.lines().map(Result::unwrap);
    // The test harness writes before it, on the same line.
    let found = lines.find_map(|line| Some(line.split_once(word)?.1.trim().to_owned()));
    found.unwrap_or_else(|| panic!("no line with {word}"))
}

/// Sends so many messages to a process that sends them back, while something is done to the connections. Checks that each
/// message comes back once and in order.
fn come_back(messages: u64, disturb: impl FnOnce(&Proxy) + Send) {
    let mut process = Process::start("echo", LOOPBACK);
    let mut output = process.output();
    let address = line(&mut output, "address").parse().unwrap();
    let proxy = Proxy::start(address);
    let transport = TcpDialer::new(proxy.address, "worker").unwrap();
    let link = Link::start(Settings::new(true, 1), Box::new(transport), clock()).unwrap();
    link.receive_on(0, 64);
    let received = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..messages {
                link.send(0, &body(number), LONG).unwrap();
            }
            link.end(0);
        });
        let disturbing = scope.spawn(|| disturb(&proxy));
        let mut received = 0;
        loop {
            match link.next_event(LONG).expect("an event") {
                Event::Message { id, body: got } => {
                    assert!(got[..] == body(received)[..], "message {received}");
                    received += 1;
                    // It comes to its end after all that is done.
                    if received + 1_000 == messages {
                        while !disturbing.is_finished() {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    }
                    link.take(0);
                    link.done(id);
                }
                Event::Ended { .. } => break,
                Event::PeerLost => panic!("it lives"),
                _ => {}
            }
        }
        disturbing.join().unwrap();
        received
    });
    assert_eq!(received, messages);
    let clock = link.peer_clock().unwrap();
    assert!(clock.error_ns < 1_000_000_000, "{clock:?}");
    assert!(link.finish(LONG, LINGER));
    drop(link);
    assert_eq!(line(&mut output, "finished"), messages.to_string());
}

#[test]
fn messages_survive_cuts_between_processes() {
    const CUTS: usize = 100;
    come_back(100_000, |proxy| assert!(proxy.cut_often(CUTS) >= CUTS));
}

#[test]
fn messages_survive_connections_that_later_ones_overtake() {
    const OVERTAKINGS: usize = 3;
    const CUTS: usize = 5;
    come_back(20_000, |proxy| {
        for overtakings in 1..=OVERTAKINGS {
            proxy.hold_back_next();
            assert!(proxy.cut_often(CUTS) >= CUTS);
            let began = Instant::now();
            while proxy.overtakings() < overtakings {
                assert!(began.elapsed() < LONG, "no connection was overtaken");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert_eq!(proxy.overtakings(), OVERTAKINGS);
    });
}

/// What the sender knows of its messages.
#[derive(Default)]
struct Fates {
    finished: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    /// To be sent again.
    unsent: Vec<u64>,
}

#[test]
fn kills_lose_what_the_process_had() {
    const KILLS: usize = 20;
    const CAPACITY: usize = 4;
    let transport = TcpAcceptor::listen(LOOPBACK, &["worker"])
        .unwrap()
        .remove(0);
    let address = transport.address().unwrap();
    let link = Link::start(Settings::new(false, 1), Box::new(transport), clock()).unwrap();
    let mut process = Some(Process::start("work", address));
    let mut logs = vec![process.as_mut().unwrap().output()];
    let (mut numbers, mut fates) = (HashMap::new(), Fates::default());
    let (mut next, mut kills, mut losses) = (0, 0, Vec::new());
    let mut kill_at = 30;
    while kills < KILLS || fates.finished.len() + fates.lost.len() < next as usize {
        if kills < KILLS || !fates.unsent.is_empty() {
            let number = fates.unsent.pop().unwrap_or(next);
            match link.send(0, &body(number), Duration::from_millis(1)) {
                Ok(id) => {
                    next = next.max(number + 1);
                    assert!(numbers.insert(id, number).is_none());
                }
                Err(_) => fates.unsent.extend((number < next).then_some(number)),
            }
        }
        while let Some(event) = link.next_event(Duration::ZERO) {
            let mut each =
                |first: flowpipe_link::session::MessageId, last, to: &mut BTreeSet<_>| {
                    for number in first.number..=last {
                        let id = flowpipe_link::session::MessageId { number, ..first };
                        assert!(to.insert(numbers.remove(&id).expect("it was sent")));
                    }
                };
            match event {
                Event::Done { first, last } => each(first, last, &mut fates.finished),
                Event::Lost { first, last } => {
                    let before = fates.lost.len();
                    each(first, last, &mut fates.lost);
                    losses.push(fates.lost.len() - before);
                }
                Event::Unsent { id, body } => {
                    let number = numbers.remove(&id).expect("it was sent");
                    assert_eq!(body[..8], number.to_le_bytes());
                    fates.unsent.push(number);
                }
                _ => {}
            }
        }
        if kills < KILLS && fates.finished.len() >= kill_at {
            kill_at += 30 + kills;
            kills += 1;
            drop(process.take());
            let mut started = Process::start("work", address);
            logs.push(started.output());
            process = Some(started);
        }
    }
    assert!(fates.finished.is_disjoint(&fates.lost));
    let all: BTreeSet<u64> = fates.finished.union(&fates.lost).copied().collect();
    assert!(all.into_iter().eq(0..next), "each message has one fate");
    // A process has at most what it was granted, and the one that it works on.
    assert!(
        losses.iter().all(|lost| *lost <= CAPACITY + 1),
        "{losses:?}"
    );
    assert!(losses.len() <= KILLS && !losses.is_empty(), "{losses:?}");

    link.end(0);
    assert!(link.finish(LONG, LINGER));
    drop(process);
    let mut begun = BTreeSet::new();
    for log in logs {
        for line in log.lines().map(Result::unwrap) {
            if let Some((_, number)) = line.split_once("begins ") {
                assert!(begun.insert(number.parse().unwrap()), "{number} came twice");
            }
        }
    }
    assert!(
        fates.finished.is_subset(&begun),
        "what is finished was begun"
    );
}

#[test]
fn a_handshake_that_ends_by_silence_is_the_failure_of_the_link() {
    for opens in [true, false] {
        let mut acceptor = TcpAcceptor::listen(LOOPBACK, &["one"]).unwrap().remove(0);
        let mut dialer = TcpDialer::new(acceptor.address().unwrap(), "one").unwrap();
        let timing = Timing {
            silence_ns: 1_000_000_000,
            ..Timing::default()
        };
        let settings = Settings {
            timing,
            ..Settings::new(opens, 1)
        };
        let start =
            |transport: Box<dyn Transport>| Link::start(settings, transport, clock()).unwrap();
        // One end has a link, and the other one connects and sends nothing.
        let (link, _silent) = if opens {
            let link = start(Box::new(dialer));
            (link, acceptor.connect(LONG).unwrap().unwrap())
        } else {
            let link = start(Box::new(acceptor));
            (link, dialer.connect(LONG).unwrap().unwrap())
        };
        let began = Instant::now();
        while link.failure().is_none() && began.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(10));
        }
        let text = link.failure().unwrap().text;
        assert_eq!(text, "the other machine was silent for 1 s");
    }
}
