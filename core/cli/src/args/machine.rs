//! `flowpipe machine`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::number;

/// `flowpipe machine`.
#[derive(Debug, ClapArgs)]
pub struct Machine {
    #[command(subcommand)]
    pub command: MachineCommand,
}

#[derive(Debug, Subcommand)]
pub enum MachineCommand {
    /// Create certificates for the machines of a file, signed by an authority of their own. The authority's private
    /// key is not kept. Nothing that exists is replaced.
    Init(MachineInit),
    /// Work for `solve`, `generate` and `bench` with `--machines FILE` on another machine, until it is ended. It runs solvers and planners that declare
    /// that they have no effects, and nothing else.
    Work(MachineWork),
}

/// `flowpipe machine init`.
#[derive(Debug, ClapArgs)]
pub struct MachineInit {
    /// The pipeline or the file of machines (TOML), with `[machines.NAME]`.
    pub file: PathBuf,
}

/// `flowpipe machine work`.
#[derive(Debug, ClapArgs)]
pub struct MachineWork {
    /// The file of machines (TOML): one without `listen`, which distributes, and those that work.
    pub file: PathBuf,
    /// Which of them this is.
    #[arg(long, value_name = "NAME")]
    pub machine: String,
    /// Do this many puzzles in parallel. Without it, as many as there are processors.
    #[arg(long, value_name = "NUMBER", value_parser = number::from_one::<u16>)]
    pub jobs: Option<u16>,
    /// Let the puzzles that are read, solved and generated take at most so much memory together, in MiB, whatever the config
    /// of the other machine permits. A puzzle that takes more counts as failed. Without it, half of the machine's memory. On Linux only.
    #[arg(long, value_name = "MEBIBYTES", value_parser = number::from_one::<u32>)]
    pub memory: Option<u32>,
}
