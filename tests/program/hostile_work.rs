//! Recordings whose stages would work without end if they ran again: replays give each call the time that it took then and
//! little more, and all of them little memory.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::entries::Parts;
use crate::interrupt::{interrupted, is_stopped};
use flowpipe_tests::bounds::{Bounded, on_hostile_recording};
use flowpipe_tests::{changed, compile, flowpipe, pipeline, record, run};
use serde_json::{Value, json};

/// The most memory that a hostile recording may take.
const MEMORY: u64 = 500_000_000;

/// The longest time that a recorded call has worked. A replay allows a multiple, and a busy machine records more.
const RECORDED_NS: i64 = 100_000;

/// A board of the ready pipeline, recorded, where vision is a plugin that nobody has: what it saw stands in the recording.
fn good() -> &'static Parts {
    static GOOD: OnceLock<Parts> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = changed(folder.path(), |ready| {
            ready.replace("pipelines/frames/*.png", "pipelines/frames/phone-5x*.png")
        });
        let path = record(folder.path(), "good.mcap", pipeline.to_str().unwrap());
        let mut parts = Parts::read(Path::new(&path));
        parts.about["stages"][1]["plugins"][0]["name"] = json!("vision-of-nobody");
        for entry in &mut parts.entries {
            if parts.channels[entry.channel].has_calls() {
                let mut call: Value = serde_json::from_slice(&entry.data).unwrap();
                shorten(&mut call);
                entry.data = call.to_string().into_bytes();
            }
        }
        parts
    })
}

/// Limits the time that a call has worked. It has waited for the rest.
fn shorten(call: &mut Value) {
    let [taken, ended] = ["taken_ns", "ended_ns"].map(|key| call[key].as_i64().unwrap());
    let waited = call["waited_ns"].as_i64().unwrap_or(0);
    call["waited_ns"] = json!(waited.max(ended - taken - RECORDED_NS));
}

/// A board without walls and with one flow, which takes every method long, in the place of what vision saw.
fn with_board(parts: &mut Parts, side: usize) {
    // A way over all cells leads from one colour of a chessboard to the other where there are as many of both.
    let to = side * (side - 1) - 2 - usize::from(side.is_multiple_of(2));
    let mut found = 0;
    for entry in &mut parts.entries {
        if parts.channels[entry.channel].topic != "/vision/out" {
            continue;
        }
        let mut body: Value = serde_json::from_slice(&entry.data).unwrap();
        let puzzle = body.pointer_mut("/reading/puzzle").unwrap();
        *puzzle = json!({
            "board": { "rows": side, "cols": side },
            "terminals": [{ "cell": side + 1, "colour": 0 }, { "cell": to, "colour": 0 }],
            "rules": { "cover": true, "touch": true },
        });
        entry.data = body.to_string().into_bytes();
        found += 1;
    }
    assert!(found > 0);
}

/// A solver and its config in the place of the recorded one.
fn with_solver(parts: &mut Parts, name: &str, config: &Value) {
    let plugin = &mut parts.about["stages"][2]["plugins"][0];
    plugin["name"] = json!(name);
    plugin["config"] = config.clone();
}

/// The recording of a stage that runs again in several others' names.
fn many_times(parts: &mut Parts, times: usize) {
    let stage = parts.about["stages"][2].clone();
    let is_call = |entry: &&crate::entries::Entry| parts.channels[entry.channel].has_calls();
    let calls = parts.entries.iter().filter(is_call);
    let calls = calls.map(|it| serde_json::from_slice::<Value>(&it.data).unwrap());
    let calls: Vec<Value> = calls.filter(|call| call["stage"] == "solver").collect();
    for number in 1..times {
        let name = json!(format!("solver-{number}"));
        let mut stage = stage.clone();
        stage["name"] = name.clone();
        parts.about["stages"].as_array_mut().unwrap().push(stage);
        for call in &calls {
            let mut call = call.clone();
            call["stage"] = name.clone();
            parts.call(&call);
        }
    }
}

fn replay(name: &str, parts: &Parts, more: &[&str]) -> Bounded {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{name}.mcap"));
    std::fs::write(&file, parts.write()).unwrap();
    let mut args = vec!["replay", file.to_str().unwrap(), "--quiet"];
    args.extend(more);
    on_hostile_recording(flowpipe(&args), &format!("replay {name}"), MEMORY)
}

/// It ends soon and reports that the solver was cancelled, and that this is not what is recorded.
#[track_caller]
fn cancelled(name: &str, parts: &Parts) {
    let ran = replay(name, parts, &["--verify"]);
    assert_eq!(ran.ran.code, Some(1), "{ran:#?}");
    assert!(ran.ran.stdout.contains("--no-limits"), "{ran:#?}");
    assert!(ran.ran.stdout.contains("solver"), "{ran:#?}");
}

/// Each solver that can be given more than it can do.
#[test]
fn hard_boards_and_extreme_configs() {
    let huge = u64::from(u32::MAX);
    let cases = [
        ("solver-frontier", 24, json!({})),
        (
            "solver-frontier",
            24,
            json!({ "max_mebibytes": 1_u64 << 40 }),
        ),
        ("solver-astar", 20, json!({ "max_states": huge })),
        ("solver-bruteforce", 8, json!({ "max_paths": huge })),
        ("solver-search", 12, json!({ "want": "count" })),
        ("solver-search", 9, json!({ "want": "all" })),
        ("solver-backtrack", 12, json!({ "want": "count" })),
        ("solver-batsat", 9, json!({ "want": "count" })),
        ("solver-varisat", 9, json!({ "want": "count" })),
        ("solver-splr", 9, json!({ "want": "count" })),
    ];
    let (mut cut_off, mut explained) = (0, 0);
    for (number, (solver, side, config)) in cases.into_iter().enumerate() {
        let mut parts = good().clone();
        with_board(&mut parts, side);
        with_solver(&mut parts, solver, &config);
        // Some find an answer in their time, which is not the recorded one either.
        let ran = replay(&format!("{number}-{solver}"), &parts, &["--verify"]);
        assert_eq!(ran.ran.code, Some(1), "{ran:#?}");
        let is_printed = |text: &str| usize::from(ran.ran.stdout.contains(text));
        cut_off += is_printed("--no-limits");
        explained += is_printed("now:      (no message: a limit of the replay was exceeded)");
    }
    assert!(cut_off >= 3, "{cut_off}");
    assert!(explained > 0);
}

/// A hundred stages that all begin at once.
#[test]
fn hard_boards_for_many_stages() {
    for isolated in [false, true] {
        let mut parts = good().clone();
        with_board(&mut parts, 24);
        with_solver(&mut parts, "solver-frontier", &json!({}));
        parts.about["stages"][2]["isolated"] = json!(isolated);
        many_times(&mut parts, if isolated { 10 } else { 100 });
        cancelled(if isolated { "isolated" } else { "many" }, &parts);
    }
}

/// Each call builds a large board before it looks whether it is cancelled.
#[test]
fn large_boards_for_many_stages() {
    for solver in ["solver-search", "solver-batsat"] {
        let mut parts = good().clone();
        with_board(&mut parts, 360);
        with_solver(&mut parts, solver, &json!({}));
        many_times(&mut parts, 100);
        let ran = replay(&format!("many-{solver}"), &parts, &["--verify"]);
        assert_eq!(ran.ran.code, Some(1), "{ran:#?}");
    }
}

/// A stage that keeps what it receives takes a little more with each call.
#[test]
fn what_a_stage_keeps_counts_too() {
    const CALLS: u32 = 100;
    const SECOND: i64 = 1_000_000_000;
    for isolated in [false, true] {
        let mut parts = good().clone();
        with_board(&mut parts, 360);
        let stages = parts.about["stages"].as_array_mut().unwrap();
        stages.truncate(3);
        let referee = &mut stages[2];
        referee["plugins"][0]["name"] = json!("referee-once");
        referee["plugins"][0]["config"] = json!({});
        referee["role"] = json!("stage");
        referee["isolated"] = json!(isolated);
        referee["inputs"] = json!(["sighting", "solved", "outcome"]);
        referee["outputs"] = json!([
            ["ask", "flowpipe.sighting/1"],
            ["play", "flowpipe.solved/1"],
            ["results", "flowpipe.result/1"],
        ]);
        let edges = parts.about["edges"].as_array_mut().unwrap();
        edges.truncate(2);
        edges[1]["to"] = json!(["solver", "sighting"]);
        // Nothing is left of what the stages after vision did.
        let channels = parts.channels.clone();
        let is_of_vision = |data: &[u8]| {
            let call: Value = serde_json::from_slice(data).unwrap();
            ["frames", "vision"].contains(&call["stage"].as_str().unwrap())
        };
        parts.entries.retain(|entry| {
            let channel = &channels[entry.channel];
            match channel.has_calls() {
                true => is_of_vision(&entry.data),
                false => ["/vision/", "/frames/"]
                    .iter()
                    .any(|it| channel.topic.starts_with(it)),
            }
        });
        let is_seen =
            |entry: &&crate::entries::Entry| channels[entry.channel].topic == "/vision/out";
        let seen = parts.entries.iter().find(is_seen).unwrap().clone();
        let first = seen.sequence;
        let body: Value = serde_json::from_slice(&seen.data).unwrap();
        let mut emitted = Vec::new();
        for sequence in first + 1..first + CALLS {
            let mut body = body.clone();
            body["reading"]["puzzle"]["terminals"][0]["cell"] = json!(sequence + 400);
            parts.push(seen.channel, sequence, body.to_string());
            emitted.push(sequence);
        }
        for entry in &mut parts.entries {
            if !channels[entry.channel].has_calls() {
                continue;
            }
            let mut call: Value = serde_json::from_slice(&entry.data).unwrap();
            let Some(all) = call["emitted"].as_array_mut().filter(|all| !all.is_empty()) else {
                continue;
            };
            let one = all[0].clone();
            if call["stage"] == "vision" {
                let all = call["emitted"].as_array_mut().unwrap();
                all.extend(emitted.drain(..).map(|sequence| {
                    let mut one = one.clone();
                    one["sequence"] = json!(sequence);
                    one
                }));
            }
            entry.data = call.to_string().into_bytes();
        }
        assert!(emitted.is_empty());
        for sequence in first..first + CALLS {
            let began = SECOND * i64::from(sequence + 1);
            parts.call(&json!({
                "stage": "solver", "event": "message", "taken_ns": began, "ended_ns": began + SECOND - 1,
                "took": { "port": "sighting", "from": "vision", "output": "out", "sequence": sequence },
                "emitted": [],
            }));
        }
        let name = if isolated { "kept-apart" } else { "kept" };
        let ran = replay(name, &parts, &[]);
        assert!(ran.ran.stdout.contains("--no-limits"), "{ran:#?}");
    }
}

/// Boards that are no work to solve may be work to read, to encode and to draw.
#[test]
fn boards_of_a_hundred_thousand_cells() {
    for solver in [
        "solver-frontier",
        "solver-batsat",
        "solver-search",
        "solver-genetic",
        "solver-astar",
    ] {
        let mut parts = good().clone();
        with_board(&mut parts, 360);
        with_solver(&mut parts, solver, &json!({}));
        let ran = replay(&format!("large-{solver}"), &parts, &["--verify"]);
        assert_eq!(ran.ran.code, Some(1), "{ran:#?}");
    }
}

/// A plugin that does not return from a call, cancelled or not: on a thread, and in a process.
#[test]
fn a_call_that_does_not_return() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    compile("tests/plugins/hanging.c", &plugins, "hanging", &["SINK"]);
    let plugins = plugins.to_str().unwrap();
    let short = pipeline(
        folder.path(),
        "[stages.puzzles]
plugin = \"capture-puzzles\"
config = { text = \"AB\\nAB\" }
[stages.sink]
plugin = \"hanging\"
from = \"puzzles\"
",
    );
    let recorded = folder.path().join("short.mcap");
    let args = ["run", &short, "--plugin-dir", plugins, "--record"];
    run(&[&args[..], &[recorded.to_str().unwrap(), "--quiet"]].concat()).expect(0);
    for isolated in [false, true] {
        let mut parts = Parts::read(&recorded);
        parts.about["stages"][1]["plugins"][0]["config"] = json!({ "hang": true });
        parts.about["stages"][1]["isolated"] = json!(isolated);
        let name = if isolated { "process" } else { "thread" };
        let ran = replay(name, &parts, &["--verify", "--plugin-dir", plugins]);
        assert_eq!(ran.ran.code, Some(1), "{ran:#?}");
        assert!(ran.ran.stdout.contains("--no-limits"), "{ran:#?}");
    }
}

/// The first Ctrl-C cancels a call that would go on for hours.
#[test]
fn ctrl_c_in_a_call_without_limits() {
    let mut parts = good().clone();
    with_board(&mut parts, 8);
    with_solver(
        &mut parts,
        "solver-bruteforce",
        &json!({ "max_paths": u64::from(u32::MAX) }),
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endless.mcap");
    std::fs::write(&file, parts.write()).unwrap();
    let args = ["replay", file.to_str().unwrap(), "--no-limits", "-q"];
    let status = interrupted(&args, "INT", Duration::from_secs(3));
    assert!(is_stopped(status), "{status:?}");
}
