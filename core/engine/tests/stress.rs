//! Many messages, pictures and threads at once: the program of the sanitizers (`./x check deep`), and short enough to
//! run with all other tests. `FLOWPIPE_STRESS` is how many times as long it takes. A
//! program of its own: the sanitizers run it alone for long, and a planted fault must be the only one in its process.
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
use flowpipe_config::pipeline::{Isolation, OnStop, Pipeline, Restart, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::RunHandle;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

/// How many times as long as usual.
fn times() -> u64 {
    let text = std::env::var("FLOWPIPE_STRESS");
    text.map_or(1, |text| text.parse().expect("FLOWPIPE_STRESS is a number"))
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        std::fs::create_dir_all(&folder).unwrap();
        common::compile("stress.c", &folder, "stress", &[]);
        let catalogue = Catalogue::scan(&[folder], &Scanner::InProcess);
        assert_eq!(catalogue.refused(), []);
        catalogue
    })
}

fn start(pipeline: Pipeline, watcher: &Arc<Watcher>) -> RunHandle {
    isolated::start(pipeline, catalogue(), watcher)
}

/// Runs to the end, without any problem.
fn run(pipeline: Pipeline) -> (Report, Arc<Watcher>) {
    let (report, watcher) = isolated::run(pipeline, catalogue());
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.failure, None);
    (report, watcher)
}

#[test]
fn each_kind_of_queue_between_a_fast_and_a_slow_stage() {
    let kinds = [
        WhenFull::Block,
        WhenFull::DropOldest,
        WhenFull::DropNewest,
        WhenFull::Latest,
    ];
    let count = 300 * times();
    for when_full in kinds {
        for (capacity, source_us, look_us) in [(1, 0, 0), (1, 20, 0), (4, 0, 20), (64, 0, 0)] {
            let mut pipeline = Builder::new();
            let config = json!({ "count": count, "delay_us": source_us });
            let source = pipeline.stage("pictures", config);
            let first = pipeline.stage("inspect", json!({ "delay_us": look_us }));
            let second = pipeline.stage("inspect", json!({}));
            for (from, to) in [(source, first), (first, second)] {
                pipeline.edge((from, 0), (to, 0), queue(capacity, when_full));
            }
            let (report, watcher) = run(pipeline.0);
            assert_eq!(report.stages[source].emitted, count);
            let last = watcher.from(second).pop().expect("one at least arrives");
            match when_full {
                WhenFull::DropNewest => {}
                _ => assert_eq!(last.json["n"], count, "the last one arrives"),
            }
            if when_full == WhenFull::Block {
                assert_eq!(report.stages[second].received, count);
            }
        }
    }
}

#[test]
fn pictures_that_several_stages_read_paint_over_and_drop_on_threads_of_their_own() {
    let count = 400 * times();
    let mut pipeline = Builder::new();
    let source = pipeline.stage("pictures", json!({ "count": count }));
    let readers: Vec<_> = ["inspect", "paint", "share", "share"]
        .into_iter()
        .map(|plugin| pipeline.stage(plugin, json!({ "threads": 2, "width": 16 })))
        .collect();
    for (index, &reader) in readers.iter().enumerate() {
        let last = pipeline.stage("inspect", json!({ "delay_us": 10 * (index as u64 % 2) }));
        pipeline.edge((source, 0), (reader, 0), queue(3, WhenFull::Block));
        pipeline.edge((reader, 0), (last, 0), queue(3, WhenFull::Block));
    }
    let (report, _) = run(pipeline.0);
    for &reader in &readers {
        assert_eq!(report.stages[reader].received, count);
    }
    // Of the pictures that were painted over both are sent on.
    assert_eq!(report.stages[readers[1]].emitted, 2 * count);
}

#[test]
fn several_workers_pass_pictures_on() {
    let count = 300 * times();
    for (plugins, workers, ordered) in [
        (&["inspect"][..], 2, true),
        (&["inspect"], 5, true),
        (&["inspect"], 5, false),
        (&["lose", "inspect"], 3, true),
    ] {
        let mut pipeline = Builder::new();
        let source = pipeline.stage("pictures", json!({ "count": count }));
        let plugins: Vec<_> = plugins
            .iter()
            .map(|it| (*it, json!({ "delay_us": 30 })))
            .collect();
        let several = pipeline.race(&plugins);
        let last = pipeline.stage("inspect", json!({}));
        for (from, to) in [(source, several), (several, last)] {
            pipeline.edge((from, 0), (to, 0), queue(3, WhenFull::Block));
        }
        let stage = &mut pipeline.0.stages[several];
        (stage.workers, stage.ordered) = (workers, ordered);
        let (report, watcher) = run(pipeline.0);
        assert_eq!(report.stages[last].received, count);
        let seen = watcher.from(last).into_iter();
        let mut numbers: Vec<_> = seen.map(|it| it.json["n"].as_u64().unwrap()).collect();
        if !ordered {
            numbers.sort_unstable();
        }
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    }
}

#[test]
fn a_race_whose_losers_check_for_cancellation_on_several_threads() {
    let count = 150 * times();
    let mut pipeline = Builder::new();
    let source = pipeline.stage("pictures", json!({ "count": count }));
    let race = pipeline.race(&[
        ("lose", json!({ "threads": 3 })),
        ("inspect", json!({ "delay_us": 50 })),
        ("lose", json!({})),
        ("inspect", json!({ "delay_us": 50 })),
    ]);
    let last = pipeline.stage("inspect", json!({}));
    pipeline.join(source, race);
    pipeline.join(race, last);
    let (report, watcher) = run(pipeline.0);
    assert_eq!(report.stages[last].received, count);
    let numbers: Vec<_> = watcher.from(last).into_iter().map(|it| it.json).collect();
    let all: Vec<_> = (1..=count).map(|n| json!({ "n": n })).collect();
    assert_eq!(numbers, all, "each was answered once");
}

/// Pictures without end -> share -> share, which fails now and then -> inspect.
fn endless(isolation: Isolation) -> Pipeline {
    let mut pipeline = Builder::new();
    pipeline.stage("pictures", json!({}));
    pipeline.stage("share", json!({ "threads": 2 }));
    pipeline.stage("share", json!({ "threads": 2, "every": 7 }));
    pipeline.stage("inspect", json!({}));
    for stage in 0..3 {
        pipeline.edge((stage, 0), (stage + 1, 0), queue(2, WhenFull::Block));
    }
    pipeline.0.stages[2].isolation = isolation;
    pipeline.0.stages[2].restart = Some(Restart {
        max: 1000,
        backoff: Duration::from_micros(100),
    });
    pipeline.0
}

fn set(pipeline: &mut Pipeline, stage: usize, config: Value) {
    pipeline.stages[stage].contestants[0].config = config;
}

/// Changes of the config and of queues by two threads, while stages fail and restart; then the run ends so.
fn changes(isolation: Isolation, swaps: u64, end: impl Fn(&RunHandle)) {
    let mut pipeline = endless(isolation);
    let watcher = Arc::new(Watcher::default());
    let run = start(pipeline.clone(), &watcher);
    until("the first message", || {
        run.progress().stages[3].received > 0
    });
    std::thread::scope(|scope| {
        let reloader = run.reloader();
        let mut other = pipeline.clone();
        scope.spawn(move || {
            for swap in 0..swaps {
                set(&mut other, 1, json!({ "threads": 1 + swap % 3 }));
                other.edges[0].queue.capacity = 1 + swap as usize % 4;
                // It fails if the other change came first, or while a failed plugin is being restarted.
                let _ = reloader.change(other.clone(), catalogue());
            }
        });
        for swap in 0..swaps {
            set(
                &mut pipeline,
                2,
                json!({ "threads": 2 - swap % 2, "every": 5 + swap % 3 }),
            );
            let _ = run.change(pipeline.clone(), catalogue());
        }
    });
    until("a restart", || run.progress().stages[2].restarted > 0);
    end(&run);
    let report = finish(run);
    // Queues were longer for a while than they are at the end.
    for edge in &report.edges {
        let gone = edge.dropped + edge.discarded;
        assert_eq!(edge.sent, edge.delivered + gone, "{edge:?}");
    }
    assert_eq!((report.failure, report.frames.live), (None, 0));
    let wrong = |text: &str| text != "on purpose";
    let problems = watcher.problems();
    let wrong: Vec<_> = problems.iter().filter(|it| wrong(&it.text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn changes_while_stages_restart_and_the_run_drains() {
    for _ in 0..2 * times() {
        changes(Isolation::Thread, 20, RunHandle::stop);
    }
}

#[test]
fn changes_while_stages_restart_and_the_run_is_aborted() {
    for _ in 0..2 * times() {
        changes(Isolation::Thread, 20, RunHandle::abort);
    }
}

#[test]
fn changes_while_a_stage_in_a_process_of_its_own_restarts() {
    for _ in 0..times() {
        changes(Isolation::Process, 5, RunHandle::stop);
    }
}

#[test]
fn runs_that_end_at_any_moment() {
    for round in 0..20 * times() {
        let mut pipeline = endless(Isolation::Thread);
        pipeline.on_stop = match round % 2 {
            0 => OnStop::Drain,
            _ => OnStop::Drop,
        };
        let watcher = Arc::new(Watcher::default());
        let run = start(pipeline, &watcher);
        std::thread::sleep(Duration::from_micros(round * 137 % 3000));
        std::thread::scope(|scope| {
            let (first, second) = (run.stopper(), run.view());
            scope.spawn(move || first.stop());
            scope.spawn(move || {
                let _ = (second.progress(), second.times());
            });
            match round % 3 {
                0 => run.abort(),
                _ => run.stop(),
            }
        });
        let report = finish(run);
        adds_up(&report);
        assert_eq!((report.failure, report.frames.live), (None, 0));
    }
}

/// A faulty plugin. `./x check deep` demands that a sanitizer reports it, to prove that sanitizers work.
fn plant(fault: &str, isolation: Isolation) -> Report {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("pictures", json!({ "count": 20 }));
    let faulty = pipeline.stage("plant", json!({ "do": fault }));
    let last = pipeline.stage("inspect", json!({}));
    pipeline.join(source, faulty);
    pipeline.join(faulty, last);
    pipeline.0.stages[faulty].isolation = isolation;
    pipeline.0.stages[faulty].restart = Some(Restart {
        max: 0,
        backoff: Duration::ZERO,
    });
    finish(start(pipeline.0, &Arc::default()))
}

fn planted(fault: &str) {
    assert_eq!(plant(fault, Isolation::Thread).failure, None);
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_race() {
    planted("race");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_race_with_host() {
    planted("race-with-host");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_free() {
    planted("free");
}

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_free_in_host() {
    planted("free-in-host");
}

/// Whether the process ends with the report is up to the sanitizer: the report is what counts.
#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_free_apart() {
    plant("free", Isolation::Process);
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

#[test]
#[ignore = "only a sanitizer notices it"]
fn planted_released_picture() {
    planted("released-picture");
}
