//! Reloads: no message is lost or duplicated, nothing leaks, and a failed reload changes nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::{OnError, OnStop, WhenFull};
use flowpipe_engine::run::ChangeError;
use serde_json::{Value, json};

use crate::common::reloading::{adds_up, line, numbers, start};
use crate::common::{Watcher, catalogue, finish, queue, until};

/// Threads and open files of this process.
#[cfg(target_os = "linux")]
fn held() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// Memory of this process, kilobytes.
#[cfg(target_os = "linux")]
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_thousand_reloads_under_load_lose_nothing_and_keep_the_state() {
    let mut pipeline = line(10_000_000, "counter", json!({})).0;
    pipeline.stages[0].contestants[0].config =
        json!({ "count": 10_000_000, "width": 16, "height": 16 });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the first message", || run.progress().stages[3].emitted > 0);
    #[cfg(target_os = "linux")]
    let mut before = (held(), memory());
    let began = Instant::now();
    for swap in 0..1000_u64 {
        let (plugin, config) = match swap % 4 {
            0 => ("counter-too", json!({})),
            1 => ("counter-too", json!({ "do": "other" })),
            2 => ("counter", json!({ "do": "other" })),
            _ => ("counter", json!({})),
        };
        let middle = &mut pipeline.stages[2].contestants[0];
        (middle.plugin, middle.config) = (plugin.to_owned(), config);
        let changes = run.change(pipeline.clone(), catalogue()).unwrap();
        assert!(changes.to_string().contains("state kept"), "{changes}");
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "stuck at {swap}"
        );
        #[cfg(target_os = "linux")]
        if swap == 100 {
            before = (held(), memory());
        }
    }
    #[cfg(target_os = "linux")]
    let after = (held(), memory());
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    let seen = watcher.from(3);
    assert!(seen.len() > 1000, "it was not under load: {}", seen.len());
    for (number, seen) in (1..).zip(&seen) {
        assert_eq!(seen.json["n"], number, "in order, each once");
        assert_eq!(seen.json["count"], number, "the count continues");
        assert_eq!(seen.sequence, number);
        assert_eq!(seen.hops, [0, 1, 2, 3]);
    }
    assert_eq!(report.stages.len(), 4);
    assert_eq!(report.edges.len(), 3);
    assert_eq!(report.stages[2].received, seen.len() as u64);
    #[cfg(target_os = "linux")]
    {
        // Other tests run in this process too.
        assert!(after.0.0 < before.0.0 + 60, "threads: {before:?} {after:?}");
        assert!(after.0.1 < before.0.1 + 60, "files: {before:?} {after:?}");
        // Most of it is what the watcher records.
        let remembered = 4 * seen.len() as u64 * 1200 / 1024;
        assert!(
            after.1 < before.1 + remembered + (64 << 10),
            "kilobytes: {before:?} {after:?}, {remembered} remembered"
        );
    }
}

#[test]
fn unchanged_stages_are_not_touched() {
    let pipeline = line(50_000, "pass", json!({}));
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline.0, &watcher);
    let changes = run.change(pipeline.0.clone(), catalogue()).unwrap();
    assert!(changes.is_empty(), "{changes}");
    let mut other = pipeline.0.clone();
    other.name = "other".into();
    other.on_stop = OnStop::Drop;
    let changes = run.change(other, catalogue()).unwrap();
    assert_eq!(changes.to_string(), "on_stop; from the next run on: name");
    run.stop();
    finish(run);
}

#[test]
fn a_failed_reload_changes_nothing_and_reports_the_reason() {
    let pipeline = line(10_000_000, "counter", json!({})).0;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    let attempt = |plugin: &str, config: Value| {
        let mut other = pipeline.clone();
        let middle = &mut other.stages[2].contestants[0];
        (middle.plugin, middle.config) = (plugin.to_owned(), config);
        // Another stage changes too: both or none.
        other.stages[1].contestants[0].config = json!({ "do": "other" });
        run.change(other, catalogue()).unwrap_err().to_string()
    };
    for (plugin, config, reason) in [
        (
            "counter",
            json!({ "create": "fail" }),
            "counter failed to start: no memory",
        ),
        (
            "counter",
            json!({ "create": "bad-config" }),
            "failed to start: the config can't be used: n < 0",
        ),
        (
            "counter",
            json!({ "create": "fail-to-activate" }),
            "failed to activate: no device",
        ),
        (
            "counter",
            json!({ "state": "no-load" }),
            "counter failed to load the state: too much to remember",
        ),
        (
            "counter-too",
            json!({ "state": "no-load" }),
            "counter-too failed to load the state",
        ),
        (
            "counter",
            json!({ "state": "stranger" }),
            "does not know the format \"counter/1\"",
        ),
        ("nobody", json!({}), "there is no plugin \"nobody\""),
        (
            "join",
            json!({}),
            "the inputs or outputs of join differ from those of counter",
        ),
    ] {
        let before = run.progress().stages[3].emitted;
        let error = attempt(plugin, config);
        assert!(
            error.contains(reason) && error.contains("middle"),
            "{error}"
        );
        until("it continues", || {
            run.progress().stages[3].emitted > before + 10
        });
    }
    run.stop();
    let report = finish(run);
    adds_up(&report);
    assert_eq!(report.failure, None);
    for (number, seen) in (1..).zip(&watcher.from(3)) {
        assert_eq!(
            (&seen.json["n"], &seen.json["count"]),
            (&json!(number), &json!(number))
        );
    }
}

#[test]
fn a_plugin_that_fails_to_save_keeps_running_and_an_unknown_format_starts_with_no_state() {
    for (state, reason) in [
        (
            "no-save",
            "counter failed to save the state: nothing to save",
        ),
        ("silent", "it saved nothing"),
        ("not-json", "its state is"),
    ] {
        let mut pipeline = line(10_000_000, "counter", json!({ "state": state })).0;
        let run = start(&pipeline, &Arc::default());
        pipeline.stages[2].contestants[0].config = json!({});
        let error = run.change(pipeline, catalogue()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        run.stop();
        adds_up(&finish(run));
    }
    let mut pipeline = line(10_000_000, "counter", json!({ "state": "new" })).0;
    let run = start(&pipeline, &Arc::default());
    pipeline.stages[2].contestants[0].plugin = "counter-too".into();
    let changes = run.change(pipeline, catalogue()).unwrap();
    assert_eq!(changes.to_string(), "middle (counter -> counter-too)");
    run.stop();
    adds_up(&finish(run));
}

#[test]
fn a_stage_that_does_not_return_is_not_changed() {
    let mut pipeline = line(10_000_000, "act", json!({ "do": "slow", "on": 2 })).0;
    pipeline.stages[0].contestants[0].config = json!({ "count": 100_000, "delay_us": 1000 });
    // No other stage waits for it.
    pipeline.edges[1].queue.capacity = 100_000;
    pipeline
        .stages
        .iter_mut()
        .for_each(|it| it.watchdog = Duration::from_millis(100));
    let run = start(&pipeline, &Arc::default());
    until("it processes its message", || {
        run.progress().stages[2].received == 2
    });
    let before = pipeline.clone();
    pipeline.stages[1].contestants[0].config = json!({ "do": "other" });
    pipeline.stages[2].contestants[0].config = json!({});
    let error = run.change(pipeline, catalogue()).unwrap_err();
    assert!(
        matches!(&error, ChangeError::Busy { stage } if stage == "middle"),
        "{error}"
    );
    // The paused stages resume: another change succeeds.
    let mut elsewhere = before;
    elsewhere.stages[3].contestants[0].config = json!({ "do": "other" });
    assert_eq!(
        run.change(elsewhere, catalogue()).unwrap().to_string(),
        "after (config)"
    );
    run.abort();
    finish(run);
}

#[test]
fn a_stage_that_hangs_is_abandoned_while_others_wait_for_it() {
    // On each message, so that it hangs whenever the change comes.
    let mut pipeline = line(10_000_000, "act", json!({ "do": "hang" })).0;
    let watchdog = pipeline.stages[2].watchdog;
    pipeline.stages[2].on_error = OnError::Skip;
    pipeline.stages[2].timeout = Some(Duration::from_millis(100));
    pipeline.stages[2].watchdog = Duration::from_millis(100);
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("others wait for it", || {
        let stage = &run.progress().stages[2];
        stage.received > 0 && stage.queued == stage.capacity
    });
    // What takes its place never hangs, however slow the machine is.
    (pipeline.stages[2].timeout, pipeline.stages[2].watchdog) = (None, watchdog);
    pipeline.stages[2].contestants[0] = pipeline.stages[1].contestants[0].clone();
    let changes = run.change(pipeline, catalogue()).unwrap();
    assert_eq!(
        changes.to_string(),
        "middle (act -> pass, timeout, watchdog)"
    );
    until("it continues", || run.progress().stages[3].emitted > 100);
    run.stop();
    let report = finish(run);
    let abandoned = report.stages[2].abandoned as i64;
    assert!(abandoned > 0);
    // Each of these calls has cost its message, and no other one is lost.
    let seen = numbers(&watcher, 3);
    let all: Vec<i64> = (abandoned + 1..).take(seen.len()).collect();
    assert_eq!(seen, all);
}

#[test]
fn a_sleeping_stage_wakes_up_to_be_changed() {
    let mut pipeline = line(3, "counter", json!({})).0;
    pipeline.stages[0].contestants[0].config = json!({ "count": 3, "delay_us": 1_000_000 });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    pipeline.stages[1].contestants[0].config = json!({ "do": "other" });
    pipeline.stages[2].contestants[0].config = json!({ "do": "other" });
    run.change(pipeline, catalogue()).unwrap();
    let report = finish(run);
    adds_up(&report);
    assert_eq!(numbers(&watcher, 3), [1, 2, 3]);
}

#[test]
fn a_narrower_queue_loses_nothing() {
    let mut pipeline = line(10_000_000, "counter", json!({ "delay_us": 200 })).0;
    pipeline.edges[1].queue = queue(64, WhenFull::Block);
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    for capacity in [1, 64, 3, 1, 64] {
        until("it fills", || run.progress().stages[2].queued > 0);
        std::thread::sleep(Duration::from_millis(20));
        pipeline.edges[1].queue.capacity = capacity;
        pipeline.stages[2].contestants[0].config =
            json!({ "delay_us": 200, "do": capacity.to_string() });
        run.change(pipeline.clone(), catalogue()).unwrap();
        assert_eq!(run.progress().stages[2].capacity, capacity as u64);
    }
    run.stop();
    adds_up(&finish(run));
    let seen = numbers(&watcher, 3);
    assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
}

#[test]
fn the_run_ends_while_it_is_changed() {
    for round in 0..50 {
        let mut pipeline = line(200, "counter", json!({})).0;
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        let reloader = run.reloader();
        let thread = std::thread::spawn(move || {
            for swap in 0..1000 {
                pipeline.stages[2].contestants[0].config = json!({ "do": swap.to_string() });
                if reloader.change(pipeline.clone(), catalogue()).is_err() {
                    return;
                }
            }
        });
        if round % 2 == 0 {
            run.stop();
        }
        let report = finish(run);
        thread.join().unwrap();
        assert_eq!(report.failure, None);
        adds_up(&report);
        let seen = numbers(&watcher, 3);
        assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
    }
}
