//! What others can do: without a certificate, with one of another authority, and with that of another machine.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use flowpipe_link::library::Endpoint;
use flowpipe_link::transport::{Connection, Transport};
use flowpipe_zenoh::dialer::Dialer;
use flowpipe_zenoh::log::FailureLog;
use flowpipe_zenoh::settings;
use zenoh::sample::Locality;
use zenoh::{Session, Wait as _};

use super::{
    LONG, acceptor, acceptors, address, certificates, connect, dialer, endpoint, pair, received,
};

/// How long nothing has to happen.
const WHILE: Duration = Duration::from_secs(2);

/// A session of a program that keeps no rules: it may do everything, and the others decide what they accept.
fn hostile(endpoint: &Endpoint<'_>) -> Session {
    let mut config = settings::config(endpoint, &FailureLog::start()).unwrap();
    config
        .insert_json5("access_control/enabled", "false")
        .unwrap();
    zenoh::open(config).wait().unwrap()
}

/// Receives the keys of all that others publish and that reaches a session.
fn heard(session: &Session) -> Receiver<String> {
    let (heard, hearing) = channel();
    session
        .declare_subscriber("**")
        // Not what it publishes itself.
        .allowed_origin(Locality::Remote)
        .callback(move |sample| heard.send(sample.key_expr().to_string()).unwrap())
        .background()
        .wait()
        .unwrap();
    hearing
}

/// A message of a kind (opening, acceptance, data, close) for the connection with a number.
fn forged(kind: u8, number: u64) -> Vec<u8> {
    [&[kind][..], &number.to_le_bytes()].concat()
}

/// Calls this until there is an error of which this is true. On a busy machine, an attempt may take too long before.
fn refused(transport: &mut dyn Transport, is_it: impl Fn(&str) -> bool) {
    let deadline = Instant::now() + LONG;
    loop {
        match transport.connect(Duration::from_millis(100)) {
            Err(error) if is_it(&error.to_string()) => return,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
            Ok(Some(_)) => panic!("it is connected"),
            Ok(None) => assert!(Instant::now() < deadline),
        }
    }
}

/// Checks that a connection still works in both directions, and that nothing else has arrived.
fn works(ends: &[Arc<dyn Connection>; 2]) {
    for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        from.send(b"works").unwrap();
        from.flush().unwrap();
        assert_eq!(received(to).unwrap(), b"works");
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused_by_both_ends() {
    let (ours, theirs, address) = (certificates(), certificates(), address());
    let mut desk = acceptor(&ours, &address);
    // It refuses the certificate of the desk.
    let mut rack = Dialer::new(&endpoint(&theirs, &address, true, "rack", &["desk"])).unwrap();
    let names_it = |text: &str| text.contains("UnknownIssuer") || text.contains("UnknownCA");
    refused(&mut rack, names_it);
    // It knows the authority of the desk, which does not know its own.
    let mixed = Endpoint {
        authority: ours.authority.as_bytes(),
        ..endpoint(&theirs, &address, true, "rack", &["desk"])
    };
    let mut rack = Dialer::new(&mixed).unwrap();
    refused(&mut rack, names_it);
    // Its own machine can connect all the same.
    let mut rack = dialer(&ours, &address);
    works(&connect(&mut desk, &mut rack));
}

#[test]
fn nothing_has_the_authorities_of_the_web() {
    // No test can have a certificate that chains to one of them. So that none is trusted, no crate may have them or read
    // those of the system, as the original of vendor/zenoh-link-tls does.
    let lock = include_str!("../../../../Cargo.lock");
    assert!(lock.contains("name = \"zenoh-link-tls\""));
    for name in [
        "webpki-roots",
        "webpki-root-certs",
        "rustls-native-certs",
        "rustls-platform-verifier",
    ] {
        assert!(!lock.contains(&format!("name = \"{name}\"")), "{name}");
    }
}

#[test]
fn without_a_certificate_there_is_no_session() {
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let ends = connect(&mut desk, &mut rack);
    let plain = format!("[\"{}\"]", address.replace("tls/", "tcp/"));
    let whole = endpoint(&created, &address, true, "rack", &["desk"]);
    for changes in [
        // TLS without an own certificate, and no TLS.
        &[("transport/link/tls/enable_mtls", "false")][..],
        &[
            ("transport/link/protocols", "[\"tcp\"]"),
            ("connect/endpoints", &plain),
        ],
    ] {
        let mut config = settings::config(&whole, &FailureLog::start()).unwrap();
        for (key, value) in changes {
            config.insert_json5(key, value).unwrap();
        }
        let error = zenoh::open(config).wait().err().unwrap();
        let text = error.to_string();
        assert!(text.contains("Unable to connect"), "{text}");
        works(&ends);
    }
    // The same with the certificate: so it was the certificate.
    zenoh::open(settings::config(&whole, &FailureLog::start()).unwrap())
        .wait()
        .unwrap();
}

#[test]
fn another_machine_can_neither_connect_as_one_nor_publish_nor_listen() {
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let ends = connect(&mut desk, &mut rack);
    // It has its own certificate and key, and claims to be the rack.
    let other = hostile(&endpoint(&created, &address, true, "other", &["desk"]));
    let hearing = heard(&other);
    let began = Instant::now();
    while began.elapsed() < WHILE {
        for key in [
            settings::key("rack", "desk"),
            settings::key("desk", "rack"),
            settings::key("other", "desk"),
            "flowpipe/rack/*".to_owned(),
            "**".to_owned(),
        ] {
            // Also kinds that there are not.
            for kind in 0..=5 {
                other.put(key.as_str(), forged(kind, 7)).wait().unwrap();
            }
            other.put(key.as_str(), vec![1; 1 << 20]).wait().unwrap();
        }
        works(&ends);
        assert!(!matches!(desk.connect(Duration::ZERO), Ok(Some(_))));
    }
    assert_eq!(hearing.try_recv().ok(), None);
}

#[test]
fn a_machine_publishes_for_itself_alone() {
    let (created, address) = (certificates(), address());
    let mut desk = acceptor(&created, &address);
    let rack = hostile(&endpoint(&created, &address, true, "rack", &["desk"]));
    let open = forged(1, 7);
    let began = Instant::now();
    while began.elapsed() < WHILE {
        for key in [
            settings::key("desk", "rack"),
            settings::key("other", "desk"),
        ] {
            rack.put(key, open.clone()).wait().unwrap();
        }
        assert!(!matches!(
            desk.connect(Duration::from_millis(50)),
            Ok(Some(_))
        ));
    }
    // The same under its own name: so it was the name.
    let deadline = Instant::now() + LONG;
    loop {
        rack.put(settings::key("rack", "desk"), open.clone())
            .wait()
            .unwrap();
        if matches!(desk.connect(Duration::from_millis(50)), Ok(Some(_))) {
            break;
        }
        assert!(Instant::now() < deadline);
    }
}

#[test]
fn a_machine_of_the_run_is_believed_only_what_its_certificate_has() {
    let (created, address) = (certificates(), address());
    let mut desk = acceptors(&created, &address, &["rack", "other"]);
    let mut rack = dialer(&created, &address);
    let ends = connect(&mut desk[0], &mut rack);
    // It may connect as itself, and claims to be the rack.
    let other = hostile(&endpoint(&created, &address, true, "other", &["desk"]));
    let hearing = heard(&other);
    let (open, close) = (forged(1, 7), forged(4, 7));
    let began = Instant::now();
    while began.elapsed() < WHILE {
        for key in [
            settings::key("rack", "desk"),
            settings::key("desk", "rack"),
            "**".to_owned(),
        ] {
            for message in [&open, &close] {
                other.put(key.as_str(), message.clone()).wait().unwrap();
            }
        }
        works(&ends);
        for acceptor in &mut desk {
            assert!(!matches!(acceptor.connect(Duration::ZERO), Ok(Some(_))));
        }
    }
    // It hears nothing of what the two exchange.
    assert_eq!(hearing.try_recv().ok(), None);
    // The same under its own name: so it was the name.
    let deadline = Instant::now() + LONG;
    loop {
        let key = settings::key("other", "desk");
        other.put(key, open.clone()).wait().unwrap();
        if matches!(desk[1].connect(Duration::from_millis(50)), Ok(Some(_))) {
            break;
        }
        assert!(Instant::now() < deadline);
    }
    works(&ends);
}

#[test]
fn another_machine_that_listens_is_not_the_one_that_was_called() {
    let (created, address) = (certificates(), address());
    let impostor = hostile(&endpoint(&created, &address, false, "other", &["rack"]));
    let hearing = heard(&impostor);
    let mut rack = dialer(&created, &address);
    let accepting = std::thread::spawn(move || {
        for number in 0..100 {
            impostor
                .put(settings::key("desk", "rack"), forged(2, number))
                .wait()
                .unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        impostor
    });
    refused(&mut rack, |text| {
        text.contains("is not desk, or refuses this one")
    });
    // It has heard nothing either.
    assert_eq!(hearing.try_recv().ok(), None);
    accepting.join().unwrap();
}

#[test]
fn malformed_messages_of_the_other_machine_end_its_connection_alone() {
    let (created, address) = (certificates(), address());
    let mut desk = acceptor(&created, &address);
    let rack = hostile(&endpoint(&created, &address, true, "rack", &["desk"]));
    let key = settings::key("rack", "desk");
    let deadline = Instant::now() + LONG;
    let connection = loop {
        rack.put(&key, forged(1, 7)).wait().unwrap();
        if let Ok(Some(connection)) = desk.connect(Duration::from_millis(50)) {
            break connection;
        }
        assert!(Instant::now() < deadline);
    };
    // A packet that is longer than one may be.
    let long = [forged(3, 7), vec![255; 4]].concat();
    rack.put(&key, long).wait().unwrap();
    assert_eq!(received(&connection), None);
    // A message that is longer than one may be never arrives, and one of ten gigabytes is not awaited.
    rack.put(&key, vec![3; 4 << 20]).wait().unwrap();
    drop(rack);
    let mut rack = dialer(&created, &address);
    works(&connect(&mut desk, &mut rack));
}

#[test]
fn a_machine_that_opens_connections_and_waits_for_nothing_stops_no_other() {
    /// More than a connection has room for.
    const MANY: usize = 40;
    let (created, address) = (certificates(), address());
    let mut desk = acceptors(&created, &address, &["rack", "other"]);
    let endpoint_of = |name| endpoint(&created, &address, true, name, &["desk"]);
    // Each session is received on one of two threads.
    let sessions: Vec<_> = (0..4).map(|_| hostile(&endpoint_of("rack"))).collect();
    let key = settings::key("rack", "desk");
    let mut taken = Vec::new();
    for (number, session) in (0..).zip(&sessions) {
        let deadline = Instant::now() + LONG;
        loop {
            session.put(&key, forged(1, number)).wait().unwrap();
            if let Ok(Some(connection)) = desk[0].connect(Duration::from_millis(50)) {
                break taken.push(connection);
            }
            assert!(Instant::now() < deadline);
        }
    }
    let flood = |first: u64| {
        for (number, session) in (first..).zip(&sessions) {
            session.put(&key, forged(1, number)).wait().unwrap();
            for _ in 0..MANY {
                session.put(&key, forged(3, number)).wait().unwrap();
            }
        }
    };
    let mut other = Dialer::new(&endpoint_of("other")).unwrap();
    // The last connection is accepted, and nobody receives on it: then it is closed.
    for _ in 0..MANY {
        sessions[3].put(&key, forged(3, 3)).wait().unwrap();
    }
    flood(10);
    works(&connect(&mut desk[1], &mut other));
    // Nobody accepts connections of that machine any more.
    drop(desk.remove(0));
    flood(20);
    works(&connect(&mut desk[0], &mut other));
}

#[test]
fn strangers_keep_nobody_out_and_cost_few_files() {
    /// How many handshakes a listener has at a time, as in vendor/zenoh-link-tls.
    const MOST_HANDSHAKES: usize = 256;
    const TOO_MANY: usize = 144;
    /// When it ends all that say nothing.
    const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let target = address.strip_prefix("tls/").unwrap();
    let began = Instant::now();
    let strangers = 0..MOST_HANDSHAKES + TOO_MANY;
    let mut silent: Vec<_> = strangers
        .map(|_| TcpStream::connect(target).unwrap())
        .collect();
    // The first ones make room for others.
    for stream in &mut silent[..TOO_MANY] {
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    assert!(began.elapsed() < HANDSHAKE_TIMEOUT);
    works(&connect(&mut desk, &mut rack));
}

#[test]
fn strangers_change_nothing() {
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let ends = connect(&mut desk, &mut rack);
    let target = address.strip_prefix("tls/").unwrap();
    let mut silent = Vec::new();
    for round in 0..200_u32 {
        let mut stream = TcpStream::connect(target).unwrap();
        match round % 4 {
            // Nothing at all.
            0 => {}
            1 => stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
            // The beginning of a record of TLS.
            2 => stream.write_all(&[22, 3, 1, 255, 255]).unwrap(),
            _ => {
                let noise: Vec<u8> = (0..64 << 10).map(|_| fastrand::u8(..)).collect();
                // It may be refused already.
                let _ = stream.write_all(&noise);
            }
        }
        silent.push(stream);
        if round % 50 == 0 {
            works(&ends);
        }
    }
    works(&ends);
    // Who says nothing is not waited for without limit.
    let first = &mut silent[0];
    first.set_read_timeout(Some(LONG)).unwrap();
    let mut byte = [0];
    assert!(matches!(first.read(&mut byte), Ok(0) | Err(_)));
    works(&ends);
    // And a new connection can be made while the others are open.
    ends[1].close();
    works(&connect(&mut desk, &mut rack));
}
