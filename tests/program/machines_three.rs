//! A pipeline on three machines: three programs in a chain, the second of which is connected to both others.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{pipeline, run};

use crate::machines::{Machine, free_address};
use crate::machines_death::lost;
use crate::machines_tls::Watched;
use crate::proxy::Proxy;

/// The machines, in the order of their stages.
const MACHINES: [&str; 3] = ["source", "middle", "sink"];
/// How long something that happens may take. Other tests run at the same time.
const LONG: Duration = Duration::from_secs(60);

/// A command that emits numbers from 1 on, without an end if `count` is 0.
const SOURCE: &str = "
import json, sys
count = int(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'tick' in asked:
        number = asked['tick'] + 1
        answer['messages'] = [{'body': {'n': number}}]
        answer['end'] = number == count
    print(json.dumps(answer), flush=True)
";

/// A command that passes on what it gets.
const MIDDLE: &str = "
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        answer['messages'] = [{'body': asked['message']['body']}]
    print(json.dumps(answer), flush=True)
";

/// A command that writes the numbers to a file.
const SINK: &str = "
import json, sys
with open(sys.argv[1], 'w') as file:
    for line in sys.stdin:
        asked = json.loads(line)
        if 'message' in asked:
            print(asked['message']['body']['n'], file=file, flush=True)
        print(json.dumps({'id': asked['id']}), flush=True)
";

/// Numbered messages through three machines. `calls`: where the source and the sink reach the middle.
struct Chain {
    folder: tempfile::TempDir,
    file: String,
}

impl Chain {
    fn new(count: u64, protocol: &str, listen: SocketAddr, calls: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("source", SOURCE), ("middle", MIDDLE), ("sink", SINK)] {
            std::fs::write(folder.path().join(format!("{name}.py")), text).unwrap();
        }
        let text = format!(
            r#"
[machines.source]
[machines.middle]
listen = "{protocol}/{listen}"
connect = "{protocol}/{calls}"
[machines.sink]

[stages.source]
plugin = "exec"
machine = "source"
config = {{ command = ["python3", "source.py", "{count}"], inputs = {{}}, outputs = {{ out = {{ schema = "test.number/1" }} }} }}

[stages.middle]
plugin = "exec"
machine = "middle"
from = {{ stage = "source", queue = {{ capacity = 4 }} }}
config = {{ command = ["python3", "middle.py"], inputs = {{ in = {{ schema = "test.number/1" }} }}, outputs = {{ out = {{ schema = "test.number/1" }} }} }}

[stages.sink]
plugin = "exec"
machine = "sink"
from = {{ stage = "middle", queue = {{ capacity = 4 }} }}
config = {{ command = ["python3", "sink.py", "numbers.txt"], inputs = {{ in = {{ schema = "test.number/1" }} }}, outputs = {{}} }}
"#
        );
        let file = pipeline(folder.path(), &text);
        if protocol == "tls" {
            run(&["machine", "init", &file]).expect(0);
        }
        Self { folder, file }
    }

    /// Over TCP, without anything between the machines.
    fn direct(count: u64) -> Self {
        let address = free_address();
        Self::new(count, "tcp", address, address)
    }

    fn start(&self, machine: &str) -> Machine {
        Machine::start(&self.file, machine)
    }

    /// Starts the machines in this order.
    fn start_all(&self, order: [usize; 3]) -> [Machine; 3] {
        let mut started: Vec<_> = order
            .into_iter()
            .map(|index| {
                let machine = self.start(MACHINES[index]);
                std::thread::sleep(Duration::from_millis(200));
                (index, machine)
            })
            .collect();
        started.sort_by_key(|(index, _)| *index);
        let machines: Vec<_> = started.into_iter().map(|(_, machine)| machine).collect();
        machines.try_into().ok().unwrap()
    }

    /// The numbers that have arrived at the sink.
    fn arrived(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.folder.path().join("numbers.txt"));
        let text = text.unwrap_or_default();
        // The last line may not be complete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn wait_for(&self, count: usize) {
        let deadline = Instant::now() + LONG;
        while self.arrived().len() < count {
            assert!(Instant::now() < deadline, "{:?}", self.arrived().last());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end of all, and checks that every message has arrived once and in order.
    fn has_all(&self, machines: [Machine; 3], count: u64) {
        for machine in machines {
            machine.end().expect(0);
        }
        assert_eq!(self.arrived(), (1..=count).collect::<Vec<_>>());
    }
}

#[test]
fn three_programs_start_in_any_order() {
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let chain = Chain::direct(50);
        chain.has_all(chain.start_all(order), 50);
    }
}

#[test]
fn three_programs_with_certificates_do_so_too() {
    let address = free_address();
    let chain = Chain::new(50, "tls", address, address);
    chain.has_all(chain.start_all([2, 0, 1]), 50);
}

#[test]
fn cuts_between_three_programs_lose_and_repeat_nothing() {
    const MESSAGES: u64 = 1_500;
    const CUTS: usize = 10;
    for protocol in ["tcp", "tls"] {
        let listen = free_address();
        let proxy = Proxy::start(listen);
        let chain = Chain::new(MESSAGES, protocol, listen, proxy.address);
        let machines = chain.start_all([0, 1, 2]);
        chain.wait_for(1);
        let mut cuts = 0;
        while cuts < CUTS && chain.arrived().len() < MESSAGES as usize / 2 {
            cuts += proxy.cut_often(1);
        }
        assert!(cuts > 2, "{cuts}");
        chain.has_all(machines, MESSAGES);
    }
}

#[test]
fn a_machine_in_the_middle_that_is_killed_loses_what_it_had_and_each_is_reported() {
    let chain = Chain::direct(0);
    let [source, mut middle, sink] = chain.start_all([0, 1, 2]);
    chain.wait_for(100);
    middle.0.kill().unwrap();
    middle.0.wait().unwrap();
    let (source, sink) = (source.end(), sink.end());
    for ran in [&source, &sink] {
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        assert!(ran.stderr.contains("machine middle is dead: the run ends"));
    }
    let arrived = chain.arrived();
    let lost = lost(&source, "middle", "from source to middle");
    // All up to some number have arrived, in order, and what was sent after that is lost.
    let last = arrived.len() as u64;
    assert_eq!(arrived, (1..=last).collect::<Vec<_>>());
    let known: BTreeSet<_> = arrived.iter().chain(&lost).copied().collect();
    let all: BTreeSet<_> = (1..=known.last().copied().unwrap()).collect();
    assert_eq!(known, all, "{lost:?}");
    // Those of the queues and in work, on both edges; some may have arrived that the source does not know of.
    assert!((1..=2 * (4 + 3)).contains(&lost.len()), "{lost:?}");
}

#[test]
fn a_machine_that_reaches_the_recording_one_over_a_dead_one_reports_what_the_recording_lacks() {
    let chain = Chain::direct(0);
    let recording = chain.folder.path().join("a.mcap");
    let recording = recording.to_str().unwrap();
    let source = crate::machines_observed::start(&chain.file, "source", &["--record", recording]);
    let (mut middle, sink) = (chain.start("middle"), chain.start("sink"));
    chain.wait_for(20);
    middle.0.kill().unwrap();
    middle.0.wait().unwrap();
    let (source, sink) = (source.end().expect(1), sink.end().expect(1));
    for text in [
        "machine middle is dead: the run ends",
        "the recording on machine source lacks what the stages of this machine do from here on",
    ] {
        assert!(sink.stderr.contains(text), "{sink:#?}");
    }
    for ran in [source, sink] {
        assert!(!ran.stderr.contains("the recording failed"), "{ran:#?}");
        assert!(!ran.stderr.contains("on machine source failed"), "{ran:#?}");
    }
}

#[test]
fn a_machine_at_an_end_that_is_killed_ends_the_run_on_all() {
    for killed in [0, 2] {
        let chain = Chain::direct(0);
        let mut machines = chain.start_all([0, 1, 2]);
        chain.wait_for(20);
        machines[killed].0.kill().unwrap();
        machines[killed].0.wait().unwrap();
        let name = MACHINES[killed];
        let mut lost_by_middle = BTreeSet::new();
        for (index, machine) in machines.into_iter().enumerate() {
            if index == killed {
                continue;
            }
            let ran = machine.end();
            assert_eq!(ran.code, Some(1), "{ran:#?}");
            let text = match index {
                1 => format!("machine {name} is dead: the run ends"),
                _ => format!("machine middle ends the run: machine {name} is dead"),
            };
            assert!(ran.stderr.contains(&text), "{text}: {ran:#?}");
            if index == 1 {
                lost_by_middle = lost(&ran, "sink", "from middle to sink");
            }
        }
        // The source had nothing of others. The sink had some messages of the middle.
        assert_eq!(lost_by_middle.is_empty(), killed == 0, "{lost_by_middle:?}");
    }
}

#[test]
fn a_machine_that_is_stopped_stops_each_of_the_others() {
    for stopped in [0, 1, 2] {
        let chain = Chain::direct(0);
        let machines = chain.start_all([0, 1, 2]);
        chain.wait_for(20);
        send_signal("INT", machines[stopped].0.id());
        let name = MACHINES[stopped];
        for (index, machine) in machines.into_iter().enumerate() {
            let is_stopped = index == stopped;
            let ran = machine.end().expect(if is_stopped { 130 } else { 0 });
            let notices = ran.stderr.matches(" ends the run").count();
            assert_eq!(notices, usize::from(!is_stopped), "{ran:#?}");
            let notice = format!("machine {name} ends the run");
            assert!(is_stopped || ran.stderr.contains(&notice), "{ran:#?}");
        }
        let arrived = chain.arrived();
        let all: Vec<_> = (1..=arrived.len() as u64).collect();
        assert_eq!(arrived, all);
    }
}

#[test]
fn a_machine_that_is_missing_is_named_on_all_and_may_come_late() {
    let chain = Chain::direct(10);
    let mut first = chain.start("sink");
    let middle = chain.start("middle");
    std::thread::sleep(Duration::from_secs(1));
    // It is there once, and again.
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    let source = chain.start("source");
    std::thread::sleep(Duration::from_secs(2));
    assert!(chain.arrived().is_empty());
    let sink = chain.start("sink");
    for machine in [source, middle] {
        let ran = machine.end().expect(0);
        assert!(ran.stderr.contains("waiting for machine sink"), "{ran:#?}");
    }
    sink.end().expect(0);
    assert_eq!(chain.arrived(), (1..=10).collect::<Vec<_>>());
}

#[test]
fn a_machine_reports_for_whom_it_waits_and_why() {
    let listen = free_address();
    let chain = Chain::new(10, "tcp", listen, listen);
    let mut source = Watched::start(&chain.file, "source");
    source.wait_for("still waiting for machine middle: ");
    let mut middle = Watched::start(&chain.file, "middle");
    let why = format!("it has not connected to tcp/{listen}, where this machine listens: start it");
    middle.wait_for(&format!("still waiting for machine sink: {why}"));
    source.wait_for("still waiting for machine sink: another machine misses it");
}

#[test]
fn what_differs_on_one_machine_is_named_on_all() {
    let chain = Chain::direct(10);
    let other = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(&chain.file).unwrap();
    let changed = pipeline(other.path(), &text.replace("\"10\"", "\"11\""));
    let source = chain.start("source");
    let middle = chain.start("middle");
    let sink = Machine::start(&changed, "sink");
    for machine in [source, middle, sink] {
        let ran = machine.end().expect(78);
        let line = ran
            .stderr
            .lines()
            .find(|line| line.contains("the pipeline file differs: "));
        assert!(line.is_some_and(|it| it.contains(" on sink")), "{ran:#?}");
    }
    assert!(chain.arrived().is_empty());
}

#[test]
fn a_program_that_is_none_of_the_machines_learns_that() {
    let chain = Chain::direct(10);
    let other = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(&chain.file).unwrap();
    let text = text.replace("machine = \"sink\"", "machine = \"other\"");
    let text = text.replace("[machines.sink]", "[machines.other]");
    let mut middle = chain.start("middle");
    let mut stranger = Watched::start(&pipeline(other.path(), &text), "other");
    let why = "the program that listens there expects no machine other";
    stranger.wait_for(&format!("still waiting for machine middle: {why}"));
    middle.0.kill().unwrap();
    middle.0.wait().unwrap();
}
