//! Stages in processes of their own (`isolation = "process"`): what crashes there takes nobody along.
//!
//! # Layout
//! - `stage`: a stage as the host sees it; `talk`: one call of it; `state`: what it remembers. `process`: the process that it runs in. `output`: what that prints. `service`: what it may ask at any time.
//! - `child`: the other side, in that process.
//! - `wire` and `words`: what the two say to each other. `memory`: what both see. `page`: what is asked too often to be
//!   sent.
//! - `held`: the frames that the other side refers to.

#[cfg(not(unix))]
mod absent;
#[cfg(unix)]
pub mod child;
#[cfg(unix)]
mod held;
#[cfg(unix)]
pub(crate) mod memory;
#[cfg(unix)]
mod output;
#[cfg(unix)]
pub(crate) mod page;
#[cfg(unix)]
pub(crate) mod process;
#[cfg(unix)]
mod service;
#[cfg(unix)]
pub(crate) mod stage;
#[cfg(unix)]
mod state;
#[cfg(unix)]
mod talk;
#[cfg(unix)]
pub(crate) mod wire;
#[cfg(unix)]
pub(crate) mod words;

#[cfg(not(unix))]
pub(crate) use absent::{page, process};

use std::ffi::OsString;
use std::path::PathBuf;

/// How a process for a stage is started: by a program that calls [`child::run`] when it gets these arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments; the stage's name comes after them, for whoever lists processes.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// This program itself, with these arguments.
    ///
    /// # Errors
    /// When the system does not say which file this is.
    pub fn this(arguments: impl IntoIterator<Item = OsString>) -> std::io::Result<Self> {
        // A link to the file that runs, also when there is another one at its place by now.
        let itself = PathBuf::from("/proc/self/exe");
        Ok(Self {
            path: match itself.exists() {
                true => itself,
                false => std::env::current_exe()?,
            },
            arguments: arguments.into_iter().collect(),
        })
    }
}
