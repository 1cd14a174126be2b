//! `flowpipe plugins`, `plugins show` and `plugin check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, Subcommand};
use flowpipe_config::reader::duration;

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

const CHECKS_AND_EXIT_CODES: &str = "\
Checks:
  manifest    what it says of itself is complete, and fits its role
  make        it can be made and destroyed
  config      its defaults fit its schema, and what does not fit breaks nothing
  answers     boards with one, several and no solutions: every answer is right
  repeatable  it answers the same again, where it says that it is deterministic
  rubbish     messages that no honest stage sends break nothing
  state       what it hands over, another one like it takes over and goes on from
  cancel      it gives up work that is not wanted any more, and soon
  threads     it works on any thread, several work side by side, and none is left behind
  leaks       made and destroyed many times, it leaves no memory, files and frames

Exit codes:
  0    no check failed; what was not tried is told
  1    a check failed, or the file can't be loaded
  2    wrong usage, or a file that can't be opened
  78   no stage can be tried without a config, or with this one";

/// `flowpipe plugin check`.
#[derive(Debug, ClapArgs)]
#[command(after_help = CHECKS_AND_EXIT_CODES)]
pub struct PluginCheck {
    /// The plugin: a dynamic library.
    pub file: PathBuf,
    /// Only this stage of the file.
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// The stage's config as a TOML inline table, where it can't do without one. Others than it fits are not tried.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_explained() {
        for name in plugin_check::names() {
            let line = format!("\n  {name:<10}  ");
            assert!(CHECKS_AND_EXIT_CODES.contains(&line), "{name}");
        }
    }
}
