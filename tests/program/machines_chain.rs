//! Three machines in a chain are observed as one run, by one that has no link to all others.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use flowpipe_recording::Recording;
use flowpipe_tests::{Ran, run};
use serde_json::Value;

use crate::machines::{Machine, on_three, without_end};
use crate::machines_observed::{LATER, messages, recorded_from_solver, start};

const MACHINES: [&str; 3] = ["first", "middle", "last"];

/// Starts all machines, with a pause after each. `more`: more arguments of one of them.
fn start_all(file: &str, observer: &str, more: &[&str], pause: Duration) -> [Machine; 3] {
    MACHINES.map(|machine| {
        let more = if machine == observer { more } else { &["-q"] };
        let started = start(file, machine, more);
        std::thread::sleep(pause);
        started
    })
}

/// What a trace contains.
struct Traced {
    /// How many events of each kind and name it has.
    counts: BTreeMap<String, usize>,
    /// By process: its names and settings.
    metadata: BTreeMap<u64, BTreeMap<String, Value>>,
    /// The process of each stage.
    processes: BTreeMap<String, u64>,
    /// By arrow: where it starts and ends, in microseconds.
    arrows: BTreeMap<u64, [f64; 2]>,
}

fn traced(path: &Path) -> Traced {
    let text = std::fs::read_to_string(path).unwrap();
    let events: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut traced = Traced {
        counts: BTreeMap::new(),
        metadata: BTreeMap::new(),
        processes: BTreeMap::new(),
        arrows: BTreeMap::new(),
    };
    for event in &events {
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        let process = event["pid"].as_u64().unwrap();
        let at = event["ts"].as_f64().unwrap();
        match &*text("ph") {
            "M" => {
                let of = traced.metadata.entry(process).or_default();
                of.insert(text("name"), event["args"].clone());
                continue;
            }
            // A queue that two stages use at once has other levels each time.
            "C" => {
                assert!(event["args"]["messages"].as_u64() <= Some(16), "{event}");
                continue;
            }
            "X" => {
                traced.processes.insert(text("name"), process);
            }
            "s" => {
                traced
                    .arrows
                    .entry(event["id"].as_u64().unwrap())
                    .or_default()[0] = at;
            }
            "f" => {
                traced
                    .arrows
                    .entry(event["id"].as_u64().unwrap())
                    .or_default()[1] = at;
            }
            _ => {}
        }
        let key = format!("{} {}", text("ph"), text("name"));
        *traced.counts.entry(key).or_default() += 1;
    }
    traced
}

#[test]
fn one_machine_records_and_traces_those_that_it_has_no_link_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).to_str().unwrap().to_owned();
    let both = |name: &str| {
        let files = [text(&format!("{name}.mcap")), text(&format!("{name}.json"))];
        let [recording, trace] = files;
        [
            "-q".to_owned(),
            "--record".to_owned(),
            recording,
            "--trace".to_owned(),
            trace,
        ]
    };
    let mut args = vec!["run".to_owned(), "pipelines/replay.toml".to_owned()];
    args.extend(both("alone"));
    run(&args.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    let alone = messages(&Recording::open(&at("alone.mcap")).unwrap());
    let alone_traced = traced(&at("alone.json"));
    assert_eq!(alone_traced.metadata.len(), 1);
    for observer in ["first", "last"] {
        let file = on_three(folder.path());
        let args = both(observer);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        // The clocks differ: the first one is ahead of the others, and the last one behind.
        let started = start_all(&file, observer, &args, LATER);
        let ran = started.map(|machine| machine.end().expect(0));
        for (machine, ran) in MACHINES.iter().zip(&ran) {
            let set = ran.stderr.contains(&format!(
                "the clock is set to that of machine {observer} ± "
            ));
            assert_eq!(set, *machine != observer, "{ran:#?}");
        }
        // The recording is that of one machine.
        let recording = Recording::open(&at(&format!("{observer}.mcap"))).unwrap();
        assert!(!recording.is_cut_off());
        assert_eq!(messages(&recording), alone, "{observer}");
        let replayed = run(&[
            "replay",
            &text(&format!("{observer}.mcap")),
            "--verify",
            "-q",
        ]);
        let replayed = replayed.expect(0);
        assert!(
            replayed
                .stdout
                .contains("44 messages: the same, byte for byte"),
            "{replayed:#?}"
        );
        // So is the trace, with a process for each machine.
        let found = traced(&at(&format!("{observer}.json")));
        assert_eq!(found.counts, alone_traced.counts, "{observer}");
        let names = found.metadata.values();
        let names: Vec<_> = names.map(|it| it["process_name"]["name"].clone()).collect();
        for (name, machine) in names.iter().zip(MACHINES) {
            assert!(
                name.as_str().unwrap().ends_with(&format!(" on {machine}")),
                "{name}"
            );
        }
        let mut errors = 0.0;
        for (process, machine) in (1..).zip(MACHINES) {
            let error = found.metadata[&process]["clock"]["error_us"]
                .as_f64()
                .unwrap();
            errors += error;
            let is_own = machine == observer;
            assert!(
                if is_own {
                    error == 0.0
                } else {
                    error > 0.0 && error < 1e6
                },
                "{error}"
            );
            let label = found.metadata[&process]["process_labels"]["labels"]
                .as_str()
                .unwrap();
            assert!(label.starts_with("clock ± "), "{label}");
        }
        let of = |stage: &str| found.processes[stage];
        let stages = ["frames", "vision", "solver", "planner", "actuator"].map(of);
        assert_eq!(stages, [1, 2, 3, 2, 1]);
        // One time axis: no message was taken before the call that emitted it, up to the errors of the clocks, in
        // microseconds.
        assert!(errors < 200_000.0, "{errors}");
        assert_eq!(found.arrows.len(), 44);
        for [from, to] in found.arrows.values() {
            assert!(from - to <= errors + 1.0, "{from} {to}: {errors}");
        }
    }
}

#[test]
fn each_machine_of_a_chain_reports_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&["run", "pipelines/replay.toml", "--json"]);
    let whole = whole.expect(0).json();
    let counts = |json: &Value| {
        let stages = json["report"]["stages"].as_array().unwrap().iter();
        let counts = stages.map(|it| ["name", "in", "out", "dropped"].map(|key| it[key].clone()));
        counts.collect::<Vec<_>>()
    };
    let file = on_three(folder.path());
    let started = MACHINES.map(|machine| Machine::start(&file, machine));
    for (own, machine) in MACHINES.into_iter().zip(started) {
        let json = machine.end().expect(0).json();
        assert_eq!(counts(&json), counts(&whole), "{own}");
        for machine in json["machines"].as_array().unwrap() {
            let name = machine["name"].as_str().unwrap();
            assert_eq!(machine["reported"], true, "{own}: {name}");
            let is_linked = name != own && (name == "middle" || own == "middle");
            assert_eq!(machine["link"].is_object(), is_linked, "{own}: {name}");
        }
    }
}

#[test]
fn one_machine_observes_a_chain() {
    let folder = tempfile::tempdir().unwrap();
    let file = on_three(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let first = start(&file, "first", &["--record", &at("a.mcap")]);
    let middle = start(&file, "middle", &[]);
    let last = start(&file, "last", &["--trace", &at("b.json")]);
    for machine in [first, middle, last] {
        let ran = machine.end().expect(2);
        let why = "machine first and machine last are both to record or trace the run";
        assert!(ran.stderr.contains(why), "{ran:#?}");
    }
    assert!(!Path::new(&at("a.mcap")).exists() && !Path::new(&at("b.json")).exists());
}

/// Replays what there is of a recording, and checks that it is the same.
fn replays(path: &Path) -> Ran {
    let replayed = run(&["replay", path.to_str().unwrap(), "--verify", "-q"]).expect(0);
    for text in ["the recording ends early", "the same, byte for byte"] {
        assert!(replayed.stdout.contains(text), "{replayed:#?}");
    }
    let recording = Recording::open(path).unwrap();
    assert!(recording.is_cut_off());
    assert!(messages(&recording)["/solver/out"] > 1);
    replayed
}

#[test]
fn a_recording_of_a_chain_survives_the_death_of_any() {
    for (number, killed) in MACHINES.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let file = on_three(folder.path());
        let file = without_end(folder.path(), &file);
        let path = folder.path().join("a.mcap");
        let growing = folder.path().join("a.mcap.partial");
        let args = ["-q", "--record", path.to_str().unwrap()];
        let mut machines = start_all(&file, "first", &args, Duration::ZERO);
        recorded_from_solver(&growing, &mut machines);
        machines[number].0.kill().unwrap();
        machines[number].0.wait().unwrap();
        for (machine, name) in machines.into_iter().zip(MACHINES) {
            if name == *killed {
                continue;
            }
            let ran = machine.end().expect(1);
            let is_known = ran.stderr.contains(&format!("machine {killed} is dead"));
            assert!(is_known, "{killed}: {ran:#?}");
            let lacks = |machine: &str| {
                let why =
                    format!("what the stages of machine {machine} did from here on is missing");
                ran.stderr.contains(&why)
            };
            if name == "first" {
                assert!(lacks("last"), "{ran:#?}");
                assert_eq!(lacks("middle"), *killed == "middle", "{ran:#?}");
            }
        }
        // What a killed program has written is there, as of a run on one machine.
        let is_partial = *killed == "first";
        assert_eq!((path.exists(), growing.exists()), (!is_partial, is_partial));
        replays(if is_partial { &growing } else { &path });
    }
}
