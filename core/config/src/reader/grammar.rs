//! The keys of pipeline files: one place for the reader, the JSON Schema and the table in the README.

use serde_json::{Map, Value, json};

use super::duration;
use super::keywords::Keyword;
use super::problem::{LONGEST_STAGE_NAME, MAX_CAPACITY, MAX_RESTARTS, MAX_STAGES};
use crate::pipeline::{Isolation, OnError, OnStop, Queue, Restart, WhenFull};

/// A table of a pipeline file.
#[derive(Debug)]
pub struct Table {
    /// What its keys begin with in the documents.
    prefix: &'static str,
    keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    name: &'static str,
    /// What it does, in sentences.
    doc: &'static str,
    default: Default,
    /// The schema of its value, without a description.
    schema: fn() -> Value,
}

/// What holds if a key is not given.
#[derive(Debug)]
enum Default {
    /// It must be given.
    Required,
    /// A value, in the notation of pipeline files.
    Value(&'static str),
    /// Something else, in words.
    Words(&'static str),
}

/// The file itself.
pub const PIPELINE: Table = Table {
    prefix: "",
    keys: &[
        Key {
            name: "name",
            doc: "The pipeline's name.",
            default: Default::Words("the file's name without its extension"),
            schema: text,
        },
        Key {
            name: "on_stop",
            doc: "What happens to queued messages when the run is stopped.",
            default: Default::Value("\"drain\""),
            schema: words::<OnStop>,
        },
        Key {
            name: "record",
            doc: "Record each run, to replay, compare and inspect it.",
            default: Default::Words("no recording"),
            schema: || RECORD.schema(),
        },
        Key {
            name: "stages",
            doc: "The stages by name. Each runs on its own thread.",
            default: Default::Required,
            schema: || {
                json!({
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": MAX_STAGES,
                    "propertyNames": {
                        "pattern": "^[\\p{Alphabetic}\\p{N}_-]+$",
                        "maxLength": LONGEST_STAGE_NAME,
                    },
                    "additionalProperties": { "$ref": "#/definitions/stage" },
                })
            },
        },
    ],
};

/// `[record]`.
pub const RECORD: Table = Table {
    prefix: "record.",
    keys: &[
        Key {
            name: "file",
            doc: "The recording (MCAP). {name} is replaced by the pipeline's name, {time} by the time of the start.",
            default: Default::Required,
            schema: text,
        },
        Key {
            name: "lossless",
            doc: "Have the stages wait when the recorder can't keep up, so that nothing is dropped.",
            default: Default::Value("false"),
            schema: || json!({ "type": "boolean", "default": false }),
        },
    ],
};

/// `[stages.NAME]`.
pub const STAGE: Table = Table {
    prefix: "",
    keys: &[
        Key {
            name: "plugin",
            doc: "The plugin that does the work, or a list of plugins that race: the first valid answer wins.",
            default: Default::Required,
            schema: || {
                json!({ "anyOf": [
                    { "$ref": "#/definitions/plugin" },
                    {
                        "type": "array",
                        "items": { "$ref": "#/definitions/plugin" },
                        "minItems": 1,
                        "uniqueItems": true,
                    },
                ] })
            },
        },
        Key {
            name: "config",
            doc: "The plugin's config; for plugins that race, keyed by plugin.",
            default: Default::Value("{}"),
            schema: || json!({ "type": "object" }),
        },
        Key {
            name: "from",
            doc: "Where the input comes from: \"STAGE\", \"STAGE.PORT\", a table, or a list of those.",
            default: Default::Words("none: the stage is a source"),
            schema: || {
                json!({ "anyOf": [
                    { "$ref": "#/definitions/source" },
                    { "type": "array", "items": { "$ref": "#/definitions/source" }, "minItems": 1 },
                ] })
            },
        },
        Key {
            name: "queue",
            doc: "The rules of the queues of this stage's inputs.",
            default: Default::Words("as below"),
            schema: a_queue,
        },
        Key {
            name: "timeout",
            doc: "How long the work on one message may take (\"250ms\", \"2s\", \"1m30s\"); after it the work is cancelled.",
            default: Default::Words("any time"),
            schema: time,
        },
        Key {
            name: "on_error",
            doc: "What happens when the stage fails on a message.",
            default: Default::Value("\"stop\""),
            schema: words::<OnError>,
        },
        Key {
            name: "watchdog",
            doc: "How long the stage may take for one message before the watchdog reports it.",
            default: Default::Value("\"10s\""),
            schema: time,
        },
        Key {
            name: "restart",
            doc: "Restart the stage after a failure. The current message is lost.",
            default: Default::Words("no restart"),
            schema: || RESTART.schema(),
        },
        Key {
            name: "isolation",
            doc: "Where the stage runs.",
            default: Default::Value("\"thread\""),
            schema: words::<Isolation>,
        },
    ],
};

/// A table of `from`.
pub const SOURCE: Table = Table {
    prefix: "from.",
    keys: &[
        Key {
            name: "stage",
            doc: "The stage that sends.",
            default: Default::Required,
            schema: || json!({ "type": "string" }),
        },
        Key {
            name: "port",
            doc: "The output, if several match.",
            default: Default::Words("the one that matches"),
            schema: || json!({ "type": "string" }),
        },
        Key {
            name: "into",
            doc: "The input, if several match.",
            default: Default::Words("the one that matches"),
            schema: || json!({ "type": "string" }),
        },
        Key {
            name: "queue",
            doc: "The rules of this queue alone.",
            default: Default::Words("those of the stage"),
            schema: a_queue,
        },
    ],
};

/// `queue`.
pub const QUEUE: Table = Table {
    prefix: "queue.",
    keys: &[
        Key {
            name: "capacity",
            doc: "The most messages that it holds.",
            default: Default::Value("16"),
            schema: || {
                let default = Queue::default().capacity;
                json!({ "type": "integer", "minimum": 1, "maximum": MAX_CAPACITY, "default": default })
            },
        },
        Key {
            name: "when_full",
            doc: "What happens to a message when the queue is full.",
            default: Default::Value("\"block\""),
            schema: words::<WhenFull>,
        },
    ],
};

/// `restart`.
pub const RESTART: Table = Table {
    prefix: "restart.",
    keys: &[
        Key {
            name: "max",
            doc: "The most restarts in a row without a processed message in between; then on_error decides.",
            default: Default::Value("8"),
            schema: || {
                let default = Restart::default().max;
                json!({ "type": "integer", "minimum": 1, "maximum": MAX_RESTARTS, "default": default })
            },
        },
        Key {
            name: "backoff",
            doc: "The delay before the first restart; it doubles with each further restart in a row.",
            default: Default::Value("\"100ms\""),
            schema: || {
                let mut schema = time();
                schema["default"] = json!("100ms");
                schema
            },
        },
    ],
};

impl Table {
    /// The names of its keys.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// The JSON Schema of the table.
    pub(crate) fn schema(&self) -> Value {
        let keys = self.keys.iter();
        let properties: Map<String, Value> = keys
            .clone()
            .map(|key| (key.name.to_owned(), key.described()))
            .collect();
        let required = keys.filter(|key| matches!(key.default, Default::Required));
        let required: Vec<_> = required.map(|key| key.name).collect();
        let mut schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

impl Key {
    fn described(&self) -> Value {
        let mut schema = (self.schema)();
        let has_default = schema.get("default").is_some();
        let doc = match self.default {
            Default::Value(value) if !has_default && value != "{}" => {
                format!("{} Default: {value}.", self.doc)
            }
            Default::Words(words) => format!("{} Default: {words}.", self.doc),
            _ => self.doc.to_owned(),
        };
        schema["description"] = json!(doc);
        schema
    }
}

/// The keys as a table in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut table = "| Key | Meaning | Default |\n|---|---|---|\n".to_owned();
    for Table { prefix, keys } in [PIPELINE, RECORD, STAGE, SOURCE, QUEUE, RESTART] {
        for key in keys {
            let name = format!("{prefix}{}", key.name);
            let schema = (key.schema)();
            let mut doc = key.doc.to_owned();
            let values = schema["enum"].as_array().into_iter().flatten();
            let docs = schema["x-taplo"]["docs"]["enumValues"].as_array();
            for (value, meaning) in values.zip(docs.into_iter().flatten()) {
                let meaning = meaning.as_str().unwrap_or_default();
                doc.push_str(&format!(" `{value}`: {}", lower_case(meaning)));
            }
            let default = match key.default {
                Default::Required => "must be given".to_owned(),
                Default::Value(value) => format!("`{value}`"),
                Default::Words(words) => words.to_owned(),
            };
            table.push_str(&format!("| `{name}` | {doc} | {default} |\n"));
        }
    }
    table
}

/// With a small first letter.
fn lower_case(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn time() -> Value {
    json!({ "type": "string", "minLength": 1, "pattern": duration::PATTERN })
}

fn a_queue() -> Value {
    json!({ "allOf": [{ "$ref": "#/definitions/queue" }] })
}

fn words<T: Keyword>() -> Value {
    let names: Vec<_> = T::ALL.iter().map(|value| value.word()).collect();
    let docs: Vec<_> = T::ALL.iter().map(|value| value.doc()).collect();
    json!({
        "enum": names,
        "default": names.first(),
        "x-taplo": { "docs": { "enumValues": docs } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::read;
    use crate::reader::testing::plugins;

    /// Whether the reader knows a key in a file, whatever it says about its value.
    fn is_known(file: &str) -> bool {
        let Err(errors) = read("x.toml", file, &plugins()) else {
            return true;
        };
        let mut texts = errors.iter().map(ToString::to_string);
        !texts.any(|text| text.contains("unknown key"))
    }

    #[test]
    fn the_reader_knows_every_key() {
        let value = "{ a = 1.5 }";
        for (table, before, after) in [
            (PIPELINE, "", ""),
            (RECORD, "[record]\n", ""),
            (STAGE, "[stages.a]\n", ""),
            (SOURCE, "[stages.a]\nfrom = { ", " }"),
            (QUEUE, "[stages.a]\nqueue = { ", " }"),
            (RESTART, "[stages.a]\nrestart = { ", " }"),
        ] {
            for name in table.names() {
                // Tables are given as what they are not, since their own keys would be unknown.
                let value = match name {
                    "record" | "stages" | "queue" | "restart" | "from" => "1.5",
                    _ => value,
                };
                let file = format!("{before}{name} = {value}{after}");
                assert!(is_known(&file), "{file}");
            }
            assert!(!is_known(&format!("{before}nothing = 1{after}")));
        }
    }

    #[test]
    fn defaults_are_those_of_the_pipeline() {
        let value = |schema: Value| schema["default"].clone();
        for key in [PIPELINE, RECORD, STAGE, QUEUE, RESTART]
            .iter()
            .flat_map(|table| table.keys)
        {
            let default = value((key.schema)());
            if let (Default::Value(text), false) = (&key.default, default.is_null()) {
                assert_eq!(*text, default.to_string(), "{}", key.name);
            }
        }
    }

    #[test]
    fn the_readme_has_the_table() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
        let readme = std::fs::read_to_string(readme).unwrap();
        let table = markdown();
        assert!(
            readme.contains(&table),
            "README.md lacks this table of keys:\n\n{table}"
        );
    }
}
