//! `flowpipe messages`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `flowpipe messages`.
#[derive(Debug, Args)]
pub struct Messages {
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Print only the messages of this stage; several flags name several stages.
    #[arg(long, value_name = "STAGE")]
    pub stage: Vec<String>,
    /// Print only the messages of this schema, such as `flowpipe.metrics/1`; several flags name several schemas.
    #[arg(long, value_name = "SCHEMA")]
    pub schema: Vec<String>,
    /// Don't limit the memory of the recording: for recordings that you trust.
    #[arg(long)]
    pub no_limits: bool,
}
