//! A proxy that delays, stalls, reorders and cuts connections.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// After so long without a connection, what connected has ended.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// Passes connections on to an address.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Both ends of each connection that was not cut.
    open: Mutex<Vec<[TcpStream; 2]>>,
    /// Whether nothing is passed on: from what connects, and to it.
    stalled: [AtomicBool; 2],
    /// No connection is passed on any more.
    is_closed: AtomicBool,
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
        let shared: Arc<Shared> = Arc::default();
        let own = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, own, mut random) = (stream.unwrap(), own.clone(), random.fork());
                std::thread::spawn(move || {
                    // A later connection overtakes it.
                    if random.u32(0..8) == 0 {
                        std::thread::sleep(Duration::from_millis(random.u64(0..300)));
                    }
                    // The target may have ended.
                    if let Ok(other) = TcpStream::connect(target) {
                        own.connect(stream, other, &mut random);
                    }
                });
            }
        });
        Self { address, shared }
    }

    /// Passes nothing on in one direction for so long: `0`, from what connects, or `1`, to it.
    pub fn stall(&self, direction: usize, time: Duration) {
        let stalled = &self.shared.stalled[direction];
        stalled.store(true, Ordering::Relaxed);
        std::thread::sleep(time);
        stalled.store(false, Ordering::Relaxed);
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
        let mut random = fastrand::Rng::with_seed(4);
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
    fn connect(self: Arc<Self>, stream: TcpStream, other: TcpStream, random: &mut fastrand::Rng) {
        stream.set_nodelay(true).unwrap();
        other.set_nodelay(true).unwrap();
        let ends = [stream.try_clone().unwrap(), other.try_clone().unwrap()];
        let mut open = self.open.lock().unwrap();
        if self.is_closed.load(Ordering::SeqCst) {
            return;
        }
        open.push(ends);
        drop(open);
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
