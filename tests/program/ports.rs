//! Commands that declare their ports: checks between stages, of their messages, and what a replay does with them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use flowpipe_tests::{record, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::going::until;

/// A domain of three commands in Python: fields of a game, moves for each, and a count of the moves.
pub struct Domain {
    folder: TempDir,
}

/// A source of three fields. The second may be another one.
pub const FIELDS: &str = r#"
import json, sys
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "tick" in asked:
        rows = int(sys.argv[1]) if asked["tick"] == 1 else 2
        answer["messages"] = [{"body": {"rows": rows, "cells": ["mine", asked["tick"]]}}]
        answer["end"] = asked["tick"] == 2
    print(json.dumps(answer), flush=True)
"#;

/// Two outputs: moves, and notes.
pub const PLAYER: &str = r#"
import json, sys
log = open("log.txt", "a")
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        message = asked["message"]
        log.write(message["port"])
        log.flush()
        cells = message["body"]["cells"]
        answer["messages"] = [
            {"port": "moves", "body": {"open": [index for index, cell in enumerate(cells) if cell != "mine"]}},
            {"port": "notes", "schema": "mines.note/1", "body": "played"},
        ]
    print(json.dumps(answer), flush=True)
"#;

/// A sink that writes what it gets, by input.
const SINK: &str = r#"
import json, sys
with open("got.txt", "w") as file:
    for asked in map(json.loads, sys.stdin):
        if "message" in asked:
            print(asked["message"]["port"], json.dumps(asked["message"]["body"]), file=file, flush=True)
        print(json.dumps({"id": asked["id"]}), flush=True)
"#;

fn field() -> Value {
    json!({
        "title": "A field",
        "type": "object",
        "required": ["rows", "cells"],
        "additionalProperties": false,
        "properties": {
            "rows": { "type": "integer", "minimum": 1 },
            "cells": { "type": "array", "items": { "$ref": "#/$defs/cell" } },
        },
        "$defs": { "cell": { "anyOf": [{ "type": "integer" }, { "const": "mine" }] } },
    })
}

const PIPELINE: &str = r#"
[stages.fields]
plugin = "exec"
[stages.fields.config]
command = ["python3", "fields.py", "2"]
inputs = {}
outputs = { out = { schema = "mines.field/1", file = "field.schema.json" } }

[stages.player]
plugin = "exec"
from = "fields"
[stages.player.config]
command = ["python3", "player.py"]
inputs = { field = { schema = "mines.field/1", file = "field.schema.json" } }
outputs = { moves = { schema = "mines.moves/1" }, notes = { schema = "mines.note/1" } }
deterministic = true
effects = []

[stages.sink]
plugin = "exec"
from = ["player.moves", "player.notes"]
[stages.sink.config]
command = ["python3", "sink.py"]
inputs = { moves = { schema = "mines.moves/1" }, notes = { schema = "mines.note/1" } }
outputs = {}
"#;

impl Domain {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let domain = Self { folder };
        domain.write("fields.py", FIELDS);
        domain.write("player.py", PLAYER);
        domain.write("sink.py", SINK);
        domain.write("field.schema.json", &field().to_string());
        domain.write("pipeline.toml", PIPELINE);
        domain
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The pipeline, with one change.
    #[track_caller]
    fn change(&self, from: &str, to: &str) {
        assert!(PIPELINE.contains(from), "{from}");
        self.write("pipeline.toml", &PIPELINE.replace(from, to));
    }

    pub fn pipeline(&self) -> String {
        text(&self.path("pipeline.toml"))
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn commands_of_any_domain_are_checked_and_run() {
    let domain = Domain::new();
    let pipeline = domain.pipeline();
    let checked = run(&["check", &pipeline]).expect(0);
    assert!(
        checked.stdout.contains("OK: 3 stages, 3 queues"),
        "{checked:?}"
    );
    assert!(
        checked.stdout.contains("runs `python3 player.py`"),
        "{checked:?}"
    );
    // The config that is shown names the file, and does not repeat its content.
    assert!(
        checked.stdout.contains("\"file\":\"field.schema.json\""),
        "{checked:?}"
    );
    assert!(!checked.stdout.contains("A field"), "{checked:?}");
    run(&["run", &pipeline, "--quiet"]).expect(0);
    let got = domain.read("got.txt");
    let mut got: Vec<_> = got.lines().collect();
    got.sort_unstable();
    let moves = "moves {\"open\": [1]}";
    assert_eq!(
        got,
        [
            moves,
            moves,
            moves,
            "notes \"played\"",
            "notes \"played\"",
            "notes \"played\""
        ]
    );
    assert_eq!(domain.read("log.txt"), "fieldfieldfield");
    let graph = run(&["graph", &pipeline]).expect(0).stdout;
    assert!(graph.contains("moves → moves<br/>mines.moves/1"), "{graph}");
    // Also in a process of its own.
    domain.change(
        "from = \"fields\"",
        "from = \"fields\"\nisolation = \"process\"",
    );
    run(&["run", &pipeline, "--quiet"]).expect(0);
    assert_eq!(domain.read("got.txt").lines().count(), 6);
}

#[test]
fn ports_that_do_not_fit_are_errors_of_the_file() {
    let domain = Domain::new();
    let refused = |from: &str, to: &str| {
        domain.change(from, to);
        let checked = run(&["check", &domain.pipeline(), "--json"]).expect(78);
        let line = checked.stdout.lines().next().unwrap_or_default().to_owned();
        // A run reports the same.
        run(&["run", &domain.pipeline(), "--quiet"]).expect(78);
        assert_eq!(domain.read("log.txt"), "");
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let error = refused(
        "inputs = { field = { schema = \"mines.field/1\"",
        "inputs = { field = { schema = \"mines.field/2\"",
    );
    let message = "`fields` gives mines.field/1, but `player` takes mines.field/2";
    assert_eq!(error["message"], message);
    assert_eq!((&error["line"], &error["column"]), (&json!(11), &json!(8)));
    let other = field()
        .to_string()
        .replace("\"minimum\":1", "\"minimum\":0");
    domain.write("other.json", &other);
    let error = refused(
        "inputs = { field = { schema = \"mines.field/1\", file = \"field.schema.json\"",
        "inputs = { field = { schema = \"mines.field/1\", file = \"other.json\"",
    );
    let message = "two JSON Schemas describe mines.field/1: field.schema.json and other.json; they differ at \
                   /properties/rows/minimum";
    assert_eq!(error["message"], message);
    assert_eq!((&error["line"], &error["column"]), (&json!(14), &json!(55)));
    let error = refused(
        "moves = { schema = \"mines.moves/1\" }, notes",
        "moves = { schema = \"mines.moves/1\", check = \"check-mines\" }, notes",
    );
    assert!(
        error["message"].as_str().unwrap().contains("check-mines"),
        "{error}"
    );
    let error = refused("effects = []", "effects = [\"reads-minds\"]");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("can't be \"reads-minds\""),
        "{error}"
    );
    assert!(
        error["help"].as_str().unwrap().contains("drives-mouse"),
        "{error}"
    );
    let error = refused(
        "moves = { schema = \"mines.moves/1\" }, notes",
        "moves = { schema = \"mines\" }, notes",
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("outputs.moves.schema"),
        "{error}"
    );
}

#[test]
fn a_message_that_does_not_conform_is_refused_with_where_and_why() {
    let domain = Domain::new();
    domain.change("\"fields.py\", \"2\"", "\"fields.py\", \"0\"");
    let ran = run(&["run", &domain.pipeline(), "--quiet"]).expect(1);
    let why = "it emitted at \"out\" a message that does not pass the checks: at /rows: 0 is less than the minimum of 1 \
               (field.schema.json, the JSON Schema of mines.field/1)";
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(why), "{ran:#?}");
    assert_eq!(domain.read("log.txt"), "field");
    // Another stage decides what a failure means, as for every validator.
    let skipping = PIPELINE.replace("\"2\"]\ninputs", "\"0\"]\ninputs");
    let skipping = skipping.replace(
        "[stages.fields]\n",
        "[stages.fields]\non_error = \"skip\"\n",
    );
    domain.write("pipeline.toml", &skipping);
    let ran = run(&["run", &domain.pipeline(), "--json"]).expect(0);
    let fields = &ran.json()["report"]["stages"][0];
    assert_eq!(
        (&fields["out"], &fields["failed"]),
        (&json!(2), &json!(1)),
        "{fields:#}"
    );
}

/// A schema id has one JSON Schema in a pipeline: a library that emits it is checked too.
#[test]
fn what_a_command_receives_from_a_library_is_checked() {
    let domain = Domain::new();
    let text = |most: usize| {
        let schema = json!({ "properties": { "reading": { "properties": { "puzzle": {
            "properties": { "board": { "properties": { "rows": { "maximum": most } } } } } } } } });
        domain.write("small.json", &schema.to_string());
        let text = "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = { text = \"A.A\\n...\\n...\" }\n\
                    [stages.sink]\nplugin = \"exec\"\nfrom = \"puzzles\"\n\
                    config = { command = [\"python3\", \"sink.py\"], outputs = {}, \
                    inputs = { in = { schema = \"flowpipe.sighting/1\", file = \"small.json\" } } }\n";
        domain.write("pipeline.toml", text);
        run(&["run", &domain.pipeline(), "--quiet"])
    };
    text(3).expect(0);
    assert!(domain.read("got.txt").starts_with("in {"));
    let ran = text(2).expect(1);
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("at /reading/puzzle/board/rows: 3 is greater than the maximum of 2"),
        "{ran:#?}"
    );
    assert!(
        flat.contains("stage \"puzzles\"") || flat.contains("puzzles"),
        "{ran:#?}"
    );
}

#[test]
fn paths_of_schemas_start_at_the_pipeline_file() {
    let domain = Domain::new();
    std::fs::create_dir(domain.path("schemas")).unwrap();
    std::fs::rename(
        domain.path("field.schema.json"),
        domain.path("schemas/a.json"),
    )
    .unwrap();
    let error = run(&["check", &domain.pipeline()]).expect(78).stderr;
    assert!(error.contains("field.schema.json"), "{error}");
    let moved = PIPELINE.replace("field.schema.json", "schemas/a.json");
    domain.write("pipeline.toml", &moved);
    run(&["check", &domain.pipeline()]).expect(0);
    let absolute = text(&domain.path("schemas/a.json"));
    domain.write(
        "pipeline.toml",
        &PIPELINE.replace("field.schema.json", &absolute),
    );
    run(&["check", &domain.pipeline()]).expect(0);
    // A schema that is read is never overwritten.
    let ran = run(&["run", &domain.pipeline(), "--record", &absolute]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(
        std::fs::read_to_string(&absolute)
            .unwrap()
            .contains("A field")
    );
}

/// A recording is complete without the files.
#[test]
fn a_recording_contains_the_json_schemas() {
    let domain = Domain::new();
    let file = record(domain.folder.path(), "run.mcap", &domain.pipeline());
    let bytes = std::fs::read(&file).unwrap();
    let messages = mcap::MessageStream::new(&bytes).unwrap();
    let schemas = messages.filter_map(|message| {
        let schema = message.unwrap().channel.schema.clone()?;
        (schema.name == "mines.field/1")
            .then(|| serde_json::from_slice::<Value>(&schema.data).unwrap())
    });
    let schemas: Vec<_> = schemas.collect();
    assert_eq!(schemas, vec![field(); 3]);
}

/// How often the player was sent a message.
fn played(domain: &Domain) -> usize {
    domain.read("log.txt").matches("field").count()
}

#[test]
fn a_declared_command_runs_again_only_when_its_user_says_so() {
    let domain = Domain::new();
    let file = record(domain.folder.path(), "run.mcap", &domain.pipeline());
    assert_eq!(played(&domain), 3);
    // It is declared deterministic and without effects, which is a claim of the recording now.
    let ran = run(&["replay", &file, "--verify"]).expect(1);
    assert!(
        ran.stderr
            .contains("no stage of the recording can be run again"),
        "{ran:?}"
    );
    // What permits it is named.
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("--from player --allow runs-commands"),
        "{flat}"
    );
    run(&["replay", &file, "--allow", "runs-commands"]).expect(1);
    let ran = run(&["replay", &file, "--from", "player"]).expect(2);
    assert!(
        ran.stderr.contains("--allow runs-commands permits it"),
        "{ran:?}"
    );
    assert_eq!(played(&domain), 3);
    // The schemas are those of the recording: its files are not read.
    std::fs::remove_file(domain.path("field.schema.json")).unwrap();
    let again = [
        "replay",
        &file,
        "--from",
        "player",
        "--allow",
        "runs-commands",
        "--verify",
        "--json",
    ];
    let ran = run(&again).expect(0);
    assert_eq!(played(&domain), 6);
    assert_eq!(
        ran.json()["verdict"]["same"],
        6,
        "{:#}",
        ran.json()["verdict"]
    );
    // A changed script is found.
    domain.write("player.py", &PLAYER.replace("\"played\"", "\"changed\""));
    let ran = run(&again).expect(1);
    assert_eq!(
        ran.json()["verdict"]["differing"],
        3,
        "{:#}",
        ran.json()["verdict"]
    );
}

#[test]
fn a_replay_refuses_what_the_run_refused() {
    let domain = Domain::new();
    // The player's messages have a schema now, which the first does not keep.
    let moves = r#"{ "properties": { "open": { "items": { "maximum": 0 } } } }"#;
    domain.write("moves.json", moves);
    let text = PIPELINE.replace(
        "outputs = { moves = { schema = \"mines.moves/1\" }",
        "outputs = { moves = { schema = \"mines.moves/1\", file = \"moves.json\" }",
    );
    let text = text.replace(
        "[stages.player]\n",
        "[stages.player]\non_error = \"skip\"\n",
    );
    domain.write("pipeline.toml", &text);
    let file = record(domain.folder.path(), "run.mcap", &domain.pipeline());
    let again = [
        "replay",
        &file,
        "--from",
        "player",
        "--allow",
        "runs-commands",
        "--json",
    ];
    let report = run(&again).expect(0).json();
    let player = &report["report"]["stages"][1];
    assert_eq!(player["name"], "player");
    assert_eq!(
        (&player["out"], &player["failed"]),
        (&json!(0), &json!(3)),
        "{player:#}"
    );
}

#[test]
fn a_command_that_is_swapped_in_declares_its_ports() {
    let domain = Domain::new();
    let file = record(domain.folder.path(), "run.mcap", &domain.pipeline());
    let place = text(domain.folder.path());
    let moves = text(&domain.path("moves.json"));
    domain.write("moves.json", r#"{ "required": ["open"] }"#);
    let swap = |outputs: &str, more: &str| {
        format!(
            "player=exec{{ command = [\"python3\", \"player.py\"], directory = \"{place}\", \
             inputs = {{ field = {{ schema = \"mines.field/1\" }} }}, outputs = {{ {outputs} }}{more} }}"
        )
    };
    let outputs = format!(
        "moves = {{ schema = \"mines.moves/1\", file = \"{moves}\" }}, notes = {{ schema = \"mines.note/1\" }}"
    );
    let same = swap(&outputs, "");
    let ran = run(&["replay", &file, "--swap", &same, "--verify", "--json"]).expect(0);
    assert_eq!(
        ran.json()["verdict"]["same"],
        6,
        "{:#}",
        ran.json()["verdict"]
    );
    // Its messages are checked against the file that was typed.
    domain.write("moves.json", r#"{ "required": ["closed"] }"#);
    let report = run(&["replay", &file, "--swap", &same, "--json"])
        .expect(0)
        .json();
    assert_eq!(report["report"]["stages"][1]["failed"], 3, "{report:#}");
    domain.write("moves.json", "{");
    let ran = run(&["replay", &file, "--swap", &same]).expect(78);
    assert!(
        ran.stderr.contains("--swap player: the JSON Schema"),
        "{ran:?}"
    );
    // Other ports can't take the stage's place.
    let ran = run(&[
        "replay",
        &file,
        "--swap",
        &swap("moves = { schema = \"mines.moves/1\" }", ""),
    ])
    .expect(2);
    assert!(
        ran.stderr.contains("its inputs and outputs differ"),
        "{ran:?}"
    );
    // What the user typed is allowed, also an effect.
    domain.write("moves.json", "true");
    run(&[
        "replay",
        &file,
        "--swap",
        &swap(&outputs, ", effects = [\"uses-network\"]"),
    ])
    .expect(0);
}

#[test]
fn a_declared_effect_needs_to_be_allowed_by_name() {
    let domain = Domain::new();
    domain.change(
        "effects = []",
        "effects = [\"uses-network\", \"drives-mouse\"]",
    );
    let checked = run(&["check", &domain.pipeline()]).expect(0).stdout;
    assert!(
        checked.contains("drives the mouse, as its config declares"),
        "{checked}"
    );
    // Nobody clicks in a dry run: a command that says that it drives the mouse is not started.
    let ran = run(&["run", &domain.pipeline(), "--dry-run", "--json"]).expect(0);
    assert_eq!(ran.json()["report"]["stages"][1]["out"], 0, "{ran:#?}");
    assert_eq!(played(&domain), 0);
    let file = record(domain.folder.path(), "run.mcap", &domain.pipeline());
    assert_eq!(played(&domain), 3);
    let from = ["replay", &file, "--from", "player"];
    let ran = run(&[&from[..], &["--allow", "runs-commands"]].concat()).expect(2);
    assert!(
        ran.stderr
            .contains("--allow drives-mouse --allow uses-network"),
        "{ran:?}"
    );
    let all = [
        "--allow",
        "runs-commands",
        "--allow",
        "uses-network",
        "--allow",
        "drives-mouse",
    ];
    // A replay is dry.
    let ran = run(&[&from[..], &all, &["--json"]].concat()).expect(0);
    assert_eq!(ran.json()["report"]["stages"][1]["out"], 0, "{ran:#?}");
    assert_eq!(played(&domain), 3);
}

#[test]
fn a_saved_pipeline_reads_its_schemas_again() {
    let domain = Domain::new();
    let endless = FIELDS.replace("asked[\"tick\"] == 2", "False");
    domain.write(
        "fields.py",
        &endless.replace("if asked[\"tick\"] == 1 else 2", ""),
    );
    let skipping = PIPELINE.replace(
        "[stages.fields]\n",
        "[stages.fields]\non_error = \"skip\"\n",
    );
    domain.write("pipeline.toml", &skipping);
    let mut child = flowpipe_tests::flowpipe(&["run", &domain.pipeline(), "--watch", "--quiet"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        text
    });
    until("a message", || {
        let got = domain.read("got.txt");
        (got.lines().count() > 2, got)
    });
    // The same file name, with another content: no field conforms to it.
    let strict = field()
        .to_string()
        .replace("\"minimum\":1", "\"minimum\":9");
    domain.write("field.schema.json", &strict);
    domain.write("next.toml", &format!("{skipping}\n# saved\n"));
    std::fs::rename(domain.path("next.toml"), domain.path("pipeline.toml")).unwrap();
    let lines = || domain.read("log.txt").len();
    until("end of the messages", || {
        let before = lines();
        std::thread::sleep(Duration::from_millis(500));
        (before == lines(), domain.read("log.txt"))
    });
    flowpipe_tests::signals::send_signal("INT", child.id());
    child.wait().unwrap();
    let text = reader.join().unwrap();
    assert!(
        text.contains("0 is less") || text.contains("is less than the minimum of 9"),
        "{text}"
    );
}
