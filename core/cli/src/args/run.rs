//! `flowpipe run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use flowpipe_config::reader::duration;

/// What `flowpipe run` takes.
#[derive(Debug, Args)]
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
    /// Take up changes of the pipeline file and of plugin files while it runs. SIGHUP does that once, also
    /// without this.
    #[arg(long)]
    pub watch: bool,
    /// Write the run down (MCAP), to be run again, compared and looked at. {name} and {time} in it are
    /// filled in.
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,
    /// Have the run wait when the recorder can't keep up. Without it whole lineages are dropped then: all that
    /// descends from one frame. Where the recording can't be written any more, the run ends.
    #[arg(long)]
    pub record_lossless: bool,
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

fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| format!("{error}; write it as 500ms or 10s"))
}
