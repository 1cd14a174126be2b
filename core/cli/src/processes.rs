//! The processes that this program starts of itself: one for each stage with `isolation = "process"`, and the one that
//! reads the manifests of plugins.

use std::process::ExitCode;

use flowpipe_isolation::Program;
use flowpipe_isolation::scanner::Scanner;

/// The hidden subcommands.
const STAGE: &str = "isolated-stage";
const SCANNER: &str = "scan-plugins";

/// How a run starts processes for stages. `None`: the system does not report the path of this program.
pub fn program() -> Option<Program> {
    // The stage's name comes last, and may start with a hyphen.
    let program = Program::this([STAGE.into(), "--".into()]);
    program
        .inspect_err(|error| tracing::warn!("can't find the path of this program: {error}"))
        .ok()
}

/// How the manifests of plugins are read.
pub fn scanner() -> Scanner {
    let program = Program::this([SCANNER.into()]);
    Scanner::Process(program.unwrap_or_else(|error| {
        tracing::warn!("can't find the path of this program: {error}");
        // The first argument: if it names another program, no manifest is read.
        Program {
            path: std::env::args_os().next().unwrap_or_default().into(),
            arguments: vec![SCANNER.into()],
        }
    }))
}

/// Runs as the process of an isolated stage.
#[cfg(unix)]
pub fn run_stage() -> ExitCode {
    flowpipe_isolation::child::run()
}

#[cfg(not(unix))]
pub fn run_stage() -> ExitCode {
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
