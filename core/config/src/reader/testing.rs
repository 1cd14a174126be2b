//! Plugins for tests: manifests without libraries.

use serde_json::{Value, json};

use super::named_files::FileIdentity;
use super::{ConfigError, Expressions, NamedFiles, NoFiles, Plugins, Surroundings, read_tested};
use crate::manifest::effects::PathUse;
use crate::manifest::{Carried, Manifest};
use crate::pipeline::Pipeline;
use crate::reader::pipeline_test::PipelineTest;

/// Files that are not read. What a path leads to is decided by its text.
pub(crate) struct LeadsTo(pub fn(&str) -> Vec<FileIdentity>);

impl NamedFiles for LeadsTo {
    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("there are no schemas".to_owned())
    }

    fn leads_to(&self, path: &str, _: PathUse) -> Vec<FileIdentity> {
        (self.0)(path)
    }
}

pub(crate) struct FakePlugins(Vec<Manifest>);

impl FakePlugins {
    /// These and one more.
    pub(crate) fn with(mut self, manifest: Manifest) -> Self {
        self.0.push(manifest);
        self
    }
}

impl Plugins for FakePlugins {
    fn manifest(&self, name: &str) -> Option<&Manifest> {
        self.0.iter().find(|manifest| manifest.name == name)
    }

    fn names(&self) -> Vec<&str> {
        self.0
            .iter()
            .map(|manifest| manifest.name.as_str())
            .collect()
    }

    fn refused(&self, name: &str) -> Option<String> {
        let reason = "plugins/libcapture_old.so wants ABI 1.0, and this program has 0.1";
        (name == "capture-old").then(|| reason.to_owned())
    }
}

/// One plugin for each feature of pipelines that concerns plugins.
pub(crate) fn plugins() -> FakePlugins {
    let text = |doc: &str| json!({ "type": "string", "description": doc });
    let empty = json!({ "type": "object", "additionalProperties": false });
    FakePlugins(vec![
        manifest(
            "capture-files",
            &[],
            &["out frame/1"],
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["paths"],
                "properties": {
                    "paths": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                               "description": "Pictures, folders or globs." },
                    "fps": { "type": ["number", "null"], "minimum": 0.1, "maximum": 1000.0,
                             "description": "Frames per second." },
                    "repeat": { "type": "boolean", "default": false },
                },
            }),
        ),
        manifest(
            "capture-screen",
            &[],
            &["out frame/1"],
            json!({
                "type": "object",
                "properties": {
                    "window": text("Part of the window's title."), "monitor": { "type": "integer" },
                    "times": { "type": "integer" }, "repeat": { "type": "boolean" },
                    "accept": { "type": "array", "description": "What is accepted.", "examples": [["a", "b"]] },
                },
                "dependentSchemas": {
                    "window": { "properties": { "monitor": false } },
                    "times": { "properties": { "repeat": { "const": false } } },
                },
            }),
        ),
        manifest(
            "vision-opencv",
            &["in frame/1"],
            &["out sighting/1"],
            empty.clone(),
        ),
        manifest(
            "solver-search",
            &["in sighting/1"],
            &["out solved/1"],
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "limit": { "type": "integer", "minimum": 0, "format": "uint32" },
                    "order": { "anyOf": [{ "$ref": "#/$defs/Order" }, { "type": "null" }] },
                    "restart": { "$ref": "#/$defs/Restart", "description": "When to restart the search." },
                },
                "$defs": {
                    "Order": { "oneOf": [
                        { "const": "diagonal", "description": "Sweeps the diagonals." },
                        { "enum": ["rows", "columns"], "type": "string" },
                    ] },
                    "Restart": { "oneOf": [
                        { "type": "object", "additionalProperties": false,
                          "required": ["kind"], "properties": { "kind": { "const": "never" } } },
                        { "type": "object", "additionalProperties": false,
                          "required": ["kind", "every"],
                          "properties": { "kind": { "const": "often" },
                                          "every": { "type": "integer", "minimum": 1 } } },
                    ] },
                },
            }),
        ),
        manifest(
            "solver-varisat",
            &["in sighting/1"],
            &["out solved/1"],
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": { "max_conflicts": { "type": ["integer", "null"], "minimum": 1 } },
            }),
        ),
        manifest(
            "planner-grid",
            &["in solved/1"],
            &["out strokes/1"],
            empty.clone(),
        ),
        manifest(
            "actuator-simulated",
            &["in strokes/1"],
            &["out outcome/1"],
            empty.clone(),
        ),
        mouse(manifest(
            "actuator-mouse",
            &["in strokes/1"],
            &["out outcome/1"],
            empty.clone(),
        )),
        manifest(
            "referee",
            &["sighting sighting/1", "outcome outcome/1"],
            &["again sighting/1", "report text/1"],
            empty.clone(),
        ),
        manifest(
            "twin",
            &["left frame/1", "right frame/1"],
            &["left frame/1", "right frame/1"],
            empty.clone(),
        ),
        manifest("recorder", &["in *"], &[], empty.clone()),
        manifest("echo", &["in *"], &["out *"], empty.clone()),
        manifest("odd \"<name>\"", &[], &["out frame/1"], empty.clone()),
        manifest(
            "broken-schema",
            &[],
            &["out frame/1"],
            json!({ "type": "nonsense" }),
        ),
        Manifest {
            role: "check".to_owned(),
            ..manifest("check-clicks", &["clicks/1 clicks/1"], &[], empty.clone())
        },
        checked("clicker", &["out clicks/1"], "check-clicks"),
        checked("keys", &["out keys/1", "also keys/1"], "check-clicks"),
        checked("painter", &["out lines/1"], "check-lines"),
        optional("player", &["clicks clicks/1", "strokes strokes/1"]),
        carrying(
            manifest("microphone", &[], &["out sound/1"], empty.clone()),
            &json!({ "media_type": "audio/pcm", "element": "f32", "shape": ["any", 2] }),
        ),
        carrying(
            manifest("decoder", &["in sound/1"], &["out sound/1"], empty.clone()),
            &json!(["nothing", { "media_type": "audio/ogg" }]),
        ),
        manifest("oscilloscope", &["in sound/1"], &[], empty),
    ])
}

/// A source whose messages need a check.
fn checked(name: &str, outputs: &[&str], check: &str) -> Manifest {
    let mut manifest = manifest(name, &[], outputs, json!({ "type": "object" }));
    for output in &mut manifest.outputs {
        output.check = Some(check.to_owned());
    }
    manifest
}

/// A sink with optional inputs.
fn optional(name: &str, inputs: &[&str]) -> Manifest {
    let mut manifest = manifest(name, inputs, &[], json!({ "type": "object" }));
    for input in &mut manifest.inputs {
        input.optional = true;
    }
    manifest
}

/// The same plugin, all ports of which carry this.
fn carrying(mut manifest: Manifest, carried: &Value) -> Manifest {
    for port in manifest.inputs.iter_mut().chain(&mut manifest.outputs) {
        port.carries = Carried::read(carried).unwrap();
    }
    manifest
}

fn manifest(name: &str, inputs: &[&str], outputs: &[&str], config: Value) -> Manifest {
    let ports = |ports: &[&str]| -> Value {
        let ports = ports.iter().map(|port| port.split_once(' ').unwrap());
        ports
            .map(|(name, schema)| json!({ "name": name, "schema": schema }))
            .collect()
    };
    let manifest = json!({
        "name": name, "role": "stage", "doc": format!("The {name} of the tests."),
        "inputs": ports(inputs), "outputs": ports(outputs), "config": config, "effects": [],
    });
    serde_json::from_value(manifest).unwrap()
}

/// The same plugin, which drives the mouse.
fn mouse(manifest: Manifest) -> Manifest {
    let effects = json!([{ "effect": "drives-mouse" }]);
    Manifest {
        effects: serde_json::from_value(effects).unwrap(),
        ..manifest
    }
}

/// Compares with the workspace's snapshot of that name, in the caller's module.
macro_rules! snapshot {
    ($name:expr, $text:expr) => {{
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
        settings.set_prepend_module_to_snapshot(true);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!($name, $text));
    }};
}
pub(crate) use snapshot;

/// Reads a file with its tests. An expression is wrong if it contains `bad`.
pub(crate) fn read_file(text: &str) -> Result<(Pipeline, Vec<PipelineTest>), Vec<ConfigError>> {
    struct NotBad;
    impl Expressions for NotBad {
        fn check(&self, text: &str) -> Result<(), String> {
            match text.contains("bad") {
                true => Err("line 1, column 1: it is bad".to_owned()),
                false => Ok(()),
            }
        }
    }
    let plugins = plugins();
    let surroundings = Surroundings {
        plugins: &plugins,
        settings: &[],
        files: &NoFiles,
        tests: Some(&NotBad),
    };
    read_tested("dir/x.toml", text.as_bytes(), surroundings)
}

/// The expected result of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    /// Invalid, and a schema can detect it.
    Bad,
    /// Invalid in a way that only the whole pipeline shows.
    BadAsAWhole,
}

/// Pipeline files with their expected results.
pub(crate) fn samples() -> Vec<(&'static str, Outcome)> {
    use Outcome::{Bad, BadAsAWhole, Good};
    let text = include_str!("testing/samples.toml");
    // Each sample starts with a line with its expected result.
    let samples = text.split("\n#:: ").skip(1).map(|sample| {
        let (judgement, text) = sample.split_once('\n').unwrap();
        let outcome = match judgement.trim() {
            "good" => Good,
            "bad" => Bad,
            "bad as a whole" => BadAsAWhole,
            other => panic!("{other:?} is no judgement"),
        };
        (text, outcome)
    });
    samples.collect()
}
