//! A proxy that delays, stalls and cuts connections, and lets later ones overtake earlier ones.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// After so long without a connection, what connected has ended.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// A connection that is held back is passed on after so long in any case. What connects gives it up sooner.
const LONGEST_HOLD: Duration = Duration::from_secs(30);
/// How often it is checked whether a later connection has overtaken it.
const HOLD_CHECK: Duration = Duration::from_millis(2);

/// Passes connections on to an address.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// What is random and not of one connection.
    random: Mutex<fastrand::Rng>,
    /// Both ends of each connection that was not cut.
    open: Mutex<Vec<[TcpStream; 2]>>,
    /// Whether nothing is passed on: from what connects, and to it.
    stalled: [AtomicBool; 2],
    /// No connection is passed on any more.
    is_closed: AtomicBool,
    /// The next connection is held back.
    holds_next: AtomicBool,
    /// The number of the latest connection that was passed on. They count from 1.
    newest: AtomicU64,
    /// How many connections a later one has overtaken.
    overtakings: AtomicUsize,
}

impl Proxy {
    /// At any free port of this machine.
    pub fn start(target: SocketAddr) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), target)
    }

    pub fn start_at(address: SocketAddr, target: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let seed = seed();
        println!("the proxy's seed: {SEED}={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let shared = Arc::new(Shared::new(random.fork()));
        let own = shared.clone();
        std::thread::spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming()) {
                let (stream, own, mut random) = (stream.unwrap(), own.clone(), random.fork());
                let is_held = own.holds_next.swap(false, Ordering::SeqCst);
                std::thread::spawn(move || {
                    if is_held {
                        return own.hold_back(stream, target, number, &mut random);
                    }
                    // Some take longer than others.
                    if random.u32(0..8) == 0 {
                        std::thread::sleep(Duration::from_millis(random.u64(0..300)));
                    }
                    // The target may have ended.
                    if let Ok(other) = TcpStream::connect(target) {
                        own.connect(stream, other, number, &mut random);
                    }
                });
            }
        });
        Self { address, shared }
    }

    /// A generator of random numbers. Those of all calls, and what the proxy does, follow from its seed.
    pub fn random(&self) -> fastrand::Rng {
        self.shared.random.lock().unwrap().fork()
    }

    /// Holds the next connection back, with what is sent on it, until what connects has given it up and a later connection
    /// was passed on. The target gets it then.
    pub fn hold_back_next(&self) {
        self.shared.holds_next.store(true, Ordering::SeqCst);
    }

    /// How many connections have reached the target after a later one.
    pub fn overtakings(&self) -> usize {
        self.shared.overtakings.load(Ordering::SeqCst)
    }

    /// Passes nothing on in one direction for so long: `0`, from what connects, or `1`, to it.
    pub fn stall(&self, direction: usize, time: Duration) {
        self.set_stalled(direction, true);
        std::thread::sleep(time);
        self.set_stalled(direction, false);
    }

    /// Passes nothing on in one direction from now on, or passes everything on again.
    pub fn set_stalled(&self, direction: usize, is_stalled: bool) {
        self.shared.stalled[direction].store(is_stalled, Ordering::SeqCst);
    }

    /// Cuts all connections, and passes none on any more.
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        for ends in std::mem::take(&mut *self.shared.open.lock().unwrap()) {
            ends.iter()
                .for_each(|end| end.shutdown(Shutdown::Both).unwrap_or_default());
        }
    }

    /// Cuts connections so many times, at random times, or fewer if what connects has ended. Returns how many were cut.
    pub fn cut_often(&self, times: usize) -> usize {
        let mut random = self.random();
        let mut cuts = 0;
        let mut last = Instant::now();
        while cuts < times && last.elapsed() < GIVE_UP_AFTER {
            std::thread::sleep(Duration::from_micros(random.u64(0..60_000)));
            for ends in std::mem::take(&mut *self.shared.open.lock().unwrap()) {
                // One direction first, sometimes: the other end learns it later.
                let first = random.usize(0..2);
                ends[first].shutdown(Shutdown::Both).unwrap_or_default();
                std::thread::sleep(Duration::from_micros(random.u64(0..3_000)));
                ends[1 - first].shutdown(Shutdown::Both).unwrap_or_default();
                cuts += 1;
                last = Instant::now();
            }
        }
        cuts
    }
}

/// The variable with the seed of an earlier run.
const SEED: &str = "FLOWPIPE_PROXY_SEED";

fn seed() -> u64 {
    let given = std::env::var(SEED).ok();
    given.map_or_else(|| fastrand::u64(..), |it| it.parse().unwrap())
}

impl Shared {
    fn new(random: fastrand::Rng) -> Self {
        Self {
            random: Mutex::new(random),
            open: Mutex::default(),
            stalled: Default::default(),
            is_closed: AtomicBool::new(false),
            holds_next: AtomicBool::new(false),
            newest: AtomicU64::new(0),
            overtakings: AtomicUsize::new(0),
        }
    }

    /// Passes a connection on when a later one has overtaken it.
    fn hold_back(
        self: Arc<Self>,
        mut stream: TcpStream,
        target: SocketAddr,
        number: u64,
        random: &mut fastrand::Rng,
    ) {
        let began = Instant::now();
        let (mut held, mut bytes) = (Vec::new(), vec![0; 10_000]);
        let mut has_ended = false;
        let is_overtaken = || self.newest.load(Ordering::SeqCst) > number;
        stream.set_read_timeout(Some(HOLD_CHECK)).unwrap();
        while !(has_ended && is_overtaken()) && began.elapsed() < LONGEST_HOLD {
            if has_ended {
                std::thread::sleep(HOLD_CHECK);
                continue;
            }
            match stream.read(&mut bytes) {
                Ok(count @ 1..) => held.extend_from_slice(&bytes[..count]),
                // The systems have different errors for a read that takes too long.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Ok(0) | Err(_) => has_ended = true,
            }
        }
        if self.is_closed.load(Ordering::SeqCst) {
            return;
        }
        // The target may have ended.
        let Ok(mut other) = TcpStream::connect(target) else {
            return;
        };
        if other.write_all(&held).is_err() {
            return;
        }
        if !has_ended {
            stream.set_read_timeout(None).unwrap();
            return self.connect(stream, other, number, random);
        }
        other.shutdown(Shutdown::Write).unwrap_or_default();
        if is_overtaken() {
            self.overtakings.fetch_add(1, Ordering::SeqCst);
        }
        // Nobody gets what the target answers. It closes the connection.
        while let Ok(1..) = other.read(&mut bytes) {}
    }

    fn connect(
        self: Arc<Self>,
        stream: TcpStream,
        other: TcpStream,
        number: u64,
        random: &mut fastrand::Rng,
    ) {
        stream.set_nodelay(true).unwrap();
        other.set_nodelay(true).unwrap();
        let ends = [stream.try_clone().unwrap(), other.try_clone().unwrap()];
        let mut open = self.open.lock().unwrap();
        if self.is_closed.load(Ordering::SeqCst) {
            return;
        }
        open.push(ends);
        drop(open);
        self.newest.fetch_max(number, Ordering::SeqCst);
        let there = [stream.try_clone().unwrap(), other.try_clone().unwrap()];
        self.clone().pass_on(0, there, random.fork());
        self.pass_on(1, [other, stream], random.fork());
    }

    /// Passes one direction on, now and then with a delay, and seldom with a long one.
    fn pass_on(
        self: Arc<Self>,
        direction: usize,
        [mut from, mut to]: [TcpStream; 2],
        mut random: fastrand::Rng,
    ) {
        std::thread::spawn(move || {
            let mut bytes = vec![0; 10_000];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if random.u32(0..200) == 0 {
                    std::thread::sleep(Duration::from_millis(random.u64(0..5)));
                }
                if random.u32(0..20_000) == 0 {
                    std::thread::sleep(Duration::from_millis(random.u64(100..400)));
                }
                while self.stalled[direction].load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            to.shutdown(Shutdown::Both).unwrap_or_default();
        });
    }
}
