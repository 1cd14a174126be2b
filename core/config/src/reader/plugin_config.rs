//! Checks a plugin's config against the JSON Schema in its manifest.

mod condition;
#[cfg(test)]
mod tests;

use flowpipe_terminal::counted;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError};
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::DeValue;

use self::condition::{Condition, alternative_keys, condition, listed, reason};
use super::error::Findings;
use super::json::{self, Place};
use super::problem::Problem;
use super::setting::PluginSetting;
use super::source::Span;
use super::suggest;
use super::values::wrong_type;
use crate::manifest::{Manifest, config_schema};

/// Where a plugin's config comes from.
pub(super) struct ConfigSource<'a, 't> {
    /// Its key in the file.
    pub key: &'a str,
    /// Its value in the file. `None`: the file has none.
    pub written: Option<&'a Spanned<DeValue<'t>>>,
    /// What is set besides it.
    pub settings: &'a [PluginSetting<'a>],
}

/// Checks a config, or an empty one if there is none, and returns it as JSON. `name` is the span of the plugin's name:
/// errors without a place in a config are reported there.
pub(super) fn check(
    manifest: &Manifest,
    source: &ConfigSource<'_, '_>,
    name: &Span,
    findings: &mut Findings,
) -> Value {
    let ConfigSource {
        key,
        written,
        settings,
    } = *source;
    let empty = Value::Object(Map::new());
    let mut config = match written {
        None => empty,
        Some(value) if value.get_ref().is_table() => json::from_toml(value, findings),
        Some(value) => {
            wrong_type(key, value, "a table", None, findings);
            return empty;
        }
    };
    // First all that is displaced: a setting displaces values of the file, and no other setting.
    for setting in settings {
        setting.displace(&mut config, manifest);
    }
    for setting in settings {
        setting.apply(&mut config);
    }
    let root = written.map_or(
        Place {
            value: None,
            span: name.clone(),
        },
        Place::of,
    );
    match config_schema(&manifest.config) {
        Ok(validator) => {
            let mut reporter = Reporter {
                manifest,
                root,
                settings,
                findings,
            };
            validator
                .iter_errors(&config)
                .for_each(|error| reporter.report(&error));
        }
        Err(error) => {
            let problem = Problem::BrokenSchema {
                plugin: manifest.name.clone(),
                reason: error.to_string(),
            };
            findings.report(name, problem);
        }
    }
    config
}

/// Reports errors of the schema with their spans.
struct Reporter<'a, 't, 'f> {
    manifest: &'a Manifest,
    root: Place<'a, 't>,
    settings: &'a [PluginSetting<'a>],
    findings: &'f mut Findings,
}

impl Reporter<'_, '_, '_> {
    fn report(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => self.unknown_keys(error, unexpected),
            Kind::Required { property } => self.missing(error, property),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                match alternative_keys(&self.manifest.config, error.schema_path()) {
                    Some(keys) => self.no_key_set(error, &keys),
                    None => self.no_branch_fits(error, context),
                }
            }
            Kind::OneOfMultipleValid { .. } => {
                match alternative_keys(&self.manifest.config, error.schema_path()) {
                    Some(keys) => self.several_keys_set(error, &keys),
                    None => self.other(error),
                }
            }
            Kind::Pattern { .. } if self.explanation(error).is_some() => self.wrong_form(error),
            Kind::Enum { options } => {
                let options = options.as_array().cloned().unwrap_or_default();
                self.not_among(error, &options);
            }
            Kind::FalseSchema => self.contradiction(error),
            Kind::MinItems { limit } | Kind::MinLength { limit } => self.too_short(error, *limit),
            Kind::Constant { expected_value } => {
                self.not_among(error, std::slice::from_ref(&**expected_value));
            }
            _ => self.other(error),
        }
    }

    fn other(&mut self, error: &ValidationError<'_>) {
        let message = match requirement(error.kind()) {
            Some(requirement) => {
                let found = describe(error.instance());
                format!("`{}` must be {requirement}, not {found}", self.path(error))
            }
            None => format!("`{}`: {error}", self.path(error)),
        };
        let hint = self.description(error);
        let example = self.example(error);
        let hint = hint.into_iter().chain(example);
        let hint = hint.reduce(|hint, example| format!("{hint} For example: {example}"));
        self.value(error, message, hint);
    }

    fn value(&mut self, error: &ValidationError<'_>, message: String, hint: Option<String>) {
        self.report_at(error, None, Problem::PluginConfig { message, hint });
    }

    /// A key is set that must not be set, or not beside another one.
    fn contradiction(&mut self, error: &ValidationError<'_>) {
        let path = self.path(error);
        let reason = reason(&self.manifest.config, error).map(str::to_owned);
        let (message, hint) = match condition(&self.manifest.config, error) {
            Some(Condition { text, .. }) => (
                format!("`{path}` and `{text}` can't both be set"),
                Some("leave one of them out".to_owned()),
            ),
            None => (format!("`{path}` can't be set"), None),
        };
        self.value(error, message, reason.or(hint));
    }

    /// A text that matches no pattern, which is long for people: the description says how to write it.
    fn wrong_form(&mut self, error: &ValidationError<'_>) {
        let message = format!(
            "`{}` can't be {}",
            self.path(error),
            describe(error.instance())
        );
        let hint = self.explanation(error);
        self.value(error, message, hint);
    }

    /// What explains a pattern that is too long for people. `None`: it is short, or nothing explains it.
    fn explanation(&self, error: &ValidationError<'_>) -> Option<String> {
        /// A longer pattern is no help.
        const READABLE: usize = 40;
        let around = self.schema_around(error.schema_path())?;
        let pattern = around.get("pattern")?.as_str()?;
        match pattern.chars().count() > READABLE {
            true => self.description(error),
            false => None,
        }
    }

    /// One of several keys is to be set, and none is.
    fn no_key_set(&mut self, error: &ValidationError<'_>, keys: &[&str]) {
        let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
        let count = match error.kind() {
            Kind::AnyOf { .. } => "one",
            _ => "exactly one",
        };
        let condition = self.condition_of_key(error);
        let whose = match &condition {
            Some(condition) => format!("`{}`", condition.text),
            None => self.whose(error),
        };
        let message = format!("{whose} needs {count} of {}: none is set", listed(&keys));
        let hint = reason(&self.manifest.config, error).map(str::to_owned);
        let problem = Problem::Missing { message, hint };
        self.report_at(error, condition.as_ref().map(|it| it.key.as_str()), problem);
    }

    /// One of several keys is to be set, and several are: reported at the last of them.
    fn several_keys_set(&mut self, error: &ValidationError<'_>, keys: &[&str]) {
        let instance = error.instance();
        let set = keys.iter().filter(|key| instance.get(**key).is_some());
        let mut set: Vec<&str> = set.copied().collect();
        let place = self.place(error);
        set.sort_by_key(|key| place.key(key).start);
        let path = segments(error.instance_path());
        let shown = set.iter().map(|key| {
            let mut path = path.clone();
            path.push((*key).to_owned());
            let origin = match cause(self.settings, &path) {
                Some(cause) => cause.setting.flag.clone(),
                None => {
                    let start = place.key(key).start;
                    format!("line {}", self.findings.file().position(start).line)
                }
            };
            format!("`{key}` ({origin})")
        });
        let shown = listed(&shown.collect::<Vec<_>>());
        let both = if set.len() == 2 { "both " } else { "" };
        let names: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
        let message = format!(
            "{} needs exactly one of {}: {both}{shown} are set",
            self.whose(error),
            listed(&names)
        );
        let hint = Some("leave all but one of them out".to_owned());
        let last = set.last().copied();
        self.report_at(error, last, Problem::PluginConfig { message, hint });
    }

    /// The condition by which the config itself lacks a key.
    fn condition_of_key(&self, error: &ValidationError<'_>) -> Option<Condition> {
        let condition = condition(&self.manifest.config, error);
        condition.filter(|_| error.instance_path().is_empty())
    }

    /// The table of an error, for a message.
    fn whose(&self, error: &ValidationError<'_>) -> String {
        match error.instance_path().is_empty() {
            true => format!("the config of `{}`", self.manifest.name),
            false => format!("`{}`", self.path(error)),
        }
    }

    fn too_short(&mut self, error: &ValidationError<'_>, limit: u64) {
        let path = self.path(error);
        let what = match error.instance().as_ref() {
            Value::Array(_) => counted(limit, "element"),
            _ => counted(limit, "character"),
        };
        let message = match error.instance().as_ref() {
            Value::Array(items) if items.is_empty() => {
                format!("`{path}` must have at least {what}, not an empty list")
            }
            Value::String(text) if text.is_empty() => {
                format!("`{path}` must have at least {what}, not an empty string")
            }
            _ => format!("`{path}` must have at least {what}"),
        };
        let hint = self.description(error);
        self.value(error, message, hint);
    }

    fn unknown_keys(&mut self, error: &ValidationError<'_>, keys: &[String]) {
        let known = self
            .schema_around(error.schema_path())
            .and_then(|node| node.get("properties"));
        let known: Vec<String> = known
            .and_then(Value::as_object)
            .map(|p| p.keys().cloned().collect())
            .unwrap_or_default();
        let whose = self.whose(error);
        for key in keys {
            let hint = suggest::help(key, "known keys", &known);
            let problem = Problem::UnknownKey {
                key: key.clone(),
                place: whose.clone(),
                hint,
            };
            self.report_at(error, Some(key), problem);
        }
    }

    fn missing(&mut self, error: &ValidationError<'_>, property: &Value) {
        let property = property.as_str().unwrap_or_default();
        let condition = self.condition_of_key(error);
        let message = match &condition {
            Some(condition) => format!("`{}` needs `{property}`", condition.text),
            None => format!("{} lacks `{property}`", self.whose(error)),
        };
        let described = match condition {
            Some(_) => Some(&*self.manifest.config),
            None => self.schema_around(error.schema_path()),
        };
        let doc = described.and_then(|node| {
            node.get("properties")?
                .get(property)?
                .get("description")?
                .as_str()
                .map(str::to_owned)
        });
        let hint = doc.map(|doc| format!("{property}: {doc}"));
        let key = condition.map(|it| it.key);
        self.report_at(error, key.as_deref(), Problem::Missing { message, hint });
    }

    /// Reports a problem with a value, or with one of its keys, where it was given.
    fn report_at(&mut self, error: &ValidationError<'_>, key: Option<&str>, problem: Problem) {
        let mut path = segments(error.instance_path());
        path.extend(key.map(str::to_owned));
        if let Some(cause) = cause(self.settings, &path) {
            return self.findings.report_setting(&cause.setting.flag, problem);
        }
        let place = self.place(error);
        let span = match key {
            Some(key) => place.key(key),
            None => place.span,
        };
        self.findings.report(&span, problem);
    }

    fn not_among(&mut self, error: &ValidationError<'_>, options: &[Value]) {
        let names: Vec<String> = options.iter().map(describe).collect();
        let condition = condition(&self.manifest.config, error);
        let beside = condition.map_or_else(String::new, |it| format!(" beside `{}`", it.text));
        let message = format!(
            "`{}` can't be {}{beside}",
            self.path(error),
            describe(error.instance())
        );
        let texts: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
        let close = error
            .instance()
            .as_str()
            .and_then(|word| suggest::closest(word, &texts));
        let hint = match close {
            Some(close) => format!("did you mean {close:?}?"),
            None => format!("it can be {}", names.join(", ")),
        };
        self.value(error, message, Some(hint));
    }

    /// The value may have several forms and has none: reports the errors of the form that was most likely meant.
    fn no_branch_fits(
        &mut self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
    ) {
        let branches: Vec<_> = leaves(branches)
            .map(|e| Branch::new(e, error.instance_path()))
            .collect();
        let mut meant = branches
            .iter()
            .filter(|b| b.other_type.is_none() && b.choice.is_none());
        if let (Some(only), None) = (meant.next(), meant.next()) {
            return only.errors.iter().for_each(|error| self.report(error));
        }
        // Tables with a fixed value as their tag.
        let tags = branches.iter().filter(|branch| branch.other_type.is_none());
        let tags: Vec<_> = tags.filter_map(|branch| branch.choice).collect();
        if let Some(first) = tags.first()
            && first.instance_path() != error.instance_path()
            && tags
                .iter()
                .all(|tag| tag.instance_path() == first.instance_path())
        {
            let options: Vec<_> = tags.iter().flat_map(|tag| options(tag)).collect();
            return self.not_among(first, &options);
        }
        let choices = branches.iter().filter_map(|branch| branch.choice);
        let choices: Vec<_> = choices.flat_map(|choice| options(choice)).collect();
        let types = branches.iter().filter(|branch| branch.choice.is_none());
        let mut types: Vec<_> = types
            .filter_map(|branch| branch.other_type.clone())
            .collect();
        types.dedup();
        if types.is_empty() && !choices.is_empty() {
            return self.not_among(error, &choices);
        }
        types.extend(choices.iter().map(describe));
        let (path, found) = (self.path(error), describe(error.instance()));
        let message = match types.is_empty() {
            true => format!("`{path}` fits none of the forms that it can take"),
            false => format!("`{path}` must be {}, not {found}", types.join(" or ")),
        };
        let hint = self.description(error);
        self.value(error, message, hint);
    }

    fn place(&self, error: &ValidationError<'_>) -> Place<'_, '_> {
        let segments = segments(error.instance_path());
        segments
            .iter()
            .fold(self.root.clone(), |place, segment| place.step(segment))
    }

    fn path(&self, error: &ValidationError<'_>) -> String {
        match segments(error.instance_path()) {
            segments if segments.is_empty() => "config".to_owned(),
            segments => segments.join("."),
        }
    }

    /// The schema that contains a keyword.
    fn schema_around(&self, keyword: &Location) -> Option<&Value> {
        let (around, _) = keyword.as_str().rsplit_once('/')?;
        self.manifest.config.pointer(around)
    }

    /// The schema's description of the value, after its name. That of a condition is the reason alone.
    fn description(&self, error: &ValidationError<'_>) -> Option<String> {
        if let Some(reason) = reason(&self.manifest.config, error) {
            return Some(reason.to_owned());
        }
        let around = self.schema_around(error.schema_path())?;
        let description = around.get("description")?.as_str()?;
        Some(format!("{}: {description}", self.path(error)))
    }

    /// The first example that the schema has of the value, as it is written in the file, or as an option where the value
    /// comes from one.
    fn example(&self, error: &ValidationError<'_>) -> Option<String> {
        let around = self.schema_around(error.schema_path())?;
        let example = as_toml(around.get("examples")?.as_array()?.first()?)?;
        let path = segments(error.instance_path());
        let option = cause(self.settings, &path)
            .filter(|cause| cause.keys == path && !example.contains('\''))
            .and_then(|cause| cause.setting.flag.split_once('='));
        Some(match option {
            // For a shell, which would take away quotes of TOML.
            Some((option, _)) => format!("{option}='{example}'"),
            None => format!("{} = {example}", self.path(error)),
        })
    }
}

/// The setting that a value comes from: the last one that sets it counts.
fn cause<'a>(settings: &'a [PluginSetting<'a>], path: &[String]) -> Option<&'a PluginSetting<'a>> {
    let mut settings = settings.iter().rev();
    settings.find(|setting| setting.causes(path))
}

/// An example of a value as TOML. `None`: it is a table, or contains one, which is written in several ways.
fn as_toml(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(as_toml).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(_) | Value::Null => None,
        // A string of JSON is one of TOML.
        value => Some(value.to_string()),
    }
}

/// One form of a value, and why the value does not match it.
struct Branch<'e> {
    errors: &'e [ValidationError<'static>],
    /// The form's type, if the value has another one.
    other_type: Option<String>,
    /// The error that lists the possible values of the form, or of a part of it.
    choice: Option<&'e ValidationError<'static>>,
}

impl<'e> Branch<'e> {
    fn new(errors: &'e [ValidationError<'static>], here: &Location) -> Self {
        let other_type = errors
            .iter()
            .filter(|error| error.instance_path() == here)
            .find(|error| matches!(error.kind(), Kind::Type { .. }));
        let is_choice = |error: &&ValidationError<'_>| {
            matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
        };
        Self {
            errors,
            other_type: other_type.and_then(|error| requirement(error.kind())),
            choice: errors.iter().find(is_choice),
        }
    }
}

/// The forms, nested ones flattened, without the form "null", which TOML does not have.
fn leaves<'e>(
    branches: &'e [Vec<ValidationError<'static>>],
) -> Box<dyn Iterator<Item = &'e [ValidationError<'static>]> + 'e> {
    Box::new(branches.iter().flat_map(|branch| match branch.as_slice() {
        [only] => match only.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => leaves(context),
            Kind::Type {
                kind: TypeKind::Single(JsonType::Null),
            } => Box::new(std::iter::empty()),
            _ => Box::new(std::iter::once(branch.as_slice())),
        },
        _ => Box::new(std::iter::once(branch.as_slice())),
    }))
}

fn options(choice: &ValidationError<'_>) -> Vec<Value> {
    match choice.kind() {
        Kind::Constant { expected_value } => vec![(**expected_value).clone()],
        Kind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn segments(path: &Location) -> Vec<String> {
    let segments = path.iter();
    segments
        .map(|segment| match segment {
            LocationSegment::Property(name) => name.into_owned(),
            LocationSegment::Index(index) => index.to_string(),
        })
        .collect()
}

/// The schema's requirement, as a phrase after "must be".
fn requirement(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => type_name(*one).to_owned(),
        Kind::Type {
            kind: TypeKind::Multiple(several),
        } => {
            let names: Vec<_> = several
                .iter()
                // TOML has no null: the key is left out instead.
                .filter(|&one| one != JsonType::Null)
                .map(type_name)
                .collect();
            names.join(" or ")
        }
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::Pattern { pattern } => format!("a string that matches {pattern}"),
        Kind::Format { format } => format!("a string of the format {format}"),
        _ => return None,
    })
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "left out",
        JsonType::Number => "a number",
        JsonType::Object => "a table",
        JsonType::String => "a string",
    }
}

/// A value for a message: short ones unchanged.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::String(text) if text.chars().count() > 60 => "a long string".to_owned(),
        other => other.to_string(),
    }
}
