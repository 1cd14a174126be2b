//! Reloads while plugins have failed, wait for a restart, or do not return.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::{Contestant, OnError, Pipeline, Restart};
use flowpipe_engine::report::Report;
use flowpipe_host::problem::ProblemKind;
use serde_json::{Value, json};

use crate::common::reloading::{adds_up, line, numbers, start};
use crate::common::{Watcher, catalogue, finish, until};

/// Longer than a test may take.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_stage_that_waits_for_a_restart_can_be_changed() {
    let mut pipeline = line(100, "act", json!({ "do": "fail", "on": 50 })).0;
    pipeline.stages[2].restart = Some(Restart {
        max: 1,
        // Longer than the test may take.
        backoff: Duration::from_secs(600),
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the failure", || !watcher.problems().is_empty());
    pipeline.stages[2].contestants[0].config = json!({ "do": "nothing", "on": 1_000 });
    run.change(pipeline.clone(), catalogue()).unwrap();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    let all_but_one: Vec<i64> = (1..=100).filter(|n| *n != 50).collect();
    assert_eq!(numbers(&watcher, 3), all_but_one);
}

#[test]
fn a_stage_that_waits_for_a_restart_resumes_when_its_queues_are_changed() {
    let mut pipeline = line(100, "act", json!({ "do": "fail", "on": 50 })).0;
    pipeline.stages[2].restart = Some(Restart {
        max: 1,
        backoff: Duration::from_secs(600),
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the failure", || !watcher.problems().is_empty());
    for edge in &mut pipeline.edges {
        edge.queue.capacity = 7;
    }
    run.change(pipeline.clone(), catalogue()).unwrap();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    assert_eq!(numbers(&watcher, 3).len(), 99);
}

#[test]
fn a_race_is_changed_while_one_of_its_plugins_waits_for_a_restart() {
    let mut pipeline = line(100, "pass", json!({})).0;
    // The one that answers is so slow that the other one fails at the first message or a later one.
    let racers = [
        ("act", json!({ "do": "fail" })),
        ("pass", json!({ "delay_us": 2_000 })),
    ]
    .map(|(plugin, config)| Contestant {
        plugin: plugin.to_owned(),
        config,
        revision: 0,
    });
    pipeline.stages[2].contestants = racers.to_vec();
    pipeline.stages[2].restart = Some(Restart {
        max: 3,
        backoff: Duration::from_secs(600),
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the failure", || !watcher.problems().is_empty());
    pipeline.stages[2].timeout = Some(Duration::from_secs(60));
    run.change(pipeline.clone(), catalogue()).unwrap();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    assert_eq!(numbers(&watcher, 3).len(), 100);
}

#[test]
fn a_race_whose_plugins_all_wait_for_a_restart_can_be_changed() {
    let mut pipeline = line(100, "act", json!({ "do": "fail" })).0;
    let other = pipeline.stages[2].contestants[0].clone();
    pipeline.stages[2].contestants.push(other);
    pipeline.stages[2].restart = Some(Restart {
        max: 9,
        backoff: LONG,
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    // One for each plugin, and one for the message.
    until("the failures", || watcher.problems().len() == 3);
    for contestant in &mut pipeline.stages[2].contestants {
        contestant.config = json!({ "do": "nothing", "on": 1_000 });
    }
    run.change(pipeline.clone(), catalogue()).unwrap();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    // The message being processed during the change is lost, as the first one was.
    let went_on = numbers(&watcher, 3);
    let all = (3..=100).collect::<Vec<_>>();
    assert!(went_on.ends_with(&all), "{went_on:?}");
}

#[test]
fn a_change_does_not_use_up_the_attempts_of_other_stages() {
    let mut pipeline = line(10_000_000, "act", json!({ "do": "fail" })).0;
    pipeline.stages[1].contestants[0] = Contestant {
        plugin: "act".to_owned(),
        config: json!({ "do": "sleep", "on": 50, "delay_us": 3_000_000 }),
        revision: 0,
    };
    pipeline.edges[1].queue.capacity = 100;
    pipeline.stages[2].restart = Some(Restart {
        max: 8,
        backoff: LONG,
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("it sleeps", || run.progress().stages[1].received == 50);
    until("the failure", || !watcher.problems().is_empty());
    pipeline.stages[1].contestants[0].config = json!({});
    run.change(pipeline.clone(), catalogue()).unwrap();
    assert!(watcher.problems().len() <= 2, "{:?}", watcher.problems());
    assert!(!run.is_over());
    run.abort();
    finish(run);
}

#[test]
fn a_plugin_that_hangs_in_a_state_transfer_does_not_block_the_end() {
    let mut pipeline = line(10_000_000, "counter", json!({ "state": "hang" })).0;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the first message", || run.progress().stages[3].emitted > 0);
    let reloader = run.reloader();
    pipeline.stages[2].contestants[0].config = json!({});
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(reloader.change(pipeline, catalogue())));
    let hangs = || {
        let before = run.progress().stages[2].received;
        std::thread::sleep(Duration::from_millis(200));
        run.progress().stages[2].received == before
    };
    until("it hangs", hangs);
    run.stop();
    run.stop();
    let report = finish(run);
    assert_eq!(report.stages[2].failed, 0);
    assert!(is_done.try_recv().is_err(), "the change does not return");
}

#[test]
fn a_removed_stage_is_destroyed_after_it_has_drained_its_queue() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("destroyed");
    let plain = line(10_000_000, "pass", json!({}));
    let mut more = line(10_000_000, "pass", json!({}));
    let side = more.stage("sink", json!({ "destroyed": mark }));
    more.0.stages[side].name = "side".into();
    more.join(1, side);
    let watcher = Arc::new(Watcher::default());
    let run = start(&more.0, &watcher);
    until("it works", || run.progress().stages[4].received > 0);
    assert!(!mark.exists());
    run.change(plain.0, catalogue()).unwrap();
    until("it is destroyed", || mark.exists());
    assert!(!run.is_over());
    run.stop();
    assert_eq!(finish(run).failure, None);
}

/// Changes the middle stage to each of these plugins, as far as they are accepted, and waits until it hangs.
fn hang_after(first: (&str, Value), changes: &[(&str, Value, bool)]) -> Report {
    let mut pipeline = line(10_000_000, first.0, first.1).0;
    let limit = Duration::from_millis(150);
    pipeline.stages[0].contestants[0].config = json!({ "count": 10_000_000, "delay_us": 1_000 });
    pipeline.stages[2].on_error = OnError::Skip;
    pipeline.stages[2].timeout = Some(limit);
    pipeline.stages[2].watchdog = limit;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    let with = |plugin: &str, config: &Value| {
        let mut next: Pipeline = pipeline.clone();
        next.stages[2].contestants[0].plugin = plugin.to_owned();
        next.stages[2].contestants[0].config = config.clone();
        next
    };
    for (plugin, config, is_accepted) in changes {
        let changed = run.change(with(plugin, config), catalogue());
        assert_eq!(changed.is_ok(), *is_accepted, "{changed:?}");
    }
    until("the hang", || watcher.kinds().contains(&ProblemKind::Hang));
    run.stop();
    finish(run)
}

#[test]
fn a_hang_fails_the_run_only_of_a_stage_that_drives_the_mouse() {
    let hangs = || json!({ "do": "hang", "every": 1_000 });
    let idle = || json!({ "do": "nothing" });
    let report = hang_after(("act", idle()), &[("act-mouse", hangs(), true)]);
    let failure = report.failure.map(|it| (it.kind, it.plugin));
    assert_eq!(failure, Some((ProblemKind::Hang, "act-mouse".to_owned())));
    // The mouse's stage of a rejected change never ran.
    let rejected = ("act-mouse", json!({ "create": "fail" }), false);
    let report = hang_after(("act", hangs()), &[rejected]);
    assert_eq!(report.failure, None);
    // The stage drives the mouse no more.
    let report = hang_after(("act-mouse", idle()), &[("act", hangs(), true)]);
    assert_eq!(report.failure, None);
}
