//! `flowpipe plugins`, `plugins show` and `plugin check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, Subcommand};
use flowpipe_runtime::config::duration;

use crate::exit::Failure;
use crate::plugin_check;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Plugins {
    #[command(subcommand)]
    pub command: Option<PluginsCommand>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// Show a plugin's role, ports and config with defaults and docs.
    Show {
        /// The plugin's name.
        name: String,
        /// Print the manifest as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Try a plugin file in processes of its own: manifest, config, answers, rubbish, state, threads, leaks.
    Check(PluginCheck),
}

/// `flowpipe plugin check`.
#[derive(Debug, ClapArgs)]
pub struct PluginCheck {
    /// The plugin: a dynamic library.
    pub file: PathBuf,
    /// Only this stage of the file.
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// The stage's config as a TOML inline table, where it can't do without one.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Only this check (may be given several times).
    #[arg(long, value_name = "CHECK", value_parser = PossibleValuesParser::new(plugin_check::names()))]
    pub only: Vec<String>,
    /// How long one answer may take.
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub time: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Run one check in this process.
    #[arg(long, hide = true, value_name = "CHECK")]
    pub within: Option<String>,
}

impl PluginCheck {
    /// How long one answer may take.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn patience(&self) -> Result<Duration, Failure> {
        duration::parse(&self.time).map_err(|error| Failure::Usage(format!("--time: {error}")))
    }
}
