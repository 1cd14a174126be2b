//! Buffers of commands: through isolated stages, recorded, shown and replayed.

use flowpipe_tests::{record, run};
use serde_json::json;

use crate::edited::edit;

/// A source of three pieces of stereo sound.
const MICROPHONE: &str = r#"
import array, json, os, sys
path = os.path.join(os.getcwd(), "sound.raw")
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "tick" in asked:
        samples = array.array("f", [asked["tick"]] * 8)
        with open(path, "wb") as file:
            file.write(samples.tobytes())
        buffer = {"file": path, "media_type": "audio/pcm", "element": "f32", "shape": [4, 2]}
        answer["messages"] = [{"body": {"n": asked["tick"]}, "buffer": buffer}]
        answer["end"] = asked["tick"] == 2
    print(json.dumps(answer), flush=True)
"#;

/// Emits the sum of the samples.
const METER: &str = r#"
import array, json, sys
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        buffer = asked["message"]["buffer"]
        assert buffer["element"] == "f32" and buffer["shape"] == [4, 2], buffer
        samples = array.array("f")
        with open(buffer["file"], "rb") as file:
            samples.fromfile(file, 8)
        answer["messages"] = [{"body": {"sum": sum(samples)}}]
    print(json.dumps(answer), flush=True)
"#;

const PIPELINE: &str = r#"
[stages.microphone]
plugin = "exec"
[stages.microphone.config]
command = ["python3", "microphone.py"]
inputs = {}
[stages.microphone.config.outputs.out]
schema = "test.sound/1"
carries = { media_type = "audio/pcm", element = "f32", shape = ["any", 2] }

[stages.loud]
plugin = "filter"
from = "microphone"
isolation = "process"
config = { jq = ".n > 0" }

[stages.meter]
plugin = "exec"
from = "loud"
[stages.meter.config]
command = ["python3", "meter.py"]
inputs = { in = { schema = "test.sound/1", carries = { media_type = "audio/*" } } }
outputs = { out = { schema = "test.level/1" } }
"#;

/// The folder with the pipeline, and its path.
fn folder(pipeline: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("microphone.py", MICROPHONE);
    write("meter.py", METER);
    write("pipeline.toml", pipeline);
    let path = folder.path().join("pipeline.toml").display().to_string();
    (folder, path)
}

#[test]
fn sound_crosses_an_isolated_stage_and_is_replayed() {
    let (folder, pipeline) = folder(PIPELINE);
    run(&["check", &pipeline]).expect(0);
    let file = record(folder.path(), "run.mcap", &pipeline);
    let lines = run(&["messages", &file]).expect(0);
    let lines: Vec<serde_json::Value> = lines
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |stage: &'static str| lines.iter().filter(move |line| line["stage"] == stage);
    let buffer =
        json!({ "media_type": "audio/pcm", "element": "f32", "shape": [4, 2], "size": 32 });
    for (stage, count) in [("microphone", 3), ("loud", 2)] {
        assert_eq!(of(stage).count(), count, "{lines:?}");
        assert!(of(stage).all(|line| line["buffer"] == buffer), "{lines:?}");
    }
    let sums: Vec<_> = of("meter")
        .map(|line| line["body"]["sum"].clone())
        .collect();
    assert_eq!(sums, [json!(8.0), json!(16.0)]);
    assert!(of("meter").all(|line| line.get("buffer").is_none()));
    // The replay gives the same buffers, and runs the isolated stage again.
    let ran = run(&["replay", &file, "--verify", "--json"]).expect(0);
    assert_eq!(ran.json()["verdict"]["same"], 2, "{ran:?}");
    // What is recorded are buffers, and no pictures.
    let again = folder.path().join("again.mcap").display().to_string();
    let ran = run(&["run", &pipeline, "--record", &again]).expect(0);
    assert!(ran.stderr.contains(", 5 buffers ("), "{ran:#?}");
    // The report shows no picture of it.
    let page = folder.path().join("run.html").display().to_string();
    run(&["report", &file, "-o", &page]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("a buffer audio/pcm f32 [4, 2]"));
    assert!(!page.contains("The recording holds no pictures."));
    // A recording in which a sample differs is noticed.
    let other = folder.path().join("other.mcap");
    edit(std::path::Path::new(&file), &other, |edited| {
        edited.buffers.insert("loud".to_owned());
    });
    let ran = run(&["replay", &other.display().to_string(), "--verify"]).expect(1);
    assert!(
        ran.stdout.contains("another buffer") || ran.stderr.contains("another buffer"),
        "{ran:?}"
    );
}

#[test]
fn ends_that_can_not_agree_are_named() {
    let change = |from: &str, to: &str| {
        assert!(PIPELINE.contains(from), "{from}");
        PIPELINE.replacen(from, to, 1)
    };
    let (_folder, pipeline) = folder(
        &change("from = \"loud\"", "from = \"microphone\"").replacen("audio/*", "text/plain", 1),
    );
    for command in ["check", "run"] {
        let ran = run(&[command, &pipeline]).expect(78);
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "`microphone.out` carries a buffer",
            "`meter.in` carries a buffer",
            "`carries`",
        ] {
            assert!(flat.contains(part), "{part}: {flat}");
        }
    }
    // A stage that declares nothing gets no buffers.
    let undeclared = change(", carries = { media_type = \"audio/*\" }", "");
    let (_folder, pipeline) =
        folder(&undeclared.replacen("from = \"loud\"", "from = \"microphone\"", 1));
    let ran = run(&["check", &pipeline]).expect(78);
    assert!(
        ran.stderr.contains("carries nothing or a picture"),
        "{ran:?}"
    );
    // Also behind a stage that passes on what it gets.
    let (_folder, pipeline) = folder(&undeclared);
    for command in ["check", "run"] {
        let ran = run(&[command, &pipeline]).expect(78);
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "`loud.out` carries a buffer",
            "but `meter.in` carries nothing or a picture",
            "`loud` passes on what comes from here",
        ] {
            assert!(flat.contains(part), "{part}: {flat}");
        }
    }
}

#[test]
fn a_wrong_declaration_is_named() {
    let wrong = PIPELINE.replacen("\"f32\"", "\"float\"", 1);
    let (_folder, pipeline) = folder(&wrong);
    let ran = run(&["check", &pipeline]).expect(78);
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("the output \"out\": the element \"float\" is unknown"),
        "{flat}"
    );
}

/// What the command sends is not what its config declares.
#[test]
fn a_buffer_of_another_shape_is_refused() {
    let (_folder, pipeline) = folder(&PIPELINE.replacen("[\"any\", 2]", "[\"any\", 1]", 1));
    let ran = run(&["run", &pipeline]).expect(1);
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(
            "a message with a buffer audio/pcm f32 [4, 2] where `carries` declares a buffer"
        ),
        "{flat}"
    );
}

/// What windows join, and the element type that a config names, count before anything starts.
#[test]
fn what_windows_join_is_compared_with_what_a_command_takes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.wav"), "").unwrap();
    let checked = |element: &str, carries: &str| {
        let text = format!(
            r#"
[stages.sound]
plugin = "capture-audio"
config = {{ path = "a.wav", element = "{element}" }}

[stages.windows]
plugin = "window"
from = "sound"
config = {{ schema = "x.window/1", count = 2 }}

[stages.tones]
plugin = "exec"
from = "windows"

[stages.tones.config]
command = ["cat"]
inputs = {{ in = {{ schema = "x.window/1", carries = {carries} }} }}
outputs = {{}}
"#
        );
        let file = flowpipe_tests::pipeline(folder.path(), &text);
        run(&["check", &file])
    };
    checked("f32", r#"{ element = "f32", shape = ["any", 2] }"#).expect(0);
    checked("i16", r#"{ media_type = "audio/pcm", element = "i16" }"#).expect(0);
    for (element, carries) in [
        ("f32", r#"{ media_type = "text/plain" }"#),
        ("f32", r#"{ element = "i16" }"#),
        ("i16", r#"{ element = "f32" }"#),
        ("f32", r#"{ shape = ["any"] }"#),
        ("f32", r#""nothing""#),
    ] {
        let ran = checked(element, carries).expect(78);
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = "`windows.out` carries a buffer";
        assert!(flat.contains(part), "{carries}: {flat}");
    }
}
