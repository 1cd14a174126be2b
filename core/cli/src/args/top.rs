//! `flowpipe top`.

use clap::Args;

/// What `flowpipe top` takes.
#[derive(Debug, Args)]
pub struct Top {
    /// The run's process. Without it, the newest run.
    pub pid: Option<u32>,
    /// List the runs that can be looked at, and leave.
    #[arg(long, conflicts_with_all = ["pid", "wait"])]
    pub list: bool,
    /// Wait for a run where there is none, and for the next one when it is over.
    #[arg(long)]
    pub wait: bool,
}
