//! A stage that is distributed among machines: order, deaths, drops, races, and recordings that one machine replays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flowpipe_recording::Recording;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, pipeline, ready, run};
use serde_json::Value;

use crate::machines::{Machine, address, address_of, create_certificates};
use crate::machines_silence::DEATH;
use crate::screen::wait_for;

/// A command that passes numbers on, some of them later.
const WORK: &str = "
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        number = asked['message']['body']['n']
        time.sleep(PAUSE * (1 + number * 7 % 5))
        answer['messages'] = [{'body': {'n': number}}]
    print(json.dumps(answer), flush=True)
";

/// Numbers from `desk` through workers on `rack1` and `rack2`, which are written to a file on `desk`.
struct Numbers {
    folder: tempfile::TempDir,
    count: u64,
    /// Seconds that the shortest work takes.
    pause: f64,
    /// More keys of the stage.
    more: &'static str,
    /// Where its workers are.
    machines: &'static str,
}

const ON_RACKS: &str = "machines = [\"rack1\", \"rack2\"]";

impl Numbers {
    fn new(count: u64, pause: f64, more: &'static str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            count,
            pause,
            more,
            machines: ON_RACKS,
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("numbers.txt")
    }

    fn written(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        // The last line may be a part.
        let lines = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
        lines.map(|line| line.trim().parse().unwrap()).collect()
    }

    /// The pipeline file. `address`: where `desk` listens; `None`: one machine runs all.
    fn file(&self, address: Option<&str>) -> String {
        let script = WORK.replace("PAUSE", &self.pause.to_string());
        std::fs::write(self.folder.path().join("work.py"), script).unwrap();
        let port = "{ schema = \"test.number/1\" }";
        let (count, log, more) = (self.count, self.log(), self.more);
        let (desk, machines) = match address {
            Some(_) => (
                "machine = \"desk\"\n",
                format!("workers = 2\n{}\n", self.machines),
            ),
            None => ("", "workers = 4\n".to_owned()),
        };
        let tables = address.map(|address| {
            format!("[machines.desk]\nlisten = \"{address}\"\n[machines.rack1]\n[machines.rack2]\n")
        });
        let tables = tables.unwrap_or_default();
        let text = format!(
            "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = {count} }}\n{desk}\
             [stages.work]\nplugin = \"exec\"\nfrom = \"numbers\"\n{machines}{more}\
             config = {{ command = [\"python3\", \"work.py\"], inputs = {{ in = {port} }}, outputs = {{ out = {port} }} }}\n\
             [stages.log]\nplugin = \"numbers-log\"\nfrom = \"work\"\n{desk}\
             config = {{ file = {log:?}, pause_us = 1 }}\n{tables}"
        );
        pipeline(self.folder.path(), &text)
    }

    /// Starts the three machines.
    fn start(&self) -> [Machine; 3] {
        self.start_over("tcp")
    }

    /// The same, connected by this transport.
    fn start_over(&self, transport: &str) -> [Machine; 3] {
        let file = self.file(Some(&address_of(transport)));
        create_certificates(&file, transport);
        ["desk", "rack1", "rack2"].map(|machine| Machine::start(&file, machine))
    }

    /// What is written by a single machine.
    fn alone(&self) -> Vec<u8> {
        let file = self.file(None);
        run(&["run", &file, "-q"]).expect(0);
        std::fs::read(self.log()).unwrap()
    }
}

/// Waits until all have ended.
fn end(machines: [Machine; 3]) -> [Ran; 3] {
    machines.map(Machine::end)
}

/// How many messages the workers of each machine have processed, as `desk` prints it.
fn processed(desk: &Ran) -> Vec<u64> {
    let json = desk.json();
    let machines = json["machines"].as_array().unwrap().iter();
    let processed = machines.filter_map(|it| it["link"]["processed"].as_u64());
    processed.collect()
}

/// The bytes of each second over the fastest link of a machine.
fn rate(machine: &Ran) -> f64 {
    let json = machine.json();
    let machines = json["machines"].as_array().unwrap().iter();
    let rates = machines.filter_map(|it| it["link"]["bytes_per_second"].as_f64());
    rates.fold(0.0, f64::max)
}

/// The numbers of the messages that a report has as lost with their machine.
fn lost(desk: &Ran, machine: &str) -> BTreeSet<u64> {
    let json = desk.json();
    let problems = json["report"]["problems"].as_array().unwrap().iter();
    let text = format!("machine {machine} is dead");
    let lost = problems.filter(|it| it["text"] == text.as_str());
    let lost = lost.map(|it| it["message"]["sequence"].as_u64().unwrap());
    lost.collect()
}

fn kill(machine: &mut Machine) {
    machine.0.kill().unwrap();
    machine.0.wait().unwrap();
}

#[test]
fn workers_on_two_machines_do_what_workers_on_one_do() {
    let numbers = Numbers::new(200, 0.0005, "");
    let alone = numbers.alone();
    assert_eq!(numbers.written(), (1..=200).collect::<Vec<_>>());
    std::fs::remove_file(numbers.log()).unwrap();
    let [desk, rack1, rack2] = end(numbers.start());
    let desk = desk.expect(0);
    assert_eq!(std::fs::read(numbers.log()).unwrap(), alone);
    let rates = [&desk, &rack1, &rack2].map(rate);
    for rack in [rack1, rack2] {
        let rack = rack.expect(0);
        assert!(!rack.stderr.contains("dead"), "{rack:#?}");
    }
    // Each link is used as long from both of its ends, which takes longer than the run of no stages.
    assert!(
        rates[1] < 3.0 * rates[0] && rates[2] < 3.0 * rates[0],
        "{rates:?}"
    );
    let processed = processed(&desk);
    assert_eq!(processed.iter().sum::<u64>(), 200, "{processed:?}");
    // Whoever is free takes the next one.
    assert!(processed.iter().all(|it| *it > 30), "{processed:?}");
    let json = desk.json();
    let stage = &json["report"]["stages"][1];
    assert_eq!((&stage["in"], &stage["out"]), (&200.into(), &200.into()));
    assert_eq!(stage["workers"], 4);
}

#[test]
fn messages_leave_in_any_order_if_that_is_permitted() {
    let numbers = Numbers::new(100, 0.002, "ordered = false\n");
    let [desk, ..] = end(numbers.start());
    desk.expect(0);
    let mut written = numbers.written();
    assert!(!written.is_sorted(), "some take longer");
    written.sort_unstable();
    assert_eq!(written, (1..=100).collect::<Vec<_>>());
}

#[test]
fn workers_on_other_machines_run_in_processes() {
    let numbers = Numbers::new(60, 0.001, "isolation = \"process\"\n");
    let [desk, ..] = end(numbers.start());
    let desk = desk.expect(0);
    assert_eq!(numbers.written(), (1..=60).collect::<Vec<_>>());
    assert!(processed(&desk).iter().all(|it| *it > 0), "{desk:#?}");
}

/// One of two machines with workers is killed after so many messages. Returns how many it had.
/// `transport`: what connects them.
fn kill_after(transport: &str, messages: usize) -> usize {
    let numbers = Numbers::new(600, 0.004, "");
    let [desk, mut rack1, rack2] = numbers.start_over(transport);
    wait_for("messages", || {
        (numbers.written().len() >= messages).then_some(())
    });
    kill(&mut rack1);
    let [desk, rack2] = [desk, rack2].map(Machine::end);
    // A machine was dead.
    let (desk, rack2) = (desk.expect(1), rack2.expect(0));
    let goes_on = "machine rack1 is dead: its workers end";
    // The other one has no link to it.
    for ran in [&desk, &rack2] {
        assert_eq!(ran.stderr.matches(goes_on).count(), 1, "{ran:#?}");
    }
    let lost = lost(&desk, "rack1");
    assert!(lost.len() <= 2, "one of each worker: {lost:?}");
    let written = numbers.written();
    let missing: BTreeSet<u64> = (1..=600)
        .filter(|number| !written.contains(number))
        .collect();
    // The answer to one that is reported may have come right before the death.
    assert!(missing.is_subset(&lost), "{missing:?} of {lost:?}");
    assert!(
        written.is_sorted_by(|one, next| one < next),
        "in order, each once"
    );
    let stage = &desk.json()["report"]["stages"][1];
    assert_eq!(stage["failed"], lost.len(), "{stage:#}");
    assert_eq!(desk.json()["report"]["failure"], Value::Null);
    lost.len()
}

#[test]
fn a_machine_that_dies_loses_what_its_workers_have() {
    let lost = kill_after("tcp", 50);
    assert!(lost >= 1, "each of its workers has a message");
}

#[test]
fn a_machine_that_dies_loses_what_its_workers_have_over_tls_too() {
    let lost = kill_after("tls", 50);
    assert!(lost >= 1, "each of its workers has a message");
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn twenty_kills_of_machines_with_workers_lose_what_these_have() {
    let mut random = fastrand::Rng::with_seed(24);
    let kills = (0..20).map(|_| kill_after("tcp", random.usize(1..400)));
    let lost: usize = kills.sum();
    println!("20 kills lost {lost} messages");
    assert!(lost >= 20, "{lost} messages");
}

#[test]
fn a_machine_that_is_started_again_learns_that_it_is_late() {
    let numbers = Numbers::new(600, 0.004, "");
    let file = numbers.file(Some(&address()));
    let [desk, mut rack1, rack2] =
        ["desk", "rack1", "rack2"].map(|machine| Machine::start(&file, machine));
    wait_for("messages", || (numbers.written().len() >= 50).then_some(()));
    kill(&mut rack1);
    let late = Machine::start(&file, "rack1").end().expect(1);
    assert!(
        late.stderr.contains("desk has started the run already"),
        "{late:#?}"
    );
    desk.end().expect(1);
    rack2.end().expect(0);
    assert!(numbers.written().len() >= 590);
}

/// It ends by that, and not by the time after which the others count as dead.
#[test]
fn a_machine_that_comes_back_learns_that_the_run_goes_on_without_it() {
    let numbers = Numbers::new(100_000, 0.004, "");
    let [desk, rack1, rack2] = numbers.start();
    wait_for("messages", || (numbers.written().len() >= 50).then_some(()));
    send_signal("STOP", rack1.0.id());
    std::thread::sleep(DEATH / 3);
    let stalled = numbers.written().len();
    std::thread::sleep(DEATH * 2 / 3);
    // What it has is awaited in its place until it counts as dead.
    wait_for("the messages of the others", || {
        (numbers.written().len() > stalled).then_some(())
    });
    send_signal("CONT", rack1.0.id());
    let rack1 = rack1.end().expect(1);
    let given_up =
        "machine desk counts this one as dead, and goes on without it: the run ends here";
    assert_eq!(rack1.stderr.matches(given_up).count(), 1, "{rack1:#?}");
    for text in ["machine desk is dead", "machine desk died"] {
        assert!(!rack1.stderr.contains(text), "{rack1:#?}");
    }
    let before = numbers.written().len();
    wait_for("more messages", || {
        (numbers.written().len() > before).then_some(())
    });
    send_signal("INT", desk.0.id());
    let desk = desk.end().expect(130);
    let dead = "machine rack1 is dead: its workers end";
    assert!(desk.stderr.contains(dead), "{desk:#?}");
    rack2.end().expect(0);
}

#[test]
fn a_run_ends_when_all_machines_of_a_stage_are_dead() {
    let numbers = Numbers::new(100_000, 0.004, "");
    let [desk, mut rack1, mut rack2] = numbers.start();
    wait_for("messages", || (numbers.written().len() >= 50).then_some(()));
    kill(&mut rack1);
    kill(&mut rack2);
    let desk = desk.end().expect(1);
    let failure = "all machines of its workers are dead";
    assert!(desk.stderr.contains(failure), "{desk:#?}");
    let lost: BTreeSet<u64> = ["rack1", "rack2"]
        .iter()
        .flat_map(|rack| lost(&desk, rack))
        .collect();
    assert!((1..=4).contains(&lost.len()), "{lost:?}");
    let written = numbers.written();
    assert!(written.is_sorted_by(|one, next| one < next));
    let last = *written.last().unwrap();
    let missing: Vec<u64> = (1..last).filter(|it| !written.contains(it)).collect();
    assert!(missing.iter().all(|it| lost.contains(it)), "{missing:?}");
}

#[test]
fn a_queue_that_drops_does_that_where_messages_are_distributed() {
    let more = "queue = { capacity = 2, when_full = \"drop-oldest\" }\n";
    let numbers = Numbers::new(5_000, 0.005, more);
    let [desk, ..] = end(numbers.start());
    let desk = desk.expect(0);
    let json = desk.json();
    let edge = &json["report"]["edges"][0];
    let count = |key: &str| edge[key].as_u64().unwrap();
    assert_eq!(count("sent"), 5_000, "{edge:#}");
    assert!(count("dropped") > 1_000, "{edge:#}");
    assert_eq!(count("delivered") + count("dropped"), 5_000, "{edge:#}");
    let written = numbers.written();
    assert_eq!(written.len() as u64, count("delivered"));
    assert!(written.is_sorted());
    assert_eq!(written.last(), Some(&5_000), "the newest one");
}

/// The ready pipeline, whose solver is a race with workers on `rack1` and on `desk` itself.
fn races(folder: &Path) -> String {
    let mut text = String::new();
    for line in ready().lines() {
        let line = match line {
            "plugin = \"solver-search\"" => "plugin = [\"solver-search\", \"solver-batsat\"]",
            line => line,
        };
        text.push_str(line);
        text.push('\n');
        match line.strip_prefix("[stages.") {
            Some("solver]") => text.push_str("machines = [\"rack1\", \"desk\"]\nworkers = 2\n"),
            Some("vision]") => text.push_str("machines = [\"rack1\"]\n"),
            Some(_) => text.push_str("machine = \"desk\"\n"),
            None => {}
        }
    }
    let address = address();
    text.push_str(&format!(
        "\n[machines.desk]\nlisten = \"{address}\"\n[machines.rack1]\n"
    ));
    pipeline(folder, &text)
}

#[test]
fn races_and_frames_are_distributed_recorded_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let file = races(folder.path());
    let recording = folder.path().join("a.mcap").display().to_string();
    let args = [
        "run",
        &file,
        "--machine",
        "desk",
        "--json",
        "--record",
        &recording,
    ];
    let desk = flowpipe(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let (desk, rack) = (Machine(desk.unwrap()), Machine::start(&file, "rack1"));
    let (desk, rack) = (desk.end().expect(0), rack.end());
    // Its workers' boards are counted on the machine that runs their stages.
    assert!(rack.expect(0).json()["boards"].is_null());
    let whole = run(&["run", "pipelines/replay.toml", "--json"]);
    let whole = whole.expect(0).json();
    assert_eq!(desk.json()["boards"], whole["boards"]);
    assert!(processed(&desk)[0] >= 11, "{desk:#?}");
    let calls = Recording::open(Path::new(&recording)).unwrap();
    let workers = calls.calls().filter(|call| call.stage == "solver");
    let workers: BTreeSet<_> = workers.map(|call| call.worker).collect();
    assert!(workers.len() > 1, "{workers:?}");
    let verify = ["replay", &recording, "--verify", "--json", "-q"];
    let verdict = &run(&verify).expect(0).json()["verdict"];
    // Of all stages but the source.
    assert_eq!(verdict["same"], 4 * 11, "{verdict:#}");
    assert_eq!(verdict["differing"], 0);
}

#[test]
fn a_check_lists_what_each_machine_does() {
    let numbers = Numbers::new(1, 0.0, "");
    let address = address();
    let file = numbers.file(Some(&address));
    let ran = run(&["check", &file]).expect(0);
    let desk = format!(
        "  machine desk: runs numbers, log; distributes the messages of work; listens on {address}"
    );
    for expected in [
        desk.as_str(),
        "  machine rack1: has 2 workers of work; does not listen",
        "  machine rack2: has 2 workers of work; does not listen",
    ] {
        assert!(ran.stdout.lines().any(|it| it == expected), "{ran:#?}");
    }
    let machines = &run(&["check", &file, "--json"]).expect(0).json()["machines"];
    assert_eq!(machines[0]["listen"], address.as_str());
    assert_eq!(machines[0]["stages"], serde_json::json!(["numbers", "log"]));
    assert_eq!(machines[1]["name"], "rack1");
    assert_eq!(machines[1]["workers"]["work"], 2);
    // Of two that can listen, the first one does.
    let text = std::fs::read_to_string(&file).unwrap();
    let listens = format!(
        "[machines.rack1]\nlisten = \"{}\"\n",
        crate::machines::address()
    );
    let changed = text.replace("[machines.rack1]\n", &listens);
    assert_ne!(changed, text);
    std::fs::write(&file, changed).unwrap();
    let ran = run(&["check", &file]).expect(0);
    let rack = "  machine rack1: has 2 workers of work; does not listen, since no other machine connects to it";
    assert!(ran.stdout.lines().any(|it| it == rack), "{ran:#?}");
    let machines = &run(&["check", &file, "--json"]).expect(0).json()["machines"];
    assert!(machines[1]["listen"].is_null(), "{machines}");
}

#[test]
fn a_run_that_is_stopped_on_one_machine_is_drained_on_all() {
    for is_rack in [false, true] {
        let numbers = Numbers::new(100_000, 0.05, "");
        let [desk, rack1, rack2] = numbers.start();
        wait_for("messages", || (numbers.written().len() >= 20).then_some(()));
        let stopped = if is_rack { &rack1 } else { &desk };
        send_signal("INT", stopped.0.id());
        let [desk, rack1, rack2] = end([desk, rack1, rack2]);
        for ran in [&desk, &rack1, &rack2] {
            assert!(!ran.stderr.contains("dead"), "{ran:#?}");
        }
        if is_rack {
            let notice = "machine rack1 ends the run";
            assert!(desk.stderr.contains(notice), "{desk:#?}");
        }
        let written = numbers.written();
        assert_eq!(written, (1..=written.len() as u64).collect::<Vec<_>>());
        let report = desk.json();
        let stages = report["report"]["stages"].as_array().unwrap();
        let (first, last) = (&stages[0], &stages[stages.len() - 1]);
        assert_eq!(first["out"], written.len(), "{report:#}");
        assert_eq!(last["in"], written.len(), "{report:#}");
    }
}
