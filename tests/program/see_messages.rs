//! What `flowpipe see` shows of vision that reads no boards.

use std::path::Path;

use flowpipe_tests::{Ran, flowpipe, project, run};
use serde_json::{Value, json};

const BOARD: &str = "pipelines/frames/phone-6x6-03.png";
const OTHER: &str = "pipelines/frames/phone-5x5-01.png";

/// Vision that reports the size of a picture, with an overlay. Its argument changes what it does.
const VISION: &str = r#"
import json, sys
how = sys.argv[1]
calls = 0
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        calls += 1
        frame = asked["message"]["frame"]
        circle = {"form": {"circle": {"at": [50, 100], "radius": 20.0 if how != "no_area" else 0.0}}, "colour": [1, 200, 3]}
        spots = {"port": "spots", "body": {"width": frame["width"], "calls": calls, "title": "\u009b[2J"}}
        answer["messages"] = {
            "spots": [spots],
            "silent": [],
            "many": [spots] * 150,
            "sighting": [{"port": "any", "schema": "flowpipe.sighting/1", "body": {
                "frame": asked["message"]["body"],
                "reading": {"status": "refused", "step": "board", "reason": f"call {calls}", "confidence": 0.0},
            }}],
        }.get(how, [spots, {"port": "overlay", "body": {"shapes": [circle]}}])
        if how == "fails":
            answer = {"id": asked["id"], "error": "no such thing"}
    print(json.dumps(answer), flush=True)
"#;

const OUTPUTS: &str =
    "spots = { schema = \"spots.size/1\" }, overlay = { schema = \"flowpipe.overlay/1\" }";

fn config(folder: &Path, how: &str, outputs: &str) -> String {
    let script = folder.join("vision.py");
    std::fs::write(&script, VISION).unwrap();
    format!(
        "{{ command = [\"python3\", '{}', \"{how}\"], inputs = {{ frame = {{ schema = \"flowpipe.frame/1\" }} }}, \
         outputs = {{ {outputs} }} }}",
        script.display()
    )
}

fn see(how: &str, args: &[&str]) -> Ran {
    see_with(how, OUTPUTS, args)
}

fn see_with(how: &str, outputs: &str, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), how, outputs);
    run(&[&["see", "--plugin", "exec", "--config", &config], args].concat())
}

fn picture(path: &Path) -> (u32, Vec<[u8; 4]>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgba);
    let pixels = bytes.chunks_exact(4).map(|it| [it[0], it[1], it[2], it[3]]);
    (info.width, pixels.collect())
}

#[test]
fn each_message_is_printed_with_its_schema() {
    let ran = see("shapes", &[BOARD, OTHER]).expect(0);
    for part in [
        "phone-6x6-03.png 2 messages in ",
        "\nspots.size/1\n{\n  \"calls\": 1,\n",
        "\nflowpipe.overlay/1\n{\n  \"shapes\": [\n",
        "phone-5x5-01.png 2 messages in ",
        "  \"calls\": 2,\n",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{9b}'), "{}", ran.stdout);
    let ran = see("spots", &[BOARD, "--repeat", "3"]).expect(0);
    assert!(ran.stdout.contains("of 3 calls"), "{}", ran.stdout);
    assert_eq!(
        ran.stdout.matches("spots.size/1").count(),
        1,
        "of the first call"
    );
}

/// A plugin that does not declare what it emits.
#[test]
fn a_sighting_of_an_output_of_any_schema_counts_as_one_call() {
    let outputs = "any = { schema = \"*\" }";
    let args = [BOARD, OTHER, "--repeat", "3"];
    let ran = see_with("sighting", outputs, &args).expect(4);
    assert_eq!(
        ran.stdout.matches("of 3 calls").count(),
        2,
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("refused at step"), "{}", ran.stdout);
}

#[test]
fn messages_as_json() {
    let ran = see("spots", &[BOARD, OTHER, "--json"]).expect(0);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["status"], "messages");
    let width = lines[0]["messages"][0]["body"]["width"].as_u64().unwrap();
    let body = json!({ "width": width, "calls": 1, "title": "\u{9b}[2J" });
    assert_eq!(
        lines[0]["messages"],
        json!([{ "schema": "spots.size/1", "body": body }])
    );
    assert!(lines[1]["ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn its_overlay_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join("drawn.png");
    let path = drawn.display().to_string();
    see("shapes", &[BOARD, "--overlay", &path]).expect(0);
    let (width, pixels) = picture(&drawn);
    let at = |x: u32, y: u32| pixels[(y * width + x) as usize];
    assert_eq!(at(70, 100), [1, 200, 3, 255], "its ring");
    assert_ne!(at(50, 100), [1, 200, 3, 255], "its middle");
    // A plugin without an overlay gets a caption, one that can't be drawn an error.
    see("spots", &[BOARD, "--overlay", &path]).expect(0);
    assert_ne!(picture(&drawn).1, pixels);
    let ran = see("no_area", &[BOARD, "--overlay", &path]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("covers no area"), "{}", ran.stderr);
}

#[test]
fn no_message_and_failures_have_exit_codes_of_their_own() {
    let ran = see("silent", &[BOARD]).expect(4);
    assert!(
        ran.stdout.contains("phone-6x6-03.png no messages in"),
        "{}",
        ran.stdout
    );
    let ran = see("fails", &[BOARD]).expect(1);
    assert!(ran.stderr.contains("no such thing"), "{}", ran.stderr);
    let ran = see("many", &[BOARD]).expect(0);
    assert!(ran.stdout.contains("150 messages in"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("and 50 messages more\n"),
        "{}",
        ran.stdout
    );
    let record = see("many", &[BOARD, "--json"]).expect(0).json();
    let listed = record["messages"].as_array().unwrap().len();
    assert_eq!((listed, &record["messages_left_out"]), (100, &json!(50)));
    // A file that is no picture.
    see(
        "spots",
        &[&project().join("Cargo.toml").display().to_string()],
    )
    .expect(65);
}

/// As in a pipeline that has no folder of its own, files start at the working directory.
#[test]
fn a_config_names_files_with_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = "spots = { schema = \"spots.size/1\", file = \"spots.json\" }, \
                   overlay = { schema = \"flowpipe.overlay/1\" }";
    let config = config(folder.path(), "spots", outputs);
    let picture = project().join(BOARD).display().to_string();
    let see = |schema: &str| {
        std::fs::write(folder.path().join("spots.json"), schema).unwrap();
        let args = ["see", "--plugin", "exec", "--config", &config, &picture];
        let mut program = flowpipe(&args);
        Ran::from(program.current_dir(folder.path()).output().unwrap())
    };
    see("{ \"required\": [\"width\"] }").expect(0);
    let ran = see("{ \"required\": [\"height\"] }").expect(1);
    assert!(
        ran.stdout.contains("height") || ran.stderr.contains("height"),
        "{ran:#?}"
    );
    see("{").expect(78);
}
