//! What a hostile plugin in a process of its own can't do.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

mod common;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use common::{Builder, Watcher, adds_up, finish, options_apart};
use flowpipe_runtime::isolation::child;
use flowpipe_runtime::pipeline::Isolation;
use flowpipe_runtime::plugin::catalogue::Catalogue;
use flowpipe_runtime::plugin::scanner::Scanner;
use flowpipe_runtime::report::Report;
use flowpipe_runtime::run::Run;
use serde_json::json;

/// The process of a stage: this file's tests once more, of which only this one is run.
#[test]
#[ignore = "started by the others"]
fn a_process() {
    let _ = child::run();
    std::process::exit(0);
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        std::fs::create_dir_all(&folder).unwrap();
        common::compile("stages.c", &folder, "stages", &[]);
        common::compile("hostile.c", &folder, "hostile", &[]);
        let catalogue = Catalogue::scan(&[folder], &Scanner::InProcess);
        assert_eq!(catalogue.refused(), []);
        catalogue
    })
}

fn run(pipeline: Builder) -> (Report, Arc<Watcher>) {
    let watcher = Arc::new(Watcher::default());
    let run = Run::start(pipeline.0, catalogue(), options_apart(&watcher));
    let report = finish(run.unwrap_or_else(|error| panic!("{error}")));
    adds_up(&report);
    assert_eq!(report.frames.live, 0);
    (report, watcher)
}

#[cfg(target_os = "linux")]
#[test]
fn pictures_stay_what_they_were() {
    // The second one gets the picture from the first, and from the source besides.
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 10, "width": 64, "height": 64 }));
    let spoil = pipeline.stage("spoil", json!({}));
    let pass = pipeline.stage("pass", json!({}));
    pipeline.join(source, spoil);
    pipeline.join(spoil, pass);
    for stage in [spoil, pass] {
        pipeline.0.stages[stage].isolation = Isolation::Process;
    }
    let (report, watcher) = run(pipeline);
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.failure, None);
    for seen in watcher.from(spoil) {
        assert_eq!(seen.json["could"], 0, "{}", seen.json);
        // Whoever may look at what is mapped has a descriptor of it.
        let is_root = rustix::process::geteuid().is_root();
        assert!(!is_root || seen.json["opened"] != 0, "{}", seen.json);
    }
    // What the host has, and what another process sends on.
    for stage in [source, spoil, pass] {
        let pixels: Vec<_> = watcher
            .from(stage)
            .iter()
            .map(|it| it.pixels.unwrap().1)
            .collect();
        assert_eq!(pixels, (0..10).collect::<Vec<_>>(), "stage {stage}");
    }
}
