//! The other process.

use std::io::Write;
use std::time::Duration;

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};

use crate::{LINGER, LONG, clock};

/// Does the work that the environment names. Without one it is a test that passes.
#[test]
fn work() {
    let Ok(work) = std::env::var("FLOWPIPE_LINK_WORK") else {
        return;
    };
    let address = std::env::var("FLOWPIPE_LINK_ADDRESS").unwrap();
    let address = address.parse().unwrap();
    match work.as_str() {
        "echo" => {
            let acceptors = TcpAcceptor::listen(address, &["worker"]);
            echo(acceptors.unwrap().remove(0));
        }
        "work" => process(TcpDialer::new(address, "worker").unwrap()),
        _ => panic!("{work}"),
    }
}

fn print(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Sends back what it receives.
fn echo(transport: TcpAcceptor) {
    print(&format!("address {}", transport.address().unwrap()));
    let link = Link::start(Settings::new(false, 1), Box::new(transport), clock()).unwrap();
    link.receive_on(0, 64);
    let mut received = 0;
    loop {
        match link.next_event(LONG).expect("an event") {
            Event::Message { id, body } => {
                received += 1;
                link.take(0);
                link.send(0, &body.into(), LONG).unwrap();
                link.done(id);
            }
            Event::Ended { .. } => break,
            _ => {}
        }
    }
    link.end(0);
    assert!(link.finish(LONG, LINGER));
    print(&format!("finished {received}"));
}

/// Works a while on each message.
fn process(transport: TcpDialer) {
    let link = Link::start(Settings::new(true, 1), Box::new(transport), clock()).unwrap();
    link.receive_on(0, 4);
    loop {
        match link.next_event(LONG).expect("an event") {
            Event::Message { id, body } => {
                let number = u64::from_le_bytes(*body.first_chunk().unwrap());
                print(&format!("begins {number}"));
                link.take(0);
                std::thread::sleep(Duration::from_micros(300));
                link.done(id);
            }
            Event::Ended { .. } => break,
            _ => {}
        }
    }
    assert!(link.finish(LONG, LINGER));
}
