//! What the user wrote: every subcommand and flag, in the one place that gives the parser, the help
//! and the completions.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a stage failed, or something else went wrong while running
  2    wrong usage, or a file that can't be opened
  3    solve: a puzzle has no solution, or none was found
  65   solve: a puzzle that can't be read
  78   a pipeline file or a plugin's config that can't be used
  130  stopped by Ctrl-C";

/// Sees Flow Free puzzles, solves them and plays them: pipelines of plugins.
#[derive(Debug, Parser)]
#[command(name = "flowpipe", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every subcommand takes.
#[derive(Debug, ClapArgs)]
pub struct Global {
    /// Look for plugins in this folder too, before all others (may be given several times).
    #[arg(long, global = true, value_name = "DIR")]
    pub plugin_dir: Vec<PathBuf>,
    /// Colours: when standard output is a terminal and NO_COLOR is not set, always, or never.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Show what happens inside: -v for information, -vv for all (or set FLOWPIPE_LOG).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a pipeline.
    Run(Run),
    /// Find every error in pipeline files; nothing is started.
    Check(Check),
    /// Draw a pipeline as Mermaid or DOT.
    Graph(Graph),
    /// List the plugins that were found, and the files that were refused.
    Plugins(Plugins),
    /// Print the JSON Schema of pipeline files, for editors.
    Schema,
    /// Solve puzzles given as text.
    Solve(Solve),
    /// Print a completion script for a shell.
    Completions(Completions),
}

#[derive(Debug, ClapArgs)]
pub struct Run {
    /// The pipeline (TOML).
    pub file: PathBuf,
    /// Print one JSON object at the end and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
    /// Don't print the boards.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Check {
    /// The pipelines (TOML).
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print one JSON object for each error, one a line.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Graph {
    /// The pipeline (TOML).
    pub file: PathBuf,
    /// The language of the drawing.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    Mermaid,
    Dot,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Plugins {
    #[command(subcommand)]
    pub show: Option<PluginsCommand>,
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
}

#[derive(Debug, ClapArgs)]
pub struct Solve {
    /// A file of puzzles, or `-` for standard input. Grids (`R.G`, or words with blanks between),
    /// Flow Free level lines and JSON puzzles, also mixed; blank lines separate grids.
    pub file: String,
    /// The solver plugin.
    #[arg(long, default_value = "solver-varisat", value_name = "NAME")]
    pub solver: String,
    /// The solver's config as a TOML inline table, such as '{ prove_unique = true }'.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Give up on a puzzle after this long, such as 500ms or 10s.
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Print one JSON object for each puzzle, one a line.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}
