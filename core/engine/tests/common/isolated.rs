//! Runs with isolated stages. Each stage's process runs one test of the same file.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Arc, Once};

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Options, Run, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::{Program, child};

use crate::common::{Watcher, adds_up, finish};

/// The process of a stage.
#[test]
#[ignore = "started by the others"]
fn a_process() {
    // Otherwise it was not started by the others: there is nothing to test.
    if child::run() == std::process::ExitCode::SUCCESS {
        std::process::exit(0);
    }
}

/// Options with [`a_process`] for the processes of stages.
pub fn options(watcher: &Arc<Watcher>) -> Options {
    print_warnings();
    let arguments = [
        "isolated::a_process",
        "--exact",
        "--ignored",
        "--quiet",
        "--nocapture",
        "--skip",
    ];
    Options {
        observers: vec![watcher.clone()],
        program: Some(Program::this(arguments.map(Into::into)).expect("this file is there")),
        ..Options::default()
    }
}

/// What the processes of stages print is logged, and nowhere else: panics, and what a sanitizer reports.
fn print_warnings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let printer = tracing_subscriber::fmt().with_writer(std::io::stderr);
        let printer = printer.with_max_level(tracing::Level::WARN);
        let printer = printer.without_time().with_ansi(false).finish();
        // It fails where a test has a log of its own.
        let _ = tracing::subscriber::set_global_default(printer);
    });
}

/// Starts a run.
pub fn start(pipeline: Pipeline, catalogue: &Catalogue, watcher: &Arc<Watcher>) -> RunHandle {
    let run = Run::start(pipeline, catalogue, options(watcher));
    run.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs to the end, and checks that no frame is left.
pub fn run(pipeline: Pipeline, catalogue: &Catalogue) -> (Report, Arc<Watcher>) {
    let watcher = Arc::new(Watcher::default());
    let report = finish(start(pipeline, catalogue, &watcher));
    adds_up(&report);
    assert_eq!(report.frames.live, 0);
    (report, watcher)
}

/// Runs an ignored test of the same file in a process of its own.
pub fn alone(test: &str) {
    let output = std::process::Command::new(std::env::current_exe().expect("this file is there"))
        .args([test, "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("it can be started");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success(), "{stderr}");
    // A name that matches no test succeeds too.
    assert!(stdout.contains("1 passed"), "{test}: {stdout}");
}
