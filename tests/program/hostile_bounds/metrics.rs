//! Recordings with more metrics and overlays than a page has room for.

use serde_json::{Value, json};

use crate::entries::{Channel, Parts};

use super::{good, run, saved};

/// The most bytes of a page: that of pictures, and what is never left out.
const PAGE: usize = 20_000_000;

/// A recording with further messages of a stage after its first frame.
fn with(schema: &str, bodies: impl IntoIterator<Item = String>) -> Parts {
    let mut parts = good().clone();
    let last = parts.entries.iter().map(|entry| entry.log_time).max();
    let topic = format!("/vision/{}", schema.replace(['.', '/'], "-"));
    let channel = Channel::of("messages", &topic, schema, Some(("vision", "said")));
    let channel = parts.channel(channel);
    for (number, body) in (1..).zip(bodies) {
        parts.push(channel, number, body);
        parts.entries.last_mut().unwrap().log_time = last.unwrap();
    }
    parts
}

/// The text of the page.
#[track_caller]
fn page(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = saved(folder.path(), &format!("{name}.mcap"), bytes);
    let page = folder.path().join("page.html");
    let ran = run(&["report", &file, "--output", page.to_str().unwrap()]);
    assert_eq!(ran.ran.code, Some(0), "{ran:#?}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.len() < PAGE, "{name}: {}", html.len());
    html
}

#[track_caller]
fn says(html: &str, notices: &[&str]) {
    let (_, overview) = html.split_once("\"notices\":[").unwrap();
    let (overview, _) = overview.split_once(']').unwrap();
    for notice in notices {
        assert!(overview.contains(notice), "{notice}: {overview}");
    }
}

fn metrics(all: Vec<Value>) -> String {
    json!({ "metrics": all }).to_string()
}

#[test]
fn names_without_end() {
    let message = |number: usize| {
        let names = (0..1_000)
            .map(|it| json!({ "kind": "gauge", "name": format!("{number} {it}"), "value": 1e308 }));
        metrics(names.collect())
    };
    let html = page(
        "names",
        &with("flowpipe.metrics/1", (0..800).map(message)).write(),
    );
    says(
        &html,
        &["messages of metrics left out", "the first 200 different"],
    );
}

#[test]
fn notes_and_samples_without_end() {
    let notes = metrics(vec![
        json!({ "kind": "note", "text": "<".repeat(1_000) });
        1_000
    ]);
    let samples: Vec<f64> = (0..10_000).map(|it| f64::from(it) * 1e300).collect();
    let samples = metrics(vec![
        json!({ "kind": "distribution", "name": "a", "values": samples }),
        json!({ "kind": "counter", "name": "a", "add": u64::MAX }),
    ]);
    let messages = [notes, samples].into_iter().cycle().take(200);
    let bytes = with("flowpipe.metrics/1", messages).write();
    assert!(bytes.len() < 10_000_000, "{}", bytes.len());
    let html = page("notes", &bytes);
    says(
        &html,
        &["a random selection", "messages of metrics left out"],
    );
    assert!(html.contains("\"total\":\"18446744073709551615\""));
}

#[test]
fn shapes_without_end() {
    let message = |number: usize| {
        let shapes = (0..1_500).map(|it| {
            json!({ "form": { "circle": { "at": [it, number], "radius": 1 } }, "label": "<".repeat(100) })
        });
        json!({ "shapes": shapes.collect::<Vec<_>>() }).to_string()
    };
    // Each over a frame of its own, so that none replaces another.
    let mut parts = with("flowpipe.overlay/1", (1..200).map(message));
    let overlays = parts.channels.len() - 1;
    let start = parts.entries.iter().map(|it| it.log_time).max().unwrap();
    let frames = Channel::of(
        "messages",
        "/frames/out",
        "flowpipe.frame/1",
        Some(("frames", "out")),
    );
    let frames = parts.channel(frames);
    for number in 1..200 {
        parts.push(frames, 1_000 + number, "{\"source\":\"a\"}");
        parts.entries.last_mut().unwrap().log_time = start + u64::from(number) * 1_000;
    }
    for (number, entry) in (1..).zip(parts.entries.iter_mut().filter(|it| it.channel == overlays)) {
        entry.log_time = start + number * 1_000 + 1;
    }
    let html = page("shapes", &parts.write());
    says(&html, &["overlays left out, evenly over the run"]);
    // Some are drawn.
    assert!(html.contains("\"over\":[["), "no overlay is drawn");
}

#[test]
fn what_is_no_metrics_and_no_overlay() {
    let metrics = [
        "{\"metrics\":[{\"kind\":\"gauge\",\"name\":\"a\",\"value\":1e999}]}".to_owned(),
        metrics(vec![json!({ "kind": "counter", "name": "", "add": 1 })]),
        "[]".to_owned(),
    ];
    let html = page("metrics", &with("flowpipe.metrics/1", metrics).write());
    says(&html, &["3 messages left out: they are no valid metrics"]);
    let overlays = [
        json!({ "shapes": [{ "form": { "circle": { "at": [0, 0], "radius": 1e300 } } }] }),
        json!({ "shapes": [{ "form": { "line": { "points": [] } } }] }),
    ];
    let overlays = overlays.map(|it| it.to_string());
    let html = page("overlays", &with("flowpipe.overlay/1", overlays).write());
    says(&html, &["2 messages left out: they are no valid metrics"]);
}
