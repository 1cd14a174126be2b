//! `flowpipe new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `flowpipe new`.
#[derive(Debug, Args)]
pub struct New {
    /// The role.
    pub role: NewRole,
    /// The name: lower case letters, digits and hyphens, such as `solver-mine`. Also the name of its folder.
    pub name: String,
    /// The language. A stage in Python is a script that plugin `exec` runs.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub lang: Language,
    /// Create its folder in this one.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// A checkout of flowpipe with the SDK for plugins in Rust (or set FLOWPIPE_SDK). Without it, the one that contains
    /// the folder, or else the repository.
    #[arg(long, value_name = "DIR")]
    pub sdk: Option<PathBuf>,
}

/// The role of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewRole {
    /// Captures frames.
    Capture,
    /// Reads boards from frames.
    Vision,
    /// Solves puzzles.
    Solver,
    /// Turns solutions into strokes.
    Planner,
    /// Plays strokes.
    Actuator,
    /// Any messages in, any out.
    Stage,
}

/// The language of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A crate that uses the SDK.
    Rust,
    /// One file that uses flowpipe.h.
    C,
    /// A script.
    Python,
}
