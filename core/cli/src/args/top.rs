//! `flowpipe top`.

use clap::Args;

use super::number;

/// The arguments of `flowpipe top`.
#[derive(Debug, Args)]
pub struct Top {
    /// The process of the run. Without it, the newest run.
    #[arg(value_parser = number::from_one::<u32>)]
    pub pid: Option<u32>,
    /// List the runs, and exit; with --json, each as a line of JSON.
    #[arg(long, conflicts_with_all = ["pid", "wait"])]
    pub list: bool,
    /// Print the run as lines of JSON, one a second and a last one at its end, in place of the view. It needs no terminal.
    #[arg(long)]
    pub json: bool,
    /// Print one line of JSON, with or without `--json`, and exit.
    #[arg(long, conflicts_with = "list")]
    pub once: bool,
    /// Wait for a run if there is none, and for the next one after it ends.
    #[arg(long)]
    pub wait: bool,
}
