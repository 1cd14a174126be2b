//! A run on two machines is observed as one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_recording::{Entry, Recording};
use flowpipe_tests::{Ran, flowpipe, run};
use serde_json::Value;

use crate::browser::Browser;
use crate::machines::{
    Machine, address_of, create_certificates, free_address, on_two, without_end,
};
use crate::machines_death::{numbers, through};
use crate::proxy::Proxy;
use crate::screen::wait_for;

/// Starts a machine. `more`: more arguments.
pub fn start(file: &str, machine: &str, more: &[&str]) -> Machine {
    let mut args = vec!["run", file, "--machine", machine];
    args.extend(more);
    let command = flowpipe(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Machine(command.unwrap())
}

/// Runs a pipeline on both machines. `desk`: more arguments of the one that listens.
fn on_both(file: &str, desk: &[&str]) -> [Ran; 2] {
    let (desk, rack) = (start(file, "desk", desk), start(file, "rack", &[]));
    [desk.end(), rack.end()]
}

/// A pipeline on two machines, of which `rack` runs these stages.
fn pipeline_with(folder: &Path, rack: &[&str]) -> String {
    on_two(folder, &format!("tcp/{}", free_address()), rack)
}

/// The messages of a recording, by topic.
pub fn messages(recording: &Recording) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in recording.entries() {
        if let Entry::Message(message) = entry {
            *counts.entry(message.topic().to_string()).or_default() += 1;
        }
    }
    counts
}

/// How much later a program is started than another one, so that their clocks differ.
pub const LATER: Duration = Duration::from_millis(1_200);
/// Their clocks differ by more than that, in nanoseconds.
const LATER_NS: i64 = 1_100_000_000;
/// How exactly an error is printed, in nanoseconds.
const SLACK_NS: i64 = 500_000;

/// A printed duration.
fn nanoseconds(text: &str) -> i64 {
    let (number, unit) = text.trim().split_once(' ').unwrap();
    let unit = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => panic!("{text}"),
    };
    (number.parse::<f64>().unwrap() * unit) as i64
}

/// How long messages of a stage are awaited while all programs run. On a busy machine their start takes a minute.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Waits until a recording that grows has messages of the solver, while these machines run.
pub fn recorded_from_solver(growing: &Path, machines: &mut [Machine]) {
    let began = Instant::now();
    loop {
        machines.iter_mut().for_each(Machine::check_runs);
        let reading = Instant::now();
        let recording = Recording::open(growing).ok();
        let solved = recording.and_then(|it| messages(&it).get("/solver/out").copied());
        if solved > Some(1) {
            return;
        }
        let waited = began.elapsed();
        assert!(
            waited < LONGEST_WAIT,
            "no messages of the solver, and all machines run"
        );
        // To read it takes longer the more it has, and the programs need the processor too.
        std::thread::sleep(reading.elapsed().max(Duration::from_millis(2)));
    }
}

#[test]
fn both_machines_report_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    let address = format!("tcp/{}", free_address());
    let file = on_two(folder.path(), &address, &["vision", "solver"]);
    let desk = Machine::start(&file, "desk");
    std::thread::sleep(LATER);
    let rack = Machine::start(&file, "rack");
    let (desk, rack) = (desk.end().expect(0).json(), rack.end().expect(0).json());
    let counts = |json: &Value| {
        let stages = json["report"]["stages"].as_array().unwrap().iter();
        let counts =
            stages.map(|it| ["name", "in", "out", "dropped", "failed"].map(|key| it[key].clone()));
        counts.collect::<Vec<_>>()
    };
    for (json, other) in [(&desk, "rack"), (&rack, "desk")] {
        assert_eq!(counts(json), counts(&whole));
        let stages = json["report"]["stages"].as_array().unwrap();
        let machines: Vec<_> = stages
            .iter()
            .map(|it| it["machine"].as_str().unwrap())
            .collect();
        assert_eq!(machines, ["desk", "rack", "rack", "desk", "desk"]);
        assert!(
            stages
                .iter()
                .all(|it| it["time"]["count"].as_u64() > Some(0)),
            "{json:#}"
        );
        for edge in json["report"]["edges"].as_array().unwrap() {
            let count = |key: &str| edge[key].as_u64().unwrap();
            let all = count("delivered") + count("dropped") + count("discarded");
            assert_eq!(count("sent"), all, "{edge:#}");
        }
        assert_eq!(
            json["report"]["marks"]["action"]["count"],
            whole["report"]["marks"]["action"]["count"]
        );
        for machine in json["machines"].as_array().unwrap() {
            assert_eq!(machine["reported"], true);
            let link = &machine["link"];
            assert_eq!(link.is_object(), machine["name"] == other, "{machine:#}");
            if link.is_object() {
                let bytes = ["sent_bytes", "received_bytes"].map(|key| link[key].as_u64().unwrap());
                assert!(bytes.iter().all(|bytes| *bytes > 1_000), "{link:#}");
                // A frame is a megabyte and more.
                let frames = &link["frames"];
                let [count, bytes] = ["count", "bytes"].map(|key| frames[key].as_u64().unwrap());
                assert_eq!(count > 0, other == "rack", "{link:#}");
                assert!(bytes >= count * 1_000_000, "{link:#}");
                if cfg!(target_os = "linux") && count > 0 {
                    let [shared, sent] =
                        ["shared", "sent_bytes"].map(|key| frames[key].as_u64().unwrap());
                    assert!(shared > 0 && sent < bytes, "{link:#}");
                }
                assert!(link["bytes_per_second"].as_u64() > Some(0));
                // The clock of each program starts with it.
                let ahead = link["clock_offset_ns"].as_i64().unwrap();
                let ahead = if other == "desk" { ahead } else { -ahead };
                assert!((LATER_NS..60_000_000_000).contains(&ahead), "{link:#}");
                assert!((1..100_000_000).contains(&link["clock_error_ns"].as_i64().unwrap()));
            }
        }
    }
    assert!(whole.get("machines").is_none());
    assert!(whole["report"]["stages"][0].get("machine").is_none());
}

#[test]
fn the_table_has_a_column_for_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("tcp/{}", free_address());
    let file = on_two(folder.path(), &address, &["vision"]);
    for (ran, other) in on_both(&file, &[]).into_iter().zip(["rack", "desk"]) {
        let ran = ran.expect(0);
        let table: Vec<_> = ran.stdout.lines().filter(|it| it.contains('│')).collect();
        assert!(
            table
                .iter()
                .any(|it| it.contains("stage") && it.contains("machine")),
            "{ran:#?}"
        );
        for (stage, machine) in [("frames", "desk"), ("vision", "rack"), ("actuator", "desk")] {
            let is_it = |line: &&&str| line.contains(stage) && line.contains(machine);
            assert!(table.iter().any(|line| is_it(&line)), "{stage}: {ran:#?}");
        }
        let line = ran
            .stdout
            .lines()
            .find(|it| it.starts_with(&format!("machine {other}: ")));
        let line = line.unwrap_or_else(|| panic!("{ran:#?}"));
        let has_frames = ran.stdout.contains("machine rack: ") && ran.stdout.contains(" sent as ");
        assert_eq!(has_frames, other == "rack", "{ran:#?}");
        for text in [" sent, ", " received, ", "/s, its clock ", " ± "] {
            assert!(line.contains(text), "{line}");
        }
    }
}

/// Records a run on two machines, connected by this transport, of which `rack` runs these stages. `desk` observes it.
/// `is_ahead`: whether its clock is ahead of that of `rack`, or behind. Returns the recording.
fn record(folder: &Path, transport: &str, rack: &[&str], is_ahead: bool) -> PathBuf {
    let file = on_two(folder, &address_of(transport), rack);
    create_certificates(&file, transport);
    let path = folder.join("run.mcap");
    let args = ["-q", "--record", path.to_str().unwrap()];
    let number = usize::from(!is_ahead);
    let mut machines = [("desk", &args[..]), ("rack", &[])];
    machines.rotate_left(number);
    let mut started = machines.map(|(machine, more)| {
        let started = start(&file, machine, more);
        std::thread::sleep(LATER);
        started
    });
    started.rotate_left(number);
    let [desk, rack_ran] = started.map(|it| it.end().expect(0));
    assert!(
        desk.stderr.contains("recorded 55 messages, 11 pictures"),
        "{desk:#?}"
    );
    let counts = "\non this machine: ";
    assert!(desk.stdout.contains(counts), "{desk:#?}");
    let set = "the clock is set to that of machine desk ± ";
    let set = rack_ran.stderr.lines().find_map(|it| it.strip_prefix(set));
    let error_ns = nanoseconds(set.unwrap_or_else(|| panic!("{rack_ran:#?}")));
    assert!(error_ns < 100_000_000, "{rack_ran:#?}");
    has_one_time_axis(&Recording::open(&path).unwrap(), error_ns);
    path
}

/// Checks that no call began before the message that it took was emitted, up to the error of the clock.
fn has_one_time_axis(recording: &Recording, error_ns: i64) {
    let mut emitted = BTreeMap::new();
    for call in recording.calls() {
        for it in &call.emitted {
            emitted.insert((call.stage.clone(), it.port.clone(), it.sequence), it.at_ns);
        }
    }
    let mut taken = 0;
    for call in recording.calls() {
        let Some(took) = &call.took else { continue };
        let key = (took.from.clone(), took.output.clone(), took.sequence);
        let early = emitted[&key] - call.taken_ns;
        assert!(early <= error_ns + SLACK_NS, "{early} {error_ns}: {call:?}");
        taken += 1;
    }
    assert_eq!(taken, 44);
}

/// Checks a recording of such a run against one of a single machine, and its replay.
fn has_the_whole_run(path: &Path, rack: &[&str]) {
    let alone = path.with_file_name("alone.mcap");
    let ready = "pipelines/replay.toml";
    run(&["run", ready, "-q", "--record", alone.to_str().unwrap()]).expect(0);
    let alone = messages(&Recording::open(&alone).unwrap());
    let recording = Recording::open(path).unwrap();
    assert!(!recording.is_cut_off());
    assert_eq!(messages(&recording), alone, "{rack:?}");
    for stage in &recording.about().stages {
        let machine = machine_of(&stage.name, rack);
        assert_eq!(stage.machine.as_deref(), Some(machine), "{stage:?}");
    }
    let text = path.to_str().unwrap();
    let report = run(&["replay", text, "--json"]).expect(0).json();
    let first = &report["report"]["stages"][0];
    let machine = machine_of("frames", rack);
    assert_eq!(
        (&first["name"], &first["machine"]),
        (&"frames".into(), &machine.into())
    );
    let replayed = run(&["replay", text, "--verify", "-q"]).expect(0);
    assert!(
        replayed
            .stdout
            .contains("44 messages: the same, byte for byte"),
        "{replayed:#?}"
    );
}

/// The machine of a stage, where `rack` runs these.
fn machine_of(stage: &str, rack: &[&str]) -> &'static str {
    match rack.contains(&stage) {
        true => "rack",
        false => "desk",
    }
}

/// Checks that the page of a recording of such a run names the machine of each stage.
fn page_names_machines(browser: &mut Browser, path: &Path, rack: &[&str]) {
    run(&["report", path.to_str().unwrap()]).expect(0);
    browser.open(&path.with_extension("html"));
    browser.wait_for("document.documentElement.dataset.ready === 'true'");
    let texts = |browser: &mut Browser, selector: &str| -> Vec<String> {
        let all =
            format!("[...document.querySelectorAll('{selector}')].map((it) => it.textContent)");
        serde_json::from_value(browser.value(&all)).unwrap()
    };
    // Each line begins with the name of its stage.
    for selector in ["#stages-body th[scope=row]", "#pipeline-body .head"] {
        let lines = texts(browser, selector);
        for stage in ["frames", "vision", "solver", "planner", "actuator"] {
            let line = lines.iter().find(|line| line.starts_with(stage));
            let line = line.unwrap_or_else(|| panic!("{stage}: {lines:?}"));
            let machine = machine_of(stage, rack);
            assert!(line.contains(&format!(" on {machine}")), "{line}");
        }
    }
}

#[test]
fn a_recording_of_one_machine_has_the_whole_run() {
    let mut browser = Browser::start();
    for (rack, is_ahead) in [(["vision", "solver"], true), (["frames", "planner"], false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = record(folder.path(), "tcp", &rack, is_ahead);
        has_the_whole_run(&path, &rack);
        page_names_machines(&mut browser, &path, &rack);
    }
}

#[test]
fn a_recording_of_one_machine_has_the_whole_run_over_tls_too() {
    let folder = tempfile::tempdir().unwrap();
    let rack = ["vision", "solver"];
    let path = record(folder.path(), "tls", &rack, true);
    has_the_whole_run(&path, &rack);
}

#[test]
fn a_recording_has_the_whole_run_although_connections_are_cut() {
    const COUNT: usize = 5_000;
    const CUTS: usize = 10;
    /// More numbers than come between a wait and its cut, so that most connections bring some.
    const BETWEEN: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let listen = free_address();
    let proxy = Proxy::start(listen);
    let file = through(folder.path(), &log, listen, proxy.address);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("count = 1000000", &format!("count = {COUNT}"));
    let file = flowpipe_tests::pipeline(folder.path(), &text);
    let path = folder.path().join("a.mcap");
    let recorded = path.to_str().unwrap();
    let desk = start(&file, "desk", &["-q", "--record", recorded]);
    let rack = start(&file, "rack", &["-q"]);
    for cut in 1..=CUTS {
        wait_for("numbers", || {
            (numbers(&log).len() >= cut * BETWEEN).then_some(())
        });
        assert!(proxy.cut_often(1) > 0, "there is nothing to cut");
    }
    let (desk, _) = (desk.end().expect(0), rack.end().expect(0));
    let lost = "the connection to machine rack is lost";
    assert!(desk.stderr.matches(lost).count() >= CUTS / 2, "{desk:#?}");
    let recording = Recording::open(&path).unwrap();
    assert!(!recording.is_cut_off());
    let all = ["/numbers/out", "/pass/out"].map(|topic| (topic.to_owned(), COUNT));
    assert_eq!(messages(&recording), BTreeMap::from(all));
    let replayed = run(&["replay", recorded, "--verify", "-q"]).expect(0);
    let same = format!("{COUNT} messages: the same, byte for byte");
    assert!(replayed.stdout.contains(&same), "{replayed:#?}");
}

#[test]
fn a_recording_ends_where_another_machine_died() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline_with(folder.path(), &["vision", "solver"]);
    let file = without_end(folder.path(), &file);
    let path = folder.path().join("a.mcap");
    let text = path.to_str().unwrap();
    let desk = start(&file, "desk", &["-q", "--record", text]);
    let mut machines = [desk, start(&file, "rack", &[])];
    recorded_from_solver(&folder.path().join("a.mcap.partial"), &mut machines);
    let [desk, mut rack] = machines;
    rack.0.kill().unwrap();
    rack.0.wait().unwrap();
    let ran = desk.end().expect(1);
    let why =
        "the recording ends early: what the stages of machine rack did from here on is missing";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    let recording = Recording::open(&path).unwrap();
    assert!(recording.is_cut_off());
    let counts = messages(&recording);
    assert!(counts["/solver/out"] > 1, "{counts:?}");
    let replayed = run(&["replay", text, "--verify", "-q"]).expect(0);
    let why = "ends early: what the stages of machine rack did from here on is missing";
    assert!(replayed.stderr.contains(why), "{replayed:#?}");
    assert!(!replayed.stderr.contains("was killed"), "{replayed:#?}");
    assert!(
        replayed.stdout.contains("the recording ends early"),
        "{replayed:#?}"
    );
    assert!(
        replayed.stdout.contains("the same, byte for byte"),
        "{replayed:#?}"
    );
}

#[test]
fn one_machine_records() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline_with(folder.path(), &["solver"]);
    let record = |name: &str| {
        let path = folder.path().join(name);
        path.to_str().unwrap().to_owned()
    };
    // Several times: the one that is ready first must not leave before the other one has received that.
    for _ in 0..4 {
        let desk = start(&file, "desk", &["--record", &record("a.mcap")]);
        let rack = start(&file, "rack", &["--record", &record("b.mcap")]);
        for ran in [desk.end().expect(2), rack.end().expect(2)] {
            let why = "machine desk and machine rack are both to record or trace the run";
            assert!(ran.stderr.contains(why), "{ran:#?}");
        }
    }
    assert!(!Path::new(&record("a.mcap")).exists());
    // The file is that of all machines.
    let text = std::fs::read_to_string(&file).unwrap();
    let text = format!("record = {{ file = \"c.mcap\" }}\n{text}");
    let file = flowpipe_tests::pipeline(folder.path(), &text);
    let ran = run(&["run", &file, "--machine", "desk"]).expect(78);
    assert!(
        ran.stderr.contains("start one machine with --record FILE"),
        "{ran:#?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_others_learn_why_a_recording_can_t_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline_with(folder.path(), &["solver"]);
    let [desk, rack] = on_both(&file, &["--record", "/dev/full"]);
    let (desk, rack) = (desk.expect(1), rack.expect(1));
    let why = "can't write the recording: No space left on device";
    assert!(desk.stderr.contains(why), "{desk:#?}");
    let ends = format!("machine desk ends the run: it could not start: {why}");
    assert!(rack.stderr.contains(&ends), "{rack:#?}");
    let gone = "the machine that observes the run is gone";
    assert!(!rack.stderr.contains(gone), "{rack:#?}");
}
