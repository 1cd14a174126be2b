//! A proxy that delays, stalls, reorders and cuts connections.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// After so long without a connection, what connected has ended.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// Passes connections on to an address.
pub struct Proxy {
    pub address: SocketAddr,
    /// Both ends of each connection that was not cut.
    open: Arc<Mutex<Vec<[TcpStream; 2]>>>,
}

impl Proxy {
    /// At any free port of this machine.
    pub fn start(target: SocketAddr) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), target)
    }

    pub fn start_at(address: SocketAddr, target: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let open: Arc<Mutex<Vec<_>>> = Arc::default();
        let own = open.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, own) = (stream.unwrap(), own.clone());
                std::thread::spawn(move || {
                    // A later connection overtakes it.
                    if fastrand::u32(0..8) == 0 {
                        std::thread::sleep(Duration::from_millis(fastrand::u64(0..300)));
                    }
                    // The target may have ended.
                    if let Ok(other) = TcpStream::connect(target) {
                        connect(&own, stream, other);
                    }
                });
            }
        });
        Self { address, open }
    }

    /// Cuts connections so many times, at random times, or fewer if what connects has ended. Returns how many were cut.
    pub fn cut_often(&self, times: usize) -> usize {
        let mut random = fastrand::Rng::with_seed(4);
        let mut cuts = 0;
        let mut last = Instant::now();
        while cuts < times && last.elapsed() < GIVE_UP_AFTER {
            std::thread::sleep(Duration::from_micros(random.u64(0..60_000)));
            for ends in std::mem::take(&mut *self.open.lock().unwrap()) {
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

fn connect(open: &Mutex<Vec<[TcpStream; 2]>>, stream: TcpStream, other: TcpStream) {
    stream.set_nodelay(true).unwrap();
    other.set_nodelay(true).unwrap();
    let ends = [stream.try_clone().unwrap(), other.try_clone().unwrap()];
    open.lock().unwrap().push(ends);
    pass_on(stream.try_clone().unwrap(), other.try_clone().unwrap());
    pass_on(other, stream);
}

/// Passes one direction on, now and then with a delay, and seldom with a long one.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut random = fastrand::Rng::new();
        let mut bytes = vec![0; 10_000];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if random.u32(0..200) == 0 {
                std::thread::sleep(Duration::from_millis(random.u64(0..5)));
            }
            if random.u32(0..20_000) == 0 {
                std::thread::sleep(Duration::from_millis(random.u64(100..400)));
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).unwrap_or_default();
    });
}
