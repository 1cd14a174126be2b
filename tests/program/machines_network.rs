//! Machines with networks of their own, and a proxy between them that delays, stalls, reorders and cuts what they send.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use flowpipe_tests::{flowpipe, pipeline, run};

use crate::machines::Machine;
use crate::network::{MIDDLE, Network};
use crate::proxy::Proxy;
use crate::screen::wait_for;

const PORT: u16 = 7447;

/// So many numbers from `desk` through `rack` to `shelf`, where they are written into a file. `rack` listens.
/// `pause_us`: how long it takes at least to write a number. Each is in the file then.
fn file(folder: &Path, count: usize, pause_us: u64) -> String {
    let log = folder.join("numbers.txt");
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = {count} }}\nmachine = \"desk\"\n\
         [stages.pass]\nplugin = \"numbers-pass\"\nfrom = \"numbers\"\nqueue = {{ capacity = 1024 }}\nmachine = \"rack\"\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"pass\"\nqueue = {{ capacity = 1024 }}\nmachine = \"shelf\"\n\
         config = {{ file = {log:?}, pause_us = {pause_us} }}\n\
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

/// The last number that is in the file of `shelf`, or 0.
fn written(log: &Path) -> usize {
    const TAIL: u64 = 64;
    let Ok(mut file) = File::open(log) else {
        return 0;
    };
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    // The last line may not be complete.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let last = whole.lines().next_back();
    last.map_or(0, |it| it.parse().unwrap())
}

/// Lets so many messages pass while connections are cut so often, at places that are spread over all of them. What
/// remains after the last place takes so long that a busy machine cuts before its end.
fn numbers_pass(network: &Network, count: usize, pause_us: u64, cuts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), count, pause_us);
    let target = SocketAddr::from((network.address("rack"), PORT));
    let proxy = network.in_middle(|| Proxy::start_at((MIDDLE, PORT).into(), target));
    let machines = ["shelf", "desk", "rack"].map(|it| start(network, &file, it));
    let log = folder.path().join("numbers.txt");
    for cut in 1..=cuts {
        let from = count * cut / (cuts + 1);
        wait_for("the number of a cut", || {
            (written(&log) >= from).then_some(())
        });
        assert!(proxy.cut_often(1) > 0, "there is nothing to cut at {from}");
        let last = written(&log);
        assert!((from..count).contains(&last), "cut {cut} came after {last}");
    }
    for machine in machines {
        let ran = machine.end().expect(0);
        // Connections are.
        for text in [": message ", " are lost"] {
            assert!(!ran.stderr.contains(text), "{ran:#?}");
        }
    }
    let written = std::fs::read_to_string(log).unwrap();
    let mut lines = written.lines().map(|line| line.parse::<usize>().unwrap());
    for number in 1..=count {
        assert_eq!(lines.next(), Some(number), "each once, and in order");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn no_message_is_lost_or_repeated() {
    match network() {
        Ok(network) => numbers_pass(&network, 10_000, 1_000, 3),
        Err(why) => flowpipe_testing::note!("skipped: there are no network namespaces: {why}"),
    }
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_million_messages_and_a_hundred_cuts() {
    numbers_pass(&network().unwrap(), 1_000_000, 50, 100);
}
