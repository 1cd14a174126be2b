//! Stages made with the SDK in a library that the runtime loads: what the sanitizers look at (`./x check deep`), and short
//! enough to run with all other tests. A program of its own: a planted fault must be the only one in its process, and its
//! fixture is this crate's only one with the SDK.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

mod common;
#[path = "common/isolated.rs"]
mod isolated;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::{Builder, Watcher, adds_up, finish, queue, until};
use flowpipe_config::pipeline::{Isolation, Pipeline, Restart, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

/// The library alone, in a folder where the processes of stages find it too.
fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let file = format!("{prefix}sdk_stress{suffix}");
        let test = std::env::current_exe().unwrap();
        let built = test
            .ancestors()
            .nth(2)
            .expect("cargo runs tests from target/PROFILE/deps");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        std::fs::create_dir_all(&folder).unwrap();
        // A file that a process has loaded is not written to but replaced.
        let half = folder.join(format!("{file}.{}", std::process::id()));
        std::fs::copy(built.join("examples").join(&file), &half)
            .expect("cargo builds examples before tests");
        std::fs::rename(&half, folder.join(&file)).unwrap();
        let catalogue = Catalogue::scan(&[folder], &Scanner::InProcess);
        assert_eq!(catalogue.refused(), []);
        catalogue
    })
}

/// Runs to the end, without any problem.
fn run(pipeline: Pipeline) -> (Report, Arc<Watcher>) {
    let (report, watcher) = isolated::run(pipeline, catalogue());
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.failure, None);
    (report, watcher)
}

/// Pictures through a stage of the library, which is looked at once more.
fn line(count: Value, plugin: &str, config: Value) -> Pipeline {
    let mut pipeline = Builder::new();
    pipeline.stage("pictures", json!({ "count": count }));
    pipeline.stage(plugin, config);
    pipeline.stage("look", json!({}));
    for stage in 0..2 {
        pipeline.edge((stage, 0), (stage + 1, 0), queue(3, WhenFull::Block));
    }
    pipeline.0
}

#[test]
fn pictures_are_read_painted_over_and_kept_by_threads() {
    let all = [
        ("look", json!({}), 200),
        ("paint", json!({}), 400),
        ("keep", json!({ "threads": 2 }), 200),
    ];
    for isolation in [Isolation::Thread, Isolation::Process] {
        for (plugin, config, emitted) in all.clone() {
            let mut pipeline = line(json!(200), plugin, config);
            pipeline.stages[1].isolation = isolation;
            let (report, _) = run(pipeline);
            assert_eq!(report.stages[2].received, emitted, "{plugin}");
        }
    }
}

#[test]
fn stages_that_panic_restart_until_the_run_ends_at_any_moment() {
    for round in 0..12_u64 {
        let mut pipeline = line(json!(null), "keep", json!({ "threads": 2, "panics": 7 }));
        pipeline.stages[1].restart = Some(Restart {
            max: 1000,
            backoff: Duration::from_micros(100),
        });
        pipeline.stages[1].isolation = match round % 4 {
            0 => Isolation::Process,
            _ => Isolation::Thread,
        };
        let watcher = Arc::new(Watcher::default());
        let run = isolated::start(pipeline, catalogue(), &watcher);
        match round % 2 {
            0 => until("a restart", || run.progress().stages[1].restarted > 0),
            _ => std::thread::sleep(Duration::from_micros(round * 1370)),
        }
        match round % 3 {
            0 => run.abort(),
            _ => run.stop(),
        }
        let report = finish(run);
        adds_up(&report);
        assert_eq!((report.failure, report.frames.live), (None, 0));
        let problems = watcher.problems();
        let wrong: Vec<_> = problems
            .iter()
            .filter(|it| !it.text.contains("on purpose"))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// A faulty stage. `./x check deep` demands that a sanitizer reports it.
fn planted(fault: &str) {
    let (report, _) = isolated::run(
        line(json!(20), "plant", json!({ "do": fault })),
        catalogue(),
    );
    assert_eq!(report.failure, None);
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_race() {
    planted("race");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_free() {
    planted("free");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_overflow() {
    planted("overflow");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_overflow_of_picture() {
    planted("overflow-of-picture");
}
