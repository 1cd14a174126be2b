//! `flowpipe new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `flowpipe new`.
#[derive(Debug, Args)]
pub struct New {
    /// The role of a plugin, or a whole pipeline.
    pub kind: NewKind,
    /// The name: lower case letters, digits and hyphens, such as `solver-mine`. Also the name of its folder.
    pub name: String,
    /// The language; by default Rust for a plugin, and Python for a pipeline. A stage in Python is a script that plugin
    /// `exec` runs.
    #[arg(long, visible_alias = "language", value_enum)]
    pub lang: Option<Language>,
    /// The title of the window that a pipeline captures, or a part of it; by default its own name.
    #[arg(long, value_name = "TITLE")]
    pub window: Option<String>,
    /// Create its folder in this one.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// A checkout of flowpipe with the SDK for plugins in Rust (or set FLOWPIPE_SDK). Without it, the one that contains
    /// the folder, or else the repository.
    #[arg(long, value_name = "DIR")]
    pub sdk: Option<PathBuf>,
}

/// What is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewKind {
    /// Captures frames.
    Capture,
    /// Reads boards of Flow Free from frames.
    Vision,
    /// Solves puzzles of Flow Free.
    Solver,
    /// Turns solutions of Flow Free into strokes.
    Planner,
    /// Plays strokes of Flow Free.
    Actuator,
    /// Any messages in, any out.
    Stage,
    /// All stages for a game or program of any kind, with their messages and a test.
    Pipeline,
}

impl NewKind {
    /// The role of a plugin. `None`: a pipeline.
    pub fn role(self) -> Option<NewRole> {
        Some(match self {
            Self::Capture => NewRole::Capture,
            Self::Vision => NewRole::Vision,
            Self::Solver => NewRole::Solver,
            Self::Planner => NewRole::Planner,
            Self::Actuator => NewRole::Actuator,
            Self::Stage => NewRole::Stage,
            Self::Pipeline => return None,
        })
    }
}

/// The role of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
