//! Recordings that ask for more than there is: memory, threads, time. Each ends soon, in bounded memory, with an exit
//! code that is documented, and names what is too much.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::entries::{Channel, Parts};
use flowpipe_tests::bounds::{Bounded, bounded};
use flowpipe_tests::{changed, flowpipe, record};
use serde_json::{Value, json};

/// What a hostile recording may take: the memory limit of recordings (168 MB), and what the program itself takes.
const MEMORY: u64 = 250_000_000;
/// On an idle machine each takes less than 5 s. The machines that run tests are busy.
const DEADLINE: Duration = Duration::from_secs(90);

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

/// All that is said of a run, without anything that happened.
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
    let ran = bounded(flowpipe(args), MEMORY, DEADLINE).orderly();
    // Past the test harness, which shows nothing that a passing test prints.
    use std::io::Write as _;
    let (code, mb) = (ran.ran.code.unwrap_or(-1), ran.peak / 1_000_000);
    let what = Path::new(args.iter().find(|it| it.ends_with(".mcap")).unwrap());
    let what = what.file_name().unwrap().to_string_lossy();
    let _ = writeln!(
        std::io::stderr(),
        "{} {what}: exit code {code}, {mb} MB, {:.1?}",
        args[0],
        ran.took
    );
    ran
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

/// Each command refuses it, names the entry and says what is wrong.
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

/// Messages of two bytes: a file of 1.3 MB says that there are eight million.
#[test]
fn chunks_that_expand() {
    let mut parts = empty();
    let channel = Channel::of("messages", "/vision/out", "x/1", Some(("vision", "out")));
    let channel = parts.channel(channel);
    parts.push(channel, 1, "{}");
    let bytes = parts.repeated(8_000_000);
    assert!(bytes.len() < 2_000_000, "{}", bytes.len());
    refused("messages", &bytes, "/vision/out at", "MB of memory");
}

/// 20 MB that expand to 4.5 GB, of which nothing is to be kept: they take time in proportion, and no memory.
#[test]
fn a_large_file_that_expands() {
    let mut parts = empty();
    let extra = parts.channel(Channel::of("extra", "/extra", "x/1", None));
    parts.push(extra, 1, vec![0; 1 << 20]);
    let bytes = parts.repeated(4_500);
    assert!(bytes.len() > 15_000_000, "{}", bytes.len());
    let ran = every_command("large", &bytes);
    // Nothing can be verified, there is something to show, and no frame is there to compare.
    assert_eq!(
        ran.each_ref().map(|it| it.ran.code),
        [Some(1), Some(0), Some(2)]
    );
}

/// The same for each other kind of entry.
#[test]
fn entries_without_end() {
    let long: String = "1,".repeat(6_000_000);
    let many_times = format!(
        "{{\"stage\":\"vision\",\"event\":\"tick\",\"taken_ns\":1,\"ended_ns\":2,\"clock\":[{long}1]}}"
    );
    let many_configs = json!({ "text": "", "at_ns": 1, "edges": [], "stages": [] }).to_string();
    let many_configs = many_configs.replace(
        "\"stages\":[]",
        &format!(
            "\"stages\":[{{\"name\":\"vision\",\"role\":\"\",\"inputs\":[],\"outputs\":[],\"plugins\":[{{\
             \"name\":\"\",\"version\":\"\",\"hash\":\"\",\"deterministic\":true,\"config\":[{long}1]}}]}}]"
        ),
    );
    let note = json!({ "stage": "a", "port": "b", "sequence": 1, "same_as": ["a", "b", 1] });
    let drop = json!({ "from": "a", "output": "b", "sequence": 1, "to": ["c", "d"], "at_ns": 1 });
    let problem = json!({ "kind": "", "stage": "a", "plugin": "", "text": "", "at_ns": 1 });
    let own = json!({ "stage": "a", "event": "tick", "taken_ns": 1, "ended_ns": 1 });
    let change = json!({ "text": "", "at_ns": 1, "stages": [], "edges": [] });
    let cases = [
        ("calls", own.to_string(), 1_500_000),
        ("drops", drop.to_string(), 1_500_000),
        ("problems", problem.to_string(), 1_500_000),
        ("picture-notes", note.to_string(), 1_500_000),
        ("changes", change.to_string(), 1_500_000),
        ("calls", many_times, 12),
        ("changes", many_configs, 12),
    ];
    for (number, (holds, entry, times)) in cases.into_iter().enumerate() {
        let mut parts = empty();
        let topic = match holds {
            "picture-notes" => "/flowpipe/pictures".to_owned(),
            other => format!("/flowpipe/{other}"),
        };
        let channel = parts.channel(Channel::of(holds, &topic, "x/1", None));
        parts.push(channel, 1, entry);
        let bytes = parts.repeated(times);
        assert!(bytes.len() < 4_000_000, "{holds}: {}", bytes.len());
        refused(&format!("{holds}-{number}"), &bytes, &topic, "MB of memory");
    }
}

/// Objects with one entry, which take a hundred times their length when they are parsed.
fn objects(number: usize) -> String {
    format!("[{}0]", "{\"\":0},".repeat(number))
}

/// The config of a plugin may be any JSON.
#[test]
fn configs_that_expand() {
    let mut about = good().clone();
    let config: Value = serde_json::from_str(&objects(1_000_000)).unwrap();
    about.about["stages"][2]["plugins"][0]["config"] = config;
    refused("run", &about.write(), "run.json at", "MB of memory");

    let mut changed = empty();
    let change =
        json!({ "text": "", "at_ns": 1, "edges": [], "stages": [about.about["stages"][2]] });
    let channel = Channel::of("changes", "/flowpipe/changes", "flowpipe.change/1", None);
    let channel = changed.channel(channel);
    changed.push(channel, 1, change.to_string());
    let bytes = changed.write();
    assert!(bytes.len() < 1_000_000, "{}", bytes.len());
    refused("change", &bytes, "/flowpipe/changes", "MB of memory");
}

/// The body of a message may be any JSON too.
#[test]
fn bodies_that_expand() {
    let mut parts = good().clone();
    let is_answer = |channel: usize| parts.channels[channel].topic == "/solver/out";
    let answers: Vec<usize> = (0..parts.entries.len())
        .filter(|&entry| is_answer(parts.entries[entry].channel))
        .collect();
    assert!(!answers.is_empty());
    for entry in answers {
        parts.entries[entry].data = objects(2_000_000).into_bytes();
    }
    let bytes = parts.write();
    for ran in every_command("bodies", &bytes) {
        assert!(ran.ran.stderr.contains("a message that takes"), "{ran:#?}");
    }
}

/// Calls that cannot run again, because what they took is not there, emitted a picture each. The stage that takes them
/// begins with the last one.
#[test]
fn pictures_of_calls_that_are_skipped() {
    let mut parts = good().clone();
    let answers = parts.channel(Channel::of(
        "messages",
        "/solver/out",
        "flowpipe.solved/1",
        Some(("solver", "out")),
    ));
    let notes = Channel::of(
        "picture-notes",
        "/flowpipe/pictures",
        "flowpipe.picture/1",
        None,
    );
    let notes = parts.channel(notes);
    const FIRST: u64 = 10_000;
    const LAST: u64 = FIRST + 500;
    for number in FIRST..=LAST {
        parts.call(&call("solver", ("vision", number), number));
        parts.push(answers, number as u32, "{}");
        let note = json!({
            "stage": "solver", "port": "out", "sequence": number, "same_as": ["frames", "out", 1],
        });
        parts.push(notes, 0, note.to_string());
    }
    for number in (FIRST..=LAST).rev() {
        parts.call(&call("planner", ("solver", number), number));
    }
    let bytes = parts.write();
    let [replay, ..] = every_command("pictures", &bytes);
    assert_eq!(replay.ran.code, Some(1), "{replay:#?}");
}

/// A picture as recordings hold it: a `foxglove.RawImage`, black.
fn picture(width: u32, height: u32) -> Vec<u8> {
    let length = (width * height) as usize;
    let mut message = Vec::new();
    for (key, value) in [(0x15, width), (0x1d, height), (0x2d, width)] {
        message.push(key);
        message.extend(value.to_le_bytes());
    }
    message.extend(*b"\x22\x05mono8\x32");
    let mut rest = length;
    while rest >= 0x80 {
        message.push((rest as u8) | 0x80);
        rest >>= 7;
    }
    message.push(rest as u8);
    message.resize(message.len() + length, 0);
    message
}

/// Work on a picture can take memory for each of its columns.
#[test]
fn a_picture_of_one_row() {
    let mut parts = good().clone();
    let is_picture = |channel: usize| parts.channels[channel].topic.ends_with("/image");
    let pictures: Vec<usize> = (0..parts.entries.len())
        .filter(|&entry| is_picture(parts.entries[entry].channel))
        .collect();
    assert!(!pictures.is_empty());
    for entry in pictures {
        parts.entries[entry].data = picture(30_000_000, 1);
    }
    for ran in every_command("row", &parts.write()) {
        assert_ne!(ran.ran.code, Some(65), "{ran:#?}");
    }
}

/// Each difference names the edges of its message.
#[test]
fn differences_of_an_output_with_long_edges() {
    let mut parts = good().clone();
    let edges = parts.about["edges"].as_array_mut().unwrap();
    let edge = edges.iter().find(|it| it["from"][0] == "solver").unwrap();
    let edge = edge.clone();
    for number in 0..1_000 {
        let mut edge = edge.clone();
        edge["to"][0] = json!(format!("{number}-{}", "s".repeat(2_000)));
        edges.push(edge);
    }
    for number in 10_000..13_000 {
        parts.call(&call("solver", ("vision", 1), number));
    }
    let [replay, ..] = every_command("edges", &parts.write());
    assert_eq!(replay.ran.code, Some(1), "{replay:#?}");
}

/// Equal names are kept once: each message with a name of its own would take 100 MB.
#[test]
fn long_names_of_many_messages_take_little_memory() {
    let mut parts = empty();
    let name = "s".repeat(1_000);
    let channel = Channel::of("messages", "/s/out", "x/1", Some((&name, "out")));
    let channel = parts.channel(channel);
    parts.push(channel, 1, "{}");
    let ran = every_command("names", &parts.repeated(100_000));
    // Nothing can be verified, there is something to show, and no frame is there to compare.
    assert_eq!(
        ran.each_ref().map(|it| it.ran.code),
        [Some(1), Some(0), Some(2)]
    );
    for ran in ran {
        assert!(ran.peak < MEMORY / 4, "{ran:#?}");
    }
}

/// Messages with a name that is longer than any are not read, nor is a call with one.
#[test]
fn names_that_are_longer_than_any() {
    let name = "s".repeat(60_000);
    let mut messages = empty();
    let channel = Channel::of("messages", "/s/out", "x/1", Some((&name, "out")));
    let channel = messages.channel(channel);
    messages.push(channel, 1, "{}");
    let mut calls = empty();
    calls.call(&call(&name, ("vision", 1), 1));
    for (kind, parts, what) in [
        ("messages", messages, "its names are too long"),
        ("calls", calls, "a name of 60000 bytes"),
    ] {
        let [replay, report, compare] = every_command(kind, &parts.repeated(10_000));
        for ran in [&replay, &report, &compare] {
            assert!(ran.ran.stderr.contains(what), "{kind}: {ran:#?}");
            assert!(ran.peak < MEMORY / 4, "{kind}: {ran:#?}");
        }
        // Nothing is left to verify.
        assert_eq!(replay.ran.code, Some(1), "{kind}: {replay:#?}");
    }
}

/// A chunk that is larger than any picture, in a file that has nothing else.
#[test]
fn a_chunk_that_is_larger_than_any_picture() {
    let mut parts = empty();
    let channel = Channel::of(
        "pictures",
        "/frames/out/image",
        "x",
        Some(("frames", "out")),
    );
    let channel = parts.channel(channel);
    parts.push(channel, 1, vec![0; 200_000_000]);
    let bytes = parts.write();
    assert!(bytes.len() < 1_500_000, "{}", bytes.len());
    refused("picture", &bytes, "(chunk) at", "a chunk of 2");
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

/// A message is said to come from several calls, and is made by each of them.
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

/// Times at which sums overflow are no times: their entries are left out, and reported.
#[test]
fn times_beyond_all_calendars() {
    let mut parts = good().clone();
    for extreme in [i64::MAX, i64::MIN] {
        let mut odd = call("solver", ("vision", 1), 900);
        odd["taken_ns"] = json!(extreme);
        odd["ended_ns"] = json!(-(extreme / 2) - 1);
        parts.call(&odd);
    }
    let [replay, report, compare] = every_command("times", &parts.write());
    for ran in [&replay, &report, &compare] {
        assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
        let stderr = &ran.ran.stderr;
        assert!(stderr.contains("2 entries of"), "{ran:#?}");
        assert!(stderr.contains("/flowpipe/calls at byte"), "{ran:#?}");
    }
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

/// A board of a hundred thousand cells is a few bytes of JSON. The report leaves out what is too much, and says so.
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
