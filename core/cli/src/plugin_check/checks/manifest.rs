//! The manifest is complete, and its ports fit the role.

use flowpipe_puzzle::message::{FRAME, OUTCOME, SIGHTING, SOLVED, STROKES};
use serde_json::Value;

use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::subject::Subject;

pub fn check(subject: &Subject, report: &Reporter) {
    let manifest = subject.manifest();
    if let Some((takes, gives)) = usual(&manifest.role) {
        let schemas = |ports: &[flowpipe_config::manifest::Port]| {
            let schemas: Vec<String> = ports.iter().map(|port| port.schema.clone()).collect();
            if schemas.is_empty() {
                "nothing".to_owned()
            } else {
                schemas.join(", ")
            }
        };
        let (inputs, outputs) = (schemas(&manifest.inputs), schemas(&manifest.outputs));
        if (inputs.as_str(), outputs.as_str()) != (takes, gives) {
            let role = &manifest.role;
            report.warn(format!(
                "a {role} usually receives {takes} and emits {gives}; this one receives {inputs} and emits {outputs}, \
                 so it can't race with others"
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

/// The schemas that stages of a role receive and emit.
fn usual(role: &str) -> Option<(&'static str, &'static str)> {
    Some(match role {
        "capture" => ("nothing", FRAME),
        "vision" => (FRAME, SIGHTING),
        "solver" => (SIGHTING, SOLVED),
        "planner" => (SOLVED, STROKES),
        "actuator" => (STROKES, OUTCOME),
        _ => return None,
    })
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
