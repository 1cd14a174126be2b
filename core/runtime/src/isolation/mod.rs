//! Stages in processes of their own (`isolation = "process"`): what crashes there takes nobody along.
//!
//! # Layout
//! - `stage`: a stage as the host sees it. `process`: the process that it runs in. `service`: what it may ask at any time.
//! - [`child`]: the other side, in that process.
//! - `wire` and `words`: what the two say to each other. `memory`: what both see. `page`: what is asked too often to be
//!   sent.
//! - `held`: the frames that the other side refers to.

pub mod child;
mod held;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod process;
mod service;
pub(crate) mod stage;
mod wire;
pub(crate) mod words;

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
