//! Pipelines that a command builds itself: their text, their errors, and how the command ends.

use std::ops::ControlFlow;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::{self, ConfigError, Origin};
use flowpipe_engine::run::StartError;
use flowpipe_host::catalogue::Catalogue;

use crate::args::Global;
use crate::exit::{Ended, Failure};
use crate::pipeline_file;
use crate::pipeline_file::named_files::NamedFiles;

/// Why such a pipeline could not run, or ended early.
#[derive(Debug)]
pub enum OneOffError {
    /// The plugin or its config can't be used.
    Config(Vec<ConfigError>),
    /// It did not start: nothing was answered.
    Start(Failure),
    /// Anything else.
    Failure(Failure),
}

impl From<Failure> for OneOffError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<StartError> for OneOffError {
    fn from(error: StartError) -> Self {
        Self::Start(error.into())
    }
}

/// How a command ends after its pipeline. `end` prints what remains: also the replies before a failed run ended.
///
/// # Errors
/// The error of the pipeline, or of `end`.
pub fn ended(
    result: Result<(), OneOffError>,
    global: &Global,
    end: impl FnOnce() -> Result<Ended, Failure>,
) -> Result<Ended, Failure> {
    match result {
        Ok(()) => end(),
        Err(OneOffError::Config(errors)) => {
            pipeline_file::show(errors, global);
            Ok(Ended::BadConfig)
        }
        Err(OneOffError::Failure(Failure::Run(reason))) => {
            end()?;
            Err(Failure::Run(reason))
        }
        Err(OneOffError::Start(failure) | OneOffError::Failure(failure)) => Err(failure),
    }
}

/// Continues after a reply was printed, or breaks with the failure.
pub fn control_flow(printed: Result<(), Failure>) -> ControlFlow<Result<(), Failure>> {
    match printed {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => ControlFlow::Break(Err(failure)),
    }
}

/// A value of the command line.
#[derive(Clone, Debug)]
pub struct FlagValue<'a> {
    /// What is written into the pipeline.
    pub value: &'a str,
    /// How it was given, for messages: `--timeout 2s`.
    pub flag: String,
}

impl<'a> FlagValue<'a> {
    /// The value of a flag.
    pub fn new(flag: &str, value: &'a str) -> Self {
        Self {
            value,
            flag: format!("{flag} {}", shell_words::quote(value)),
        }
    }
}

/// Checks that the plugin of a flag does not have another role.
///
/// # Errors
/// When it has.
pub fn check_role(
    plugin: &FlagValue<'_>,
    role: &str,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let found = catalogue.find(plugin.value);
    let other = found
        .map(|found| found.manifest.role.as_str())
        .filter(|&other| other != role && ROLES.contains(&other));
    match other {
        None => Ok(()),
        Some(other) => Err(Failure::Config(format!(
            "{}: its role is {other}, and not {role}: `flowpipe plugins` lists the plugins by name",
            plugin.flag
        ))),
    }
}

/// The roles of which a plugin is used for nothing else.
const ROLES: [&str; 5] = ["capture", "vision", "solver", "planner", "actuator"];

/// The text of a pipeline that is composed of values of the command line. Errors name their flags.
#[derive(Debug, Default)]
pub struct PipelineText {
    text: String,
    origins: Vec<Origin>,
}

impl PipelineText {
    /// A text that begins with this source.
    pub fn new(source: &str) -> Self {
        Self {
            text: source.to_owned(),
            origins: Vec::new(),
        }
    }

    /// Adds a stage that continues after a failed message.
    pub fn add_stage(
        &mut self,
        name: &str,
        plugin: &FlagValue<'_>,
        from: &str,
        config: Option<&FlagValue<'_>>,
        timeout: Option<&FlagValue<'_>>,
    ) {
        let start = self.text.len();
        self.text += &format!("[stages.{name}]\nfrom = \"{from}\"\non_error = \"skip\"\n");
        let string = |flag: &FlagValue<'_>| toml::Value::from(flag.value).to_string();
        self.add_value("plugin", &string(plugin), plugin);
        if let Some(timeout) = timeout {
            // A plugin that ignores the cancellation is abandoned, and recreated for the next message.
            self.text += "watchdog = \"1s\"\n";
            self.add_value("timeout", &string(timeout), timeout);
        }
        // The last key of its stage: where its syntax is wrong, nothing else of the stage is lost.
        if let Some(config) = config {
            // What is no table is reported as one value, and not by its syntax.
            match config.value.trim_start().starts_with('{') {
                true => self.add_value("config", config.value, config),
                false => self.add_value("config", &string(config), config),
            }
        }
        // Anything else that is wrong with the stage, such as a plugin that takes other messages.
        self.origins.push(Origin {
            span: start..self.text.len(),
            flag: plugin.flag.clone(),
        });
    }

    fn add_value(&mut self, key: &str, toml: &str, flag: &FlagValue<'_>) {
        self.text += &format!("{key} = ");
        let start = self.text.len();
        self.text += toml;
        self.origins.push(Origin {
            span: start..self.text.len(),
            flag: flag.flag.clone(),
        });
        self.text += "\n";
    }

    /// The pipeline: names and configs get the same checks as those of a file. Relative files in them start at the
    /// working directory.
    ///
    /// # Errors
    /// All errors of the values.
    pub fn read(&self, catalogue: &Catalogue) -> Result<Pipeline, Vec<ConfigError>> {
        let files = NamedFiles::of(None);
        reader::read_composed("command line", &self.text, &self.origins, catalogue, &files)
    }
}
