//! `flowpipe plugins`, `plugins show`, `plugin check`, `plugin install` and `plugin remove`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, Subcommand};

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
    /// Test a plugin file in child processes: manifest, config, answers, malformed input, state, threads, leaks.
    Check(PluginCheck),
    /// Install a plugin for the user: check it, and copy it to the folder of installed plugins.
    Install(PluginInstall),
    /// Remove a plugin from the folder of installed plugins.
    Remove(PluginRemove),
}

/// The names of the checks of `plugin check`, in the order in which they run.
pub const CHECK_NAMES: [&str; 10] = [
    "manifest",
    "create",
    "config",
    "answers",
    "repeatable",
    "malformed",
    "state",
    "cancel",
    "threads",
    "leaks",
];

const CHECKS_AND_EXIT_CODES: &str = "\
Checks:
  manifest    the manifest is complete, and its ports fit its role
  create      it can be created and destroyed
  config      its defaults fit its schema, and a config that does not fit breaks nothing
  answers     boards with one, several and no solutions: every answer is right
  repeatable  the same messages get the same answers, if its manifest declares it deterministic
  malformed   malformed messages break nothing
  state       another stage of it loads the state that it saves, and continues from there
  cancel      it returns soon after it is cancelled
  threads     it works on any thread and in parallel, and leaves no thread behind
  leaks       created and destroyed many times, it leaks no memory, files and frames

Exit codes:
  0    no check failed; skipped checks are reported
  1    a check failed, or the file can't be loaded
  2    wrong usage, or a file that can't be opened
  78   no stage can be checked without a config, or with this one";

/// `flowpipe plugin check`.
#[derive(Clone, Debug, ClapArgs)]
#[command(after_help = CHECKS_AND_EXIT_CODES)]
pub struct PluginCheck {
    /// The plugin: a dynamic library, or the name of a plugin that `flowpipe plugins` lists.
    #[arg(value_name = "FILE|NAME")]
    pub file: PathBuf,
    /// Only this stage of the file.
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// The stage's config as a TOML inline table, for a stage that requires one. Stages that it does not fit are
    /// skipped.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Only this check (may be given several times).
    #[arg(long, value_name = "CHECK", value_parser = PossibleValuesParser::new(CHECK_NAMES))]
    pub only: Vec<String>,
    /// The timeout of one answer.
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub time: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Run one check in this process.
    #[arg(long, hide = true, value_name = "CHECK")]
    pub within: Option<String>,
}

/// `flowpipe plugin install`.
#[derive(Debug, ClapArgs)]
pub struct PluginInstall {
    /// The plugin: a dynamic library, or a folder of which all plugins are installed.
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Replace installed plugins of the same name, and hide those that come with the program.
    #[arg(long)]
    pub force: bool,
    /// Check only this stage. The whole file is installed.
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// The config for the checks as a TOML inline table, for a stage that requires one.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// The timeout of one answer in the checks.
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub time: String,
}

/// `flowpipe plugin remove`.
#[derive(Debug, ClapArgs)]
pub struct PluginRemove {
    /// The plugin's name, or the name of its file.
    pub name: String,
    /// Remove the file although it contains other plugins too.
    #[arg(long)]
    pub force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_explained() {
        for name in CHECK_NAMES {
            let line = format!("\n  {name:<10}  ");
            assert!(CHECKS_AND_EXIT_CODES.contains(&line), "{name}");
        }
    }
}
