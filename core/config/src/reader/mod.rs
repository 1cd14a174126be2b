//! Reads pipeline files.
//!
//! # Layout
//! It works in two steps. Each continues after an error, so that all errors are reported at once:
//! - the file as written: [`source`] (text and positions), `syntax` (TOML), `written` (each table with its keys, as a
//!   `table`) and `values`;
//! - its meaning: `resolve` (plugins), `wiring` (edges), `flow` (what is passed on along them), `machines`, [`cycle`], `desktops`, `plugin_config` (each config
//!   against the schema in the plugin's manifest, through `json`), `expressions` (those of configs), [`declared`] (ports
//!   that a config declares), `shared_files`, `same_file_names` and `standard_streams` (what two stages can't use at once),
//!   with values from outside of the file ([`setting`], `given_key`), the files that it names (`named_files`), and the tests
//!   of the file ([`tested`], read into [`pipeline_test`]).
//!
//! [`read_outline`] reads what is known of a file without its plugins.
//!
//! [`batch_machines`] reads another kind of file: machines that do batches.
//!
//! A program may compose the text of values that were given elsewhere ([`origin`]).
//!
//! [`problem`] has the message of every error, [`error`] its position and its forms for people and machines, `suggest`
//! the "did you mean", [`grammar`] the documentation of the keys, [`keywords`] and [`duration`] the values with a fixed syntax,
//! [`elements`] those of buffers.

pub mod batch_machines;
pub mod cycle;
pub mod declared;
mod desktops;
pub mod duration;
pub mod elements;
pub mod error;
mod expressions;
mod flow;
mod given_key;
pub mod grammar;
mod json;
pub mod keywords;
mod known_contestants;
mod machines;
mod named_files;
mod nul;
pub mod origin;
mod outline;
pub mod pipeline_test;
mod plugin_config;
pub mod problem;
mod resolve;
mod same_file_names;
pub mod setting;
mod shared_files;
pub mod source;
mod standard_streams;
pub mod suggest;
mod syntax;
pub(crate) mod table;
pub mod tested;
mod values;
mod wiring;
pub(crate) mod written;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use error::{ConfigError, ErrorRecord};
pub use named_files::{FileIdentity, NamedFiles, NoFiles};
pub use origin::{Origin, read_composed};
pub use outline::read_outline;
pub use problem::{MAX_BYTES, Problem};
pub use setting::{Setting, Target};
pub use source::{Position, SourceFile, Span};
pub use standard_streams::STANDARD_INPUT;

use pipeline_test::PipelineTest;
use written::TESTS;

use crate::manifest::Manifest;
use crate::pipeline::Pipeline;

/// The plugins that a pipeline file can name.
pub trait Plugins {
    /// The manifest of the plugin of that name.
    fn manifest(&self, name: &str) -> Option<&Manifest>;

    /// All names that [`Plugins::manifest`] knows.
    fn names(&self) -> Vec<&str>;

    /// Why the plugin of that name can't be used: its file was found and refused.
    fn refused(&self, name: &str) -> Option<String>;
}

/// Checks expressions of jq. The reader itself does not know them.
pub trait Expressions {
    /// Checks an expression.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    fn check(&self, text: &str) -> Result<(), String>;
}

/// What is read with a pipeline file.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The plugins that it can name.
    pub plugins: &'a dyn Plugins,
    /// Config values besides those of the file.
    pub settings: &'a [Setting],
    /// The files that it names.
    pub files: &'a dyn NamedFiles,
    /// What checks the expressions of tests and of configs. `None`: tests are ignored, also wrong ones, and expressions
    /// are not checked.
    pub tests: Option<&'a dyn Expressions>,
}

/// Reads the bytes of a pipeline file, with its tests: see [`read_with`].
///
/// # Errors
/// All errors of the file, at least one, in the order of the file.
pub fn read_tested(
    path_name: &str,
    bytes: &[u8],
    given: Surroundings<'_>,
) -> Result<(Pipeline, Vec<PipelineTest>), Vec<ConfigError>> {
    if bytes.len() > MAX_BYTES {
        return Err(alone("", path_name, 0..0, Problem::TooLarge));
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return read_given(path_name, text, given),
        Err(error) => error,
    };
    // An invalid byte is shown as U+FFFD, and the text before it unchanged.
    let at = error.valid_up_to();
    let byte = bytes.get(at).copied().unwrap_or_default();
    let span = at..at + char::REPLACEMENT_CHARACTER.len_utf8();
    let text = String::from_utf8_lossy(bytes);
    Err(alone(&text, path_name, span, Problem::NotText { byte }))
}

/// Reads the bytes of a pipeline file: see [`read_with`]. `files` are those that it names.
///
/// # Errors
/// All errors of the file, at least one, in the order of the file.
pub fn read_bytes(
    path_name: &str,
    bytes: &[u8],
    plugins: &dyn Plugins,
    settings: &[Setting],
    files: &dyn NamedFiles,
) -> Result<Pipeline, Vec<ConfigError>> {
    let given = Surroundings {
        plugins,
        settings,
        files,
        tests: None,
    };
    let (pipeline, _) = read_tested(path_name, bytes, given)?;
    Ok(pipeline)
}

/// A single error that makes the file unusable.
fn alone(text: &str, path_name: &str, span: Span, problem: Problem) -> Vec<ConfigError> {
    let mut findings = error::Findings::new(SourceFile::new(path_name, text));
    findings.report(&span, problem);
    findings.into_errors()
}

/// Reads a pipeline file: its name for messages, and its text.
///
/// # Errors
/// All errors of the file, at least one, in the order of the file.
pub fn read(
    path_name: &str,
    text: &str,
    plugins: &dyn Plugins,
) -> Result<Pipeline, Vec<ConfigError>> {
    read_with(path_name, text, plugins, &[])
}

/// Reads a pipeline file with config values that are set besides the file's, or instead of them. Of two settings of one
/// key the later one counts. Files that a config names can't be read: see [`read_bytes`].
///
/// # Errors
/// All errors of the file and of the settings, at least one, in the order of the file.
pub fn read_with(
    path_name: &str,
    text: &str,
    plugins: &dyn Plugins,
    settings: &[Setting],
) -> Result<Pipeline, Vec<ConfigError>> {
    let given = Surroundings {
        plugins,
        settings,
        files: &NoFiles,
        tests: None,
    };
    let (pipeline, _) = read_given(path_name, text, given)?;
    Ok(pipeline)
}

fn read_given(
    path_name: &str,
    text: &str,
    given: Surroundings<'_>,
) -> Result<(Pipeline, Vec<PipelineTest>), Vec<ConfigError>> {
    if text.len() > MAX_BYTES {
        return Err(alone("", path_name, 0..0, Problem::TooLarge));
    }
    let findings = error::Findings::new(SourceFile::new(path_name, text));
    read_into(findings, text, given)
}

/// Reads a text whose errors are gathered in `findings`.
fn read_into(
    mut findings: error::Findings,
    text: &str,
    given: Surroundings<'_>,
) -> Result<(Pipeline, Vec<PipelineTest>), Vec<ConfigError>> {
    let mut root = syntax::parse(text, &mut findings);
    if given.tests.is_none() {
        root.remove(TESTS);
    }
    nul::report(&root, &mut findings);
    let written = written::read(&root, &mut findings);
    let resolved = resolve::resolve(&written, given, &mut findings);
    if findings.is_empty() {
        Ok(resolved)
    } else {
        Err(findings.into_errors())
    }
}
