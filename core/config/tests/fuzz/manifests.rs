//! Manifests, damaged or hostile, and configs checked against them: no panic, no hang, no network, bounded memory.

use std::net::TcpListener;

use flowpipe_config::manifest::Manifest;
use flowpipe_config::manifest::read_manifest;
use flowpipe_config::reader::{self, Plugins};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bounds::{MIB, within};
use crate::spoil;

const GOOD: &[&str] = &[
    r#"{"name":"capture-files","version":"0.1.0","role":"capture","doc":"Pictures.","inputs":[],"outputs":[{"name":"out","schema":"flowpipe.frame/1"}],"config":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"required":["paths"],"properties":{"paths":{"description":"Where.","anyOf":[{"type":"string"},{"type":"array","items":{"type":"string","minLength":1},"minItems":1}]},"fps":{"type":["number","null"],"minimum":0.1,"maximum":1000.0,"default":null},"times":{"type":"integer","format":"uint32","multipleOf":2},"word":{"type":"string","pattern":"^(a|b)+$"}}},"deterministic":true,"panic":"unwind"}"#,
    r##"{"name":"a","role":"stage","supports":["squares"],"config":{"type":"object","properties":{"order":{"$ref":"#/$defs/Order"},"next":{"$ref":"#"}},"$defs":{"Order":{"oneOf":[{"const":"rows"},{"enum":["a","b"]},{"type":"object","properties":{"order":{"$ref":"#/$defs/Order"}},"unevaluatedProperties":false}]}}}}"##,
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "\"$ref\":\"#\",",
    "\"$ref\":\"#/config\",",
    "\"$id\":\"x\",",
    "\"not\":{},",
    "\"$dynamicRef\":\"#\",",
    "\"$recursiveRef\":\"#\",",
    "\"pattern\":\"(a*)*b\",",
    "\"format\":\"regex\",",
    "\"minItems\":",
    "\\u0000",
    "\\ud800",
    "\"if\":{},",
    "\"allOf\":[",
    "\"dependentSchemas\":{",
    "*",
    "+",
    "(",
    "(?=",
    "{1000}",
];

const CONFIGS: &[&str] = &[
    "",
    "config = { paths = \"x\", fps = 3, times = 3, word = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\" }",
    "config = { paths = [1, \"\"], fps = -1, times = 2.5, word = 7, other = [{}] }",
    "config = { order = { order = { order = 3 } }, next = { next = { next = 1, order = \"c\" } } }",
];

struct One(Manifest);

impl Plugins for One {
    fn manifest(&self, _: &str) -> Option<&Manifest> {
        Some(&self.0)
    }

    fn names(&self) -> Vec<&str> {
        vec![&self.0.name]
    }

    fn refused(&self, _: &str) -> Option<String> {
        None
    }
}

/// Reads a manifest; if it is valid, checks configs against its schema. Returns their errors.
fn try_manifest(text: &str, configs: &[&str]) -> Result<Vec<String>, String> {
    within(300 * MIB, text.as_bytes(), || {
        let plugins = One(read_manifest(text)?);
        let mut messages = Vec::new();
        for config in configs {
            let file = format!("[stages.s]\nplugin = \"x\"\n{config}\n");
            if let Err(errors) = reader::read("x.toml", &file, &plugins) {
                messages.extend(errors.iter().map(ToString::to_string));
            }
        }
        Ok(messages)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn spoiled_manifests(text in spoil::spoiled_text(GOOD, WORDS)) {
        let _ = try_manifest(&text, CONFIGS);
    }

    #[test]
    fn any_text(text in "\\PC{0,200}|[\\[\\]{}:\",a-c0-9]{0,200}") {
        let _ = try_manifest(&text, CONFIGS);
    }
}

fn with_schema(schema: &Value) -> String {
    json!({ "name": "a", "role": "stage", "config": schema }).to_string()
}

fn try_schema(schema: &Value) -> Result<Vec<String>, String> {
    try_manifest(&with_schema(schema), CONFIGS)
}

#[test]
fn good_manifests_are_accepted() {
    for text in GOOD {
        assert!(try_manifest(text, CONFIGS).unwrap().len() > 1);
    }
}

#[test]
fn schemas_that_refer_to_themselves() {
    for schema in [
        json!({ "type": "object", "$ref": "#" }),
        json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
        json!({ "type": "object", "not": { "$ref": "#" } }),
        json!({ "type": "object", "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "type": "object", "oneOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "type": "object", "if": { "$ref": "#" }, "then": { "$ref": "#" }, "else": { "$ref": "#" } }),
        json!({ "type": "object", "$dynamicRef": "#" }),
        json!({ "type": "object", "$dynamicAnchor": "x", "allOf": [{ "$dynamicRef": "#x" }] }),
        json!({ "$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object", "$recursiveAnchor": true,
                "allOf": [{ "$recursiveRef": "#" }], "unevaluatedProperties": false }),
        json!({ "type": "object", "$ref": "#/$defs/a",
                "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "type": "object", "unevaluatedProperties": false, "allOf": [{ "$ref": "#" }] }),
        json!({ "type": "object", "properties": { "next": { "$ref": "#" } }, "additionalProperties": { "$ref": "#" } }),
        json!({ "type": "object", "propertyNames": { "$ref": "#" }, "dependentSchemas": { "next": { "$ref": "#" } } }),
    ] {
        let _ = try_schema(&schema);
    }
}

#[test]
fn schemas_that_branch_repeatedly() {
    // Each level doubles the work. There is no limit on that, so the test stays small.
    const LEVELS: usize = 8;
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut definitions = serde_json::Map::new();
        for level in 0..LEVELS {
            let next = format!("#/$defs/d{}", level + 1);
            definitions.insert(
                format!("d{level}"),
                json!({ keyword: [{ "$ref": next }, { "$ref": next }] }),
            );
        }
        definitions.insert(format!("d{LEVELS}"), json!({ "required": ["x"] }));
        let schema = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": definitions });
        let _ = try_schema(&schema);
    }
}

#[test]
fn schemas_elsewhere_are_not_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for place in [
        &*format!("http://127.0.0.1:{port}/x"),
        &*format!("https://127.0.0.1:{port}/x"),
        file,
        "x.json",
    ] {
        for key in ["$ref", "$schema", "$dynamicRef"] {
            let reason = try_schema(&json!({ "type": "object", key: place }));
            assert!(reason.is_err(), "{key} {place}: {reason:?}");
        }
    }
    assert!(listener.accept().is_err(), "a connection was made");
}

#[test]
fn patterns_that_take_long() {
    let word = "a".repeat(50_000);
    let config = format!("config = {{ word = \"{word}!\" }}");
    for pattern in [
        "^(a+)+$",
        "^(a|aa)+$",
        "^(a|a)*$",
        "(a*)*b",
        "(?=(a+)+b)a",
        "^(a+)+\\1$",
        "(a?){100}a{100}",
        "((a{100}){100}){100}",
        "((((a{1000}){1000}){1000}){1000}){1000}",
        "\\p{L}{1000}{100}",
        "(?<!a{1,1000})b",
        "[",
        "(?<x",
    ] {
        let schema = json!({ "type": "object", "properties": { "word": { "type": "string", "pattern": pattern } } });
        let _ = try_manifest(&with_schema(&schema), &[&config]);
        let schema =
            json!({ "type": "object", "patternProperties": { pattern: { "type": "integer" } } });
        let _ = try_manifest(&with_schema(&schema), &[&config]);
    }
    let long = json!({ "type": "object", "properties": { "word": { "pattern": "(a|b)?".repeat(20_000) } } });
    let _ = try_schema(&long);
    let nested = format!("{}{}", "(".repeat(100_000), ")".repeat(100_000));
    let _ =
        try_schema(&json!({ "type": "object", "properties": { "word": { "pattern": nested } } }));
}

#[test]
fn nesting_without_end() {
    for count in [100, 120, 1_000, 100_000] {
        for (open, close) in [
            ("{\"not\":", "}"),
            ("{\"properties\":{\"next\":", "}}"),
            ("{\"allOf\":[", "]}"),
            ("[", "]"),
        ] {
            let inner = format!("{}true{}", open.repeat(count), close.repeat(count));
            let text = format!(
                r#"{{"name":"a","role":"stage","config":{{"type":"object","not":{inner}}}}}"#
            );
            let _ = try_manifest(&text, CONFIGS);
        }
    }
}

#[test]
fn limits_that_no_value_satisfies() {
    for limit in [
        json!(-1),
        json!(0),
        json!(u64::MAX),
        json!(1e300),
        json!(5e-324),
        json!(0.1),
    ] {
        for key in [
            "multipleOf",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "minProperties",
            "maxProperties",
            "maxContains",
        ] {
            let one = json!({ key: limit, "contains": {}, "uniqueItems": true });
            let schema = json!({ "type": "object", key: limit, "additionalProperties": one });
            let _ = try_schema(&schema);
        }
    }
}
