//! A run on two machines is observed as one.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flowpipe_recording::{Entry, Recording};
use flowpipe_tests::{Ran, flowpipe, run};
use serde_json::Value;

use crate::machines::{Machine, free_address, on_two, without_end};

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

#[test]
fn both_machines_report_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    let address = format!("tcp/{}", free_address());
    let file = on_two(folder.path(), &address, &["vision", "solver"]);
    let desk = Machine::start(&file, "desk");
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
                assert!(link["bytes_per_second"].as_u64() > Some(0));
                // Both programs are on one machine, and started at about the same time.
                assert!(link["clock_offset_ns"].as_i64().unwrap().abs() < 60_000_000_000);
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

#[test]
fn a_recording_of_one_machine_has_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let alone = at("alone.mcap");
    let ready = "pipelines/replay.toml";
    run(&["run", ready, "-q", "--record", alone.to_str().unwrap()]).expect(0);
    let alone = messages(&Recording::open(&alone).unwrap());
    for (number, rack) in [vec!["vision", "solver"], vec!["frames", "planner"]]
        .iter()
        .enumerate()
    {
        let file = pipeline_with(folder.path(), rack);
        let path = at(&format!("{number}.mcap"));
        let [desk, rack_ran] = on_both(&file, &["-q", "--record", path.to_str().unwrap()]);
        let (desk, rack_ran) = (desk.expect(0), rack_ran.expect(0));
        assert!(
            desk.stderr.contains("recorded 55 messages, 11 pictures"),
            "{desk:#?}"
        );
        assert!(
            rack_ran
                .stderr
                .contains("the clock is set to that of machine desk ± "),
            "{rack_ran:#?}"
        );
        let recording = Recording::open(&path).unwrap();
        assert!(!recording.is_cut_off());
        assert_eq!(messages(&recording), alone, "{rack:?}");
        // One time axis: no call began before the message that it took was emitted, up to the error of the clock.
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
            assert!(call.taken_ns > emitted[&key] - 50_000_000, "{call:?}");
            taken += 1;
        }
        assert_eq!(taken, 44);
        let text = path.to_str().unwrap();
        let replayed = run(&["replay", text, "--verify", "-q"]).expect(0);
        assert!(
            replayed
                .stdout
                .contains("44 messages: the same, byte for byte"),
            "{replayed:#?}"
        );
    }
}

#[test]
fn a_recording_ends_where_another_machine_died() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline_with(folder.path(), &["vision", "solver"]);
    let file = without_end(folder.path(), &file);
    let path = folder.path().join("a.mcap");
    let text = path.to_str().unwrap();
    let desk = start(&file, "desk", &["-q", "--record", text]);
    let mut rack = start(&file, "rack", &[]);
    std::thread::sleep(Duration::from_secs(6));
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
    let desk = start(&file, "desk", &["--record", &record("a.mcap")]);
    let rack = start(&file, "rack", &["--record", &record("b.mcap")]);
    for ran in [desk.end().expect(2), rack.end().expect(2)] {
        let why = "machine desk and machine rack are both to record or trace the run";
        assert!(ran.stderr.contains(why), "{ran:#?}");
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
