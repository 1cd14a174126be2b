use serde_json::json;

use super::*;

fn schema(value: Value) -> MessageSchema {
    MessageSchema::new(value).unwrap()
}

fn refused(value: Value) -> String {
    MessageSchema::new(value).unwrap_err()
}

#[track_caller]
fn mismatch(schema: &MessageSchema, message: &Value) -> String {
    let bytes = message.to_string().len();
    schema.check(message, bytes).unwrap_err().to_string()
}

fn field() -> MessageSchema {
    schema(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["rows", "cells"],
        "additionalProperties": false,
        "properties": {
            "rows": { "type": "integer", "minimum": 1 },
            "cells": { "type": "array", "items": { "$ref": "#/$defs/a%20cell" } },
        },
        "$defs": { "a cell": { "anyOf": [{ "type": "integer" }, { "enum": ["mine", "hidden"] }] } },
    }))
}

#[test]
fn a_message_is_refused_with_its_place_and_the_reason() {
    let field = field();
    field
        .check(&json!({ "rows": 2, "cells": [1, "mine"] }), 40)
        .unwrap();
    let at = |message| mismatch(&field, &message);
    assert_eq!(
        at(json!({ "rows": 0, "cells": [] })),
        "at /rows: 0 is less than the minimum of 1"
    );
    assert_eq!(
        at(json!({ "rows": 2 })),
        "the message: \"cells\" is a required property"
    );
    let cell = at(json!({ "rows": 2, "cells": [1, "bomb"] }));
    assert!(
        cell.starts_with("at /cells/1: \"bomb\" is not valid under any"),
        "{cell}"
    );
}

#[test]
fn a_long_value_leaves_room_for_the_reason() {
    let text = schema(json!({ "type": "integer" }));
    let reason = mismatch(&text, &json!("x".repeat(1_000_000)));
    assert!(reason.ends_with("is not of type \"integer\""), "{reason}");
    assert!(reason.chars().count() < 400);
}

#[test]
fn bytes_that_are_no_schema() {
    let parse = |bytes: &[u8]| MessageSchema::parse(bytes);
    assert_eq!(parse(b"\xef\xbb\xbf{\"a\": 1}").unwrap(), json!({ "a": 1 }));
    assert_eq!(
        parse(b"{\"a\": \"\xff\"}").unwrap_err(),
        "the byte 0xff at offset 7 is no part of UTF-8 text"
    );
    assert_eq!(
        parse(b"{\n  \"a\": ,\n}").unwrap_err(),
        "it is not JSON: expected value at line 2 column 8"
    );
    let deep = "[".repeat(200_000);
    assert!(
        parse(deep.as_bytes())
            .unwrap_err()
            .contains("recursion limit")
    );
    let large = vec![b' '; MAX_BYTES + 1];
    assert_eq!(parse(&large).unwrap_err(), "it is larger than 262144 bytes");
}

#[test]
fn values_that_are_no_schema() {
    let wrong = refused(json!({ "properties": { "rows": { "type": "int" } } }));
    assert!(wrong.starts_with("at /properties/rows/type: "), "{wrong}");
    assert!(refused(json!([])).contains("is an object, or true or false"));
    assert!(refused(json!({ "pattern": "(" })).starts_with("at /pattern: "));
    assert!(refused(json!({ "$schema": "https://example.com/mine" })).contains("example.com/mine"));
}

#[test]
fn references_lead_to_the_schema_itself() {
    for outside in [
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other.json",
        "other.json#/$defs/a",
        "#anchor",
        "",
        "#/%zz",
    ] {
        let reason = refused(json!({ "properties": { "a": { "$ref": outside } } }));
        assert!(reason.contains("leads out of it"), "{outside}: {reason}");
    }
    for missing in ["#/$defs/b", "#/$defs", "#/title", "#/$defs/a/"] {
        let value = json!({ "items": { "$ref": missing }, "title": "x", "$defs": { "a": true } });
        // An object of schemas counts as a schema without keywords.
        match missing {
            "#/$defs" => drop(MessageSchema::new(value)),
            _ => assert!(refused(value).contains("leads to no schema"), "{missing}"),
        }
    }
    for keyword in ["$dynamicRef", "$recursiveRef"] {
        assert!(refused(json!({ "not": { keyword: "#" } })).contains(keyword));
    }
    let inner = json!({ "items": { "$id": "https://example.com/b", "$ref": "#" } });
    assert!(refused(inner).contains("$id of its own"));
    // A property may have that name.
    schema(json!({ "properties": { "$id": { "type": "string" }, "$ref": true } }));
}

/// Each part of such a schema refers to itself for the same value: checking it would never end.
#[test]
fn a_reference_that_consumes_nothing_of_the_message() {
    for value in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "not": { "$ref": "#" } }] }),
        json!({ "items": { "$ref": "#/$defs/a" },
                "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "if": { "$ref": "#/$defs/a" } } } }),
        json!({ "dependentSchemas": { "x": { "$ref": "#" } } }),
    ] {
        let reason = refused(value.clone());
        assert!(reason.contains("leads back to itself"), "{value}: {reason}");
    }
}

#[test]
fn a_reference_that_consumes_a_part_of_the_message() {
    let tree = schema(json!({
        "type": "object",
        "required": ["value"],
        "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } },
    }));
    tree.check(&json!({ "value": 1, "left": { "value": 2 } }), 40)
        .unwrap();
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "value": 1, "right": deep });
    }
    let place = mismatch(&tree, &deep);
    assert!(place.starts_with("at /right/right/"), "{place}");
    assert!(
        place.ends_with("\"value\" is a required property"),
        "{place}"
    );
}

/// Definitions, each of which uses the next one twice by a keyword.
fn doubling(levels: usize, uses: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(format!("d{level}"), uses(next));
    }
    definitions.insert(format!("d{levels}"), json!({ "type": "integer" }));
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

#[test]
fn schemas_that_multiply_are_refused() {
    let twice = |next: Value| json!({ "allOf": [next.clone(), next] });
    let reason = refused(doubling(20, twice));
    assert!(
        reason.contains("more than 10000 schemas apply to one value"),
        "{reason}"
    );
    let once = |next: Value| json!({ "allOf": [next] });
    let reason = refused(doubling(500, once));
    assert!(reason.contains("more than 64 schemas in a row"), "{reason}");
    // One that multiplies with the depth of the message is refused by the message.
    let both = |next: Value| {
        json!({ "anyOf": [{ "properties": { "a": next.clone() } },
                                               { "properties": { "a": next } }] })
    };
    let growing = schema(doubling(60, both));
    let mut deep = json!("x");
    for _ in 0..60 {
        deep = json!({ "a": deep });
    }
    let reason = mismatch(&growing, &deep);
    assert!(reason.contains("takes more than"), "{reason}");
    growing.check(&json!({ "a": { "a": 1 } }), 20).unwrap();
}

#[test]
fn unevaluated_members_multiply_too() {
    let value = json!({
        "anyOf": [{ "properties": { "a": { "$ref": "#" } } }, { "required": ["b"] }],
        "properties": { "a": { "$ref": "#" } },
        "unevaluatedProperties": { "$ref": "#" },
    });
    let growing = schema(value);
    let mut deep = json!({ "b": 1 });
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    assert!(mismatch(&growing, &deep).contains("takes more than"));
}

#[test]
fn definitions_that_follow_each_other_have_a_limit() {
    let chain = |length: usize| {
        doubling(
            length,
            |next| json!({ "properties": { "a": { "items": next } } }),
        )
    };
    let reason = refused(chain(3_000));
    assert!(reason.contains("levels in all"), "{reason}");
    // The longest that is accepted is compiled, used and dropped on the stack of a stage's thread.
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let longest = thread.spawn(move || {
        let mut length = 600;
        let schema = loop {
            match MessageSchema::new(chain(length)) {
                Ok(schema) => break schema,
                Err(reason) => assert!(reason.contains("levels in all"), "{reason}"),
            }
            length -= 10;
        };
        let mut deep = json!("x");
        for _ in 0..50 {
            deep = json!({ "a": [deep] });
        }
        schema.check(&deep, 600).unwrap();
        length
    });
    assert!(longest.unwrap().join().unwrap() > 300);
}

/// The deepest check that is made has room on the stack of a stage's thread.
#[test]
fn the_deepest_message_is_checked_on_a_small_stack() {
    let nested = json!({
        "allOf": [{ "anyOf": [{ "allOf": [
            { "type": ["object", "integer"], "properties": { "a": { "$ref": "#" } } },
        ] }] }],
    });
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let checked = thread.spawn(move || {
        let schema = schema(nested);
        let mut results = Vec::new();
        for depth in [90, 120] {
            let mut deep = json!("x");
            for _ in 0..depth {
                deep = json!({ "a": deep });
            }
            results.push(mismatch(&schema, &deep));
        }
        results
    });
    let results = checked.unwrap().join().unwrap();
    assert!(!results[0].contains("levels deep"), "{results:?}");
    assert!(
        results[1].contains("more than 512 levels deep"),
        "{results:?}"
    );
}

#[test]
fn patterns_are_few_and_small() {
    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("^a{n}$"), json!(true))).collect();
    assert!(refused(json!({ "patternProperties": many })).contains("64 different patterns"));
    let large = refused(json!({ "pattern": "((a{1,100}){1,100}){1,100}" }));
    assert!(large.starts_with("at /pattern"), "{large}");
    // Patterns take linear time: one that does not would never end.
    let pattern = schema(json!({ "pattern": "^(a|a)*$" }));
    mismatch(&pattern, &json!("a".repeat(100_000) + "b"));
}

/// Each byte of the long text leads to many states of their automata.
#[test]
fn patterns_with_large_automata_are_for_short_texts() {
    let long = json!("ab".repeat(20_000));
    let short = json!("ab".repeat(25));
    let thrash = "[ab]*a[ab]{1500}(ac|bc|$)";
    let many: Vec<_> = (0..60)
        .map(|n| json!({ "pattern": format!("[ab]*a[ab]{{{}}}c", 1400 + n) }))
        .collect();
    for schema in [
        schema(json!({ "type": "string", "pattern": thrash })),
        schema(json!({ "type": "string", "anyOf": many })),
    ] {
        let reason = mismatch(&schema, &long);
        assert!(reason.contains("takes more than 2280064 steps"), "{reason}");
        assert!(!mismatch(&schema, &short).contains("steps"));
    }
    // Names of members are texts too.
    let name = long.as_str().unwrap();
    for schema in [
        schema(json!({ "propertyNames": { "pattern": thrash } })),
        schema(json!({ "patternProperties": { thrash: {} } })),
        schema(json!({ "patternProperties": { thrash: {} }, "additionalProperties": false })),
    ] {
        let reason = mismatch(&schema, &json!({ name: 1 }));
        assert!(reason.contains("steps"), "{reason}");
    }
    // A pattern of many states matches any text where each byte leads to one of them.
    let letters = schema(json!({ "pattern": "^\\p{L}+$" }));
    letters
        .check(&json!("ä".repeat(500_000)), 1_000_002)
        .unwrap();
}

#[test]
fn a_large_message_is_checked_and_a_wrong_one_refused() {
    let field = field();
    let cells: Vec<_> = (0..200_000).map(|n| json!(n)).collect();
    let mut message = json!({ "rows": 1, "cells": cells });
    let bytes = message.to_string().len();
    field.check(&message, bytes).unwrap();
    message["cells"][199_999] = json!("bomb");
    let reason = mismatch(&field, &message);
    assert_eq!(
        reason,
        "the message: it does not conform; it is too large to say where"
    );
    // Where no alternatives have to be explained, the place is known.
    let plain = schema(json!({ "properties": { "cells": { "items": { "type": "integer" } } } }));
    assert!(mismatch(&plain, &message).starts_with("at /cells/199999: "));
}

/// Each of these keywords reads the whole text.
#[test]
fn many_keywords_on_a_long_text_are_refused() {
    let long = json!("a".repeat(100_000));
    for keyword in [
        json!({ "minLength": 1 }),
        json!({ "pattern": "[ab]c" }),
        json!({ "const": "b" }),
    ] {
        let many = schema(json!({ "anyOf": vec![keyword.clone(); 9_000] }));
        assert!(mismatch(&many, &long).contains("steps"), "{keyword}");
        let few = schema(json!({ "anyOf": [keyword, {}] }));
        few.check(&long, 100_000).unwrap();
    }
}

#[test]
fn schemas_are_the_same_if_their_json_is() {
    let one = json!({ "a": 1, "b": [1, { "c/d": null }] });
    let text = r#" { "b":[1,{"c/d":null}],  "a": 1 } "#;
    assert_eq!(difference(&one, &serde_json::from_str(text).unwrap()), None);
    let from = |other| difference(&one, &other);
    assert_eq!(from(json!({ "a": 2, "b": [] })).as_deref(), Some("/a"));
    assert_eq!(
        from(json!({ "a": 1, "b": [1, { "c/d": 0 }] })).as_deref(),
        Some("/b/1/c~1d")
    );
    assert_eq!(from(json!({ "a": 1, "b": [1] })).as_deref(), Some("/b/1"));
    assert_eq!(
        from(json!({ "a": 1, "b": [1, { "c/d": null }], "e": 1 })).as_deref(),
        Some("/e")
    );
    assert_eq!(from(json!([])).as_deref(), Some(""));
}
