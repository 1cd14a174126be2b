//! Stages in their own processes (`isolation = "process"`): a crash there affects no other stage.
//!
//! # Layout
//! - [`stage`]: the host's side of a stage. `process`: its process. `output`: the process's standard output. `service`:
//!   requests that the process sends at any time.
//! - [`child`]: the stage's side, in its process.
//! - `wire` and `protocol`: the packets between the two. `control_block`: flags in shared memory, polled too often for
//!   packets.
//! - `frame_table`: the frames that the process refers to.
//! - [`confinement`]: what the process may do.
//! - [`scanner`]: a process that reads the manifests of libraries.

#[cfg(unix)]
pub mod child;
pub mod confinement;
#[cfg(unix)]
mod control_block;
#[cfg(unix)]
mod frame_table;
#[cfg(unix)]
mod log_limit;
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
    /// Its arguments; the stage's name follows them, for process lists.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// This program itself, with these arguments.
    ///
    /// # Errors
    /// When the system does not report this program's file.
    pub fn this(arguments: impl IntoIterator<Item = OsString>) -> std::io::Result<Self> {
        // A link to the running file, also if another file is at its path by now.
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
