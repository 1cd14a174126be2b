//! Stages in processes of their own (`isolation = "process"`): what crashes there ends nothing else.
//!
//! # Layout
//! - [`stage`]: a stage as the host sees it. `process`: the process that it runs in. `output`: what that prints. `service`: what it may ask at any time.
//! - [`child`]: the other side, in that process.
//! - `wire` and `protocol`: what the two send each other. `control_block`: what is asked too often to be sent.
//! - `frame_table`: the frames that the other side refers to.
//! - [`confinement`]: what such a process may do.
//! - [`scanner`]: a process that reads the manifests of libraries.

#[cfg(unix)]
pub mod child;
pub mod confinement;
#[cfg(unix)]
mod control_block;
#[cfg(unix)]
mod frame_table;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod protocol;
pub mod scanner;
#[cfg(unix)]
mod service;
#[cfg(unix)]
pub mod stage;
#[cfg(unix)]
mod wire;

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
