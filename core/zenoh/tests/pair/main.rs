//! Connections over TLS on this machine: between the two ends, and what strangers can do to them.

#![allow(clippy::unwrap_used, reason = "tests end by panicking")]

mod failures;
#[path = "../../../link/tests/support/forging.rs"]
mod forging;
mod hostile;
mod link;
#[path = "../../../link/tests/processes/proxy.rs"]
mod proxy;
mod violations;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_link::MAX_PACKET;
use flowpipe_link::library::{Certificates, Endpoint, MachineCertificate, NamedMachine};
use flowpipe_link::transport::{Connection, Received, Transport};
use flowpipe_zenoh::acceptor::Acceptor;
use flowpipe_zenoh::certificates;
use flowpipe_zenoh::dialer::Dialer;

/// Any free port of this machine.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long something that happens may take. The tests of the workspace run at the same time.
const LONG: Duration = Duration::from_secs(60);
/// After so long without a connection, a peer that may have ended has.
const LINGER: Duration = Duration::from_secs(1);

/// The machines of one authority, in this order.
const MACHINES: [&str; 3] = ["desk", "rack", "other"];

/// An address that nobody listens on.
fn address() -> String {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    format!("tls/{}", listener.local_addr().unwrap())
}

fn certificates() -> Certificates {
    let named = MACHINES.map(|name| NamedMachine::new(name, &[]));
    certificates::create(&named).unwrap()
}

/// The end of a machine, to these others.
fn endpoint<'a>(
    created: &'a Certificates,
    address: &'a str,
    opens: bool,
    own: &'a str,
    peers: &'a [&'a str],
) -> Endpoint<'a> {
    let index = MACHINES.iter().position(|name| *name == own);
    let MachineCertificate { certificate, key } = &created.machines[index.unwrap()];
    Endpoint {
        opens,
        address,
        own,
        peers,
        authority: created.authority.as_bytes(),
        certificate: certificate.as_bytes(),
        key: key.as_bytes(),
    }
}

/// `desk`, which listens for others at one address.
fn acceptors(created: &Certificates, address: &str, peers: &[&str]) -> Vec<Acceptor> {
    Acceptor::listen(&endpoint(created, address, false, "desk", peers)).unwrap()
}

/// `desk`, which listens for `rack`.
fn acceptor(created: &Certificates, address: &str) -> Acceptor {
    acceptors(created, address, &["rack"]).remove(0)
}

/// `rack`, which opens connections to `desk`.
fn dialer(created: &Certificates, address: &str) -> Dialer {
    Dialer::new(&endpoint(created, address, true, "rack", &["desk"])).unwrap()
}

/// Both.
fn pair(created: &Certificates, address: &str) -> (Acceptor, Dialer) {
    (acceptor(created, address), dialer(created, address))
}

/// Lets both ends connect.
fn connect(desk: &mut Acceptor, rack: &mut Dialer) -> [Arc<dyn Connection>; 2] {
    let deadline = Instant::now() + LONG;
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            while Instant::now() < deadline {
                if let Ok(Some(connection)) = desk.connect(Duration::from_millis(100)) {
                    return connection;
                }
            }
            panic!("nobody has connected");
        });
        let opened = loop {
            match rack.connect(Duration::from_millis(100)) {
                Ok(Some(connection)) => break connection,
                other => assert!(Instant::now() < deadline, "{:?}", other.err()),
            }
        };
        [accepting.join().unwrap(), opened]
    })
}

fn received(connection: &Arc<dyn Connection>) -> Option<Vec<u8>> {
    let mut packet = Vec::new();
    let received = connection.receive(&mut packet).unwrap();
    (received != Received::Closed).then_some(packet)
}

#[test]
fn packets_arrive_in_order_in_both_directions() {
    const COUNT: u32 = 2000;
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let [accepted, opened] = connect(&mut desk, &mut rack);
    // Some are as long as a packet may be, which is more than the channels can have in total.
    let packet = |number: u32| {
        let mut packet = number.to_le_bytes().to_vec();
        if number.is_multiple_of(20) {
            packet.resize(MAX_PACKET, 7);
        }
        packet
    };
    std::thread::scope(|scope| {
        for (from, to) in [(&accepted, &opened), (&opened, &accepted)] {
            scope.spawn(move || {
                for number in 0..COUNT {
                    from.send(&packet(number)).unwrap();
                    if number % 3 == 0 {
                        from.flush().unwrap();
                    }
                }
                from.flush().unwrap();
            });
            scope.spawn(move || {
                for number in 0..COUNT {
                    assert_eq!(received(to).unwrap(), packet(number));
                }
            });
        }
    });
    let error = opened.send(&vec![0; MAX_PACKET + 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn a_connection_that_one_end_closes_ends_and_there_can_be_another() {
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    for round in 0..3_u8 {
        let [accepted, opened] = connect(&mut desk, &mut rack);
        opened.send(&[round]).unwrap();
        opened.flush().unwrap();
        assert_eq!(received(&accepted).unwrap(), [round]);
        if round == 1 {
            accepted.close();
            assert_eq!(received(&accepted), None);
            // It is reported when the end that listens waits for the next one.
            assert!(!matches!(desk.connect(Duration::ZERO), Ok(Some(_))));
            assert_eq!(received(&opened), None);
        } else {
            opened.close();
            assert_eq!(received(&opened), None);
        }
        assert!(opened.send(&[0]).and_then(|()| opened.flush()).is_err());
        assert!(round != 1 || accepted.send(&[0]).and_then(|()| accepted.flush()).is_err());
    }
}

#[test]
fn one_address_is_for_several_machines() {
    let (created, address) = (certificates(), address());
    let mut acceptors = acceptors(&created, &address, &["rack", "other"]);
    let other = endpoint(&created, &address, true, "other", &["desk"]);
    let mut dialers = [dialer(&created, &address), Dialer::new(&other).unwrap()];
    let mut connections = Vec::new();
    for index in [1, 0] {
        connections.push(connect(&mut acceptors[index], &mut dialers[index]));
    }
    let mut exchange = |round: u8| {
        for (number, [accepted, opened]) in (0_u8..).zip(&connections) {
            for (from, to) in [(accepted, opened), (opened, accepted)] {
                from.send(&[round, number]).unwrap();
                from.flush().unwrap();
                assert_eq!(received(to).unwrap(), [round, number]);
            }
        }
    };
    (0..3).for_each(&mut exchange);
    // One of them ends, and the other one is still connected.
    drop(dialers);
    let [accepted, opened] = connections.remove(0);
    drop(acceptors.remove(1));
    opened.close();
    drop((accepted, opened));
    let mut dialer = dialer(&created, &address);
    let [accepted, opened] = connect(&mut acceptors[0], &mut dialer);
    opened.send(b"again").unwrap();
    opened.flush().unwrap();
    assert_eq!(received(&accepted).unwrap(), b"again");
}

#[test]
fn an_end_that_is_gone_closes_its_connections() {
    let (created, address) = (certificates(), address());
    let (mut desk, mut rack) = pair(&created, &address);
    let [accepted, opened] = connect(&mut desk, &mut rack);
    drop((opened, rack));
    assert_eq!(received(&accepted), None);
    let mut rack = dialer(&created, &address);
    let [accepted, opened] = connect(&mut desk, &mut rack);
    drop((accepted, desk));
    assert_eq!(received(&opened), None);
}

#[test]
fn a_wrong_certificate_is_reported_before_anything_is_opened() {
    let (created, address) = (certificates(), address());
    let wrong = Endpoint {
        certificate: created.machines[2].certificate.as_bytes(),
        ..endpoint(&created, &address, false, "desk", &["rack"])
    };
    let opening = Endpoint {
        opens: true,
        ..wrong
    };
    for error in [Acceptor::listen(&wrong).err(), Dialer::new(&opening).err()] {
        let text = error.unwrap().to_string();
        assert_eq!(text, "the certificate is that of machine other");
    }
}

#[test]
fn an_address_that_is_used_is_reported() {
    let created = certificates();
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = format!("tls/{}", listener.local_addr().unwrap());
    let error = Acceptor::listen(&endpoint(&created, &address, false, "desk", &["rack"]));
    let text = error.err().unwrap().to_string();
    assert!(text.contains("Address already in use"), "{text}");
}
