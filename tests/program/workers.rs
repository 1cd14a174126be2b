//! Several workers of one stage: order, recordings and replays, processes, and errors of pipeline files.

use std::collections::BTreeSet;
use std::path::Path;

use flowpipe_recording::{Entry, Recording};
use flowpipe_tests::{changed, pipeline, record, run};
use serde_json::{Value, json};

use crate::entries::Parts;

const COUNTING: &str = "[stages.counting]\nplugin = \"counting\"\nfrom = \"vision\"\nworkers = 3\n";

/// The ready pipeline, quickly, with a stage of three workers behind vision and two solvers.
fn several(folder: &Path, more: &str) -> String {
    let path = changed(folder, |ready| {
        ready
            .replace("fps = 20", "fps = 100")
            .replace("from = \"vision\"", "from = \"counting\"\nworkers = 2")
            .replace(
                "[stages.solver]",
                &format!("{COUNTING}{more}\n[stages.solver]"),
            )
    });
    path.display().to_string()
}

/// The workers that took messages in the stage `counting`.
fn workers(recording: &Recording) -> BTreeSet<usize> {
    let calls = recording.calls();
    let calls = calls.filter(|call| call.stage == "counting" && call.took.is_some());
    calls.map(|call| call.worker).collect()
}

/// The numbers of the frames that the messages of a stage descend from, in the order of the messages.
fn frames(recording: &Recording, stage: &str) -> Vec<u64> {
    let calls = recording.calls().filter(|call| call.stage == stage);
    let mut emitted: Vec<_> = calls.flat_map(|call| &call.emitted).collect();
    emitted.sort_by_key(|it| it.sequence);
    let origins = emitted.iter().filter_map(|it| it.origin.as_ref());
    origins.map(|origin| origin.sequence).collect()
}

#[test]
fn a_recording_of_several_workers_replays_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", &several(folder.path(), ""));
    let recording = Recording::open(Path::new(&path)).unwrap();
    assert!(workers(&recording).len() > 1, "{:?}", workers(&recording));
    for stage in ["counting", "solver", "actuator"] {
        assert_eq!(frames(&recording, stage), (1..=11).collect::<Vec<_>>());
    }
    let verify = |path: &str| run(&["replay", path, "--verify", "--json", "-q"]);
    let verdict = &verify(&path).expect(0).json()["verdict"];
    // Of all stages but the source.
    assert_eq!(verdict["same"], 5 * 11, "{verdict:#}");
    assert_eq!(verdict["differing"], 0);

    // A replay can be recorded, and its recording is one of the same workers.
    let again = folder.path().join("again.mcap").display().to_string();
    run(&["replay", &path, "-q", "--record", &again]).expect(0);
    let replayed = Recording::open(Path::new(&again)).unwrap();
    assert_eq!(workers(&replayed), workers(&recording));

    // It matters which worker made a call: each has state of its own.
    let mut parts = Parts::read(Path::new(&path));
    for entry in &mut parts.entries {
        if parts.channels[entry.channel].has_calls() {
            let mut call: Value = serde_json::from_slice(&entry.data).unwrap();
            call["worker"] = json!(0);
            entry.data = call.to_string().into_bytes();
        }
    }
    let edited = folder.path().join("edited.mcap");
    std::fs::write(&edited, parts.write()).unwrap();
    let verdict = &verify(edited.to_str().unwrap()).expect(1).json()["verdict"];
    let first = &verdict["differences"][0];
    assert_eq!(first["edge"], "counting.out -> solver.in", "{verdict:#}");
}

#[test]
fn a_recording_without_order_replays_too() {
    let folder = tempfile::tempdir().unwrap();
    let unordered = several(folder.path(), "ordered = false\n");
    let path = record(folder.path(), "a.mcap", &unordered);
    let recording = Recording::open(Path::new(&path)).unwrap();
    let mut frames = frames(&recording, "counting");
    frames.sort_unstable();
    assert_eq!(frames, (1..=11).collect::<Vec<_>>());
    run(&["replay", &path, "--verify", "-q"]).expect(0);
}

#[cfg(unix)]
#[test]
fn workers_run_in_processes() {
    let folder = tempfile::tempdir().unwrap();
    let isolated = several(folder.path(), "isolation = \"process\"\n");
    let path = record(folder.path(), "a.mcap", &isolated);
    let recording = Recording::open(Path::new(&path)).unwrap();
    assert!(workers(&recording).len() > 1);
    assert_eq!(frames(&recording, "actuator"), (1..=11).collect::<Vec<_>>());
    let problems = recording.entries().iter();
    assert_eq!(
        problems
            .filter(|it| matches!(it, Entry::Problem(_)))
            .count(),
        0
    );
    run(&["replay", &path, "--verify", "-q"]).expect(0);
}

#[test]
fn the_report_names_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let path = several(folder.path(), "");
    let ran = run(&["run", &path, "--json"]).expect(0);
    let stages = &ran.json()["report"]["stages"];
    let workers = |index: usize| stages[index]["workers"].as_u64().unwrap();
    assert_eq!((0..4).map(workers).collect::<Vec<_>>(), [1, 1, 3, 2]);
    let ran = run(&["run", &path]).expect(0);
    assert!(
        ran.stdout.contains("workers of counting: 3\n"),
        "{}",
        ran.stdout
    );
    let graph = run(&["graph", &path]).expect(0).stdout;
    assert!(
        graph.contains("counting<br/>counting<br/>3 workers"),
        "{graph}"
    );
}

#[test]
fn stages_that_can_have_one_worker_alone_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(
        folder.path(),
        "[stages.frames]\nplugin = \"capture-files\"\nconfig = { paths = [\"a.png\"] }\nworkers = 2\n\
         [stages.vision]\nplugin = \"vision-opencv\"\nfrom = \"frames\"\nworkers = 65\n\
         [stages.solver]\nplugin = \"solver-search\"\nfrom = \"vision\"\n\
         [stages.planner]\nplugin = \"planner-minlink\"\nfrom = \"solver\"\n\
         [stages.mouse]\nplugin = \"actuator-mouse\"\nfrom = \"planner\"\nworkers = 3\n",
    );
    let ran = run(&["check", "--json", &file]).expect(78);
    let errors: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let errors: Vec<_> = errors
        .iter()
        .map(|error| {
            let place = |key: &str| error[key].as_u64().unwrap();
            (
                place("line"),
                place("column"),
                error["message"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        errors,
        [
            (
                4,
                11,
                "`frames` is a source, which can't have several workers"
            ),
            (8, 11, "a stage has 1 to 64 workers, not 65"),
            (
                18,
                11,
                "`mouse` drives the mouse, so it can't have several workers: there is one mouse"
            ),
        ]
    );
}
