//! JSON Schemas of messages, and messages that are checked against them, damaged or made up: no panic, no hang, bounded
//! memory.

use flowpipe_config::message_schema::{MessageSchema, Mismatch};
use proptest::prelude::*;
use serde_json::Value;

use crate::bounds::{MIB, within};
use crate::spoil;

const SCHEMAS: &[&str] = &[
    r##"{ "type": "object", "required": ["rows", "cells"], "additionalProperties": false,
          "properties": { "rows": { "type": "integer", "minimum": 1 },
                          "cells": { "type": "array", "items": { "$ref": "#/$defs/cell" } } },
          "$defs": { "cell": { "anyOf": [{ "type": "integer" }, { "const": "mine" }] } } }"##,
    r##"{ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
          "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" }, "name": { "pattern": "^[a-z]+$" } },
          "unevaluatedProperties": false, "if": { "required": ["left"] }, "then": { "required": ["right"] } }"##,
    r##"{ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "list": { "type": "array",
          "items": [{ "type": "string" }, { "$ref": "#/definitions/list" }], "additionalItems": { "not": {} } } },
          "oneOf": [{ "$ref": "#/definitions/list" }, { "dependencies": { "a": ["b"], "b": { "minProperties": 2 } } }] }"##,
];

const MESSAGES: &[&str] = &[
    r#"{ "rows": 2, "cells": [1, "mine", -3] }"#,
    r#"{ "left": { "name": "a" }, "right": { "left": {}, "right": { "name": "B" } } }"#,
    r#"["a", ["b", ["c", []]]]"#,
    r#"{ "a": 1, "b": 2 }"#,
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "true",
    "null",
    "1e999",
    "\"$ref\": \"#\"",
    "\"$ref\": \"#/$defs/cell\"",
    "\"$ref\": \"http://a/b\"",
    "\"$id\": \"http://a/b\"",
    "\"allOf\": [",
    "\"anyOf\": [",
    "\"not\": ",
    "\"items\": ",
    "\"properties\": {",
    "\"pattern\": \"(a{1,99}){1,99}\"",
    "\"unevaluatedItems\": ",
    "\\u0000",
];

/// Compiles a schema and checks messages. Returns what does not conform.
fn try_schema(schema: &str, messages: &[&str]) -> Result<Vec<Mismatch>, String> {
    within(300 * MIB, schema.as_bytes(), || {
        let schema = MessageSchema::new(MessageSchema::parse(schema.as_bytes())?)?;
        let mut wrong = Vec::new();
        for text in messages {
            let Ok(message) = serde_json::from_str::<Value>(text) else {
                continue;
            };
            if let Err(mismatch) = schema.check(&message, text.len()) {
                assert!(mismatch.to_string().len() < 4_000, "{mismatch}");
                wrong.push(mismatch);
            }
        }
        Ok(wrong)
    })
}

#[test]
fn good_schemas_are_accepted() {
    for (schema, conform) in SCHEMAS.iter().zip([1, 0, 3]) {
        let wrong = try_schema(schema, MESSAGES).unwrap();
        assert_eq!(MESSAGES.len() - wrong.len(), conform, "{schema}: {wrong:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn spoiled_schemas(text in spoil::spoiled_text(SCHEMAS, WORDS)) {
        let _ = try_schema(&text, MESSAGES);
    }

    #[test]
    fn spoiled_messages(text in spoil::spoiled_text(MESSAGES, WORDS)) {
        for schema in SCHEMAS {
            try_schema(schema, &[&text]).unwrap();
        }
    }
}
