//! Gestures act only in the window of the frame that they descend from, whatever their planner states.

use std::path::Path;

use flowpipe_tests::{Ran, record, run};
use serde_json::{Value, json};

/// A source of one frame. Its argument is the note.
const CAMERA: &str = r#"
import json, sys, tempfile
pixels = tempfile.NamedTemporaryFile()
pixels.write(bytes(100))
pixels.flush()
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "tick" in asked:
        frame = {"file": pixels.name, "format": "grey8", "width": 10, "height": 10, "stride": 10}
        answer["messages"] = [{"body": json.loads(sys.argv[1]), "frame": frame}]
        answer["end"] = True
    print(json.dumps(answer), flush=True)
"#;

/// Passes on where the frame comes from, as another message.
const VISION: &str = r#"
import json, sys
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        answer["messages"] = [{"body": {"seen": asked["message"]["body"]}}]
    print(json.dumps(answer), flush=True)
"#;

/// Plans a click in the frame of its argument, when a message comes or at the end.
const PLANNER: &str = r#"
import json, sys
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if sys.argv[2] in asked:
        click = {"name": "click", "actions": [{"click": {"at": [5.0, 5.0]}}]}
        bounds = {"x": 0.0, "y": 0.0, "width": 10.0, "height": 10.0}
        body = {"planner": "hostile", "frame": json.loads(sys.argv[1]), "bounds": bounds, "gestures": [click]}
        answer["messages"] = [{"body": body}]
    print(json.dumps(answer), flush=True)
"#;

const LOOK: &str = "seen = { schema = \"test.seen/1\" }";

/// A pipeline that captures `captured`, and plans on `planned` at an event of the protocol. `more`: keys of the planner.
fn pipeline(folder: &Path, captured: &Value, planned: &Value, event: &str, more: &str) -> String {
    for (name, text) in [
        ("camera.py", CAMERA),
        ("vision.py", VISION),
        ("planner.py", PLANNER),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let text = format!(
        "[stages.camera]\nplugin = \"exec\"\n[stages.camera.config]\n\
         command = [\"python3\", \"camera.py\", '{captured}']\ninputs = {{}}\n\
         outputs = {{ frame = {{ schema = \"flowpipe.frame/1\" }} }}\n\
         [stages.vision]\nplugin = \"exec\"\nfrom = \"camera\"\n[stages.vision.config]\n\
         command = [\"python3\", \"vision.py\"]\n\
         inputs = {{ frame = {{ schema = \"flowpipe.frame/1\" }} }}\noutputs = {{ {LOOK} }}\n\
         [stages.planner]\nplugin = \"exec\"\nfrom = \"vision\"\non_error = \"skip\"\n{more}\n[stages.planner.config]\n\
         command = [\"python3\", \"planner.py\", '{planned}', \"{event}\"]\n\
         inputs = {{ {LOOK} }}\noutputs = {{ out = {{ schema = \"flowpipe.gestures/1\" }} }}\n\
         [stages.mouse]\nplugin = \"actuator-mouse\"\nfrom = {{ stage = \"planner\", into = \"gestures\" }}\n\
         config = {{ any_window = true }}\n"
    );
    let file = folder.join("pipeline.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn note(window: Option<u64>, x: f64) -> Value {
    json!({ "source": "game.png", "origin": [x, 0.0], "window": window })
}

/// Whether the actuator gets the gestures of a run.
#[track_caller]
fn arrives(ran: &Ran) -> bool {
    let ran = ran.json();
    let stages = ran["report"]["stages"].as_array().unwrap();
    stages.iter().find(|it| it["name"] == "mouse").unwrap()["in"] == 1
}

#[test]
fn only_gestures_on_the_captured_window_arrive() {
    let folder = tempfile::tempdir().unwrap();
    for (captured, planned, expected) in [
        (note(Some(7), 0.0), note(Some(7), 0.0), None),
        // The window has moved since.
        (note(Some(7), 0.0), note(Some(7), 9.0), None),
        (
            note(Some(7), 0.0),
            note(Some(8), 0.0),
            Some(
                "is one of window 8, and the frame that it descends from (game.png) shows window 7",
            ),
        ),
        (
            note(Some(7), 0.0),
            note(None, 0.0),
            Some("is one of no window"),
        ),
        (
            note(None, 0.0),
            note(Some(8), 0.0),
            Some("(game.png) shows no window"),
        ),
        (note(None, 0.0), note(None, 0.0), None),
        (
            note(None, 0.0),
            note(None, 9.0),
            Some("lies elsewhere on the screen"),
        ),
    ] {
        let file = pipeline(folder.path(), &captured, &planned, "message", "");
        let ran = run(&["run", &file, "--dry-run", "--json"]).expect(0);
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            arrives(&ran),
            expected.is_none(),
            "{planned} of {captured}: {flat}"
        );
        assert!(flat.contains(expected.unwrap_or_default()), "{flat}");
    }
}

#[test]
fn no_way_of_running_the_planner_gets_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let captured = note(Some(7), 0.0);
    for (event, more) in [
        ("message", "isolation = \"process\""),
        ("message", "workers = 2"),
        ("finish", ""),
        ("finish", "isolation = \"process\""),
        ("finish", "workers = 2"),
    ] {
        for (window, is_right) in [(7, true), (8, false)] {
            let planned = note(Some(window), 0.0);
            let file = pipeline(folder.path(), &captured, &planned, event, more);
            let ran = run(&["run", &file, "--dry-run", "--json"]).expect(0);
            let stages = ran.json()["report"]["stages"].clone();
            let got = stages.as_array().unwrap().last().unwrap()["in"].as_u64();
            assert_eq!(
                got.is_some_and(|it| it > 0),
                is_right,
                "{event}, {more}, window {window}: {ran:#?}"
            );
        }
    }
}

#[test]
fn a_replay_judges_as_the_run_did() {
    let folder = tempfile::tempdir().unwrap();
    for event in ["message", "finish"] {
        for (window, sent) in [(7, 1), (8, 0)] {
            let planned = note(Some(window), 0.0);
            let file = pipeline(folder.path(), &note(Some(7), 0.0), &planned, event, "");
            // Nobody clicks: the mouse is not part of the recording.
            let text = std::fs::read_to_string(&file).unwrap();
            let (text, _) = text.split_once("[stages.mouse]").unwrap();
            std::fs::write(&file, text).unwrap();
            let recording = record(folder.path(), &format!("{event}{window}.mcap"), &file);
            let again = [
                "replay",
                &recording,
                "--from",
                "planner",
                "--allow",
                "runs-commands",
                "--json",
            ];
            let ran = run(&again).expect(0).json();
            let planner = &ran["report"]["stages"][2];
            assert_eq!(planner["name"], "planner");
            assert_eq!(
                planner["out"], sent,
                "{event}, window {window}: {planner:#}"
            );
        }
    }
}
