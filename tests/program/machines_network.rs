//! Machines with networks of their own, and a proxy between them that delays, stalls, reorders and cuts what they send.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use flowpipe_tests::{flowpipe, pipeline, run};

use crate::machines::Machine;
use crate::network::{MIDDLE, Network};
use crate::proxy::Proxy;

const PORT: u16 = 7447;

/// So many numbers from `desk` through `rack` to `shelf`, where they are written into a file. `rack` listens.
fn file(folder: &Path, count: usize) -> String {
    let log = folder.join("numbers.txt");
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = {count} }}\nmachine = \"desk\"\n\
         [stages.pass]\nplugin = \"numbers-pass\"\nfrom = \"numbers\"\nqueue = {{ capacity = 1024 }}\nmachine = \"rack\"\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"pass\"\nqueue = {{ capacity = 1024 }}\nmachine = \"shelf\"\n\
         config = {{ file = {log:?} }}\n\
         [machines.desk]\n[machines.shelf]\n\
         [machines.rack]\nlisten = \"tls/0.0.0.0:{PORT}\"\nconnect = \"tls/{MIDDLE}:{PORT}\"\n"
    );
    let file = pipeline(folder, &text);
    run(&["machine", "init", &file]).expect(0);
    file
}

fn start(network: &Network, file: &str, machine: &str) -> Machine {
    let program = flowpipe(&["run", file, "--machine", machine, "--json"]);
    let mut command = network.command(machine, &program);
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Machine(started.unwrap())
}

/// The machines' networks. `Err`: why there are none here.
fn network() -> Result<Network, String> {
    Network::new(&["desk", "rack", "shelf"])
}

/// Lets so many messages pass while connections are cut so often.
fn numbers_pass(network: &Network, count: usize, cuts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), count);
    let target = SocketAddr::from((network.address("rack"), PORT));
    let proxy = network.in_middle(|| Proxy::start_at((MIDDLE, PORT).into(), target));
    let machines = ["shelf", "desk", "rack"].map(|it| start(network, &file, it));
    let cut = proxy.cut_often(cuts);
    for machine in machines {
        let ran = machine.end().expect(0);
        // Connections are.
        for text in [": message ", " are lost"] {
            assert!(!ran.stderr.contains(text), "{ran:#?}");
        }
    }
    assert!(cut >= cuts);
    let written = std::fs::read_to_string(folder.path().join("numbers.txt")).unwrap();
    let mut lines = written.lines().map(|line| line.parse::<usize>().unwrap());
    for number in 1..=count {
        assert_eq!(lines.next(), Some(number), "each once, and in order");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn no_message_is_lost_or_repeated() {
    match network() {
        Ok(network) => numbers_pass(&network, 10_000, 3),
        Err(why) => flowpipe_testing::note!("skipped: there are no network namespaces: {why}"),
    }
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_million_messages_and_a_hundred_cuts() {
    numbers_pass(&network().unwrap(), 1_000_000, 100);
}
