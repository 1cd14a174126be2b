//! A scanner whose process runs one test of the same file.

use flowpipe_isolation::Program;
use flowpipe_isolation::scanner::{Scanner, child};

/// The process that reads manifests.
#[test]
#[ignore = "started by the others"]
fn a_scanner() {
    // Otherwise it was not started by the others: there is nothing to test.
    if child::run() == std::process::ExitCode::SUCCESS {
        std::process::exit(0);
    }
}

/// A scanner whose process is [`a_scanner`].
pub fn scanner() -> Scanner {
    let arguments = [
        "manifests::a_scanner",
        "--exact",
        "--ignored",
        "--quiet",
        "--nocapture",
    ];
    Scanner::Process(Program::this(arguments.map(Into::into)).expect("this file is there"))
}
