//! `flowpipe compare`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `flowpipe compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The first pipeline (TOML). Its sources play the recorded messages: of the stage of the same name, else of the
    /// only source. Queues drop nothing; stages that drive the mouse, and actuators that run commands, are left out;
    /// referee-once replaces a referee that reads the clock. Pipelines that do not concern boards are compared message
    /// by message.
    #[arg(value_name = "A.toml")]
    pub a: PathBuf,
    /// The second pipeline (TOML).
    #[arg(value_name = "B.toml")]
    pub b: PathBuf,
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Run each this many times, interleaved. Times are those of all rounds.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub repeat: u32,
    /// Print one JSON object and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
}
