//! Recordings of which little is in the file and much in memory: chunks, configs, bodies, pictures, names.

use crate::entries::Channel;
use serde_json::{Value, json};

use super::{MEMORY, call, empty, every_command, good, refused};

/// Messages of two bytes: a file of 1.3 MB claims that there are eight million.
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
    let bytes = parts.repeated(3_600);
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
    let one = every_command("name", &parts.repeated(1)).map(|ran| ran.peak);
    let ran = every_command("names", &parts.repeated(100_000));
    // Nothing can be verified, there is something to show, and no frame is there to compare.
    assert_eq!(
        ran.each_ref().map(|it| it.ran.code),
        [Some(1), Some(0), Some(2)]
    );
    for (ran, one) in ran.iter().zip(one) {
        assert!(ran.peak < one + MEMORY / 8, "{one}: {ran:#?}");
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
            assert!(ran.peak < MEMORY / 2, "{kind}: {ran:#?}");
        }
        // A comparison reads no calls.
        for ran in [&replay, &report] {
            assert!(ran.ran.stderr.contains(what), "{kind}: {ran:#?}");
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
