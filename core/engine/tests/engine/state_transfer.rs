//! State transfer between a stage and its replacement, in threads and in processes of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_config::pipeline::{Contestant, Isolation, Pipeline, Restart};
use flowpipe_engine::run::{Observer, PipelineChange, Run, RunHandle};
use flowpipe_host::problem::ProblemKind;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, adds_up, finish, lasting_catalogue, until};

/// source -> counter -> pass; the last in a process of its own.
fn line(isolation: Isolation, config: Value) -> Pipeline {
    let mut line = Builder::line(10_000_000, "counter", config).0;
    line.stages[2].isolation = Isolation::Process;
    line.stages[1].isolation = isolation;
    line.stages[1].name = "middle".into();
    line.stages[1].restart = Some(Restart {
        max: 8,
        backoff: Duration::from_millis(1),
    });
    line
}

fn start(pipeline: &Pipeline, watcher: &Arc<Watcher>) -> RunHandle {
    crate::isolated::start(pipeline.clone(), lasting_catalogue(), watcher)
}

/// The changes that observers receive.
#[derive(Default)]
struct ChangeLog(Mutex<Vec<String>>);

impl Observer for ChangeLog {
    fn changed(&self, change: &PipelineChange<'_>) {
        self.0.lock().unwrap().push(change.changes.to_string());
    }
}

fn check_continues(run: &RunHandle) {
    let before = run.progress().stages[2].emitted;
    until("it continues", || {
        run.progress().stages[2].emitted > before + 20
    });
}

/// The counts of the messages that arrived. Checks that no message is missing or arrives twice.
fn counts(watcher: &Watcher) -> Vec<i64> {
    let seen = watcher.from(2);
    for (number, seen) in (1..).zip(&seen) {
        assert_eq!(seen.json["n"], number);
    }
    let count = |it: &crate::common::Seen| it.json["count"].as_i64().unwrap();
    seen.iter().map(count).collect()
}

fn ends_well(run: RunHandle, watcher: &Watcher) -> Vec<i64> {
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    counts(watcher)
}

fn check_never_restarted(counts: &[i64]) {
    assert!(
        (1..).zip(counts).all(|(number, count)| number == *count),
        "{counts:?}"
    );
}

#[test]
fn the_count_continues_across_threads_and_processes() {
    use Isolation::{Process, Thread};
    for config in [json!({}), json!({ "state": "large" })] {
        let mut pipeline = line(Thread, config.clone());
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        for (isolation, plugin, expected) in [
            (Process, "counter", "middle (isolation, state kept)"),
            (Process, "counter-too", "(counter -> counter-too, state"),
            (Process, "counter", "middle (counter-too -> counter, state"),
            (Thread, "counter", "middle (isolation, state kept)"),
            (Process, "counter-too", "isolation, state kept)"),
            (Thread, "counter", "isolation, state kept)"),
        ] {
            check_continues(&run);
            pipeline.stages[1].isolation = isolation;
            pipeline.stages[1].contestants[0].plugin = plugin.to_owned();
            let changes = run.change(pipeline.clone(), lasting_catalogue());
            let changes = changes.unwrap_or_else(|error| panic!("{error}"));
            assert!(changes.to_string().contains(expected), "{changes}");
        }
        check_continues(&run);
        check_never_restarted(&ends_well(run, &watcher));
        assert_eq!(watcher.problems(), []);
    }
}

#[test]
fn a_failure_in_a_process_changes_nothing_and_reports_the_reason() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let pipeline = line(isolation, json!({}));
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        for (plugin, state, reason) in [
            (
                "counter",
                "no-load",
                "counter failed to load the state: too much to remember",
            ),
            (
                "counter",
                "stranger",
                "counter failed to load the state: it does not know the format \"counter/1\"",
            ),
            (
                "counter-too",
                "crash-load",
                "counter-too failed to load the state: its process aborted (SIGABRT",
            ),
        ] {
            let mut other = pipeline.clone();
            other.stages[1].isolation = Isolation::Process;
            other.stages[1].contestants[0].plugin = plugin.to_owned();
            other.stages[1].contestants[0].config = json!({ "state": state });
            let error = run.change(other, lasting_catalogue()).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            check_continues(&run);
        }
        check_never_restarted(&ends_well(run, &watcher));
        assert_eq!(watcher.problems(), []);
    }
}

#[test]
fn a_process_that_fails_to_save_its_state_keeps_running() {
    for (state, reason) in [
        (
            "no-save",
            "counter failed to save the state: nothing to save",
        ),
        (
            "silent",
            "counter failed to save the state: it saved nothing",
        ),
        ("not-json", "counter failed to save the state: its state is"),
    ] {
        let mut pipeline = line(Isolation::Process, json!({ "state": state }));
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        pipeline.stages[1].contestants[0].config = json!({});
        pipeline.stages[1].isolation = Isolation::Thread;
        let error = run.change(pipeline, lasting_catalogue()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        check_continues(&run);
        check_never_restarted(&ends_well(run, &watcher));
    }
    // A plugin of another name starts with no state if it does not know the format.
    let mut pipeline = line(Isolation::Process, json!({ "state": "new" }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    check_continues(&run);
    pipeline.stages[1].contestants[0].plugin = "counter-too".into();
    let changes = run.change(pipeline, lasting_catalogue()).unwrap();
    assert_eq!(changes.to_string(), "middle (counter -> counter-too)");
    check_continues(&run);
    check_restarted_once(&ends_well(run, &watcher));
}

fn check_restarted_once(counts: &[i64]) {
    let restart = counts.iter().rposition(|count| *count == 1).unwrap();
    assert!(restart > 0, "{counts:?}");
    let (before, after) = counts.split_at(restart);
    check_never_restarted(before);
    check_never_restarted(after);
}

#[test]
fn a_process_that_hangs_in_a_state_transfer_is_killed() {
    // Long enough for the calls that return.
    let watchdog = Duration::from_secs(5);
    let patient = |config| {
        let mut pipeline = line(Isolation::Process, config);
        pipeline.stages[1].watchdog = watchdog;
        pipeline
    };
    let late = "it has not come back after 5s; its process was killed";
    // The new one hangs: the old one continues.
    let watcher = Arc::new(Watcher::default());
    let run = start(&patient(json!({})), &watcher);
    let other = patient(json!({ "state": "hang-load" }));
    let error = run.change(other, lasting_catalogue()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("failed to load the state") && error.contains(late),
        "{error}"
    );
    check_continues(&run);
    check_never_restarted(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
    // The old one hangs: it is restarted.
    let watcher = Arc::new(Watcher::default());
    let run = start(&patient(json!({ "state": "hang-save" })), &watcher);
    check_continues(&run);
    let error = run
        .change(patient(json!({})), lasting_catalogue())
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("failed to save the state") && error.contains(late),
        "{error}"
    );
    check_continues(&run);
    check_restarted_once(&ends_well(run, &watcher));
    assert_eq!(watcher.problem().kind, ProblemKind::Hang);
}

#[test]
fn a_process_that_crashes_while_it_saves_is_restarted_without_message_loss() {
    for after in [Isolation::Process, Isolation::Thread] {
        let mut pipeline = line(Isolation::Process, json!({ "state": "crash-save" }));
        let watcher = Arc::new(Watcher::default());
        let changes = Arc::new(ChangeLog::default());
        let mut options = crate::isolated::options(&watcher);
        options.observers.push(changes.clone());
        let run = Run::start(pipeline.clone(), lasting_catalogue(), options).unwrap();
        check_continues(&run);
        pipeline.stages[1].isolation = after;
        pipeline.stages[1].contestants[0].config = json!({ "state": "other" });
        let error = run.change(pipeline, lasting_catalogue()).unwrap_err();
        let reason = "counter failed to save the state: its process aborted (SIGABRT";
        assert!(error.to_string().contains(reason), "{error}");
        // A recording has to note that it is a new instance.
        assert_eq!(*changes.0.lock().unwrap(), ["middle (restarted)"]);
        check_continues(&run);
        run.stop();
        let report = finish(run);
        adds_up(&report);
        let (stage, failure) = (&report.stages[1], report.failure);
        assert_eq!((stage.restarted, stage.failed, failure), (1, 0, None));
        check_restarted_once(&counts(&watcher));
        let problem = watcher.problem();
        assert_eq!(
            (problem.kind, problem.message),
            (ProblemKind::Crashed, None)
        );
        assert!(
            problem
                .text
                .ends_with(", while its state was being transferred"),
            "{}",
            problem.text
        );
    }
}

#[test]
fn without_restarts_a_crash_while_saving_ends_the_run() {
    let mut pipeline = line(Isolation::Process, json!({ "state": "crash-save" }));
    pipeline.stages[1].restart = Some(Restart {
        max: 0,
        backoff: Duration::ZERO,
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    check_continues(&run);
    pipeline.stages[1].contestants[0].config = json!({});
    run.change(pipeline, lasting_catalogue()).unwrap_err();
    let report = finish(run);
    assert_eq!(report.failure.unwrap().kind, ProblemKind::Crashed);
    check_never_restarted(&counts(&watcher));
}

/// A race of a counter with this `state` config, and another plugin.
fn race(state: &str, round: u32, other: &str, config: Value) -> Pipeline {
    let config_of = json!({ "state": state, "do": round.to_string() });
    let mut pipeline = line(Isolation::Process, config_of);
    pipeline.stages[1].contestants.push(Contestant {
        plugin: other.to_owned(),
        config,
        revision: 0,
    });
    pipeline
}

#[test]
fn a_contestant_transfers_its_state() {
    let race = |round| race("", round, "act", json!({ "do": "slow" }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&race(0), &watcher);
    for round in 1..4 {
        check_continues(&run);
        let changes = run.change(race(round), lasting_catalogue());
        let changes = changes.unwrap_or_else(|error| panic!("{error}"));
        assert!(changes.to_string().contains("state kept"), "{changes}");
    }
    check_continues(&run);
    check_never_restarted(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
}

#[test]
fn a_contestant_that_crashes_while_it_saves_is_restarted() {
    // The other contestant answers too, without a count, until the counter is restarted.
    let race = |state, round| race(state, round, "pass", json!({ "delay_us": 20_000 }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&race("crash-save", 0), &watcher);
    check_continues(&run);
    let error = run.change(race("", 1), lasting_catalogue()).unwrap_err();
    assert!(error.to_string().contains("failed to save"), "{error}");
    let before = watcher.from(2).len();
    let counts_again = || {
        let seen = watcher.from(2);
        let mut counts = seen.iter().skip(before);
        counts.any(|it| it.json["count"].is_i64())
    };
    until("the counter answers again", counts_again);
    run.stop();
    let report = finish(run);
    adds_up(&report);
    assert_eq!((report.stages[1].restarted, report.failure), (1, None));
    for (number, seen) in (1..).zip(&watcher.from(2)) {
        assert_eq!(seen.json["n"], number);
    }
    assert_eq!(watcher.problem().kind, ProblemKind::Crashed);
}

#[test]
fn a_run_that_started_with_threads_can_add_processes() {
    let mut pipeline = line(Isolation::Thread, json!({}));
    pipeline.stages[0].contestants[0].config =
        json!({ "count": 10_000_000, "width": 64, "height": 64 });
    pipeline.stages[2].isolation = Isolation::Thread;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    for isolation in [Isolation::Process, Isolation::Thread, Isolation::Process] {
        check_continues(&run);
        pipeline.stages[1].isolation = isolation;
        let changes = run.change(pipeline.clone(), lasting_catalogue()).unwrap();
        assert!(changes.to_string().contains("state kept"), "{changes}");
    }
    check_continues(&run);
    check_never_restarted(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
}
