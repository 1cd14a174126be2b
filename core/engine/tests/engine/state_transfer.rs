//! What a stage remembers goes to the one in its place, from and to processes of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_config::pipeline::{Contestant, Isolation, Pipeline, Restart};
use flowpipe_engine::run::{LineUp, Observer, Run, RunHandle};
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

/// What observers are told of changes.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Observer for Told {
    fn changed(&self, line: &LineUp<'_>) {
        self.0.lock().unwrap().push(line.changes.to_string());
    }
}

fn goes_on(run: &RunHandle) {
    let before = run.progress().stages[2].emitted;
    until("it goes on", || {
        run.progress().stages[2].emitted > before + 20
    });
}

/// What came through, each with its count. Nothing is missing, and nothing comes twice.
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

fn never_began_anew(counts: &[i64]) {
    assert!(
        (1..).zip(counts).all(|(number, count)| number == *count),
        "{counts:?}"
    );
}

#[test]
fn the_count_goes_on_in_and_out_of_processes() {
    use Isolation::{Process, Thread};
    for config in [json!({}), json!({ "state": "large" })] {
        let mut pipeline = line(Thread, config.clone());
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        for (isolation, plugin, told) in [
            (Process, "counter", "middle (isolation, state kept)"),
            (Process, "counter-too", "(counter -> counter-too, state"),
            (Process, "counter", "middle (counter-too -> counter, state"),
            (Thread, "counter", "middle (isolation, state kept)"),
            (Process, "counter-too", "isolation, state kept)"),
            (Thread, "counter", "isolation, state kept)"),
        ] {
            goes_on(&run);
            pipeline.stages[1].isolation = isolation;
            pipeline.stages[1].contestants[0].plugin = plugin.to_owned();
            let changes = run.change(pipeline.clone(), lasting_catalogue());
            let changes = changes.unwrap_or_else(|error| panic!("{error}"));
            assert!(changes.to_string().contains(told), "{changes}");
        }
        goes_on(&run);
        never_began_anew(&ends_well(run, &watcher));
        assert_eq!(watcher.problems(), []);
    }
}

#[test]
fn what_fails_in_a_process_changes_nothing_and_says_why() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let pipeline = line(isolation, json!({}));
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        for (plugin, state, reason) in [
            (
                "counter",
                "no-load",
                "counter can't take over the state: too much to remember",
            ),
            (
                "counter",
                "stranger",
                "counter can't take over the state: it does not know the format \"counter/1\"",
            ),
            (
                "counter-too",
                "crash-load",
                "counter-too can't take over the state: its process aborted (SIGABRT",
            ),
        ] {
            let mut other = pipeline.clone();
            other.stages[1].isolation = Isolation::Process;
            other.stages[1].contestants[0].plugin = plugin.to_owned();
            other.stages[1].contestants[0].config = json!({ "state": state });
            let told = run.change(other, lasting_catalogue()).unwrap_err();
            assert!(told.to_string().contains(reason), "{told}");
            goes_on(&run);
        }
        never_began_anew(&ends_well(run, &watcher));
        assert_eq!(watcher.problems(), []);
    }
}

#[test]
fn a_state_that_a_process_can_not_tell_keeps_the_old_one() {
    for (state, reason) in [
        (
            "no-save",
            "counter can't hand over the state: nothing to tell",
        ),
        (
            "silent",
            "counter can't hand over the state: it saved nothing",
        ),
        (
            "not-json",
            "counter can't hand over the state: its state is",
        ),
    ] {
        let mut pipeline = line(Isolation::Process, json!({ "state": state }));
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        pipeline.stages[1].contestants[0].config = json!({});
        pipeline.stages[1].isolation = Isolation::Thread;
        let told = run.change(pipeline, lasting_catalogue()).unwrap_err();
        assert!(told.to_string().contains(reason), "{told}");
        goes_on(&run);
        never_began_anew(&ends_well(run, &watcher));
    }
    // One of another name begins afresh when it does not know the format.
    let mut pipeline = line(Isolation::Process, json!({ "state": "new" }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    goes_on(&run);
    pipeline.stages[1].contestants[0].plugin = "counter-too".into();
    let changes = run.change(pipeline, lasting_catalogue()).unwrap();
    assert_eq!(changes.to_string(), "middle (counter -> counter-too)");
    goes_on(&run);
    began_anew_once(&ends_well(run, &watcher));
}

fn began_anew_once(counts: &[i64]) {
    let anew = counts.iter().rposition(|count| *count == 1).unwrap();
    assert!(anew > 0, "{counts:?}");
    let (before, after) = counts.split_at(anew);
    never_began_anew(before);
    never_began_anew(after);
}

#[test]
fn one_that_hangs_over_its_state_is_killed() {
    // Long enough for what does come back.
    let watchdog = Duration::from_secs(5);
    let patient = |config| {
        let mut pipeline = line(Isolation::Process, config);
        pipeline.stages[1].watchdog = watchdog;
        pipeline
    };
    let late = "it has not come back after 5s; its process was killed";
    // The new one: the old one goes on.
    let watcher = Arc::new(Watcher::default());
    let run = start(&patient(json!({})), &watcher);
    let other = patient(json!({ "state": "hang-load" }));
    let told = run.change(other, lasting_catalogue()).unwrap_err();
    let told = told.to_string();
    assert!(
        told.contains("can't take over the state") && told.contains(late),
        "{told}"
    );
    goes_on(&run);
    never_began_anew(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
    // The old one: it is made anew.
    let watcher = Arc::new(Watcher::default());
    let run = start(&patient(json!({ "state": "hang-save" })), &watcher);
    goes_on(&run);
    let told = run
        .change(patient(json!({})), lasting_catalogue())
        .unwrap_err();
    let told = told.to_string();
    assert!(
        told.contains("can't hand over the state") && told.contains(late),
        "{told}"
    );
    goes_on(&run);
    began_anew_once(&ends_well(run, &watcher));
    assert_eq!(watcher.problem().kind, ProblemKind::Hang);
}

#[test]
fn one_that_crashes_over_its_state_is_made_anew_and_costs_no_message() {
    for after in [Isolation::Process, Isolation::Thread] {
        let mut pipeline = line(Isolation::Process, json!({ "state": "crash-save" }));
        let watcher = Arc::new(Watcher::default());
        let told = Arc::new(Told::default());
        let mut options = crate::isolated::options(&watcher);
        options.observers.push(told.clone());
        let run = Run::start(pipeline.clone(), lasting_catalogue(), options).unwrap();
        goes_on(&run);
        pipeline.stages[1].isolation = after;
        pipeline.stages[1].contestants[0].config = json!({ "state": "other" });
        let error = run.change(pipeline, lasting_catalogue()).unwrap_err();
        let reason = "counter can't hand over the state: its process aborted (SIGABRT";
        assert!(error.to_string().contains(reason), "{error}");
        // A recording has to know that it is another one.
        assert_eq!(*told.0.lock().unwrap(), ["middle (made anew)"]);
        goes_on(&run);
        run.stop();
        let report = finish(run);
        adds_up(&report);
        let (stage, failure) = (&report.stages[1], report.failure);
        assert_eq!((stage.restarted, stage.failed, failure), (1, 0, None));
        began_anew_once(&counts(&watcher));
        let problem = watcher.problem();
        assert_eq!(
            (problem.kind, problem.message),
            (ProblemKind::Crashed, None)
        );
        assert!(
            problem
                .text
                .ends_with(", while its state was to be handed over"),
            "{}",
            problem.text
        );
    }
}

#[test]
fn one_that_may_not_be_made_anew_ends_the_run_with_its_crash() {
    let mut pipeline = line(Isolation::Process, json!({ "state": "crash-save" }));
    pipeline.stages[1].restart = Some(Restart {
        max: 0,
        backoff: Duration::ZERO,
    });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    goes_on(&run);
    pipeline.stages[1].contestants[0].config = json!({});
    run.change(pipeline, lasting_catalogue()).unwrap_err();
    let report = finish(run);
    assert_eq!(report.failure.unwrap().kind, ProblemKind::Crashed);
    never_began_anew(&counts(&watcher));
}

/// A race of a counter that is asked for its state like this, and another.
fn race(state: &str, round: u32, other: &str, config: Value) -> Pipeline {
    let config_of = json!({ "state": state, "do": round.to_string() });
    let mut pipeline = line(Isolation::Process, config_of);
    pipeline.stages[1].contestants.push(Contestant {
        plugin: other.to_owned(),
        config,
    });
    pipeline
}

#[test]
fn one_of_a_race_hands_over_its_state() {
    let race = |round| race("", round, "act", json!({ "do": "slow" }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&race(0), &watcher);
    for round in 1..4 {
        goes_on(&run);
        let changes = run.change(race(round), lasting_catalogue());
        let changes = changes.unwrap_or_else(|error| panic!("{error}"));
        assert!(changes.to_string().contains("state kept"), "{changes}");
    }
    goes_on(&run);
    never_began_anew(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
}

#[test]
fn one_of_a_race_crashes_over_its_state_and_comes_back() {
    // The other answers too, without a count: what is raced before the counter is back is its own.
    let race = |state, round| race(state, round, "pass", json!({ "delay_us": 20_000 }));
    let watcher = Arc::new(Watcher::default());
    let run = start(&race("crash-save", 0), &watcher);
    goes_on(&run);
    let told = run.change(race("", 1), lasting_catalogue()).unwrap_err();
    assert!(told.to_string().contains("can't hand over"), "{told}");
    let before = watcher.from(2).len();
    let counts_anew = || {
        let seen = watcher.from(2);
        let mut counts = seen.iter().skip(before);
        counts.any(|it| it.json["count"].is_i64())
    };
    until("the counter answers again", counts_anew);
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
fn a_run_that_began_with_threads_takes_up_processes() {
    let mut pipeline = line(Isolation::Thread, json!({}));
    pipeline.stages[0].contestants[0].config =
        json!({ "count": 10_000_000, "width": 64, "height": 64 });
    pipeline.stages[2].isolation = Isolation::Thread;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    for isolation in [Isolation::Process, Isolation::Thread, Isolation::Process] {
        goes_on(&run);
        pipeline.stages[1].isolation = isolation;
        let changes = run.change(pipeline.clone(), lasting_catalogue()).unwrap();
        assert!(changes.to_string().contains("state kept"), "{changes}");
    }
    goes_on(&run);
    never_began_anew(&ends_well(run, &watcher));
    assert_eq!(watcher.problems(), []);
}
