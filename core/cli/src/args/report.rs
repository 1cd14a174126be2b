//! `flowpipe report`.

use std::path::PathBuf;

use clap::Args;

/// What `flowpipe report` takes.
#[derive(Debug, Args)]
pub struct Report {
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Write the page into this file, or to standard output with `-`. Without it, beside the recording: FILE with
    /// .html in place of .mcap. A file of that name is overwritten.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Read a recording that takes more memory than one from anywhere may: for recordings that you trust.
    #[arg(long)]
    pub no_limits: bool,
}
