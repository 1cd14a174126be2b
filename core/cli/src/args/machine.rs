//! `flowpipe machine`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// `flowpipe machine`.
#[derive(Debug, ClapArgs)]
pub struct Machine {
    #[command(subcommand)]
    pub command: MachineCommand,
}

#[derive(Debug, Subcommand)]
pub enum MachineCommand {
    /// Create certificates for the machines of a pipeline, signed by an authority of their own. The authority's private
    /// key is not kept. Nothing that exists is replaced.
    Init(MachineInit),
}

/// `flowpipe machine init`.
#[derive(Debug, ClapArgs)]
pub struct MachineInit {
    /// The pipeline (TOML), with `[machines.NAME]`.
    pub file: PathBuf,
}
