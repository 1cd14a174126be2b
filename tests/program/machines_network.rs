//! Machines with networks of their own, and a proxy between them that delays, stalls and cuts what they send.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flowpipe_tests::{Ran, flowpipe, pipeline, run};

use crate::machines::Machine;
use crate::machines_death::{CAPACITY, check_losses, most_in_hand};
use crate::machines_silence::SILENCE;
use crate::network::{MIDDLE, Network};
use crate::proxy::Proxy;
use crate::screen::wait_for;

const PORT: u16 = 7447;
/// The capacity of queues in which numbers wait while a connection is made again.
const LARGE: usize = 1024;

/// Numbers from `desk` through `rack` to `shelf`, where they are written into a file. `rack` listens, and a proxy is between
/// it and the others.
struct Chain {
    folder: tempfile::TempDir,
    proxy: Proxy,
    /// In the order of [`MACHINES`].
    machines: [Machine; 3],
}

const MACHINES: [&str; 3] = ["shelf", "desk", "rack"];

impl Chain {
    /// `capacity`: that of the queues. `pause_us`: how long it takes at least to write a number. Each is in the file then.
    fn start(network: &Network, capacity: usize, count: usize, pause_us: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path());
        let queue = format!("queue = {{ capacity = {capacity} }}");
        let text = format!(
            "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = {count} }}\nmachine = \"desk\"\n\
             [stages.pass]\nplugin = \"numbers-pass\"\nfrom = \"numbers\"\n{queue}\nmachine = \"rack\"\n\
             [stages.log]\nplugin = \"numbers-log\"\nfrom = \"pass\"\n{queue}\nmachine = \"shelf\"\n\
             config = {{ file = {log:?}, pause_us = {pause_us} }}\n\
             [machines.desk]\n[machines.shelf]\n\
             [machines.rack]\nlisten = \"tls/0.0.0.0:{PORT}\"\nconnect = \"tls/{MIDDLE}:{PORT}\"\n"
        );
        let file = pipeline(folder.path(), &text);
        run(&["machine", "init", &file]).expect(0);
        let target = SocketAddr::from((network.address("rack"), PORT));
        let proxy = network.in_middle(|| Proxy::start_at((MIDDLE, PORT).into(), target));
        let machines = MACHINES.map(|it| start(network, &file, it));
        Self {
            folder,
            proxy,
            machines,
        }
    }

    fn log(&self) -> PathBuf {
        log(self.folder.path())
    }

    /// The last number that is written, or 0.
    fn written(&self) -> usize {
        written(&self.log())
    }

    fn wait_until_written(&self, number: usize) {
        wait_for("a number", || (self.written() >= number).then_some(()));
    }

    /// Waits for the end of all, and checks that all numbers are written, each once and in order. Returns what the machines
    /// have printed.
    fn has_all(self, count: usize) -> [Ran; 3] {
        let ran = self.machines.map(|machine| machine.end().expect(0));
        for ran in &ran {
            // Connections are lost.
            for text in [": message ", " are lost", " is dead"] {
                assert!(!ran.stderr.contains(text), "{ran:#?}");
            }
        }
        let written = std::fs::read_to_string(log(self.folder.path())).unwrap();
        let mut lines = written.lines().map(|line| line.parse::<usize>().unwrap());
        for number in 1..=count {
            assert_eq!(lines.next(), Some(number), "each once, and in order");
        }
        assert_eq!(lines.next(), None);
        ran
    }
}

/// The file of the numbers.
fn log(folder: &Path) -> PathBuf {
    folder.join("numbers.txt")
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

/// Does something with the machines' networks, where there are any.
fn in_network(work: impl FnOnce(&Network)) {
    match network() {
        Ok(network) => work(&network),
        Err(why) => flowpipe_testing::note!("skipped: there are no network namespaces: {why}"),
    }
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

/// Lets so many messages pass while connections are cut so often, at places that are drawn from the seed of the proxy. What
/// remains after the last place takes so long that a busy machine cuts before its end.
fn numbers_pass(network: &Network, count: usize, pause_us: u64, cuts: usize) {
    let chain = Chain::start(network, LARGE, count, pause_us);
    let mut random = chain.proxy.random();
    let last_place = count * cuts / (cuts + 1);
    let mut places = BTreeSet::new();
    while places.len() < cuts {
        places.insert(random.usize(1..=last_place));
    }
    for &place in &places {
        chain.wait_until_written(place);
        let cut = chain.proxy.cut_often(1);
        assert!(cut > 0, "there is nothing to cut at {place}");
        let last = chain.written();
        let is_between = (place..count).contains(&last);
        assert!(
            is_between,
            "the cut at {place} of {places:?} came after {last}"
        );
    }
    chain.has_all(count);
}

#[test]
fn no_message_is_lost_or_repeated() {
    in_network(|network| numbers_pass(network, 10_000, 1_000, 3));
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_million_messages_and_a_hundred_cuts() {
    numbers_pass(&network().unwrap(), 1_000_000, 50, 100);
}

#[test]
fn silence_in_one_direction_loses_and_repeats_nothing_over_a_network() {
    const COUNT: usize = 4_000;
    const STALLS: [usize; 2] = [1_000, 2_000];
    in_network(|network| {
        let chain = Chain::start(network, CAPACITY, COUNT, 1_000);
        for (direction, place) in STALLS.into_iter().enumerate() {
            chain.wait_until_written(place);
            chain.proxy.stall(direction, SILENCE);
            let last = chain.written();
            assert!(last < COUNT, "all were written before the end of a stall");
        }
        let [shelf, desk, rack] = chain.has_all(COUNT);
        // Who hears nothing closes the connection.
        for (ran, other) in [
            (&shelf, "rack"),
            (&desk, "rack"),
            (&rack, "shelf"),
            (&rack, "desk"),
        ] {
            let closed = format!("the connection to machine {other} is lost");
            assert!(ran.stderr.contains(&closed), "{ran:#?}");
        }
    });
}

#[test]
fn a_kill_in_the_middle_of_a_network_loses_what_is_reported() {
    in_network(|network| {
        let chain = Chain::start(network, CAPACITY, 1_000_000, 1_000);
        chain.wait_until_written(333);
        let log = chain.log();
        // The proxy and the folder are there until the end.
        let Chain {
            folder: _folder,
            proxy: _proxy,
            machines: [shelf, desk, mut rack],
        } = chain;
        rack.0.kill().unwrap();
        rack.0.wait().unwrap();
        let [shelf, desk] = [shelf, desk].map(|machine| machine.end().expect(1));
        for ran in [&shelf, &desk] {
            let dead = "machine rack is dead: the run ends";
            assert!(ran.stderr.contains(dead), "{ran:#?}");
        }
        // The proxy may delay the report that they are finished, and with it the credit for more: so they are no more than the
        // machine can have in hand.
        let [_, arrived] = check_losses(&desk, &log, CAPACITY);
        assert!(arrived <= most_in_hand(CAPACITY), "{arrived}: {desk:#?}");
    });
}
