//! The manifest is complete, and its ports fit the role.

use flowpipe_config::manifest::Port;
use flowpipe_message::{FRAME, GESTURE_OUTCOME, GESTURES};
use flowpipe_puzzle::message::{GAME_RULES, OUTCOME, SIGHTING, SOLVED, STROKES};
use serde_json::Value;

use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::subject::Subject;

pub fn check(subject: &Subject, report: &Reporter) {
    let manifest = subject.manifest();
    let usual = usual(&manifest.role);
    if let Some((takes, gives)) = usual.first() {
        let schemas = |ports: &[Port]| -> Vec<String> {
            ports.iter().map(|port| port.schema.clone()).collect()
        };
        let (inputs, outputs) = (schemas(&manifest.inputs), schemas(&manifest.outputs));
        let is_usual = usual
            .iter()
            .any(|(takes, gives)| inputs == *takes && outputs == *gives);
        if !is_usual {
            let role = &manifest.role;
            report.warn(format!(
                "a {role} usually receives {} and emits {}; this one receives {} and emits {}, so it can't race with others",
                list(takes),
                list(gives),
                list(&inputs),
                list(&outputs)
            ));
        }
    }
    if manifest.version.is_empty() {
        report.warn("it declares no version");
    }
    if manifest.doc.trim().is_empty() {
        report.warn("it has no `doc` for `flowpipe plugins show`");
    }
    let without: Vec<&str> = without_description(&manifest.config);
    if !without.is_empty() {
        report.warn(format!(
            "no description in the config schema: {}",
            without.join(", ")
        ));
    }
    report.pass(format!("{}, {}", manifest.role, manifest.name));
}

/// The schemas of a stage's inputs and outputs.
type Schemas = (&'static [&'static str], &'static [&'static str]);

/// The schemas that stages of a role receive and emit, the most usual first.
fn usual(role: &str) -> &'static [Schemas] {
    match role {
        "capture" => &[(&[], &[FRAME])],
        "vision" => &[(&[FRAME], &[SIGHTING]), (&[FRAME, GAME_RULES], &[SIGHTING])],
        "solver" => &[(&[SIGHTING], &[SOLVED])],
        "planner" => &[(&[SOLVED], &[STROKES])],
        "actuator" => &[
            (&[STROKES], &[OUTCOME]),
            (&[GESTURES], &[GESTURE_OUTCOME]),
            (&[STROKES, GESTURES], &[OUTCOME, GESTURE_OUTCOME]),
        ],
        _ => &[],
    }
}

fn list(schemas: &[impl AsRef<str>]) -> String {
    match schemas {
        [] => "nothing".to_owned(),
        schemas => {
            let schemas: Vec<&str> = schemas.iter().map(AsRef::as_ref).collect();
            schemas.join(", ")
        }
    }
}

fn without_description(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let bare = |property: &Value| {
        let refers = ["$ref", "oneOf", "anyOf", "allOf"];
        property.get("description").is_none()
            && !refers.iter().any(|key| property.get(key).is_some())
    };
    properties
        .into_iter()
        .flatten()
        .filter(|(_, property)| bare(property))
        .map(|(name, _)| name.as_str())
        .collect()
}
