//! Why connections fail: each end learns of its own, whatever fails beside it in the same process.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flowpipe_link::transport::{FailureReason, Transport, TransportError};

use super::{LONG, LOOPBACK, acceptor, acceptors, address, certificates, dialer};

/// How often each end fails.
const FAILURES: usize = 10;

/// The reasons of the failures of an end, until there are enough of them. One that has no reason is a text.
fn reasons(end: &mut dyn Transport, are_enough: impl Fn(usize) -> bool) -> BTreeSet<String> {
    let deadline = Instant::now() + LONG;
    let mut found = BTreeSet::new();
    let mut failures = 0;
    while !are_enough(failures) {
        assert!(Instant::now() < deadline, "{failures}: {found:?}");
        if let Err(error) = end.connect(Duration::from_millis(50)) {
            failures += 1;
            let reason = TransportError::reason(&error);
            found.insert(reason.map_or_else(|| error.to_string(), |it| format!("{it:?}")));
        }
    }
    found
}

/// Ends a thread of a test.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn each_of_several_links_that_fail_at_once_has_its_own_reason() {
    let (ours, theirs) = (certificates(), certificates());
    let [listened, silent, free] = [(); 3].map(|()| address());
    // It refuses the machines of another authority.
    let mut listening = acceptor(&ours, &listened);
    // Nobody connects to this one.
    let mut idle = acceptor(&ours, &silent);
    // Nobody listens where this one connects to.
    let mut unreachable = dialer(&ours, &free);
    let mut stranger = dialer(&theirs, &listened);
    let are_done = AtomicBool::new(false);
    let only = |reason: FailureReason| BTreeSet::from([format!("{reason:?}")]);
    std::thread::scope(|scope| {
        let idling = scope.spawn(|| {
            while !are_done.load(Ordering::Relaxed) {
                let connected = idle.connect(Duration::from_millis(50));
                assert!(matches!(connected, Ok(None)), "{:?}", connected.err());
            }
        });
        let unreachable = scope.spawn(|| reasons(&mut unreachable, |count| count >= FAILURES));
        let refused = scope.spawn(|| reasons(&mut listening, |count| count >= FAILURES));
        // Also when this fails: the scope waits for the thread that idles.
        let done = SetAtEnd(&are_done);
        let stranger = reasons(&mut stranger, |count| count > 0 && refused.is_finished());
        let found = [unreachable.join(), refused.join(), Ok(stranger)];
        drop(done);
        idling.join().unwrap();
        let found = found.map(Result::unwrap);
        assert_eq!(found[0], only(FailureReason::Unreachable));
        assert_eq!(found[1], only(FailureReason::UnknownAuthority));
        assert_eq!(found[2], only(FailureReason::UnknownAuthority));
    });
}

#[test]
fn each_machine_that_is_missing_learns_that_a_connection_to_its_address_failed() {
    let (ours, theirs, address) = (certificates(), certificates(), address());
    let mut desk = acceptors(&ours, &address, &["rack", "other"]);
    let mut stranger = dialer(&theirs, &address);
    let mut missing = vec![true; desk.len()];
    let deadline = Instant::now() + LONG;
    while missing.contains(&true) {
        assert!(Instant::now() < deadline, "{missing:?}");
        let _ = stranger.connect(Duration::from_millis(50));
        for (end, is_missing) in desk.iter_mut().zip(&mut missing) {
            if let Err(error) = end.connect(Duration::ZERO) {
                let reason = TransportError::reason(&error);
                assert_eq!(reason, Some(FailureReason::UnknownAuthority), "{error}");
                *is_missing = false;
            }
        }
    }
}

/// The reason of the first failure of an end.
fn first_reason(end: &mut dyn Transport) -> Option<FailureReason> {
    let deadline = Instant::now() + LONG;
    loop {
        assert!(Instant::now() < deadline, "it has not failed");
        if let Err(error) = end.connect(Duration::from_millis(50)) {
            return TransportError::reason(&error);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_machine_whose_certificate_names_another_host_learns_that_it_is_refused() {
    // An address of this machine that no certificate of the tests has.
    let address = address().replace("127.0.0.1", "127.0.0.2");
    let created = certificates();
    let (mut desk, mut rack) = (acceptor(&created, &address), dialer(&created, &address));
    let [refused, other] = std::thread::scope(|scope| {
        let refused = scope.spawn(|| first_reason(&mut desk));
        let other = first_reason(&mut rack);
        [refused.join().unwrap(), other]
    });
    assert_eq!(other, Some(FailureReason::OtherHost));
    assert_eq!(refused, Some(FailureReason::RefusedCertificate));
}

#[test]
fn a_host_whose_address_is_not_found_is_unknown() {
    // The system refuses this port when it looks the address up, with and without a name server.
    let mut rack = dialer(&certificates(), "tls/localhost:99999");
    assert_eq!(first_reason(&mut rack), Some(FailureReason::UnknownHost));
}

#[test]
fn what_accepts_a_connection_and_says_nothing_has_not_answered() {
    let silent = TcpListener::bind(LOOPBACK).unwrap();
    let address = format!("tls/{}", silent.local_addr().unwrap());
    let mut rack = dialer(&certificates(), &address);
    assert_eq!(first_reason(&mut rack), Some(FailureReason::NoAnswer));
}
