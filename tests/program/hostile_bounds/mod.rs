//! Recordings that ask for more than there is: memory, threads, time. Each ends soon, in bounded memory, with an exit
//! code that is documented, and names what is too much.

mod expansion;
mod metrics;

use std::path::Path;
use std::sync::OnceLock;

use crate::entries::{Channel, Parts};
use flowpipe_tests::bounds::{Bounded, on_hostile_recording};
use flowpipe_tests::{changed, flowpipe, record};
use serde_json::{Value, json};

/// What a hostile recording may take: the memory limit of recordings (168 MB), and what the program itself takes.
const MEMORY: u64 = 250_000_000;

/// Two small boards of the ready pipeline, recorded.
fn good() -> &'static Parts {
    static GOOD: OnceLock<Parts> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = changed(folder.path(), |ready| {
            assert!(ready.contains("pipelines/frames/*.png"));
            ready.replace(
                "pipelines/frames/*.png",
                "pipelines/frames/phone-[56]x*.png",
            )
        });
        let path = record(folder.path(), "good.mcap", pipeline.to_str().unwrap());
        Parts::read(Path::new(&path))
    })
}

/// The description of a run, without anything that happened.
fn empty() -> Parts {
    Parts {
        entries: Vec::new(),
        ..good().clone()
    }
}

fn saved(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

fn run(args: &[&str]) -> Bounded {
    let what = Path::new(args.iter().find(|it| it.ends_with(".mcap")).unwrap());
    let what = what.file_name().unwrap().to_string_lossy();
    on_hostile_recording(flowpipe(args), &format!("{} {what}", args[0]), MEMORY)
}

/// What `replay`, `report` and `compare` make of a recording.
fn every_command(name: &str, bytes: &[u8]) -> [Bounded; 3] {
    let folder = tempfile::tempdir().unwrap();
    let file = saved(folder.path(), &format!("{name}.mcap"), bytes);
    let page = folder.path().join("page.html").display().to_string();
    let ready = "pipelines/replay.toml";
    [
        run(&["replay", &file, "--verify", "--json"]),
        run(&["report", &file, "--output", &page]),
        run(&["compare", ready, ready, &file, "--json"]),
    ]
}

/// Each command refuses it, names the entry and reports what is wrong.
#[track_caller]
fn refused(name: &str, bytes: &[u8], entry: &str, what: &str) {
    for ran in every_command(name, bytes) {
        assert_eq!(ran.ran.code, Some(65), "{ran:#?}");
        for part in [entry, what, " byte "] {
            assert!(ran.ran.stderr.contains(part), "no {part:?}: {ran:#?}");
        }
    }
}

/// The call of a stage that takes a message and emits one.
fn call(stage: &str, took: (&str, u64), emitted: u64) -> Value {
    json!({
        "stage": stage, "event": "message", "taken_ns": 1, "ended_ns": 2,
        "took": { "port": "in", "from": took.0, "output": "out", "sequence": took.1 },
        "emitted": [{ "port": "out", "sequence": emitted, "at_ns": 1 }],
    })
}

#[test]
fn the_recording_is_a_good_one() {
    for ran in every_command("good", &good().write()) {
        assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
    }
}

#[test]
fn calls_that_form_a_cycle() {
    let mut parts = good().clone();
    // What vision took descends from what the solver made of it.
    parts.call(&call("vision", ("solver", 900), 900));
    parts.call(&call("solver", ("vision", 900), 900));
    parts.call(&call("planner", ("solver", 900), 900));
    let [replay, report, compare] = every_command("cycle", &parts.write());
    assert_eq!(replay.ran.code, Some(65), "{replay:#?}");
    for part in [
        "/flowpipe/calls",
        " byte ",
        "descends from that call itself",
    ] {
        assert!(replay.ran.stderr.contains(part), "{replay:#?}");
    }
    // Nobody else follows calls.
    assert_eq!(report.ran.code, Some(0), "{report:#?}");
    assert_eq!(compare.ran.code, Some(0), "{compare:#?}");
}

#[test]
fn a_call_that_takes_what_it_emits() {
    let mut parts = good().clone();
    parts.call(&call("solver", ("solver", 900), 900));
    let [replay, ..] = every_command("own", &parts.write());
    assert_eq!(replay.ran.code, Some(65), "{replay:#?}");
}

#[test]
fn a_long_line_of_ancestors() {
    let mut parts = good().clone();
    for number in 1000..21_000 {
        parts.call(&call("planner", ("planner", number), number + 1));
    }
    for ran in every_command("line", &parts.write()) {
        assert!([Some(0), Some(1)].contains(&ran.ran.code), "{ran:#?}");
    }
}

/// Minutes of a screen that hardly changes: a picture every two seconds, and everything else thirty times a second, which
/// LZ4 makes as small as it can be. It is read, and takes a small part of what it might.
#[test]
fn a_long_recording_of_a_still_screen() {
    let mut parts = good().clone();
    let started = parts.about["started_unix_ns"].as_u64().unwrap();
    let is_picture = |channel: usize| parts.channels[channel].topic.ends_with("/image");
    let frame = |entry: &crate::entries::Entry| !is_picture(entry.channel);
    let round: Vec<_> = parts
        .entries
        .iter()
        .filter(|it| frame(it))
        .cloned()
        .collect();
    let note = Channel::of(
        "picture-notes",
        "/flowpipe/pictures",
        "flowpipe.picture/1",
        None,
    );
    let note = parts.channel(note);
    let mut random = fastrand::Rng::with_seed(1);
    let mut now = 0;
    for number in 1..=2_000_u32 {
        for entry in &round {
            now += random.u64(100_000..30_000_000);
            let mut entry = entry.clone();
            entry.log_time = started + now;
            if entry.sequence > 0 {
                entry.sequence += 2 * number;
            }
            if let Ok(mut call) = serde_json::from_slice::<Value>(&entry.data)
                && call.get("taken_ns").is_some()
            {
                let late = |value: &mut Value, by: u64| *value = json!(now + by);
                late(&mut call["taken_ns"], 0);
                late(&mut call["ended_ns"], random.u64(10_000..10_000_000));
                if let Some(took) = call.pointer_mut("/took/sequence") {
                    *took = json!(took.as_u64().unwrap() + 2 * u64::from(number));
                }
                let emitted = call.get_mut("emitted").and_then(Value::as_array_mut);
                for emitted in emitted.into_iter().flatten() {
                    late(&mut emitted["at_ns"], random.u64(10_000..10_000_000));
                    let sequence = emitted["sequence"].as_u64().unwrap();
                    emitted["sequence"] = json!(sequence + 2 * u64::from(number));
                }
                entry.data = call.to_string().into_bytes();
            }
            parts.entries.push(entry);
        }
        for sequence in [2 * number + 1, 2 * number + 2] {
            let same = json!({ "stage": "frames", "port": "out", "sequence": sequence, "same_as": ["frames", "out", 1] });
            parts.push(note, 0, same.to_string());
        }
    }
    let bytes = parts.write();
    let folder = tempfile::tempdir().unwrap();
    let file = saved(folder.path(), "still.mcap", &bytes);
    let recording = flowpipe_recording::Recording::open(Path::new(&file)).unwrap();
    assert_eq!(recording.unreadable(), 0);
    assert!(recording.calls().count() > 20_000);
    use std::io::Write as _;
    let (calls, mb) = (recording.calls().count(), bytes.len() as f64 / 1e6);
    let _ = writeln!(std::io::stderr(), "{calls} calls in {mb:.1} MB");
}

#[test]
fn three_thousand_stages() {
    let mut parts = good().clone();
    let stage = parts.about["stages"][2].clone();
    let stages = parts.about["stages"].as_array_mut().unwrap();
    for number in 0..3_000 {
        let mut stage = stage.clone();
        stage["name"] = json!(format!("solver-{number}"));
        stages.push(stage);
    }
    refused("stages", &parts.write(), "run.json at", "3005 stages");
}

#[test]
fn stages_that_come_in_while_the_run_goes_on() {
    let mut parts = good().clone();
    let stage = parts.about["stages"][2].clone();
    let channel = Channel::of("changes", "/flowpipe/changes", "flowpipe.change/1", None);
    let channel = parts.channel(channel);
    for number in 0..3_000 {
        let mut stage = stage.clone();
        stage["name"] = json!(format!("solver-{number}"));
        stage["added"] = json!(true);
        let change = json!({ "text": "", "at_ns": 1, "stages": [stage], "edges": [] });
        parts.push(channel, 0, change.to_string());
    }
    refused("changes", &parts.write(), "run.json at", "3005 stages");
}

#[test]
fn plugins_ports_and_queues_without_end() {
    let mut plugins = good().clone();
    let plugin = plugins.about["stages"][2]["plugins"][0].clone();
    plugins.about["stages"][2]["plugins"] = vec![plugin; 3_000].into();
    let mut ports = good().clone();
    let inputs: Vec<Value> = (0..100_000).map(|it| json!(it.to_string())).collect();
    ports.about["stages"][2]["inputs"] = inputs.into();
    let mut edges = good().clone();
    let edge = edges.about["edges"][0].clone();
    edges.about["edges"] = vec![edge; 10_000].into();
    for (name, parts, what) in [
        ("plugins", plugins, "3004 plugins"),
        ("ports", ports, "inputs and outputs"),
        ("queues", edges, "10000 queues"),
    ] {
        refused(name, &parts.write(), "run.json at", what);
    }
}

/// Each plugin of an isolated stage is a process of a replay.
#[test]
fn isolated_stages_without_end() {
    let mut one = good().clone();
    let vision = one.about["stages"][1].clone();
    let stages = one.about["stages"].as_array_mut().unwrap();
    for number in 0..100 {
        let mut stage = vision.clone();
        stage["name"] = json!(format!("vision-{number}"));
        stage["isolated"] = json!(true);
        stages.push(stage);
    }
    let mut race = good().clone();
    race.about["stages"][1]["plugins"] = vec![vision["plugins"][0].clone(); 33].into();
    race.about["stages"][1]["isolated"] = json!(true);
    for (name, parts, what) in [
        ("isolated", one, "100 plugins of isolated stages"),
        ("isolated-race", race, "33 plugins of isolated stages"),
    ] {
        refused(name, &parts.write(), "run.json at", what);
    }
}

/// The most processes that a recording may have: they start.
#[test]
fn as_many_isolated_stages_as_may_be() {
    let mut parts = good().clone();
    let vision = parts.about["stages"][1].clone();
    let stages = parts.about["stages"].as_array_mut().unwrap();
    for number in 0..32 {
        let mut stage = vision.clone();
        stage["name"] = json!(format!("vision-{number}"));
        stage["isolated"] = json!(true);
        stages.push(stage);
    }
    let [replay, report, _] = every_command("all-isolated", &parts.write());
    assert_eq!(replay.ran.code, Some(0), "{replay:#?}");
    assert_eq!(report.ran.code, Some(0), "{report:#?}");
}

/// Each worker of a stage is an instance of its plugin in a replay, and a process if the stage is isolated.
#[test]
fn workers_without_end() {
    let with_worker = |isolated: bool, worker: u64| {
        let mut parts = good().clone();
        parts.about["stages"][2]["isolated"] = json!(isolated);
        parts.about["stages"][2]["workers"] = json!(worker);
        let mut call = call("solver", ("vision", 900), 900);
        call["worker"] = json!(worker);
        parts.call(&call);
        parts.write()
    };
    // No stage has so many: the call is left out, as are the messages that it took and emitted.
    for worker in [64, u64::MAX / 2] {
        for ran in every_command("workers", &with_worker(false, worker)) {
            assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
        }
    }
    let [replay, report, _] = every_command("isolated-workers", &with_worker(true, 32));
    assert_eq!(replay.ran.code, Some(65), "{replay:#?}");
    for part in ["33 plugins in processes of their own", "--no-limits"] {
        assert!(replay.ran.stderr.contains(part), "{replay:#?}");
    }
    assert_eq!(report.ran.code, Some(0), "{report:#?}");
}

/// A message comes from several calls, according to the recording, and each of them emits it.
#[test]
fn calls_that_are_there_several_times() {
    let mut parts = good().clone();
    let calls = parts.entries.iter();
    let calls = calls.filter(|it| parts.channels[it.channel].has_calls());
    let calls: Vec<_> = calls.cloned().collect();
    for _ in 0..50 {
        parts.entries.extend(calls.clone());
    }
    for ran in every_command("again", &parts.write()) {
        assert!([Some(0), Some(1)].contains(&ran.ran.code), "{ran:#?}");
    }
}

/// The most stages that a recording may have: they run.
#[test]
fn as_many_stages_as_may_be() {
    let mut parts = good().clone();
    let vision = parts.about["stages"][1].clone();
    let stages = parts.about["stages"].as_array_mut().unwrap();
    for number in 0..123 {
        let mut stage = vision.clone();
        stage["name"] = json!(format!("vision-{number}"));
        stages.push(stage);
    }
    let [replay, report, _] = every_command("all-stages", &parts.write());
    assert_eq!(replay.ran.code, Some(0), "{replay:#?}");
    assert_eq!(report.ran.code, Some(0), "{report:#?}");
}

/// Two entries are left out, and reported.
#[track_caller]
fn leaves_out_two(name: &str, parts: &Parts, why: &str) {
    for ran in every_command(name, &parts.write()) {
        assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
        let stderr = &ran.ran.stderr;
        for part in ["2 entries of", "/flowpipe/calls at byte", why] {
            assert!(stderr.contains(part), "no {part:?}: {ran:#?}");
        }
    }
}

/// Numbers at which sums overflow.
const OUT_OF_RANGE: &str = "is out of range";

#[test]
fn times_beyond_all_calendars() {
    let mut parts = good().clone();
    for extreme in [i64::MAX, i64::MIN] {
        let mut odd = call("solver", ("vision", 1), 900);
        odd["taken_ns"] = json!(extreme);
        odd["ended_ns"] = json!(-(extreme / 2) - 1);
        parts.call(&odd);
    }
    leaves_out_two("times", &parts, OUT_OF_RANGE);
}

/// A plugin that reads the message of such a call would read what is not there.
#[test]
fn calls_with_a_message_that_took_none() {
    for (name, event) in [("no-message", "message"), ("other-event", "tick")] {
        let mut parts = good().clone();
        for stage in ["solver", "planner"] {
            let mut odd = call(stage, ("vision", 1), 900);
            odd["event"] = json!(event);
            if event == "message" {
                odd.as_object_mut().unwrap().remove("took");
            }
            parts.call(&odd);
        }
        leaves_out_two(name, &parts, "message, but it");
    }
}

/// No run calls a solver as it calls a source.
#[test]
fn calls_with_events_of_other_stages() {
    let mut parts = good().clone();
    let mut odd = call("solver", ("vision", 1), 900);
    odd["event"] = json!("tick");
    odd.as_object_mut().unwrap().remove("took");
    parts.call(&odd);
    let [replay, ..] = every_command("event", &parts.write());
    let stderr = &replay.ran.stderr;
    assert!(
        stderr.contains("an event that the stage never gets"),
        "{replay:#?}"
    );
}

#[test]
fn sequence_numbers_beyond_all_runs() {
    let mut parts = good().clone();
    parts.call(&call("solver", ("vision", 1), u64::MAX));
    parts.call(&call("solver", ("vision", u64::MAX), 900));
    leaves_out_two("sequences", &parts, OUT_OF_RANGE);
}

/// Nothing of a call's own is too much: what it emitted, marked and asked.
#[test]
fn calls_of_a_hundred_thousand_messages() {
    let mut parts = good().clone();
    let emitted: Vec<Value> = (0..100_000)
        .map(|number| json!({ "port": "out", "sequence": 1000 + number, "at_ns": 1 }))
        .collect();
    let mut large = call("frames", ("nobody", 1), 1);
    large["took"] = Value::Null;
    large["emitted"] = emitted.into();
    parts.call(&large);
    let output = Channel::of("messages", "/frames/out", "x/1", Some(("frames", "out")));
    let output = parts.channel(output);
    for number in 1000..31_000 {
        parts.push(output, number, "{}");
        parts.call(&call(
            "vision",
            ("frames", u64::from(number)),
            u64::from(number),
        ));
    }
    for ran in every_command("emitted", &parts.write()) {
        assert!([Some(0), Some(1)].contains(&ran.ran.code), "{ran:#?}");
    }
}

/// A board of a hundred thousand cells is a few bytes of JSON. The report leaves out what is too much, and notes that.
#[test]
fn boards_of_a_hundred_thousand_cells() {
    let mut parts = good().clone();
    let is_sighting =
        |it: &&crate::entries::Entry| parts.channels[it.channel].topic == "/vision/out";
    let sighting = parts.entries.iter().find(is_sighting).unwrap().clone();
    for number in 0..2_000_u32 {
        let mut body: Value = serde_json::from_slice(&sighting.data).unwrap();
        let puzzle = body.pointer_mut("/reading/puzzle").unwrap();
        *puzzle = json!({
            "board": { "rows": 1, "cols": 131_072 - number },
            "terminals": [{ "cell": 0, "colour": 0 }, { "cell": 1, "colour": 0 }],
        });
        parts.push(sighting.channel, 1000 + number, body.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = saved(folder.path(), "boards.mcap", &parts.write());
    let page = folder.path().join("page.html").display().to_string();
    let ran = run(&["report", &file, "--output", &page]);
    assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("their boards are too large to be shown"));
}

/// Every call lacks what it took.
#[test]
fn a_hundred_thousand_calls_that_are_left_out() {
    let mut parts = good().clone();
    for number in 1000..61_000 {
        parts.call(&call("solver", ("vision", number), number));
    }
    let [replay, ..] = every_command("left-out", &parts.write());
    assert!([Some(0), Some(1)].contains(&replay.ran.code), "{replay:#?}");
}
