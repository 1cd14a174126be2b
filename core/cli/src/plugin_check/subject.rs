//! The stage that is checked, and how it is created.

use std::path::Path;
use std::time::Duration;

use flowpipe_config::manifest::{Manifest, Port, config_schema};
use flowpipe_config::reader::duration;
use flowpipe_engine::check::{self, Validators};
use flowpipe_engine::run::{Options, StartError};
use flowpipe_engine::trial::Trial;
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

use crate::args::{Global, PluginCheck};
use crate::exit::Failure;
use crate::plugins;

/// One stage of a file.
pub struct Subject {
    pub found: Found,
    /// Its manifest, with the ports that the config declares.
    manifest: Manifest,
    /// The config of the command line, or an empty one.
    pub config: Value,
    /// The timeout of one answer.
    pub timeout: Duration,
    /// What judges its messages.
    validators: Validators,
}

impl Subject {
    /// The stage of that name in a file, with its config as TOML.
    ///
    /// # Errors
    /// When the file holds no such stage, or the config does not fit its schema, or the checks of its messages can't be
    /// loaded.
    pub fn open(
        global: &Global,
        file: &Path,
        stage: &str,
        toml: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let catalogue = Catalogue::of_file(file, &Scanner::InProcess);
        let Some(found) = catalogue.find(stage) else {
            let file = file.display();
            return Err(Failure::Usage(format!("{file} has no stage `{stage}`")));
        };
        let config = match toml {
            Some(toml) => read(toml, &found.manifest.config)?,
            None => json!({}),
        };
        // The file's own come first: it may be a newer build of an installed one.
        let validators = check::load_for(&catalogue, &plugins::load(global))
            .map_err(|error| Failure::Config(error.to_string()))?;
        Ok(Self {
            found: found.clone(),
            manifest: found.manifest.with_config(&config).into_owned(),
            config,
            timeout,
            validators,
        })
    }

    /// Its manifest, with the ports that the config declares.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Creates and activates it, in a dry run. Its messages are checked as in any run.
    ///
    /// # Errors
    /// The error of the plugin.
    pub fn create(&self) -> Result<Trial, StartError> {
        self.create_with(self.config.clone())
    }

    /// The same with another config.
    ///
    /// # Errors
    /// The error of the plugin.
    pub fn create_with(&self, config: Value) -> Result<Trial, StartError> {
        let options = Options {
            validators: self.validators.clone(),
            dry: true,
            ..Options::default()
        };
        Trial::new(&self.found, config, options)
    }

    /// The schema of its first input. `None`: it is a source.
    pub fn takes(&self) -> Option<&str> {
        self.first_input().map(|port| port.schema.as_str())
    }

    /// Its first input. `None`: it is a source.
    pub fn first_input(&self) -> Option<&Port> {
        self.manifest().inputs.first()
    }
}

/// The timeout of one answer.
///
/// # Errors
/// When it is not a duration.
pub fn answer_timeout(args: &PluginCheck) -> Result<Duration, Failure> {
    duration::parse(&args.time).map_err(|error| Failure::Usage(format!("--time: {error}")))
}

/// Checks that the given config fits a stage, or that the stage requires none.
///
/// # Errors
/// What is wrong or missing, and how to set it.
pub fn check_config(args: &PluginCheck, manifest: &Manifest) -> Result<(), String> {
    if let Some(toml) = &args.config {
        let config = read(toml, &manifest.config);
        return config.map(drop).map_err(|error| error.to_string());
    }
    let missing = match config_schema(&manifest.config) {
        Ok(validator) => validator
            .validate(&json!({}))
            .err()
            .map(|it| it.to_string()),
        // The host has refused invalid schemas.
        Err(_) => None,
    };
    match missing {
        None => Ok(()),
        Some(missing) => Err(format!(
            "it requires a config ({missing}): set one with --stage {} --config '{{ … }}'",
            manifest.name
        )),
    }
}

/// A TOML inline table that fits the schema.
fn read(toml: &str, schema: &Value) -> Result<Value, Failure> {
    let table: Value = toml::from_str::<Value>(&format!("config = {toml}"))
        .map_err(|error| Failure::Config(format!("--config: {}", error.message())))?;
    let config = table.get("config").cloned().unwrap_or_default();
    let validator = config_schema(schema)
        .map_err(|error| Failure::Config(format!("the plugin's config schema: {error}")))?;
    match validator.validate(&config) {
        Ok(()) => Ok(config),
        Err(error) => Err(Failure::Config(format!("--config: {error}"))),
    }
}
