//! `flowpipe test`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `flowpipe test`.
#[derive(Debug, Args)]
pub struct RunTests {
    /// The pipelines (TOML), or the names of packaged ones.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Run only the tests whose names contain this text; several flags name several texts.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Print JSON Lines: one object for each test.
    #[arg(long)]
    pub json: bool,
}
