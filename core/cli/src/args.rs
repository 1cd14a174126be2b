//! What the user wrote: every subcommand and flag, in the one place that gives the parser, the help
//! and the completions.

mod bench;
mod compare;
mod replay;
mod report;
mod see;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use flowpipe_game::render::Theme;
use flowpipe_game::session::Size;
use flowpipe_runtime::config::duration;

pub use bench::Bench;
pub use compare::Compare;
pub use replay::{Replay, Speed};
pub use report::Report;
pub use see::See;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a stage failed, or something else went wrong while running;
       replay: a message differs from the recorded one;
       compare: a board is not read, solved or played alike, or something failed on it
  2    wrong usage, or a file that can't be opened
  3    solve: a puzzle has no solution
  4    solve: a puzzle that was not solved in time, or that the solver does not take;
       see: a picture without a board that can be read;
       compare: a recording without a board that either pipeline reads
  65   solve, convert, play: a puzzle that can't be read, or not be written in that format;
       see: a file that is no picture; replay, compare, report: a file that is no recording
  78   a pipeline file or a plugin's config that can't be used
  130  stopped by Ctrl-C, or by hand while a pipeline holds the mouse";

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
    /// Run a recorded run again.
    Replay(Replay),
    /// Run two pipelines on the same recording, side by side.
    Compare(Compare),
    /// Make a page to look at of a recorded run: boards, frames, time line, times.
    Report(Report),
    /// Find every error in pipeline files; nothing is started.
    Check(Check),
    /// Draw a pipeline as Mermaid or DOT.
    Graph(Graph),
    /// List the plugins that were found, and the files that were refused.
    Plugins(Plugins),
    /// Print the JSON Schema of pipeline files, for editors.
    Schema,
    /// Show what vision makes of pictures: the board, or why none is read, and what each step cost.
    See(See),
    /// Solve puzzles given as text.
    Solve(Solve),
    /// Write puzzles in another format.
    Convert(Convert),
    /// Make puzzles with exactly one solution.
    Generate(Generate),
    /// Measure solvers beside each other on the same boards.
    Bench(Bench),
    /// Play the practice game in a window or a terminal: u undo, r restart, n next, Esc or q close.
    Play(Play),
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
    /// Touch nothing: say what the mouse would do, and leave it alone.
    #[arg(long)]
    pub dry_run: bool,
    /// Write the run down (MCAP), to be run again, compared and looked at. {name} and {time} in it are
    /// filled in.
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,
    /// Keep the last of the run in memory, such as 10s, and write it down when a stage fails or hangs, or a
    /// board can't be solved or played.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub flight: Option<Duration>,
    /// Where --flight writes. {name} and {time} in it are filled in.
    #[arg(
        long,
        value_name = "FILE",
        requires = "flight",
        default_value = "flight-{name}-{time}.mcap"
    )]
    pub flight_to: String,
    /// Write a trace: which stage worked on which frame when. chrome://tracing and ui.perfetto.dev show it.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
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
    /// Stop counting or listing after so many solutions. Without it, --all stops after 10000.
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "want",
        conflicts_with = "unique",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub limit: Option<u64>,
    /// Plan the mouse's strokes that draw each solution (with --all, the first) with this planner plugin. They
    /// are checked, drawn with --svg and listed with --json. A planner that fails on a puzzle spoils no
    /// other; the exit code is that of a failed stage, 1.
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
    /// Give up on a puzzle after this long, such as 500ms or 10s; on a plan too.
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Solve so many puzzles side by side. Without it, as many as there are processors.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Print one JSON object for each puzzle, one a line.
    #[arg(long)]
    pub json: bool,
    /// Print each solved puzzle with its solution in this format.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub to: Option<SolvedFormat>,
    /// Draw each puzzle as SVG into this file; several into FILE-1.svg, FILE-2.svg …, by their order.
    /// Into a folder (one that exists, or a name that ends in `/`) as 1.svg, 2.svg ….
    #[arg(long, value_name = "FILE|DIR")]
    pub svg: Option<PathBuf>,
    /// Draw what the solver tells of its generations (best, average, worst) as SVG into this file or
    /// folder; of several puzzles as --svg does. solver-genetic tells them.
    #[arg(long, value_name = "FILE|DIR")]
    pub plot: Option<PathBuf>,
}

/// The formats that hold solutions.
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
    /// Flow Free level lines: everything but other rules and several pairs of one colour; they hold
    /// the solution, so it must be given.
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
    /// What the boards have besides plain squares; several with commas between: all of them.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub kind: Vec<PuzzleKind>,
    /// Only puzzles of this difficulty: how often the dedicated search has to try something to solve one and
    /// prove that it has no other solution.
    #[arg(long, value_enum, value_name = "GRADE")]
    pub difficulty: Option<Grade>,
    /// How many.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub count: u64,
    /// The same seed gives the same puzzles.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// Make so many side by side, which changes nothing else. Without it, as many as there are
    /// processors.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// The format to write, each puzzle with its difficulty as its title. Level lines and JSON hold the
    /// solution.
    #[arg(long, value_enum, default_value_t = PuzzleFormat::Level, value_name = "FORMAT")]
    pub format: PuzzleFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PuzzleKind {
    /// Cells that two flows cross.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grade {
    /// Everything follows, nothing has to be tried.
    Easy,
    /// One to three trials.
    Medium,
    /// Four trials or more.
    Hard,
}

#[derive(Debug, ClapArgs)]
pub struct Play {
    /// Files of puzzles, played in their order, in every form that `solve` takes. Without files,
    /// boards are generated.
    pub files: Vec<PathBuf>,
    /// The size of generated boards, columns x rows or one number: 4 to 18 each. Several with
    /// commas between take turns.
    #[arg(
        long,
        default_value = "5",
        value_delimiter = ',',
        value_name = "SIZE",
        conflicts_with = "files"
    )]
    pub size: Vec<Size>,
    /// The same seed gives the same boards, and loses the same moves.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// Play against the clock for this long, such as 30s. It runs from the first press.
    #[arg(long, value_name = "DURATION")]
    pub time_trial: Option<String>,
    /// How the game takes its input.
    #[arg(long, value_enum, default_value_t = PlayInput::Frames)]
    pub input: PlayInput,
    /// Begin a drag only once the pointer has moved so many pixels inside of the cell that it pressed.
    /// Not with --input clicks.
    #[arg(long, default_value_t = 0.0, value_name = "PIXELS", value_parser = pixels, conflicts_with = "terminal")]
    pub nudge: f64,
    /// Lose this share of the pointer's moves, from 0 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share)]
    pub drop: f64,
    /// Write what the game sees into this file, as JSON lines: pointer events, what they drew, and
    /// when boards were solved.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The window's size in pixels, width x height.
    #[arg(long, default_value = "600x1067", value_name = "SIZE", value_parser = window_size)]
    pub window: (u32, u32),
    /// What the window's boards are dressed in: discs on dark or light, blocks, letters in the discs, or
    /// Numberlink's numbers on paper.
    #[arg(long, default_value_t, value_parser = theme(), conflicts_with = "terminal")]
    pub theme: Theme,
    /// Play in this terminal, with the mouse or the keyboard: arrows or h j k l move the cursor,
    /// Enter or space picks a pipe up and lets it go.
    #[arg(long, conflicts_with = "window")]
    pub terminal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlayInput {
    /// Every event as it arrives, and nothing between: jumps are lost.
    Events,
    /// One look at the pointer a frame, 60 a second, with the straight line between two looks.
    Frames,
    /// The same, but only lines along a row or a column: what lies between other looks is lost.
    Straight,
    /// A click takes a pipe up, the pointer draws without a button, a second click puts it down.
    Clicks,
}

fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| format!("{error}; write it as 500ms or 10s"))
}

fn theme() -> impl TypedValueParser<Value = Theme> {
    PossibleValuesParser::new(Theme::all().map(Theme::name)).try_map(|name| name.parse())
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn pixels(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|pixels| (0.0..=1000.0).contains(pixels))
        .ok_or_else(|| "expected a number of pixels from 0 to 1000".to_owned())
}

fn window_size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (100..=8192).contains(side));
    text.split_once('x')
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or_else(|| "expected width x height such as 600x1067, each from 100 to 8192".to_owned())
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}
