//! The command line: every subcommand and flag. The parser, the help and the completions are derived from it.

mod bench;
mod compare;
mod machine;
mod messages;
mod new;
mod number;
mod play;
mod plugins;
mod replay;
mod report;
mod run;
mod see;
mod set;
mod test;
mod top;

use std::path::PathBuf;

pub use bench::Bench;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
pub use compare::Compare;
pub use machine::{Machine, MachineCommand, MachineWork};
pub use messages::Messages;
pub use new::{Language, New, NewRole};
pub use play::{Play, PlayInput};
#[cfg(test)]
pub use plugins::CHECK_NAMES;
pub use plugins::{PluginCheck, PluginInstall, PluginRemove, Plugins, PluginsCommand};
pub use replay::{Replay, Speed};
pub use report::Report;
pub use run::Run;
pub use see::See;
use serde::{Deserialize, Serialize};
pub use test::RunTests;
pub use top::Top;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a stage failed, or something else went wrong while running, such as a missing display, or an address
       that is in use;
       plugin check: something failed; test: a test failed;
       replay --verify: a message differs from the recorded one or can't be compared; top: there is no such run;
       compare: a board is read, solved or played differently, or a stage failed on it; without boards: a message, a
       counter or a failure differs;
       doctor: a problem
  2    wrong usage, or a file that can't be opened
  3    solve: a puzzle has no solution
  4    solve: a puzzle that was not solved in time, or that the solver does not support;
       run: a live run that ended by itself, without a board read, one solved, or all of `boards`;
       see: a picture without a readable board, or on which a plugin that reads no boards emits no message;
       compare: a recording in which neither pipeline reads a board, or on which neither emits a message
  65   solve, convert, play, bench: a puzzle that can't be read, or can't be written in that format;
       see: a file that is not a picture; replay, compare, report: a file that is not a recording
  78   a pipeline file or a plugin's config that can't be used
  130  stopped by Ctrl-C, SIGTERM or, where it does not reload, SIGHUP;
       or by hand while a pipeline holds the mouse";

/// Runs pipelines of plugins. Those that come with it see Flow Free puzzles, solve them and play them.
#[derive(Debug, Parser)]
#[command(name = "flowpipe", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The heading of the flags of every subcommand: the help lists a command's own options first.
const GLOBAL: &str = "Options of every command";

/// The flags of every subcommand.
#[derive(Debug, ClapArgs)]
pub struct Global {
    /// Look for plugins in this folder too, or use this plugin file, before all others (may be given several times).
    #[arg(long, global = true, value_name = "DIR|FILE", help_heading = GLOBAL)]
    pub plugin_dir: Vec<PathBuf>,
    /// Colours: when standard output is a terminal and NO_COLOR is not set, always, or never.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = Colour::Auto,
        value_name = "WHEN",
        help_heading = GLOBAL
    )]
    pub color: Colour,
    /// Log more: -v for information, -vv for everything (or set FLOWPIPE_LOG).
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub verbose: u8,
    /// The format of all that is printed on standard error.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = LogFormat::Text,
        value_name = "FORMAT",
        help_heading = GLOBAL
    )]
    pub log_format: LogFormat,
}

/// How what is printed on standard error is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for a person.
    Text,
    /// A JSON object on each line, with time, level, target and message.
    Json,
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
    /// Run a recorded run again.
    Replay(Replay),
    /// Run two pipelines on the same recording, side by side.
    Compare(Compare),
    /// Write an HTML page of a recorded run: boards, metrics, frames, timeline, times.
    Report(Report),
    /// Print the messages of a recording as JSON Lines.
    Messages(Messages),
    /// Watch a run: its stages, queues, metrics, the board, the strokes. Tab shows the next run, q quits.
    Top(Top),
    /// Find every error in pipeline files, and list the effects of their stages: which commands they run, which files
    /// they write, whether they drive the mouse. Nothing is started.
    Check(Check),
    /// Run the tests of pipeline files, `[[tests]]`: messages enter at a stage, and what others emit is compared with
    /// what is expected. Neither screen nor mouse is used.
    Test(RunTests),
    /// Draw a pipeline as Mermaid or DOT.
    Graph(Graph),
    /// List the plugins found and the files refused; show one; check a file; install and remove plugins.
    #[command(visible_alias = "plugin")]
    Plugins(Plugins),
    /// Create certificates for several machines, or work for another machine.
    Machine(Machine),
    /// Create a plugin: a folder that builds and runs as it is.
    New(New),
    /// Print the JSON Schema of pipeline files, for editors.
    Schema,
    /// Show what vision reads from pictures: the board, or why there is none, and the time of each step.
    See(See),
    /// Solve puzzles given as text.
    Solve(Solve),
    /// Write puzzles in another format.
    Convert(Convert),
    /// Make puzzles with exactly one solution.
    Generate(Generate),
    /// Measure solvers on the same boards.
    Bench(Bench),
    /// Play the practice game in a window or a terminal: u undo, r restart, n next, Esc or q close.
    Play(Play),
    /// Check what live play needs: display, window manager, mouse, permissions, plugins, OpenCV, disk space. Lists what
    /// to do about each problem.
    Doctor(Doctor),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write the man pages: for packages.
    #[command(hide = true)]
    Man(Man),
    /// Write the reference pages of the book: commands, plugins, messages.
    #[command(hide = true)]
    Reference(Reference),
    /// The process of an isolated stage: started by the program itself.
    #[command(hide = true)]
    IsolatedStage(IsolatedStage),
    /// The process that reads the plugins' manifests: started by the program itself.
    #[command(hide = true)]
    ScanPlugins,
}

impl Command {
    /// Whether this process is one of `plugin check`, in which a plugin is tried.
    pub fn tries_a_plugin_within(&self) -> bool {
        let Self::Plugins(plugins) = self else {
            return false;
        };
        let command = plugins.command.as_ref();
        matches!(command, Some(PluginsCommand::Check(check)) if check.within.is_some())
    }
}

#[derive(Debug, ClapArgs)]
pub struct IsolatedStage {
    /// The stage's name, shown in lists of processes.
    pub name: String,
}

#[derive(Debug, ClapArgs)]
pub struct Check {
    /// The pipelines (TOML), or the names of packaged ones.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON Lines: one object for each error, and one with the effects of each file without errors.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Man {
    /// The folder, which is created where it is missing.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Reference {
    /// The folder, which is created where it is missing.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Graph {
    /// The pipeline (TOML), or the name of a packaged one.
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
pub struct Solve {
    /// A file of puzzles, or `-` for standard input. Grids (`R.G`, or words with blanks between),
    /// Flow Free level lines, puzz.link URLs and JSON puzzles, also mixed; blank lines separate grids.
    pub file: String,
    /// The solver plugin.
    #[arg(long, default_value = "solver-search", value_name = "NAME")]
    pub solver: String,
    /// The solver's config as a TOML inline table, such as '{ encoding = "edges" }' for solver-varisat.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Prove whether each solution is the only one.
    #[arg(long, group = "want")]
    pub unique: bool,
    /// Count the solutions.
    #[arg(long, group = "want")]
    pub count: bool,
    /// List all solutions.
    #[arg(long, group = "want")]
    pub all: bool,
    /// Stop counting or listing after this many solutions. Without it, --all stops after 10000.
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "want",
        conflicts_with = "unique",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub limit: Option<u64>,
    /// Plan the mouse's strokes that draw each solution (with --all, the first) with this planner plugin. They
    /// are checked, drawn with --svg and listed with --json. A failure of the planner affects only its puzzle; the
    /// exit code is that of a failed stage, 1.
    #[arg(
        long,
        value_name = "PLANNER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "planner-minlink"
    )]
    pub plan: Option<String>,
    /// The planner's config as a TOML inline table, such as '{ strategy = "cells" }' for planner-grid.
    #[arg(long, value_name = "TOML", requires = "plan")]
    pub plan_config: Option<String>,
    /// The timeout of a puzzle, and of a plan, such as 500ms or 10s.
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Solve this many puzzles in parallel. Without it, as many as there are processors.
    #[arg(long, value_name = "NUMBER", value_parser = number::from_one::<u16>)]
    pub jobs: Option<u16>,
    /// Let the machines of this file solve them, on each of which `flowpipe machine work` runs.
    #[arg(long, value_name = "FILE", conflicts_with = "jobs")]
    pub machines: Option<PathBuf>,
    /// Print JSON Lines: one object for each puzzle.
    #[arg(long)]
    pub json: bool,
    /// Print each solved puzzle with its solution in this format.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub to: Option<SolvedFormat>,
    /// Draw each puzzle as SVG into this file; several into FILE-1.svg, FILE-2.svg … in their order.
    /// Into a folder (one that exists, or a name that ends in `/`) as 1.svg, 2.svg ….
    #[arg(long, value_name = "FILE|DIR")]
    pub svg: Option<PathBuf>,
    /// Plot the solver's fitness by generation (best, average, worst) as SVG into this file or folder; several puzzles
    /// as with --svg. solver-genetic reports it.
    #[arg(long, value_name = "FILE|DIR")]
    pub plot: Option<PathBuf>,
}

/// The formats that can hold solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SolvedFormat {
    /// Flow Free level lines.
    Level,
    /// Puzzles as JSON, with `solution`.
    Json,
}

#[derive(Debug, ClapArgs)]
pub struct Convert {
    /// A file of puzzles in any format that `solve` takes, or `-` for standard input.
    pub file: String,
    /// The format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: PuzzleFormat,
    /// Write into this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PuzzleFormat {
    /// Grid text: rectangles with holes and bridges.
    Grid,
    /// Flow Free level lines: everything but other rules and several pairs of one colour. They need the solution.
    Level,
    /// puzz.link URLs: rectangles.
    Puzzlink,
    /// JSON, one object a line: everything.
    Json,
}

#[derive(Debug, ClapArgs)]
pub struct Generate {
    /// The size of the boards, columns x rows or one number: 3 to 60 each.
    #[arg(long, default_value = "9x9", value_name = "SIZE")]
    pub size: flowpipe_generate::Size,
    /// What the boards contain besides plain squares. Several, separated by commas, are combined.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub kind: Vec<PuzzleKind>,
    /// Only puzzles of this difficulty: how often the dedicated search has to branch to solve a puzzle and prove that
    /// its solution is unique.
    #[arg(long, value_enum, value_name = "GRADE")]
    pub difficulty: Option<DifficultyArg>,
    /// How many puzzles.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub count: u64,
    /// The same seed gives the same puzzles.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// Generate this many in parallel; the puzzles are the same. Without it, as many as there are processors.
    #[arg(long, value_name = "NUMBER", value_parser = number::from_one::<u16>)]
    pub jobs: Option<u16>,
    /// Let the machines of this file generate them, on each of which `flowpipe machine work` runs. The puzzles are the
    /// same.
    #[arg(long, value_name = "FILE", conflicts_with = "jobs")]
    pub machines: Option<PathBuf>,
    /// The format to write. The title of each puzzle is its difficulty. Level lines and JSON hold the solution.
    #[arg(long, value_enum, default_value_t = PuzzleFormat::Level, value_name = "FORMAT")]
    pub format: PuzzleFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum PuzzleKind {
    /// Cells in which two flows cross.
    Bridges,
    /// Six-sided cells.
    Hexes,
    /// Edges that wrap around, some of them closed by walls.
    Warps,
    /// Walls between cells.
    Walls,
    /// Missing cells.
    Holes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum DifficultyArg {
    /// No branching.
    Easy,
    /// One to three branchings.
    Medium,
    /// Four branchings or more.
    Hard,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}
