//! The processes that this program starts of itself: those of stages with `isolation = "process"`, and the one that reads the
//! manifests of plugins.

use std::process::ExitCode;

use flowpipe_isolation::Program;
use flowpipe_isolation::scanner::Scanner;

/// The hidden subcommands.
const STAGE: &str = "isolated-stage";
const SCANNER: &str = "scan-plugins";

/// How a run starts processes for stages. `None`: the system does not say which file this program is.
pub fn program() -> Option<Program> {
    // The stage's name comes last, and may begin with a hyphen.
    let program = Program::this([STAGE.into(), "--".into()]);
    program
        .inspect_err(|error| tracing::warn!("can't tell which program this is: {error}"))
        .ok()
}

/// How the manifests of plugins are read.
pub fn scanner() -> Scanner {
    let program = Program::this([SCANNER.into()]);
    Scanner::Process(program.unwrap_or_else(|error| {
        tracing::warn!("can't tell which program this is: {error}");
        // As it was called: where that is something else, no manifest is read.
        Program {
            path: std::env::args_os().next().unwrap_or_default().into(),
            arguments: vec![SCANNER.into()],
        }
    }))
}

/// Lives as the process of a stage.
#[cfg(unix)]
pub fn run() -> ExitCode {
    flowpipe_isolation::child::run()
}

#[cfg(not(unix))]
pub fn run() -> ExitCode {
    ExitCode::FAILURE
}

/// Runs as the process that reads manifests.
#[cfg(unix)]
pub fn scan() -> ExitCode {
    flowpipe_isolation::scanner::child::run()
}

#[cfg(not(unix))]
pub fn scan() -> ExitCode {
    ExitCode::FAILURE
}
