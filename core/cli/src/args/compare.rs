//! `flowpipe compare`.

use std::path::PathBuf;

use clap::Args;

/// What `flowpipe compare` takes.
#[derive(Debug, Args)]
pub struct Compare {
    /// The one pipeline (TOML). What it captures is what the recording holds: of the stage of the same name,
    /// else of the one stage that captured. Queues drop nothing; what acts on the world, as the mouse does, is
    /// left out; referee-once takes the place of a referee that looks at the clock.
    #[arg(value_name = "A.toml")]
    pub a: PathBuf,
    /// The other pipeline (TOML).
    #[arg(value_name = "B.toml")]
    pub b: PathBuf,
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Run each so many times, one after the other in turns: times are those of all rounds.
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
