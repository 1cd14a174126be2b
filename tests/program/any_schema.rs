//! Commands without declared outputs: they name the schema of each message, which reaches inputs of that schema alone.

use std::path::Path;

use flowpipe_tests::{pipeline, record, run};

/// A command that passes each puzzle on, and where its board has four columns, under the name of another schema.
const RENAMES: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if "message" in asked:
        message = asked["message"]
        body = message["body"]
        is_foreign = body["reading"]["puzzle"]["board"]["cols"] == 4
        schema = "other.thing/9" if is_foreign else message["schema"]
        answer["messages"] = [{"schema": schema, "body": body}]
    print(json.dumps(answer), flush=True)
"#;

/// A command that notes the schema of each message.
const NOTES: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "message" in asked:
        with open("noted", "a") as noted:
            print(asked["message"]["schema"], file=noted)
    print(json.dumps({"id": asked["id"]}), flush=True)
"#;

/// Three puzzles, of which the second has four columns, through both commands.
fn three(folder: &Path, on_error: &str) -> String {
    std::fs::write(folder.join("renames.py"), RENAMES).unwrap();
    std::fs::write(folder.join("notes.py"), NOTES).unwrap();
    let text = format!(
        "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ text = \"A.A\\n\\nA..A\\n\\nB.B\\n\" }}\n\
         [stages.renames]\nplugin = \"exec\"\nfrom = \"puzzles\"\non_error = \"{on_error}\"\n\
         config = {{ command = [\"python3\", \"renames.py\"] }}\n\
         [stages.notes]\nplugin = \"exec\"\nfrom = \"renames\"\n\
         config = {{ command = [\"python3\", \"notes.py\"], outputs = {{}}, \
         inputs = {{ board = {{ schema = \"flowpipe.sighting/1\" }} }} }}\n"
    );
    pipeline(folder, &text)
}

#[test]
fn a_message_of_another_schema_is_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let file = three(folder.path(), "stop");
    let ran = run(&["run", &file]).expect(1);
    let why = "it emitted at \"out\" a message of schema other.thing/9, but input \"board\" of stage \"notes\" takes \
               flowpipe.sighting/1: give each schema an output of its own";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    let noted = std::fs::read_to_string(folder.path().join("noted")).unwrap();
    assert_eq!(noted, "flowpipe.sighting/1\n");
}

#[test]
fn a_replay_refuses_what_the_run_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "a.mcap", &three(folder.path(), "skip"));
    let noted = std::fs::read_to_string(folder.path().join("noted")).unwrap();
    assert_eq!(noted, "flowpipe.sighting/1\n".repeat(2));
    let args = [
        "replay",
        &file,
        "--verify",
        "--json",
        "--from",
        "renames",
        "--allow",
        "runs-commands",
    ];
    let verdict = run(&args).expect(0).json()["verdict"].clone();
    assert_eq!(verdict["same"], 2, "{verdict:#}");
    assert_eq!(verdict["differing"], 0, "{verdict:#}");
}
