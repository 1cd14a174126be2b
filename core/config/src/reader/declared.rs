//! The ports that configs declare, and the JSON Schemas of their messages: read from their files, checked and compared.
//!
//! What is read becomes a part of the config (`json_schema`), so that a run, a reload and a recording have it.

use std::collections::HashMap;

use serde_json::Value;

use super::error::Findings;
use super::json::Place;
use super::named_files::NamedFiles;
use super::plugin_config::ConfigSource;
use super::problem::Problem;
use super::source::{SourceFile, Span};
use crate::manifest::{Direction, Manifest};
use crate::message_schema::{self, MessageSchema};

/// The most bytes of all JSON Schemas of a pipeline, each counted as often as it is used.
const MOST_BYTES: usize = 8 << 20;

/// The declarations of a pipeline's configs so far.
#[derive(Default)]
pub(super) struct Declared {
    /// By file.
    files: HashMap<String, Result<FileSchema, String>>,
    /// By schema id: the first JSON Schema.
    first: HashMap<String, FirstSchema>,
    bytes: usize,
}

#[derive(Clone)]
struct FileSchema {
    value: Value,
    bytes: usize,
}

/// The first JSON Schema of a schema id.
struct FirstSchema {
    value: Value,
    /// The file, or the config key.
    shown: String,
    /// Where the file gives it. `None`: a setting does.
    span: Option<Span>,
}

/// A port in a config.
struct DeclaredKey {
    direction: Direction,
    name: String,
    id: String,
    file: Option<String>,
    has_schema: bool,
}

impl DeclaredKey {
    /// Its path in the config.
    fn path(&self) -> Vec<String> {
        vec![self.direction.key().to_owned(), self.name.clone()]
    }

    fn text(&self) -> String {
        format!("{}.{}", self.direction.key(), self.name)
    }
}

impl Declared {
    /// Checks the ports that a config declares, and reads their JSON Schemas into it. `name` is the span of the plugin's
    /// name.
    pub(super) fn declare(
        &mut self,
        manifest: &Manifest,
        config: &mut Value,
        source: &ConfigSource<'_, '_>,
        name: &Span,
        files: &dyn NamedFiles,
        findings: &mut Findings,
    ) {
        let mut reporter = DeclarationReporter {
            source,
            name,
            findings,
        };
        for direction in Direction::ALL {
            if let Err(reason) = manifest.declaration(config).check_ports(direction) {
                let path = [direction.key().to_owned()];
                reporter.report(&path, plain(reason), None);
                continue;
            }
            let ports = manifest.declaration(config).ports(direction);
            let ports = ports.into_iter().flatten().map(|port| DeclaredKey {
                direction,
                name: port.name.to_owned(),
                id: port.schema.to_owned(),
                file: port.file.map(str::to_owned),
                has_schema: port.json_schema.is_some(),
            });
            let ports: Vec<_> = ports.collect();
            for port in ports {
                self.port(&port, config, files, &mut reporter);
            }
        }
    }

    /// Reads the JSON Schema of one port into its config.
    fn port(
        &mut self,
        port: &DeclaredKey,
        config: &mut Value,
        files: &dyn NamedFiles,
        reporter: &mut DeclarationReporter<'_, '_, '_>,
    ) {
        let mut path = port.path();
        let text = port.text();
        let key = match (&port.file, port.has_schema) {
            (None, false) => return,
            (Some(_), true) => {
                let message = format!("`{text}.file` and `{text}.json_schema` can't both be set");
                let hint = Some("leave one of them out".to_owned());
                path.push("file".to_owned());
                return reporter.report(&path, Problem::PluginConfig { message, hint }, None);
            }
            (Some(_), false) => "file",
            (None, true) => "json_schema",
        };
        path.push(key.to_owned());
        if port.id == "*" {
            let message =
                format!("`{text}` has a JSON Schema, but its messages may have any schema");
            let hint = Some("give their schema id: schema = \"maker.name/1\"".to_owned());
            return reporter.report(&path, Problem::PluginConfig { message, hint }, None);
        }
        let read = match &port.file {
            Some(file) => self.file(file, files),
            None => given(config, port),
        };
        let FileSchema { value, bytes } = match read {
            Ok(read) => read,
            Err(reason) => {
                let what = port.file.as_ref().map_or_else(
                    || format!("the JSON Schema `{text}.{key}`"),
                    |file| format!("the JSON Schema {file:?} of `{text}`"),
                );
                let problem = plain(format!("{what} can't be used: {reason}"));
                return reporter.report(&path, problem, None);
            }
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES {
            let message = format!(
                "the JSON Schemas of the pipeline have more than {MOST_BYTES} bytes, counted as often as they are used"
            );
            return reporter.report(&path, plain(message), None);
        }
        let shown = port
            .file
            .clone()
            .unwrap_or_else(|| format!("`{text}.{key}`"));
        if let Some(first) = self.first.get(&port.id) {
            if let Some(place) = message_schema::difference(&first.value, &value) {
                let place = match place.as_str() {
                    "" => "they differ as a whole".to_owned(),
                    place => format!("they differ at {place}"),
                };
                let message = format!(
                    "two JSON Schemas describe {}: {} and {shown}; {place}",
                    port.id, first.shown
                );
                let hint = "a schema id stands for one kind of message: name the same file, or give one of them another \
                            id or version";
                let hint = Some(hint.to_owned());
                let problem = Problem::PluginConfig { message, hint };
                return reporter.report(&path, problem, first.span.clone());
            }
        } else {
            let first = FirstSchema {
                value: value.clone(),
                shown,
                span: reporter.span(&path),
            };
            self.first.insert(port.id.clone(), first);
        }
        let declared = config.get_mut(port.direction.key());
        let declared = declared.and_then(|ports| ports.get_mut(&port.name));
        if let Some(Value::Object(declared)) = declared {
            declared.insert("json_schema".to_owned(), value);
        }
    }

    /// The JSON Schema in a file.
    fn file(&mut self, file: &str, files: &dyn NamedFiles) -> Result<FileSchema, String> {
        if let Some(known) = self.files.get(file) {
            return known.clone();
        }
        let read = files.read(file).and_then(|bytes| {
            let value = MessageSchema::parse(&bytes)?;
            checked(value, bytes.len())
        });
        self.files.insert(file.to_owned(), read.clone());
        read
    }
}

/// Checks the ports that a config declares outside of a pipeline file, and reads their JSON Schemas into it.
///
/// # Errors
/// The first error, as a sentence for users.
pub fn read_schemas(
    manifest: &Manifest,
    config: &mut Value,
    files: &dyn NamedFiles,
) -> Result<(), String> {
    if !manifest.declared_by_config {
        return Ok(());
    }
    let mut findings = Findings::new(SourceFile::new("", ""));
    let source = ConfigSource {
        key: "config",
        written: None,
        settings: &[],
    };
    Declared::default().declare(manifest, config, &source, &(0..0), files, &mut findings);
    let errors = findings.into_errors().into_iter();
    let mut first = errors.map(|error| match error.help() {
        Some(help) => format!("{}: {help}", error.message()),
        None => error.message(),
    });
    first.next().map_or(Ok(()), Err)
}

/// The JSON Schema that the config itself gives.
fn given(config: &Value, port: &DeclaredKey) -> Result<FileSchema, String> {
    let declared = config.get(port.direction.key());
    let declared = declared.and_then(|ports| ports.get(&port.name)?.get("json_schema"));
    let value = declared.cloned().unwrap_or_default();
    let bytes = value.to_string().len();
    checked(value, bytes)
}

fn checked(value: Value, bytes: usize) -> Result<FileSchema, String> {
    let schema = MessageSchema::new(value)?;
    Ok(FileSchema {
        value: schema.into_value(),
        bytes,
    })
}

fn plain(message: String) -> Problem {
    Problem::PluginConfig {
        message,
        hint: None,
    }
}

/// Reports problems with values of one config where they were given.
struct DeclarationReporter<'a, 't, 'f> {
    source: &'a ConfigSource<'a, 't>,
    name: &'a Span,
    findings: &'f mut Findings,
}

impl DeclarationReporter<'_, '_, '_> {
    fn report(&mut self, path: &[String], problem: Problem, first: Option<Span>) {
        if let Some(flag) = self.flag(path) {
            return self.findings.report_setting(&flag, problem);
        }
        let first = first.map(|span| (span, "first here".to_owned()));
        let place = self.place(path);
        self.findings.report_with(&place, problem, first);
    }

    /// Where the file gives a value. `None`: a setting does.
    fn span(&self, path: &[String]) -> Option<Span> {
        self.flag(path).is_none().then(|| self.place(path))
    }

    /// How a value was given that is none of the file. The last setting of it counts.
    fn flag(&self, path: &[String]) -> Option<String> {
        let mut settings = self.source.settings.iter().rev();
        let cause = settings.find(|setting| setting.causes(path))?;
        Some(cause.setting.flag.clone())
    }

    fn place(&self, path: &[String]) -> Span {
        let Some(written) = self.source.written else {
            return self.name.clone();
        };
        let root = Place::of(written);
        path.iter()
            .fold(root, |place, segment| place.step(segment))
            .span
    }
}

#[cfg(test)]
mod tests;
