//! Reads the manifests of libraries. A library has to be loaded for that, which runs its code: in another process, a
//! library that crashes, hangs or ends the process loses only its own entry.

#[cfg(unix)]
pub mod child;
#[cfg(unix)]
mod session;

use std::path::Path;

use flowpipe_host::catalogue::{Scan, Scanned};
use flowpipe_host::library::loader;

use crate::Program;

/// The way to read the manifests of libraries.
#[derive(Clone, Debug)]
pub enum Scanner {
    /// By processes that are started for this, of a program that calls `scanner::child::run` when it gets these
    /// arguments. Where the system has no processes for stages, this is [`Scanner::InProcess`].
    Process(Program),
    /// By this process, which loads all of them: for programs that trust every library in their folders.
    InProcess,
}

impl Scan for Scanner {
    fn scan(&self, paths: &[&Path]) -> Vec<Scanned> {
        match self {
            #[cfg(unix)]
            Self::Process(program) => session::scan(program, paths),
            #[cfg(not(unix))]
            Self::Process(_) => in_process(paths),
            Self::InProcess => in_process(paths),
        }
    }
}

fn in_process(paths: &[&Path]) -> Vec<Scanned> {
    let scan = |path: &&Path| Ok(loader::load(path)?.manifests.clone());
    paths.iter().map(scan).collect()
}
