//! Checks of messages while a run is reloaded: they are added and replaced as stages are.

use std::path::Path;

use flowpipe_tests::{compile, pipeline};
use tempfile::TempDir;

use crate::going::{Going, replace, until};

/// A command that sends valid gestures of nothing, ten a second, without end.
const GESTURES: &str = r#"
import json, sys, time
for line in sys.stdin:
    answer = {"id": json.loads(line)["id"]}
    if '"tick"' in line:
        time.sleep(0.1)
        bounds = {"x": 0, "y": 0, "width": 10, "height": 10}
        body = {"planner": "test", "frame": {"source": "test"}, "bounds": bounds, "gestures": []}
        answer["messages"] = [{"body": body}]
    print(json.dumps(answer), flush=True)
"#;
/// A command that writes a line into a file for each message that it receives.
const SINK: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "message" in request:
        with open("received", "a") as received:
            print(request["message"]["schema"], file=received)
    print(json.dumps({"id": request["id"]}), flush=True)
"#;

/// A folder with a pipeline, its commands, and the plugin of the house.
struct House {
    folder: TempDir,
    file: String,
}

impl House {
    /// Frames that a command receives. `reason`: why the check of the house refuses all gestures, if it does.
    fn new(reason: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("gestures.py"), GESTURES).unwrap();
        std::fs::write(folder.path().join("sink.py"), SINK).unwrap();
        let house = Self {
            file: pipeline(folder.path(), &frames()),
            folder,
        };
        house.build(reason);
        house
    }

    /// Builds the plugin.
    fn build(&self, reason: Option<&str>) {
        let defines = reason.map(|reason| format!("REFUSES=\"{reason}\""));
        let defines: Vec<_> = defines.iter().map(String::as_str).collect();
        let new = tempfile::tempdir_in(&self.folder).unwrap();
        let library = compile("tests/plugins/judging.c", new.path(), "house", &defines);
        let plugins = self.folder.path().join("plugins");
        std::fs::create_dir_all(&plugins).unwrap();
        std::fs::rename(&library, plugins.join(library.file_name().unwrap())).unwrap();
    }

    fn start(&self) -> Going {
        let plugins = self.folder.path().join("plugins").display().to_string();
        Going::start(&["run", "--watch", "--plugin-dir", &plugins, &self.file])
    }

    /// How many messages of a schema were received.
    fn received(&self, schema: &str) -> usize {
        let received = std::fs::read_to_string(self.folder.path().join("received"));
        received.unwrap_or_default().matches(schema).count()
    }

    #[track_caller]
    fn wait_for(&self, schema: &str) {
        until(schema, || (self.received(schema) > 0, String::new()));
    }

    /// Adds gestures whose source names the check that shall judge them, and what receives them.
    fn add_gestures(&self, check: &str) {
        let gestures = format!(
            "[stages.hand]\nplugin = \"exec\"\non_error = \"skip\"\n\
             config = {{ command = [\"python3\", \"gestures.py\"], inputs = {{}}, \
             outputs = {{ out = {{ schema = \"{GESTURES_ID}\", check = \"{check}\" }} }} }}\n{}",
            sink("player", "hand", GESTURES_ID)
        );
        replace(Path::new(&self.file), &format!("{}{gestures}", frames()));
    }
}

const GESTURES_ID: &str = "flowpipe.gestures/1";
const FRAME_ID: &str = "flowpipe.frame/1";

fn frames() -> String {
    let picture = flowpipe_tests::project().join("pipelines/frames/desktop-5x5-02.png");
    format!(
        "name = \"house\"\n[stages.frames]\nplugin = \"capture-files\"\n\
         config = {{ paths = [\"{}\"], fps = 5, repeat = true }}\n{}",
        picture.display(),
        sink("viewer", "frames", FRAME_ID)
    )
}

fn sink(name: &str, from: &str, schema: &str) -> String {
    format!(
        "[stages.{name}]\nplugin = \"exec\"\nfrom = \"{from}\"\n\
         config = {{ command = [\"python3\", \"sink.py\"], outputs = {{}}, \
         inputs = {{ in = {{ schema = \"{schema}\" }} }} }}\n"
    )
}

#[test]
fn a_check_that_a_new_stage_names_judges_beside_those_of_the_schema() {
    let house = House::new(Some("not in this house"));
    let run = house.start();
    // check-messages is loaded for the frames. It judges gestures too.
    house.wait_for(FRAME_ID);
    house.add_gestures("check-house");
    run.wait_for_stderr("check-house (added)");
    run.wait_for_stderr("not in this house");
    run.stop();
    assert_eq!(house.received(GESTURES_ID), 0);
}

#[test]
fn a_rebuilt_check_judges_from_the_next_message_on() {
    let house = House::new(None);
    house.add_gestures("check-house");
    let run = house.start();
    house.wait_for(GESTURES_ID);
    house.build(Some("no longer in this house"));
    run.wait_for_stderr("changed: check-house (new file)");
    run.wait_for_stderr("no longer in this house");
    let before = house.received(GESTURES_ID);
    run.stop();
    assert_eq!(house.received(GESTURES_ID), before);
}
