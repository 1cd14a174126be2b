//! `flowpipe new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `flowpipe new` takes.
#[derive(Debug, Args)]
pub struct New {
    /// What it is.
    pub role: NewRole,
    /// What it is called: lower case letters, digits and hyphens, such as `solver-mine`. Its folder is called so too.
    pub name: String,
    /// The language. A stage in Python is a script that plugin `exec` runs.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub lang: Language,
    /// Make its folder in this one.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// A checkout of flowpipe, for the SDK that a plugin in Rust is built on. Without, the one around the folder or
    /// around this program, or else the repository.
    #[arg(long, value_name = "DIR")]
    pub sdk: Option<PathBuf>,
}

/// What a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewRole {
    /// Makes frames.
    Capture,
    /// Reads boards from frames.
    Vision,
    /// Solves puzzles.
    Solver,
    /// Turns solutions into strokes.
    Planner,
    /// Plays strokes.
    Actuator,
    /// None of these: any messages in, any out.
    Stage,
}

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A crate on the SDK.
    Rust,
    /// One file on flowpipe.h.
    C,
    /// A script.
    Python,
}
