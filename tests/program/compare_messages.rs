//! Two pipelines of a domain of its own on the same recording, compared message by message.

use std::path::Path;
use std::sync::OnceLock;

use flowpipe_tests::{Ran, project, record, run};
use serde_json::{Value, json};

/// Vision that reports two spots of each picture, its metrics and an overlay. Its arguments change what it says.
const VISION: &str = r#"
import json, os, sys
changes = sys.argv[1:]
if "varies" in changes:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs"), "a+") as file:
        file.write("x")
    runs = os.path.getsize(file.name)
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        name = asked["message"]["body"]["source"].rsplit("/", 1)[-1]
        is_second = name.startswith("desktop-5x5")
        spots = {"name": name, "spots": [{"x": 1, "y": 2}, {"x": 3, "y": 5 if "moved" in changes and is_second else 4}]}
        if "reordered" in changes:
            spots = dict(reversed(spots.items()))
        metrics = [
            {"kind": "counter", "name": "frames read", "add": runs if "varies" in changes else 2 if "counts" in changes else 1},
            {"kind": "gauge", "name": "brightness", "value": 0.5 if "bright" in changes else 0.25, "unit": "%"},
            {"kind": "distribution", "name": "time to read", "values": [len(changes), 1.5], "unit": "ms"},
            {"kind": "note", "text": "read it"},
        ]
        if "names" in changes:
            metrics = [{"kind": "counter", "name": f"name {i}", "add": 1} for i in range(300)]
            metrics[299]["add"] = 2 if "last" in changes else 1
        circle = {"at": [100, 100], "radius": 20.0 if "bright" in changes else 10.0}
        outcome = {"actuator": "none", "played": 0, "act_ns": len(changes), "frame": asked["message"]["body"]}
        answer["messages"] = [
            {"port": "spots", "body": spots},
            {"port": "metrics", "body": {"metrics": metrics}},
            {"port": "overlay", "body": {"shapes": [{"form": {"circle": circle}}]}},
            {"port": "outcome", "body": outcome},
        ]
        if "twice" in changes and is_second:
            answer["messages"].append({"port": "spots", "body": spots})
        decide = {"only-overlays": ["overlay"], "only-counters": ["metrics"], "no-counters": ["spots", "overlay", "outcome"]}
        for kept in [decide[change] for change in changes if change in decide]:
            answer["messages"] = [it for it in answer["messages"] if it["port"] in kept]
        if "silent" in changes:
            answer["messages"] = []
        if "fails" in changes and is_second:
            answer = {"id": asked["id"], "error": "a spot too many"}
    print(json.dumps(answer), flush=True)
"#;

const PIPELINE: &str = r#"
[stages.screen]
plugin = "capture-files"
config = { paths = ["PICTURES/desktop-5x5-02.png", "PICTURES/desktop-7x7-04.png", "PICTURES/desktop-14x14-09.png"], fps = 10 }

[stages.vision]
plugin = "exec"
from = "screen"
on_error = "skip"

[stages.vision.config]
command = ["python3", "vision.py"]
inputs = { frame = { schema = "flowpipe.frame/1" } }
deterministic = true
effects = []

[stages.vision.config.outputs]
spots = { schema = "spots.targets/1", file = "targets.schema.json" }
metrics = { schema = "flowpipe.metrics/1" }
overlay = { schema = "flowpipe.overlay/1" }
outcome = { schema = "flowpipe.gesture-outcome/1" }
"#;

/// The folder with the pipeline, and its recording.
fn domain() -> &'static (tempfile::TempDir, String, String) {
    static DOMAIN: OnceLock<(tempfile::TempDir, String, String)> = OnceLock::new();
    DOMAIN.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("vision.py"), VISION).unwrap();
        let schema = json!({ "type": "object", "required": ["spots"] }).to_string();
        std::fs::write(folder.path().join("targets.schema.json"), schema).unwrap();
        let frames = project().join("pipelines/frames").display().to_string();
        let pipeline = PIPELINE.replace("PICTURES", &frames);
        let a = written(folder.path(), "a.toml", &pipeline);
        let recording = record(folder.path(), "run.mcap", &a);
        (folder, a, recording)
    })
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The pipeline, whose vision has these arguments.
fn changed(changes: &str) -> String {
    let (folder, a, _) = domain();
    let text = std::fs::read_to_string(a).unwrap();
    let words: Vec<&str> = changes.split_whitespace().collect();
    let args: String = words.iter().map(|word| format!(", \"{word}\"")).collect();
    let text = text.replace("\"vision.py\"", &format!("\"vision.py\"{args}"));
    written(folder.path(), &format!("{}.toml", words.join("-")), &text)
}

fn compare(b: &str, args: &[&str]) -> Ran {
    let (_, a, recording) = domain();
    run(&[&["compare", a, b, recording], args].concat())
}

#[track_caller]
fn compared(changes: &str, code: i32) -> Value {
    compare(&changed(changes), &["--json"]).expect(code).json()
}

fn schema<'a>(compared: &'a Value, id: &str) -> &'a Value {
    let schemas = compared["schemas"].as_array().unwrap();
    let found = schemas.iter().find(|row| row["schema"] == id);
    found.unwrap_or_else(|| panic!("no schema {id} in {schemas:#?}"))
}

#[test]
fn equal_messages_are_the_same() {
    // The order of keys, and how long something took.
    let compared = compared("reordered", 0);
    assert_eq!(
        (&compared["same"], &compared["frames"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(compared["differences"], json!([]));
    for id in [
        "spots.targets/1",
        "flowpipe.overlay/1",
        "flowpipe.gesture-outcome/1",
    ] {
        assert_eq!(schema(&compared, id)["equal"], 3, "{compared:#}");
    }
    let stages = compared["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 1, "no source");
    assert_eq!(stages[0]["a"]["count"], 3);
    let (_, a, _) = domain();
    let ran = compare(a, &["--repeat", "2"]).expect(0);
    assert!(
        ran.stdout
            .ends_with("6 messages on 3 frames and 1 counter: the same\n"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("later round"), "{}", ran.stdout);
}

#[test]
fn the_first_field_that_differs_is_named() {
    let found = compared("moved", 1);
    let difference = json!({
        "what": "field", "pointer": "/spots/1/y", "a": { "value": 4 }, "b": { "value": 5 }, "frame": 1, "from": "screen.out",
        "schema": "spots.targets/1", "stage": "vision", "number": 1,
    });
    assert_eq!(found["differences"], json!([difference]));
    let counts = json!({
        "schema": "spots.targets/1", "decides": true, "equal": 2, "different": 1, "a_alone": 0, "b_alone": 0,
    });
    assert_eq!(schema(&found, "spots.targets/1"), &counts);
    let ran = compare(&changed("moved"), &[]).expect(1);
    for line in [
        "frame 1 of screen.out, spots.targets/1 of vision: /spots/1/y: A 4, B 5\n",
        "1 of 6 messages differs\n",
    ] {
        assert!(ran.stdout.contains(line), "{line} in {}", ran.stdout);
    }
}

#[test]
fn messages_of_one_alone_are_named() {
    let found = compared("twice", 1);
    let difference = &found["differences"][0];
    assert_eq!(
        (
            &difference["what"],
            &difference["by"],
            &difference["number"]
        ),
        (&json!("alone"), &json!("b"), &json!(2))
    );
    assert_eq!(schema(&found, "spots.targets/1")["b_alone"], 1);
    let ran = compare(&changed("silent"), &[]).expect(1);
    assert!(ran.stdout.contains("spots.targets/1 of vision: only in A"));
}

#[test]
fn counters_decide_and_other_metrics_do_not() {
    let found = compared("counts", 1);
    let metrics = found["metrics"].as_array().unwrap();
    let counter = json!({
        "stage": "vision", "name": "frames read", "a": { "counter": 3 }, "b": { "counter": 6 }, "differs": true,
    });
    assert_eq!(metrics[0], counter);
    assert_eq!(found["differences"], json!([]));
    // A gauge, samples and an overlay are reported.
    let found = compared("bright", 0);
    let metrics = found["metrics"].as_array().unwrap();
    let gauge = |side: &str| &metrics[1][side]["gauge"];
    assert_eq!((gauge("a"), gauge("b")), (&json!(0.25), &json!(0.5)));
    let samples = json!({ "distribution": { "count": 6, "p50": 0.0, "p95": 1.5, "max": 1.5 } });
    assert_eq!(metrics[2]["a"], samples);
    let overlay = schema(&found, "flowpipe.overlay/1");
    assert_eq!(
        (&overlay["different"], &overlay["decides"]),
        (&json!(3), &json!(false))
    );
    let ran = compare(&changed("bright"), &[]).expect(0);
    assert!(
        ran.stdout.contains(
            "6 messages on 3 frames and 1 counter: the same, 3 overlays differ, which does not count"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn failures_differ_unless_they_are_the_same() {
    let found = compared("fails", 1);
    assert_eq!(found["a"]["failures"], json!([]));
    assert_eq!(found["b"]["failures"][0]["times"], 1);
    let text = found["b"]["failures"][0]["text"].as_str().unwrap();
    assert!(text.contains("a spot too many"), "{text}");
    let (_, _, recording) = domain();
    let fails = changed("fails");
    let ran = run(&["compare", &fails, &fails, recording]).expect(0);
    assert!(
        ran.stdout.contains("failed: stage \"vision\""),
        "{}",
        ran.stdout
    );
}

#[test]
fn pipelines_that_emit_nothing_are_not_the_same() {
    let (_, _, recording) = domain();
    let silent = changed("silent");
    let ran = run(&["compare", &silent, &silent, recording]).expect(4);
    assert!(
        ran.stdout.contains(
            "there is nothing to compare: neither emits a message or a counter that decides"
        ),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("board"), "{}", ran.stdout);
    let found = run(&["compare", &silent, &silent, recording, "--json"])
        .expect(4)
        .json();
    assert_eq!(found["schemas"], json!([]));
}

#[test]
fn a_stage_that_emits_nothing_in_a_dry_run_is_named() {
    let (_, _, recording) = domain();
    let folder = tempfile::tempdir().unwrap();
    let text = "[stages.screen]\nplugin = \"capture-files\"\nconfig = { paths = [\"*.png\"] }\n\
                [stages.ask]\nplugin = \"http-request\"\nfrom = \"screen\"\n\
                config = { servers = [\"http://127.0.0.1:1\"], url = '\"http://127.0.0.1:1/\"' }\n";
    let asking = flowpipe_tests::pipeline(folder.path(), text);
    let ran = run(&["compare", &asking, &asking, recording]).expect(4);
    for part in [
        "ask: http-request emits nothing: a comparison is a dry run",
        "decides, perhaps only because stages emit nothing in a dry run (see above)",
    ] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

/// Counters alone are compared, and what is not counted as zero is.
#[test]
fn what_was_compared_is_named() {
    let (_, _, recording) = domain();
    let counters = changed("only-counters");
    let ran = run(&["compare", &counters, &counters, recording]).expect(0);
    assert!(
        ran.stdout.ends_with("\n1 counter: the same\n"),
        "{}",
        ran.stdout
    );
    let overlays = changed("only-overlays");
    let ran = run(&["compare", &overlays, &overlays, recording]).expect(4);
    let words =
        "\nthere is nothing to compare: neither emits a message or a counter that decides\n";
    assert!(ran.stdout.ends_with(words), "{}", ran.stdout);
    let bright = changed("only-overlays bright");
    let ran = run(&["compare", &overlays, &bright, recording]).expect(4);
    let words = "that decides, 3 overlays differ, which does not count\n";
    assert!(ran.stdout.ends_with(words), "{}", ran.stdout);
}

#[test]
fn a_stage_that_loses_all_its_counters_differs() {
    let found = compared("no-counters", 1);
    assert_eq!(found["differences"], json!([]));
    let counter = json!({
        "stage": "vision", "name": "frames read", "a": { "counter": 3 }, "b": { "counter": 0 }, "differs": true,
    });
    assert_eq!(found["metrics"][0], counter);
    let ran = compare(&changed("no-counters"), &[]).expect(1);
    let words = "6 messages on 3 frames: the same, 1 of 1 counter differs\n";
    assert!(ran.stdout.ends_with(words), "{}", ran.stdout);
}

/// More names than a run shows.
#[test]
fn counters_of_many_names_differ() {
    let (_, _, recording) = domain();
    let names = changed("names");
    let ran = run(&["compare", &names, &changed("names last"), recording]).expect(1);
    let words = "6 messages on 3 frames: the same, 1 of 300 counters differs\n";
    assert!(ran.stdout.ends_with(words), "{}", ran.stdout);
}

/// A counter that varies from round to round, with equal first rounds.
#[test]
fn counters_of_later_rounds_are_compared() {
    let folder = domain().0.path();
    let varies = changed("varies");
    let _ = std::fs::remove_file(folder.join("runs"));
    let found = compare(&varies, &["--repeat", "2", "--json"])
        .expect(0)
        .json();
    assert_eq!(found["b"]["unsteady"], 1, "{found:#}");
    assert_eq!(found["a"]["unsteady"], 0);
    let _ = std::fs::remove_file(folder.join("runs"));
    let ran = compare(&varies, &["--repeat", "2"]).expect(0);
    let words = "answers differently in a later round on 1 result\n";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn stages_that_use_the_time_are_named_beside_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("numbers.jsonl"), "1\n2\n3\n").unwrap();
    let text = |messages: u32| {
        format!(
            "[stages.numbers]\nplugin = \"source-jsonl\"\n\
             config = {{ path = \"numbers.jsonl\", schema = \"x.a/1\" }}\n\
             [stages.few]\nplugin = \"throttle\"\nfrom = \"numbers\"\n\
             config = {{ messages = {messages}, within_ms = 3_600_000 }}\n"
        )
    };
    let [a, b] = [1, 2].map(|it| written(folder.path(), &format!("{it}.toml"), &text(it)));
    let recording = record(folder.path(), "run.mcap", &a);
    let named = "few: throttle uses the time";
    let summary = "perhaps only because stages use the time";
    let differ = run(&["compare", &a, &b, &recording]).expect(1);
    assert_eq!(differ.stdout.matches(named).count(), 2, "{differ:#?}");
    assert!(differ.stdout.contains(summary), "{differ:#?}");
    let same = run(&["compare", &a, &a, &recording]).expect(0);
    assert!(same.stdout.contains(named), "{same:#?}");
    assert!(!same.stdout.contains(summary), "{same:#?}");
}
