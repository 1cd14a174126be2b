use std::fs::File;

use flowpipe_message::{Action, Gesture, Rectangle};
use flowpipe_recording::entry::{About, AboutStage};
use flowpipe_recording::{Schemas, Writer};
use serde_json::{Value, json};

use super::*;
use crate::messages::Messages;
use crate::overview::has_boards;

/// A run of a source and a stage; each message one millisecond after the one before: output, schema and body.
fn recorded(outputs: &[&str], messages: &[(&str, &str, Value)]) -> Recording {
    let outputs: Vec<(&str, &str)> = outputs.iter().map(|&it| (it, it)).collect();
    let messages = messages.iter().cloned();
    let messages = messages.map(|(stage, schema, body)| (stage, schema, schema, body));
    let messages: Vec<_> = messages.collect();
    recorded_with_calls(&outputs, &messages, &[])
}

/// The same with outputs and messages that name the output before the schema, and with calls.
fn recorded_with_calls(
    outputs: &[(&str, &str)],
    messages: &[(&str, &str, &str, Value)],
    calls: &[Value],
) -> Recording {
    let stage = |name: &str, inputs: &[&str], outputs: &[(&str, &str)]| AboutStage {
        name: name.to_owned(),
        role: String::new(),
        plugins: Vec::new(),
        inputs: inputs.iter().map(|&it| it.to_owned()).collect(),
        outputs: outputs
            .iter()
            .map(|&(port, schema)| (port.to_owned(), schema.to_owned()))
            .collect(),
        timeout_ns: None,
        isolated: false,
        workers: 1,
        machine: None,
    };
    let about = About {
        format: flowpipe_recording::FORMAT,
        flowpipe: String::new(),
        name: String::new(),
        file: String::new(),
        started_unix_ns: 0,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: vec![
            stage("source", &[], &[(FRAME, FRAME), (METRICS, METRICS)]),
            stage("finder", &["in"], outputs),
        ],
        edges: Vec::new(),
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let to = File::create(file.path()).unwrap();
    let mut writer = Writer::new(to, &about, "", Schemas::new()).unwrap();
    for (number, (stage, port, schema, body)) in (1..).zip(messages) {
        let at = number as i64 * 1_000_000;
        let topic = Topic::new(*stage, *port);
        let body = body.to_string();
        writer
            .message(&topic, schema, &body, number, (at, at))
            .unwrap();
    }
    for call in calls {
        let call: Call = serde_json::from_value(call.clone()).unwrap();
        writer.call(&call).unwrap();
    }
    writer.finish().unwrap();
    Recording::open(file.path()).unwrap()
}

fn circle(radius: f64) -> Value {
    json!({ "shapes": [{ "form": { "circle": { "at": [1, 1], "radius": radius } } }] })
}

#[test]
fn a_recording_without_boards_has_metrics_and_overlays() {
    let frame = |source: &str| ("source", FRAME, json!({ "source": source }));
    let overlay = |radius: f64| ("finder", OVERLAY, circle(radius));
    let counter = json!({ "metrics": [{ "kind": "counter", "name": "spots", "add": 2 }] });
    let recording = recorded(
        &["spots.spot/1", METRICS, OVERLAY],
        &[
            frame("one"),
            ("source", METRICS, counter.clone()),
            overlay(1.0),
            overlay(2.0),
            // It is not valid, so that it replaces nothing.
            overlay(-3.0),
            frame("two"),
            ("finder", METRICS, counter),
            (
                "finder",
                METRICS,
                json!({ "metrics": [{ "kind": "counter" }] }),
            ),
            frame("one"),
            overlay(2.0),
        ],
    );
    let story = Story::of(&recording);
    assert!(!has_boards(&recording, &story));
    assert_eq!(story.frames.all.len(), 3);
    assert_eq!(story.malformed, 2);
    assert_eq!(
        (story.sources.first.as_str(), story.sources.count()),
        ("one", 2)
    );
    // The second frame has no overlay, and the same one over two frames is stored once.
    let overlays = json!(story.overlays);
    assert_eq!(overlays["over"], json!([[0, 0, 0], [2, 0, 0]]));
    assert_eq!(overlays["outputs"], json!(["finder"]));
    assert_eq!(overlays["drawings"], json!([[0, 1]]));
    assert_eq!(overlays["shapes"][0]["numbers"], json!([1.0, 1.0, 2.0]));
    let metrics = json!(story.metrics);
    assert_eq!(metrics["stages"][0]["stage"], "source");
    assert_eq!(metrics["stages"][1]["metrics"][0]["total"], "2");
    let words: Vec<&str> = story.words.values().map(String::as_str).collect();
    assert_eq!(words.iter().filter(|it| **it == "spots +2").count(), 2);
    assert_eq!(words.iter().filter(|it| **it == "1 shape").count(), 2);
}

#[test]
fn outputs_for_boards_are_enough() {
    for (schema, expected) in [
        (SIGHTING, true),
        (RESULT, true),
        (OUTCOME, false),
        ("*", false),
    ] {
        let recording = recorded(&[schema], &[]);
        let story = Story::of(&recording);
        assert_eq!(has_boards(&recording, &story), expected, "{schema}");
    }
}

#[test]
fn each_output_has_its_overlay() {
    let recording = recorded_with_calls(
        &[("spots", OVERLAY), ("edges", OVERLAY)],
        &[
            // Nothing was captured before it.
            ("finder", "spots", OVERLAY, circle(9.0)),
            ("source", FRAME, FRAME, json!({ "source": "one" })),
            ("finder", "edges", OVERLAY, circle(1.0)),
            ("finder", "spots", OVERLAY, circle(2.0)),
            ("finder", "edges", OVERLAY, circle(3.0)),
        ],
        &[],
    );
    let story = Story::of(&recording);
    let overlays = json!(story.overlays);
    assert_eq!(overlays["outputs"], json!(["finder.spots", "finder.edges"]));
    let over = overlays["over"].as_array().unwrap();
    assert_eq!(over.len(), 2);
    let radius = |place: usize| {
        let drawing = over[place][2].as_u64().unwrap() as usize;
        let shape = overlays["drawings"][drawing][0].as_u64().unwrap() as usize;
        overlays["shapes"][shape]["numbers"][2].clone()
    };
    // The order of the outputs is that of the pipeline.
    assert_eq!([radius(0), radius(1)], [json!(2.0), json!(3.0)]);
    assert_eq!(story.overlays_without_frame, 1);
}

#[test]
fn gestures_and_their_outcomes_have_sentences() {
    let names = [
        "open row 1, column 2",
        "flag row 2, column 2",
        "open row 3, column 1",
    ];
    let click = |name| Gesture::new(name, vec![Action::click([1.0, 1.0])]);
    let gestures = json!(Gestures::new(
        "planner",
        FrameNote::of("one"),
        Rectangle::new(0.0, 0.0, 9.0, 9.0),
        names.map(click).to_vec(),
    ));
    let outcome = GestureOutcome::new("mouse", FrameNote::of("one"), 2);
    let outcome = json!(outcome.with_refused("the window moved"));
    let call = json!({
        "stage": "finder",
        "event": "message",
        "took": { "port": "in", "from": "finder", "output": "gestures", "sequence": 1 },
        "taken_ns": 1,
        "ended_ns": 2,
        "emitted": [{ "port": "outcome", "sequence": 2, "at_ns": 2 }],
    });
    let recording = recorded_with_calls(
        &[("gestures", GESTURES), ("outcome", GESTURE_OUTCOME)],
        &[
            ("finder", "gestures", GESTURES, gestures),
            ("finder", "outcome", GESTURE_OUTCOME, outcome.clone()),
            ("finder", "outcome", GESTURE_OUTCOME, outcome),
            ("finder", "gestures", GESTURES, json!({ "gestures": 3 })),
        ],
        &[call],
    );
    let story = Story::of(&recording);
    let said = |port: &str, sequence: u64| {
        let words = story.words.get(&(Topic::new("finder", port), sequence));
        words.map(String::as_str)
    };
    assert_eq!(
        said("gestures", 1),
        Some(
            "3 gestures planned: open row 1, column 2; flag row 2, column 2; open row 3, column 1"
        )
    );
    assert_eq!(
        said("outcome", 2),
        Some("2 of 3 gestures played; refused: the window moved")
    );
    // Of this one no call is recorded, so that nothing says how many were planned.
    assert_eq!(
        said("outcome", 3),
        Some("2 gestures played; refused: the window moved")
    );
    assert_eq!(said("gestures", 4), None);
    assert_eq!(story.malformed, 1);
}

#[test]
fn of_each_output_the_first_and_the_last_messages_are_shown_as_json() {
    let long = json!({ "text": "é<\u{1b}".repeat(400) });
    let mut messages: Vec<_> = (0..30)
        .map(|number| ("finder", "out", "x.a/1", json!({ "n": number })))
        .collect();
    messages.push(("finder", "out", "x.b/1", long));
    // It is drawn.
    messages.push(("finder", "out", OVERLAY, circle(1.0)));
    for number in 0..120 {
        let port: &str = format!("port-{number}").leak();
        messages.push(("finder", port, "x.a/1", json!(number)));
    }
    let recording = recorded_with_calls(&[], &messages, &[]);
    let shown = serde_json::to_value(Messages::of(&recording)).unwrap();
    let outputs = shown["outputs"].as_array().unwrap();
    assert_eq!((outputs.len(), &shown["more_outputs"]), (100, &json!(22)));
    let [of_a, of_b] = [&outputs[0], &outputs[1]];
    assert_eq!(of_a["output"], "finder.out");
    assert_eq!(of_a["count"], 30);
    let texts = |of: &Value| -> Vec<String> {
        let all = of.as_array().unwrap().iter();
        all.map(|it| it["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let expected = |numbers: std::ops::Range<u32>| -> Vec<String> {
        numbers
            .map(|number| format!("{{\"n\":{number}}}"))
            .collect()
    };
    assert_eq!(texts(&of_a["first"]), expected(0..10));
    assert_eq!(texts(&of_a["last"]), expected(20..30));
    assert_eq!(of_b["schema"], "x.b/1");
    let text = &texts(&of_b["first"])[0];
    assert_eq!(text.chars().count(), 500);
    assert!(of_b["first"][0]["more"].as_u64().unwrap() > 500);
    // It does not act in the page.
    let page = crate::page::of(&recording, &Story::of(&recording), crate::LIMIT).0;
    assert!(page.contains("é\\u003c"), "the message is in the page");
    assert!(!page.contains("é<"));
}
