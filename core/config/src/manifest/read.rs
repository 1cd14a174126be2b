//! Reads a manifest's text and checks its fields.

use std::collections::HashSet;

use crate::manifest::{Manifest, Port, config_schema};

const ROLES: [&str; 7] = [
    "capture", "vision", "solver", "planner", "actuator", "check", "stage",
];

/// Reads and checks the text of a manifest.
///
/// # Errors
/// Why it can't be used, as a sentence for users.
pub fn read_manifest(text: &str) -> Result<Manifest, String> {
    let manifest: Manifest =
        serde_json::from_str(text).map_err(|error| format!("it can't be read: {error}"))?;
    if !is_name(&manifest.name) {
        return Err(format!(
            "the name {:?} is not made of lower-case letters, digits and single hyphens",
            manifest.name
        ));
    }
    if !ROLES.contains(&manifest.role.as_str()) {
        let roles = ROLES.join(", ");
        return Err(format!("the role {:?} is none of {roles}", manifest.role));
    }
    check_ports(&manifest.inputs, "input")?;
    check_ports(&manifest.outputs, "output")?;
    let schema = manifest.config.parse();
    let schema = schema.map_err(|error| format!("the config schema can't be read: {error}"))?;
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("the config schema is not of type object".into());
    }
    config_schema(schema)
        .map_err(|error| format!("the config schema is not a JSON Schema: {error}"))?;
    Ok(manifest)
}

/// Reads the text of a manifest that [`read_manifest`] has accepted before: nothing in it is checked again.
///
/// # Errors
/// Why it can't be read.
pub fn read_accepted_manifest(text: &str) -> Result<Manifest, String> {
    serde_json::from_str(text).map_err(|error| format!("it can't be read: {error}"))
}

pub(super) fn check_ports(ports: &[Port], kind: &str) -> Result<(), String> {
    let mut names = HashSet::new();
    for port in ports {
        if !is_name(&port.name) {
            return Err(format!("the {kind} name {:?} is not a name", port.name));
        }
        if !names.insert(&port.name) {
            return Err(format!("two {kind}s are named {:?}", port.name));
        }
        if !is_schema(&port.schema) {
            return Err(format!(
                "the {kind} {:?} has the schema {:?}, which is neither `*` nor like `maker.name/1`",
                port.name, port.schema
            ));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(word)
}

fn is_schema(schema: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    schema == "*"
        || schema.split_once('/').is_some_and(|(name, version)| {
            !name.is_empty()
                && name.bytes().all(sound)
                && !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        read_manifest(text).unwrap_err()
    }

    #[test]
    fn a_short_manifest_is_enough() {
        let manifest = read_manifest(r#"{"name": "sink-2", "role": "stage"}"#).unwrap();
        assert!(manifest.inputs.is_empty());
        assert_eq!(manifest.panic, "unwind");
    }

    #[test]
    fn bad_manifests_are_refused_with_the_reason() {
        assert!(reason("no").starts_with("it can't be read"));
        for name in ["", "A", "a_b", "-a", "a--b", "a b", "ä"] {
            let text = format!(r#"{{"name": "{name}", "role": "stage"}}"#);
            assert!(reason(&text).starts_with("the name"), "{name}");
        }
        assert!(reason(r#"{"name": "a", "role": "cook"}"#).starts_with("the role \"cook\""));
        let ports = |inputs: &str| {
            reason(&format!(
                r#"{{"name":"a","role":"stage","inputs":[{inputs}]}}"#
            ))
        };
        assert!(ports(r#"{"name":"in","schema":"x"}"#).contains("neither"));
        assert!(ports(r#"{"name":"In","schema":"*"}"#).contains("not a name"));
        assert!(
            ports(r#"{"name":"in","schema":"*"},{"name":"in","schema":"x/1"}"#)
                .contains("two inputs")
        );
        assert!(ports(r#"{"name":"in","schema":"*","carries":"sound"}"#).contains("\"sound\""));
        let config = |schema: &str| {
            reason(&format!(
                r#"{{"name":"a","role":"stage","config":{schema}}}"#
            ))
        };
        assert!(config("true").contains("not of type object"));
        assert!(config(r#"{"type":"string"}"#).contains("not of type object"));
        assert!(config(r#"{"type":"object","properties":3}"#).contains("not a JSON Schema"));
    }
}
