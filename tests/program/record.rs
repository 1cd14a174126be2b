//! Recording and replaying runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_recording::{Entry, Recording};
use flowpipe_tests::{changed, flowpipe, project, run};
use serde_json::{Value, json};

use crate::entries::Parts;

/// Runs a pipeline with a recorder that keeps up; gives the recording's path.
fn record(folder: &Path, name: &str, pipeline: &str) -> PathBuf {
    flowpipe_tests::record(folder, name, pipeline).into()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The bodies of all messages, by output and number.
fn bodies(path: &Path) -> BTreeMap<(String, u64), String> {
    let recording = Recording::open(path).unwrap();
    let entries = recording.entries().iter();
    entries
        .filter_map(|entry| match entry {
            Entry::Message(message) => {
                let key = (message.topic().to_string(), message.sequence());
                Some((key, recording.body(message).to_string()))
            }
            _ => None,
        })
        .collect()
}

/// The times of stages come from the clock, and differ between runs.
fn without_times(bodies: BTreeMap<(String, u64), String>) -> BTreeMap<(String, u64), String> {
    bodies
        .into_iter()
        .map(|(key, body)| {
            let mut body: Value = serde_json::from_str(&body).unwrap();
            if let Some(time) = body.get_mut("act_ns") {
                *time = Value::Null;
            }
            (key, body.to_string())
        })
        .collect()
}

#[test]
fn two_recordings_and_two_replays_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = record(folder, "one.mcap", "pipelines/replay.toml");
    let two = record(folder, "two.mcap", "pipelines/replay.toml");
    assert_eq!(without_times(bodies(&one)), without_times(bodies(&two)));

    for replayed in ["first.mcap", "second.mcap"] {
        let again = folder.join(replayed);
        let ran = run(&[
            "replay",
            text(&one),
            "--verify",
            "--json",
            "--record",
            text(&again),
        ])
        .expect(0);
        let verdict = &ran.json()["verdict"];
        // Sightings, solutions, strokes, outcomes: all but the frames, which come out of the recording.
        assert_eq!(verdict["same"], 44, "{verdict:#}");
        assert_eq!(verdict["differences"], Value::Array(Vec::new()));
        let mut recorded = bodies(&one);
        recorded.retain(|(topic, _), _| topic != "/frames/out");
        assert_eq!(bodies(&again), recorded, "times included");
    }
}

#[test]
fn a_recording_describes_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let recording = Recording::open(&path).unwrap();
    let about = recording.about();
    assert_eq!(about.name, "replay");
    let stages: Vec<_> = about.stages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        stages,
        ["frames", "vision", "solver", "planner", "actuator"]
    );
    for stage in &about.stages {
        assert_eq!(stage.plugins.len(), 1);
        assert_eq!(stage.plugins[0].hash.len(), 32, "{stage:?}");
        assert!(!stage.plugins[0].version.is_empty());
    }
    let written = std::fs::read_to_string(project().join("pipelines/replay.toml")).unwrap();
    assert_eq!(recording.pipeline(), written);
    assert!(!recording.is_cut_off());
    let calls = recording.calls();
    assert_eq!(
        calls.filter(|call| call.stage == "vision").count(),
        12,
        "11 frames and the end"
    );
}

#[test]
fn a_stage_wrongly_declared_deterministic_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| {
        ready
            .replace("from = \"vision\"", "from = \"fickle\"")
            .replace(
                "[stages.solver]",
                "[stages.fickle]\nplugin = \"fickle\"\nfrom = \"vision\"\n\n[stages.solver]",
            )
    });
    let path = record(folder.path(), "a.mcap", text(&pipeline));
    let ran = run(&["replay", text(&path), "--verify", "--json"]).expect(1);
    let first = &ran.json()["verdict"]["differences"][0];
    assert_eq!(first["edge"], "fickle.out -> solver.in", "{first:#}");
    assert_eq!(first["sequence"], 3);
    assert_eq!(first["field"], "/steps/0/ms");
    let ran = run(&["replay", text(&path), "--verify", "-q"]).expect(1);
    // A time from a recorded capture to an action of the replay has no meaning.
    assert!(!ran.stdout.contains("mouse action"), "{ran:#?}");
    assert!(
        ran.stdout
            .contains("fickle.out -> solver.in, message 3 at /steps/0/ms"),
        "{}",
        ran.stdout
    );
}

/// As after the death of its process: the call has failed, and emitted nothing.
#[test]
fn a_message_that_only_the_replay_emits_is_named_by_what_its_call_took() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let mut parts = Parts::read(&path);
    let (channels, mut lost) = (&parts.channels, None);
    for entry in &mut parts.entries {
        if !channels[entry.channel].has_calls() {
            continue;
        }
        let mut call: Value = serde_json::from_slice(&entry.data).unwrap();
        if call["stage"] == "actuator" && call["took"]["sequence"] == 4 {
            lost = call["emitted"][0]["sequence"].as_u64();
            call["emitted"] = json!([]);
            call["failed"] = json!("killed");
            entry.data = call.to_string().into_bytes();
        }
    }
    let lost = lost.unwrap();
    let is_of_actuator = |channel: usize| {
        let stage = channels[channel].metadata.get("flowpipe.stage");
        stage.is_some_and(|stage| stage == "actuator")
    };
    parts
        .entries
        .retain(|it| u64::from(it.sequence) != lost || !is_of_actuator(it.channel));
    let edited = folder.path().join("edited.mcap");
    std::fs::write(&edited, parts.write()).unwrap();

    let ran = run(&["replay", text(&edited), "--verify", "--json"]).expect(1);
    let verdict = &ran.json()["verdict"];
    assert_eq!(verdict["differing"], 1, "{verdict:#}");
    let first = &verdict["differences"][0];
    let unrecorded = json!({ "took": "planner.out", "took_sequence": 4 });
    assert_eq!(first["unrecorded"], unrecorded, "{first:#}");
    let recorded = "(no message: the recorded call failed: killed)";
    assert_eq!(first["recorded"], recorded);
    let ran = run(&["replay", text(&edited), "--verify", "-q"]).expect(1);
    let line = "a message that was not recorded, after message 4 of planner.out";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
}

#[test]
fn another_plugin_can_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let swap = "solver=solver-batsat";
    let ran = run(&["replay", text(&path), "--swap", swap, "--json"]).expect(0);
    assert_eq!(
        ran.json()["report"]["stages"][2]["in"],
        11,
        "{:#}",
        ran.json()
    );
    let ran = run(&["replay", text(&path), "--swap", swap, "--verify", "--json"]).expect(1);
    let first = &ran.json()["verdict"]["differences"][0];
    assert_eq!(first["edge"], "solver.out -> planner.in", "{first:#}");
    assert_eq!(first["sequence"], 1);
    assert_eq!(first["field"], "/answer/unique", "{first:#}");
    // From a stage on: those before it are not run.
    let ran = run(&[
        "replay",
        text(&path),
        "--from",
        "planner",
        "--verify",
        "--json",
    ])
    .expect(0);
    assert_eq!(ran.json()["verdict"]["same"], 22);
}

#[test]
fn what_full_queues_drop_is_recorded_and_dropped_again() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "times = 5").replace(
            "from = \"frames\"",
            "from = \"frames\"\nqueue = { capacity = 1, when_full = \"latest\" }",
        )
    });
    let path = record(folder.path(), "a.mcap", text(&pipeline));
    let recording = Recording::open(&path).unwrap();
    let drops = recording.entries().iter();
    let drops = drops
        .filter(|entry| matches!(entry, Entry::Dropped(_)))
        .count();
    let sightings = bodies(&path);
    let sightings = sightings.keys().filter(|(topic, _)| topic == "/vision/out");
    assert_eq!(sightings.count() + drops, 55);
    assert!(
        drops > 0,
        "reading a board takes longer than to decode a picture"
    );
    run(&["replay", text(&path), "--verify", "-q"]).expect(0);
}

#[test]
fn a_killed_run_loses_at_most_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "fps = 20, repeat = true")
    });
    let path = folder.path().join("killed.mcap");
    let mut child = flowpipe(&["run", text(&pipeline), "-q", "--record", text(&path)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let path = folder.path().join("killed.mcap.partial");
    while messages(&path) < 40 {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(1300));
    // SIGKILL on Unix: it can't be caught.
    let before = std::time::SystemTime::now();
    child.kill().unwrap();
    child.wait().unwrap();
    let recording = Recording::open(&path).unwrap();
    assert!(recording.is_cut_off());
    let started = recording.about().started_unix_ns;
    let last = recording.calls().map(|call| call.ended_ns).max().unwrap();
    let killed = before.duration_since(std::time::UNIX_EPOCH).unwrap();
    let lost = killed.as_nanos() as i64 - started as i64 - last;
    assert!(lost < 1_000_000_000, "{lost} ns were lost");
    let ran = run(&["replay", text(&path), "--verify", "--json"]).expect(0);
    assert!(ran.json()["verdict"]["same"].as_u64().unwrap() > 40);
}

/// How many messages can be read in a recording that may be growing.
fn messages(path: &Path) -> usize {
    Recording::open(path).map_or(0, |recording| recording.entries().len())
}

#[test]
fn a_recording_is_a_source_for_other_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let source = |stage: &str| {
        format!(
            "plugin = \"capture-recording\"\nconfig = {{ file = '{}'{stage} }}",
            text(&path)
        )
    };
    let from_frames = changed(folder.path(), |ready| {
        let captured = "plugin = \"capture-files\"\nconfig = { paths = [\"pipelines/frames/*.png\"], fps = 20 }";
        assert!(ready.contains(captured));
        ready.replace(captured, &source(""))
    });
    let ran = run(&["run", text(&from_frames), "--json"]).expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], 11, "{:#}", ran.json());

    let from_sightings = folder.path().join("sightings.toml");
    let stages = format!(
        "[stages.seen]\n{}\n[stages.solver]\nplugin = \"solver-search\"\nfrom = \"seen\"\n",
        source(", stage = 'vision'")
    );
    std::fs::write(&from_sightings, stages).unwrap();
    let ran = run(&["run", text(&from_sightings), "--json"]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 11, "{:#}", ran.json());
}

#[test]
fn the_pipeline_can_ask_for_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("runs/{name}.mcap");
    let pipeline = changed(folder.path(), |ready| {
        format!("{ready}\n[record]\nfile = '{}'\n", text(&to))
    });
    run(&["run", text(&pipeline), "-q"]).expect(0);
    run(&[
        "replay",
        text(&folder.path().join("runs/replay.mcap")),
        "-q",
    ])
    .expect(0);
}

/// A mistyped path creates no folders.
#[test]
fn an_output_in_a_missing_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let to = missing.join("a.mcap");
    let expected = format!(
        "flowpipe: {}: there is no folder {}: create it, or choose another folder",
        text(&to),
        text(&missing)
    );
    let run_with = |more: &[&str]| run(&[&["run", "replay"], more].concat()).expect(2);
    for more in [
        &["--record", text(&to)][..],
        &["--trace", text(&to)],
        &["--flight", "1s", "--flight-to", text(&to)],
    ] {
        assert_eq!(run_with(more).stderr.trim_end(), expected, "{more:?}");
    }
    let recording = record(folder.path(), "b.mcap", "pipelines/replay.toml");
    for more in [["--record", text(&to)], ["--trace", text(&to)]] {
        let ran = run(&[&["replay", text(&recording)][..], &more].concat()).expect(2);
        assert_eq!(ran.stderr.trim_end(), expected, "{more:?}");
    }
    let ran = run(&["report", text(&recording), "--output", text(&to)]).expect(2);
    assert_eq!(ran.stderr.trim_end(), expected);
    assert!(!missing.exists());
}

#[test]
fn bad_files_and_bad_arguments_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.mcap");
    let ran = run(&["replay", text(&none)]).expect(2);
    assert!(ran.stderr.contains("none.mcap"), "{}", ran.stderr);
    let malformed = folder.path().join("malformed.mcap");
    std::fs::write(&malformed, "this is no recording").unwrap();
    let ran = run(&["replay", text(&malformed)]).expect(65);
    assert!(ran.stderr.contains("is no recording"), "{}", ran.stderr);

    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let ran = run(&["replay", text(&path), "--from", "nobody"]).expect(2);
    assert!(
        ran.stderr.contains("it has frames, vision, solver"),
        "{}",
        ran.stderr
    );
    let ran = run(&["replay", text(&path), "--swap", "frames=capture-screen"]).expect(2);
    assert!(ran.stderr.contains("takes no messages"), "{}", ran.stderr);
    let mouse = "actuator=actuator-mouse";
    let ran = run(&["replay", text(&path), "--swap", mouse]).expect(2);
    assert!(
        ran.stderr.contains("--allow drives-mouse"),
        "{}",
        ran.stderr
    );
    let ran = run(&["replay", text(&path), "--swap", "solver=planner-grid"]).expect(2);
    assert!(
        ran.stderr.contains("inputs and outputs differ"),
        "{}",
        ran.stderr
    );
    let ran = run(&["replay", text(&path), "--swap", "solver=solver-serach"]).expect(78);
    assert!(
        ran.stderr.contains("did you mean `solver-search`?"),
        "{ran:#?}"
    );
    run(&["replay", text(&path), "--speed", "fast"]).expect(2);
    // A file that can't be made ends the run before it begins.
    let ran = run(&[
        "run",
        "pipelines/replay.toml",
        "--record",
        "/dev/null/a.mcap",
    ])
    .expect(2);
    assert!(ran.stderr.contains("/dev/null"), "{}", ran.stderr);
    // Nothing is left of a recording that had begun by then.
    let begun = folder.path().join("begun.mcap");
    let bad = ["--trace", "/dev/null/a.json"];
    for args in [["run", "pipelines/replay.toml"], ["replay", text(&path)]] {
        let args = [&args[..], &["--record", text(&begun)], &bad].concat();
        run(&args).expect(2);
        assert!(
            !folder.path().join("begun.mcap.partial").exists(),
            "{args:?}"
        );
    }
}
