//! Rules that concern several keys.

use serde_json::json;

use crate::manifest::Manifest;
use crate::reader::setting::{Setting, Target};
use crate::reader::testing::plugins;
use crate::reader::{ConfigError, ErrorRecord, read_with};

/// A source with rules of each kind.
fn stream() -> Manifest {
    let text = json!({ "type": "string" });
    let value = json!({
        "name": "stream", "role": "stage", "inputs": [],
        "outputs": [{ "name": "out", "schema": "frame/1" }], "effects": [],
        "config": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": text, "unix": text, "tcp": text, "listen": { "type": "boolean" },
                "count": { "type": "integer" },
                "step": { "type": "integer", "description": "How far." },
                "by": { "type": "string" },
                "key": { "type": "string", "description": "What is compared." },
                "name": { "type": "string", "pattern": "^[a-z]{1,20}-[a-z]{1,20}-[a-z]{1,20}\\.(png|jpg)$",
                          "description": "Three words and an ending." },
            },
            "oneOf": [{ "required": ["path"] }, { "required": ["unix"] }, { "required": ["tcp"] }],
            "dependentSchemas": {
                "count": { "required": ["step"] },
                "unix": { "properties": { "count": false } },
            },
            "allOf": [
                { "if": { "properties": { "by": { "const": "key" } }, "required": ["by"] },
                  "then": { "required": ["key"] } },
                { "if": { "properties": { "by": { "const": "frame" } }, "required": ["by"] },
                  "then": { "properties": { "key": false } } },
                { "if": { "properties": { "listen": { "const": true } }, "required": ["listen"] },
                  "then": { "anyOf": [{ "required": ["unix"] }, { "required": ["tcp"] }],
                            "description": "only sockets listen" } },
                { "if": { "not": { "required": ["listen"] } },
                  "then": { "properties": { "tcp": { "pattern": "^localhost:" } },
                            "description": "write an address of this machine" } },
            ],
        },
    });
    serde_json::from_value(value).unwrap()
}

fn errors(config: &str, settings: &[Setting]) -> Vec<ErrorRecord> {
    let text = format!("[stages.a]\nplugin = \"stream\"\n[stages.a.config]\n{config}");
    let read = read_with("x.toml", &text, &plugins().with(stream()), settings);
    let errors = read.err().unwrap_or_default();
    errors.iter().map(ConfigError::record).collect()
}

/// The line, the column and the message of the only error, and its help.
fn only(config: &str) -> (usize, usize, String, String) {
    let [error] = <[ErrorRecord; 1]>::try_from(errors(config, &[])).unwrap();
    let help = error.help.unwrap_or_default();
    (error.line, error.column, error.message, help)
}

#[test]
fn one_of_several_keys_is_named_where_it_is_set() {
    assert_eq!(errors("path = \"a\"", &[]), []);
    let keys = "the config of `stream` needs exactly one of `path`, `unix` and `tcp`";
    let (line, column, message, _) = only("count = 1\nstep = 1");
    assert_eq!(
        (line, column, message.as_str()),
        (3, 1, &*format!("{keys}: none is set"))
    );
    let (line, column, message, help) = only("tcp = \"localhost:1\"\n path = \"a\"");
    let both = format!("{keys}: both `tcp` (line 4) and `path` (line 5) are set");
    assert_eq!((line, column, message.as_str()), (5, 2, &*both));
    assert_eq!(help, "leave all but one of them out");
    let (line, _, message, _) = only("unix = \"a\"\npath = \"a\"\ntcp = \"localhost:1\"");
    let all = format!("{keys}: `unix` (line 4), `path` (line 5) and `tcp` (line 6) are set");
    assert_eq!((line, message.as_str()), (6, &*all));
    // One of them may be set elsewhere.
    let setting = Setting {
        flag: "--set a.unix=b".to_owned(),
        target: Target::Stage("a".to_owned()),
        keys: vec!["unix".to_owned()],
        value: json!("b"),
    };
    let [error] = <[ErrorRecord; 1]>::try_from(errors("path = \"a\"", &[setting])).unwrap();
    let both = format!("{keys}: both `unix` (--set a.unix=b) and `path` (line 4) are set");
    assert_eq!(error.message, both);
}

#[test]
fn what_a_key_or_its_value_needs_is_reported_at_that_key() {
    assert_eq!(
        only("path = \"a\"\ncount = 1"),
        (5, 1, "`count` needs `step`".into(), "step: How far.".into())
    );
    assert_eq!(
        only("path = \"a\"\nby = \"key\""),
        (
            5,
            1,
            "`by = \"key\"` needs `key`".into(),
            "key: What is compared.".into()
        )
    );
    assert_eq!(
        only("path = \"a\"\nlisten = true"),
        (
            5,
            1,
            "`listen = true` needs one of `unix` and `tcp`: none is set".into(),
            "only sockets listen".into()
        )
    );
}

#[test]
fn what_can_not_be_set_with_a_key_or_its_value_names_both() {
    let help = "leave one of them out".to_owned();
    assert_eq!(
        only("by = \"frame\"\nkey = \"b\"\npath = \"a\""),
        (
            5,
            7,
            "`key` and `by = \"frame\"` can't both be set".into(),
            help.clone()
        )
    );
    assert_eq!(
        only("unix = \"a\"\ncount = 1\nstep = 1"),
        (5, 9, "`count` and `unix` can't both be set".into(), help)
    );
}

#[test]
fn a_long_pattern_is_explained_by_its_description() {
    assert_eq!(
        only("path = \"a\"\nname = \"a.png\""),
        (
            5,
            8,
            "`name` can't be \"a.png\"".into(),
            "name: Three words and an ending.".into()
        )
    );
    assert_eq!(
        only("tcp = \"example.org:1\""),
        (
            4,
            7,
            "`tcp` must be a string that matches ^localhost:, not \"example.org:1\"".into(),
            "write an address of this machine".into()
        )
    );
}
