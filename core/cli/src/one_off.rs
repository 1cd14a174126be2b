//! Pipelines that a command builds itself: their text, their errors, and how the command ends.

use std::ops::ControlFlow;

use flowpipe_config::reader::ConfigError;
use flowpipe_engine::run::StartError;

use crate::args::Global;
use crate::exit::{Ended, Failure};
use crate::pipeline_file;

/// Why such a pipeline could not run, or ended early.
#[derive(Debug)]
pub enum OneOffError {
    /// The plugin or its config can't be used.
    Config(Vec<ConfigError>),
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
        Self::Failure(error.into())
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
        Err(OneOffError::Failure(failure)) => Err(failure),
    }
}

/// Continues after a reply was printed, or breaks with the failure.
pub fn control_flow(printed: Result<(), Failure>) -> ControlFlow<Result<(), Failure>> {
    match printed {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => ControlFlow::Break(Err(failure)),
    }
}

/// The TOML of a stage that continues after a failed message.
pub fn stage(
    name: &str,
    plugin: &str,
    from: &str,
    config: Option<&str>,
    timeout: Option<&str>,
) -> String {
    let plugin = toml::Value::from(plugin);
    let mut text =
        format!("[stages.{name}]\nplugin = {plugin}\nfrom = \"{from}\"\non_error = \"skip\"\n");
    if let Some(timeout) = timeout {
        // A plugin that ignores the cancellation is abandoned, and recreated for the next message.
        let timeout = toml::Value::from(timeout);
        text += &format!("timeout = {timeout}\nwatchdog = \"1s\"\n");
    }
    if let Some(config) = config {
        text += &format!("config = {config}\n");
    }
    text
}
