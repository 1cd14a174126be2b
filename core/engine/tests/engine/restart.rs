//! Plugins that fail and are restarted.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::{OnError, Restart};
use flowpipe_host::problem::ProblemKind;
use serde_json::json;

use crate::common::{Builder, Watcher, finish, ten, until};

const SOON: Duration = Duration::from_millis(5);

fn restart(max: u32) -> Option<Restart> {
    Some(Restart { max, backoff: SOON })
}

/// Ten messages through a stage that does this, on the fourth or on each.
fn line(on_error: OnError, what: &str, on: u64, max: u32) -> Builder {
    let mut line = ten(on_error, json!({ "do": what, "on": on }));
    line.0.stages[1].restart = restart(max);
    line
}

#[test]
fn a_failure_costs_its_message_alone() {
    for what in ["fail", "panic", "odd-status", "bad-message", "not-json"] {
        let (report, watcher) = line(OnError::Stop, what, 4, 1).run();
        assert_eq!(watcher.problem().message.unwrap().sequence, 4, "{what}");
        let stage = &report.stages[1];
        assert_eq!(
            (stage.received, stage.failed, stage.restarted),
            (10, 1, 1),
            "{what}"
        );
        assert_eq!((report.stages[2].received, report.failure), (9, None));
    }
}

#[test]
fn a_timeout_that_is_obeyed_is_a_failure_too() {
    let mut line = line(OnError::Stop, "slow", 4, 1);
    line.0.stages[1].timeout = Some(Duration::from_millis(150));
    let (report, watcher) = line.run();
    assert_eq!(watcher.problem().kind, ProblemKind::TimedOut);
    assert_eq!(report.stages[1].restarted, 1);
    assert_eq!((report.stages[2].received, report.failure), (9, None));
}

#[test]
fn a_restarted_plugin_starts_with_no_state() {
    // A source that counts its calls: after a restart it fails at its fourth call again.
    let mut pipeline = Builder::new();
    let config = json!({ "do": "fail", "on": 4 });
    let source = pipeline.stage("act-source", config);
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    pipeline.0.stages[source].restart = restart(2);
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("three failures", || watcher.problems().len() >= 3);
    run.stop();
    let report = finish(run);
    assert!(report.stages[source].restarted >= 2, "{report:#?}");
    assert_eq!(
        report.failure, None,
        "successful calls reset the count of failures"
    );
}

#[test]
fn after_too_many_in_a_row_on_error_decides() {
    let (report, _) = line(OnError::Stop, "fail", 0, 3).run();
    let stage = &report.stages[1];
    assert_eq!((stage.received, stage.failed, stage.restarted), (4, 4, 3));
    assert_eq!(report.failure.unwrap().message.unwrap().sequence, 4);

    let (report, _) = line(OnError::Skip, "fail", 0, 3).run();
    let stage = &report.stages[1];
    assert_eq!((stage.received, stage.failed, stage.restarted), (10, 10, 3));
    assert_eq!(report.failure, None);
}

#[test]
fn a_hang_is_a_failure_like_others() {
    let mut line = line(OnError::Stop, "hang", 4, 1);
    line.0.stages[1].timeout = Some(Duration::from_millis(150));
    line.0.stages[1].watchdog = Duration::from_millis(150);
    let (report, _) = line.run();
    let stage = &report.stages[1];
    assert_eq!(
        (stage.received, stage.abandoned, stage.restarted),
        (10, 1, 1)
    );
    assert_eq!((report.stages[2].received, report.failure), (9, None));
}

#[test]
fn the_end_of_the_run_does_not_wait() {
    let mut line = line(OnError::Stop, "fail", 4, 1);
    line.0.stages[1].restart = Some(Restart {
        max: 1,
        backoff: Duration::from_secs(24 * 60 * 60),
    });
    let watcher = Arc::new(Watcher::default());
    let run = line.start(&watcher);
    until("the failure", || !watcher.problems().is_empty());
    run.stop();
    let report = finish(run);
    // It drains its queue.
    assert_eq!(report.stages[1].restarted, 1);
    assert_eq!(report.failure, None);
}

#[test]
fn a_contestant_is_restarted_while_the_others_continue() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 20, "delay_us": 25_000 }));
    let race = pipeline.race(&[
        ("racer", json!({ "do": "fail" })),
        ("act", json!({ "do": "pass" })),
    ]);
    pipeline.0.stages[race].contestants[0].plugin = "act".into();
    pipeline.0.stages[race].contestants[0].config = json!({ "do": "fail" });
    pipeline.join(source, race);
    pipeline.0.stages[race].restart = restart(1000);
    let (report, _) = pipeline.run();
    let stage = &report.stages[race];
    assert_eq!((stage.received, stage.emitted), (20, 20));
    assert!(stage.restarted >= 1, "{stage:#?}");
    assert_eq!(stage.contestants[1].won, 20);
    assert_eq!(report.failure, None);
}

#[test]
fn a_race_that_all_lose_costs_its_message_alone() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 10 }));
    let config = json!({ "do": "fail", "on": 4 });
    let race = pipeline.race(&[("act", config.clone()), ("act", config)]);
    pipeline.join(source, race);
    pipeline.0.stages[race].restart = restart(1);
    let (report, _) = pipeline.run();
    let stage = &report.stages[race];
    assert_eq!((stage.received, stage.emitted, stage.failed), (10, 9, 1));
    assert_eq!(report.failure, None);
}

#[test]
fn the_end_of_a_run_does_not_wait_for_a_restart_that_the_race_does_not_need() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 20 }));
    let race = pipeline.race(&[
        ("act", json!({ "do": "fail" })),
        ("pass", json!({ "delay_us": 2_000 })),
    ]);
    pipeline.join(source, race);
    pipeline.0.stages[race].restart = Some(Restart {
        max: 9,
        backoff: Duration::from_secs(600),
    });
    let (report, watcher) = pipeline.run();
    assert_eq!(watcher.problems().len(), 1);
    assert_eq!(report.stages[race].emitted, 20);
    assert_eq!(report.failure, None);
}

#[test]
fn a_restart_without_backoff_does_not_block_the_run() {
    let mut line = Builder::line(u64::MAX >> 1, "act", json!({ "do": "fail", "on": 4 }));
    line.0.stages[1].restart = Some(Restart {
        max: 1,
        backoff: Duration::ZERO,
    });
    let mut pipeline = line.0.clone();
    let run = line.start(&Arc::default());
    until("it continues", || run.progress().stages[1].received > 10);
    let reloader = run.reloader();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        pipeline.edges[0].queue.capacity = 7;
        done.send(
            reloader
                .change(pipeline, crate::common::catalogue())
                .is_ok(),
        )
    });
    let is_changed = is_done.recv_timeout(Duration::from_secs(20));
    run.stop();
    let report = finish(run);
    assert_eq!(is_changed, Ok(true));
    assert_eq!((report.stages[1].restarted, report.failure), (1, None));
}
