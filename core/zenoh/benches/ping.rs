//! A message to another thread of this program and its answer of the same length, over the machine's own network: through
//! a link, beside the same bytes over plain TCP, and through zenoh as its own example `z_ping` sends them, interleaved in
//! one run.
//!
//! `cargo bench -p flowpipe-zenoh --bench ping`.
#![allow(clippy::unwrap_used, reason = "a bench ends by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_link::library::{Endpoint, MachineCertificate, NamedMachine};
use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::Transport;
use flowpipe_zenoh::acceptor::Acceptor;
use flowpipe_zenoh::certificates;
use flowpipe_zenoh::dialer::Dialer;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait as _};

/// The lengths of messages: a small one, and a frame of 1920x1080.
const LENGTHS: [usize; 2] = [100, 1920 * 1080 * 4];
/// The number of messages of each length in a round.
const COUNTS: [usize; 2] = [2_000, 30];
/// The number of rounds. Each figure is the median of all messages.
const ROUNDS: usize = 5;
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const LONG: Duration = Duration::from_secs(60);
const CHANNEL: u32 = 0;

/// Sends a message and waits for its answer.
trait Ping {
    fn ping(&mut self, body: &Arc<[u8]>);
}

fn main() {
    // Cargo runs benches as tests too: then a little is enough.
    let is_brief = std::env::args().any(|argument| argument == "--test");
    let mut all: Vec<(&str, Box<dyn Ping>)> = vec![
        ("plain TCP", Box::new(Plain::start())),
        ("link over TCP", Box::new(LinkPing::over_tcp())),
        ("zenoh over TCP", Box::new(Zenoh::over_tcp())),
        ("link over zenoh, TLS", Box::new(LinkPing::over_tls())),
        ("zenoh over TLS", Box::new(Zenoh::over_tls())),
    ];
    for (length, count) in LENGTHS.into_iter().zip(COUNTS) {
        let count = if is_brief { 1 } else { count };
        let body: Arc<[u8]> = vec![7; length].into();
        let mut times = vec![Vec::new(); all.len()];
        for _ in 0..if is_brief { 1 } else { ROUNDS } {
            for ((_, ping), times) in all.iter_mut().zip(&mut times) {
                // The first ones wake it up.
                for _ in 0..count.div_ceil(10) {
                    ping.ping(&body);
                }
                for _ in 0..count {
                    let began = Instant::now();
                    ping.ping(&body);
                    times.push(began.elapsed());
                }
            }
        }
        println!("{length} bytes, there and back: p50, p95, times of plain TCP's p50");
        let quantile = |times: &mut Vec<Duration>, part: f64| {
            times.sort_unstable();
            times[((times.len() - 1) as f64 * part) as usize]
        };
        let plain = quantile(&mut times[0], 0.5);
        for ((name, _), times) in all.iter().zip(&mut times) {
            let [p50, p95] = [0.5, 0.95].map(|part| quantile(times, part));
            let ratio = p50.as_secs_f64() / plain.as_secs_f64();
            println!("  {name:<22} {p50:>10.1?} {p95:>10.1?} {ratio:>6.2}");
        }
    }
}

/// Bytes over a socket.
struct Plain(TcpStream);

impl Plain {
    fn start() -> Self {
        let listener = TcpListener::bind(LOOPBACK).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        for stream in [&stream, &other] {
            stream.set_nodelay(true).unwrap();
        }
        std::thread::spawn(move || {
            let mut length = [0; 8];
            // It ends with the program.
            while other.read_exact(&mut length).is_ok() {
                let mut body = vec![0; usize::from_le_bytes(length)];
                other.read_exact(&mut body).unwrap();
                other.write_all(&length).unwrap();
                other.write_all(&body).unwrap();
            }
        });
        Self(stream)
    }
}

impl Ping for Plain {
    fn ping(&mut self, body: &Arc<[u8]>) {
        self.0.write_all(&body.len().to_le_bytes()).unwrap();
        self.0.write_all(body).unwrap();
        let mut length = [0; 8];
        self.0.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::from_le_bytes(length)];
        self.0.read_exact(&mut answer).unwrap();
        assert_eq!(answer.len(), body.len());
    }
}

/// Messages through a link.
struct LinkPing {
    link: Link,
    is_over: Arc<AtomicBool>,
    other: Option<JoinHandle<()>>,
}

impl LinkPing {
    fn over_tcp() -> Self {
        let acceptor = TcpAcceptor::listen(LOOPBACK, &["rack"]).unwrap().remove(0);
        let dialer = TcpDialer::new(acceptor.address().unwrap(), "rack").unwrap();
        Self::start(dialer, acceptor)
    }

    fn over_tls() -> Self {
        let created =
            certificates::create(&["desk", "rack"].map(|name| NamedMachine::new(name, &[])))
                .unwrap();
        let address = free_address();
        let endpoint = |opens: bool| {
            let (own, peers) = if opens {
                ("rack", &["desk"])
            } else {
                ("desk", &["rack"])
            };
            let MachineCertificate { certificate, key } = &created.machines[usize::from(opens)];
            Endpoint {
                opens,
                address: &address,
                own,
                peers,
                authority: created.authority.as_bytes(),
                certificate: certificate.as_bytes(),
                key: key.as_bytes(),
            }
        };
        let acceptor = Acceptor::listen(&endpoint(false)).unwrap().remove(0);
        Self::start(Dialer::new(&endpoint(true)).unwrap(), acceptor)
    }

    fn start(dialer: impl Transport + 'static, acceptor: impl Transport + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let other = link(false, Box::new(acceptor));
        let ends = is_over.clone();
        let other = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                if let Some(body) = next(&other, Duration::from_millis(100)) {
                    other.send(CHANNEL, &body.into(), LONG).unwrap();
                }
            }
        });
        Self {
            link: link(true, Box::new(dialer)),
            is_over,
            other: Some(other),
        }
    }
}

impl Ping for LinkPing {
    fn ping(&mut self, body: &Arc<[u8]>) {
        self.link.send(CHANNEL, body, LONG).unwrap();
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(answer) = next(&self.link, LONG) {
                assert_eq!(answer.len(), body.len());
                return;
            }
            assert!(Instant::now() < deadline);
        }
    }
}

impl Drop for LinkPing {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.other.take().unwrap().join().unwrap();
    }
}

fn link(opens: bool, transport: Box<dyn Transport>) -> Link {
    let began = Instant::now();
    let now = Arc::new(move || i64::try_from(began.elapsed().as_nanos()).unwrap());
    let link = Link::start(Settings::new(opens, 1), transport, now).unwrap();
    link.receive_on(CHANNEL, 4);
    link
}

/// The next message, if the next event is one.
fn next(link: &Link, patience: Duration) -> Option<Vec<u8>> {
    match link.next_event(patience)? {
        Event::Message { id, body } => {
            link.take(CHANNEL);
            link.done(id);
            Some(body)
        }
        _ => None,
    }
}

/// Samples through two sessions of zenoh.
struct Zenoh {
    ping: Publisher<'static>,
    /// What was sent last: it is made once, and sent again and again.
    body: ZBytes,
    answers: Receiver<usize>,
    _sessions: [Session; 2],
}

impl Zenoh {
    fn over_tcp() -> Self {
        Self::start(&free_address().replace("tls/", "tcp/"), &[])
    }

    fn over_tls() -> Self {
        let created = certificates::create(&[NamedMachine::new("desk", &[])]).unwrap();
        let text = |text: &str| format!("{text:?}");
        let MachineCertificate { certificate, key } = &created.machines[0];
        // Encryption alone, as a client of the web has it.
        let keys = [
            (
                "transport/link/tls/root_ca_certificate_base64",
                text(&base64(&created.authority)),
            ),
            (
                "transport/link/tls/listen_certificate_base64",
                text(&base64(certificate)),
            ),
            (
                "transport/link/tls/listen_private_key_base64",
                text(&base64(key)),
            ),
            (
                "transport/link/tls/verify_name_on_connect",
                "false".to_owned(),
            ),
        ];
        Self::start(&free_address(), &keys)
    }

    fn start(address: &str, keys: &[(&str, String)]) -> Self {
        let open = |place: &str| {
            let mut config = zenoh::Config::default();
            for (key, value) in [
                ("scouting/multicast/enabled", "false"),
                ("scouting/gossip/enabled", "false"),
                ("listen/endpoints", "[]"),
            ] {
                config.insert_json5(key, value).unwrap();
            }
            for (key, value) in keys {
                config.insert_json5(key, value).unwrap();
            }
            let endpoints = format!("[{address:?}]");
            config.insert_json5(place, &endpoints).unwrap();
            zenoh::open(config).wait().unwrap()
        };
        let other = open("listen/endpoints");
        let session = open("connect/endpoints");
        let pong = other
            .declare_publisher("pong")
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .unwrap();
        let answer = move |body: ZBytes| pong.put(body).wait().unwrap();
        other
            .declare_subscriber("ping")
            .callback(move |sample| answer(sample.payload().clone()))
            .background()
            .wait()
            .unwrap();
        let (answered, answers) = channel();
        session
            .declare_subscriber("pong")
            .callback(move |sample| {
                // As a program that reads it would.
                let _ = answered.send(sample.payload().to_bytes().len());
            })
            .background()
            .wait()
            .unwrap();
        let ping = session
            .declare_publisher("ping")
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .unwrap();
        // Both know what the other subscribes to.
        std::thread::sleep(Duration::from_secs(1));
        Self {
            ping,
            body: ZBytes::default(),
            answers,
            _sessions: [session, other],
        }
    }
}

impl Ping for Zenoh {
    fn ping(&mut self, body: &Arc<[u8]>) {
        if self.body.len() != body.len() {
            self.body = body.to_vec().into();
        }
        self.ping.put(self.body.clone()).wait().unwrap();
        assert_eq!(self.answers.recv_timeout(LONG).unwrap(), body.len());
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// An address that nobody listens on.
fn free_address() -> String {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    format!("tls/{}", listener.local_addr().unwrap())
}
