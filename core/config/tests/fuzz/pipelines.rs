//! Pipeline files, damaged or generated: no panic, no hang, bounded memory; and every error can be shown.

use std::collections::BTreeMap;

use flowpipe_config::manifest::Manifest;
use flowpipe_config::reader::{self, Plugins};
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;
use serde_json::json;

use crate::bounds::{MIB, within};
use crate::spoil;

const GOOD: &[&str] = &[
    include_str!("../../../../pipelines/live.toml"),
    include_str!("../../../../pipelines/replay.toml"),
    include_str!("../../../../pipelines/timetrial.toml"),
    DECLARED,
];

/// Configs that declare ports.
const DECLARED: &str = r##"
[stages.source]
plugin = "exec"
config = { inputs = {}, outputs = { a = { schema = "x.a/1", json_schema = { items = { "$ref" = "#" } } } } }

[stages.sink]
plugin = "exec"
from = "source.a"

[stages.sink.config]
outputs = {}
deterministic = true
effects = ["uses-network"]

[stages.sink.config.inputs.in]
schema = "x.a/1"
json_schema = { items = { "$ref" = "#" } }
"##;

const WORDS: &[&str] = &[
    "[",
    "]",
    "[[",
    "{",
    "}",
    "{ a = ",
    "[stages.",
    "=",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    ".",
    "a.",
    ",",
    "\n",
    "#",
    "\\u",
    "\\U0010FFFF",
    "from",
    "stages",
    "queue",
    "config",
    "plugin",
    "race",
    "timeout",
    "\"10s\"",
    "99999999999999999999h",
    "inf",
    "nan",
    "0x",
    "1979-05-27",
    "capacity = ",
];

/// A plugin for every name that the files have, with the ports that they use.
struct Any(BTreeMap<String, Manifest>);

impl Any {
    fn new() -> Self {
        let names = GOOD
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| {
                let (_, name) = line.split_once("plugin = \"")?;
                Some(name.split('"').next()?.to_owned())
            });
        let schema = json!({
            "type": "object",
            "properties": {
                "window": { "type": "string" },
                "paths": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
                "fps": { "type": "number", "minimum": 0.1 },
                "limit": { "type": "integer", "minimum": 0, "maximum": 9 },
                "next": { "$ref": "#" },
                "word": { "enum": ["a", "b"] },
            },
        });
        let manifests = names.map(|name| {
            let port = |name: &str| json!({ "name": name, "schema": "*" });
            let ports = |names: &[&str]| names.iter().map(|name| port(name)).collect::<serde_json::Value>();
            let optional = |name: &str| json!({ "name": name, "schema": "*", "optional": true });
            let (inputs, outputs) = match name.split('-').next() {
                Some("capture") => (ports(&[]), ports(&["out"])),
                Some("vision") => (json!([port("in"), optional("rules")]), ports(&["out"])),
                Some("referee") => (
                    ports(&["sighting", "solved", "outcome"]),
                    ports(&["ask", "play", "plan", "rules", "strokes", "report", "result"]),
                ),
                _ => (ports(&["in"]), ports(&["out"])),
            };
            let manifest = json!({
                "name": name, "role": "stage", "inputs": inputs, "outputs": outputs, "config": schema,
                "declared_by_config": name == "exec",
            });
            (name, serde_json::from_value(manifest).unwrap())
        });
        Self(manifests.collect())
    }
}

impl Plugins for Any {
    fn manifest(&self, name: &str) -> Option<&Manifest> {
        self.0.get(name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn refused(&self, name: &str) -> Option<String> {
        (name == "live").then(|| "it is too old".to_owned())
    }
}

/// Reads a file and shows its errors, as the program does. Returns how many there are.
fn try_file(text: &str) -> usize {
    thread_local! {
        static PLUGINS: Any = Any::new();
    }
    within(300 * MIB, text.as_bytes(), || {
        let read = PLUGINS.with(|plugins| reader::read("dir/x.toml", text, plugins));
        let Err(errors) = read else { return 0 };
        assert!(!errors.is_empty());
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        // A sample is enough when there are very many.
        for error in errors.iter().step_by(1 + errors.len() / 300) {
            if text.len() <= reader::problem::MAX_BYTES {
                assert!(text.get(error.span()).is_some(), "{:?}", error.span());
            }
            let record = error.record();
            assert!(record.line >= 1 && record.column >= 1);
            serde_json::to_string(&record).unwrap();
            let mut shown = String::new();
            handler.render_report(&mut shown, error).unwrap();
            assert!(!shown.contains('\u{1b}'), "{shown:?}");
        }
        errors.len()
    })
}

#[test]
fn good_files_are_accepted() {
    for text in GOOD {
        assert_eq!(try_file(text), 0, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn spoiled_files(text in spoil::spoiled_text(GOOD, WORDS)) {
        try_file(&text);
    }

    #[test]
    fn any_text(text in "\\PC{0,200}|[\\[\\]{}=\"'.,\\n\\r\\t a-c0-9#_\\-]{0,200}") {
        try_file(&text);
    }
}

#[test]
fn nesting_without_end() {
    for count in [50, 100, 1_000, 300_000] {
        for (open, close) in [
            ("[", "]"),
            ("{a=", "}"),
            ("{a=[", "]}"),
            ("[", ""),
            ("{a=", ""),
        ] {
            let text = format!("a = {}1{}", open.repeat(count), close.repeat(count));
            assert!(try_file(&text) > 0);
        }
        let dots = "a.".repeat(count);
        let stage = "[stages.s]\nplugin = \"capture-screen\"\n";
        for text in [
            format!("{dots}a = 1"),
            format!("[{dots}a]\nb = 1"),
            format!("[[{dots}a]]\nb = 1"),
            format!("{stage}config.{dots}a = 1"),
            format!("{stage}config = {{ {dots}a = 1 }}"),
            format!(
                "{stage}config = {}1{}",
                "{ next = ".repeat(count),
                "}".repeat(count)
            ),
            format!("{stage}config.{}a = 1", "next.".repeat(count)),
        ] {
            try_file(&text);
        }
        // Each table a little deeper than the one before it.
        let mut text = stage.to_owned();
        let mut path = "stages.s.config".to_owned();
        for _ in 0..count.min(1_000) {
            path += ".next";
            text += &format!("[{path}]\n");
        }
        try_file(&text);
    }
}

#[test]
fn a_megabyte_of_each_kind_of_error() {
    let fill = |line: &str| line.repeat(reader::problem::MAX_BYTES / line.len());
    let numbered = |line: &dyn Fn(usize) -> String| -> String { (0..20_000).map(line).collect() };
    let stage = "[stages.s]\nplugin = \"capture-screen\"\n";
    let texts = [
        fill("a"),
        fill("a\n"),
        fill("a = 1\n"),
        fill("= \"\n"),
        fill("[[[\n"),
        fill("'''\n"),
        fill("é"),
        fill("\u{feff}"),
        fill("\u{1b}[31m"),
        fill("[stages.s]\n"),
        format!("a = \"{}", fill("b")),
        format!("{} = 1", "k".repeat(1_000_000)),
        format!("{stage}{} = 1", "k".repeat(1_000_000)),
        numbered(&|at| format!("unknown{at} = 1\n")),
        format!("{stage}{}", numbered(&|at| format!("key{at} = 1\n"))),
        format!("{stage}from = [{}]", numbered(&|at| format!("'s{at}',"))),
        format!(
            "{stage}[stages.s.config]\n{}",
            numbered(&|at| format!("key{at} = nan\n"))
        ),
        format!(
            "{stage}[stages.s.config]\npaths = [{}]",
            numbered(&|at| format!("{at},"))
        ),
        format!("{stage}config = {{ window = 1{} }}", "0".repeat(900_000)),
    ];
    for text in texts {
        let text: String = text.chars().take(reader::problem::MAX_BYTES / 2).collect();
        assert!(
            try_file(&text) > 0 || text.starts_with("[stages.s]"),
            "{}",
            &text[..20]
        );
    }
}

#[test]
fn an_error_beyond_column_65535_is_shown_without_its_line() {
    // miette panicked: it has no room for such a column.
    let text = format!("[stages.s]\nplugin = \"{}\" !\n", "é".repeat(70_000));
    assert_eq!(try_file(&text), 1);
    let text = format!("[stages.s]\n\nplugin = \"{}\"\n!\n", "x".repeat(300_000));
    assert!(try_file(&text) > 0);
}
