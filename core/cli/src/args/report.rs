//! `flowpipe report`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `flowpipe report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Write the page into this file, or to standard output with `-`. Without it, beside the recording: FILE with
    /// .html instead of .mcap. An existing file is overwritten.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Don't limit the memory of the recording: for recordings that you trust.
    #[arg(long)]
    pub no_limits: bool,
}
