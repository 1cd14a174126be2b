//! The processes of stages with `isolation = "process"`: this program once more.

use std::process::ExitCode;

use flowpipe_runtime::isolation::Program;

/// The hidden subcommand.
const SUBCOMMAND: &str = "isolated-stage";

/// How a run starts them. `None`: the system does not say which file this program is.
pub fn program() -> Option<Program> {
    // The stage's name comes last, and may begin with a hyphen.
    let program = Program::this([SUBCOMMAND.into(), "--".into()]);
    program
        .inspect_err(|error| tracing::warn!("can't tell which program this is: {error}"))
        .ok()
}

/// Lives as one.
#[cfg(unix)]
pub fn run() -> ExitCode {
    flowpipe_runtime::isolation::child::run()
}

#[cfg(not(unix))]
pub fn run() -> ExitCode {
    ExitCode::FAILURE
}
