//! Reads pipeline files.
//!
//! # Layout
//! In two steps, each of which goes on after an error, so that all are told at once:
//! - what was written: [`source`] (text and positions), `syntax` (TOML), `written` and
//!   `values` (the fields);
//! - what it means: `resolve` (plugins), `wiring` (edges), [`cycle`], `plugin_config` (each config
//!   against the schema in the plugin's manifest, through `json`).
//!
//! [`problem`] has the wording of every error, [`error`] its place and its forms for people and
//! machines, `suggest` the "did you mean", [`words`] and [`duration`] the small vocabulary.

pub mod cycle;
pub mod duration;
pub mod error;
mod json;
mod plugin_config;
pub mod problem;
mod resolve;
pub mod source;
pub mod suggest;
mod syntax;
mod values;
mod wiring;
pub mod words;
mod written;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use error::{ConfigError, ErrorRecord};
pub use problem::Problem;
pub use source::{Position, SourceFile, Span};

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

/// Reads a pipeline file: its name as it shall be shown, and its text.
///
/// # Errors
/// All errors of the file, at least one, in the order of the file.
pub fn read(
    path_name: &str,
    text: &str,
    plugins: &dyn Plugins,
) -> Result<Pipeline, Vec<ConfigError>> {
    if text.len() > problem::MAX_BYTES {
        let mut findings = error::Findings::new(SourceFile::new(path_name, ""));
        findings.report(&(0..0), Problem::TooLarge { bytes: text.len() });
        return Err(findings.into_errors());
    }
    let mut findings = error::Findings::new(SourceFile::new(path_name, text));
    let root = syntax::parse(text, &mut findings);
    let written = written::read(&root, &mut findings);
    let pipeline = resolve::resolve(&written, plugins, &mut findings);
    if findings.is_empty() {
        Ok(pipeline)
    } else {
        Err(findings.into_errors())
    }
}
