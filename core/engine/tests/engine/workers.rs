//! Several workers of one stage: the order of what they emit, and what a failure costs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_config::pipeline::{Isolation, OnError, Restart, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{ChangeError, Observer, Options, Run, RunHandle};
use flowpipe_host::problem::ProblemKind;
use flowpipe_recording::entry::{Call, Event};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Builder, Seen, Watcher, adds_up, catalogue, finish, queue, reloading, until};

/// source (so many messages) -> the plugin with so many workers -> pass.
fn line(count: u64, workers: usize, plugin: &str, config: Value) -> Builder {
    let mut line = Builder::line(count, plugin, config);
    line.0.stages[1].workers = workers;
    line
}

/// As the fixture does.
fn mixed(n: i64, seed: i64) -> u32 {
    const MORE: u64 = 0xD6E8_FEB8_6659_FD93;
    let x = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = x.wrapping_add((seed as u64).wrapping_mul(MORE));
    ((x ^ x >> 32).wrapping_mul(MORE) >> 32) as u32
}

/// What `jitter` makes of these messages: the number of each, and of its part.
fn parts(count: i64, seed: i64) -> Vec<(i64, i64)> {
    let of = |n| (0..i64::from(mixed(n, seed) % 3)).map(move |part| (n, part));
    (1..=count).flat_map(of).collect()
}

/// The messages of `jitter` in their order, without those at the end of the stream. Those follow all others.
fn got(watcher: &Watcher) -> Vec<(i64, i64)> {
    let seen = watcher.from(1);
    let is_last = |seen: &&Seen| seen.json["n"].is_null();
    let first_last = seen.iter().position(|seen| is_last(&seen));
    let messages = &seen[..first_last.unwrap_or(seen.len())];
    assert!(seen[messages.len()..].iter().all(|seen| is_last(&seen)));
    let number = |seen: &Seen, key: &str| seen.json[key].as_i64().unwrap();
    let messages = messages.iter();
    messages
        .map(|seen| (number(seen, "n"), number(seen, "part")))
        .collect()
}

/// What each worker had at the end of the stream.
fn held(watcher: &Watcher) -> Vec<i64> {
    let seen = watcher.from(1);
    let last = seen.iter().filter(|seen| seen.json["n"].is_null());
    last.map(|seen| seen.json["held"].as_i64().unwrap())
        .collect()
}

/// A random stage: its workers, the capacity of its queue, its seed, and whether it is ordered.
fn stages() -> impl Strategy<Value = (usize, usize, i64, bool)> {
    (1..7_usize, 1..6_usize, any::<i16>(), any::<bool>())
        .prop_map(|(workers, capacity, seed, ordered)| (workers, capacity, seed.into(), ordered))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever each message takes, and however many messages it becomes.
    #[test]
    fn messages_leave_in_the_order_in_which_they_came((workers, capacity, seed, ordered) in stages()) {
        const COUNT: i64 = 120;
        let config = json!({ "on": seed, "delay_us": 400 });
        let mut line = line(COUNT as u64, workers, "jitter", config);
        line.0.stages[1].ordered = ordered;
        for edge in &mut line.0.edges {
            edge.queue.capacity = capacity;
        }
        let (report, watcher) = line.run();
        adds_up(&report);
        prop_assert_eq!(watcher.problems(), []);
        let mut got = got(&watcher);
        if !ordered {
            // Those of one message are in order.
            got.sort_by_key(|(n, _)| *n);
        }
        prop_assert_eq!(got, parts(COUNT, seed));
        let held = held(&watcher);
        prop_assert_eq!(held.len(), workers, "each worker receives the end of the stream");
        prop_assert_eq!(held.iter().sum::<i64>(), COUNT);
    }

    /// Failures cost their messages, and no order.
    #[test]
    fn a_failure_costs_its_message_alone(
        (workers, capacity, seed, _) in stages(),
        what in prop::sample::select(vec!["fail", "panic"]),
        restarts in any::<bool>(),
    ) {
        const COUNT: i64 = 60;
        let config = json!({ "on": seed, "delay_us": 400, "every": 7, "do": what });
        let mut line = line(COUNT as u64, workers, "jitter", config);
        line.0.stages[1].on_error = OnError::Skip;
        line.0.stages[1].restart = restarts.then_some(SOON);
        for edge in &mut line.0.edges {
            edge.queue.capacity = capacity;
        }
        let (report, watcher) = line.run();
        adds_up(&report);
        // It fails after it has emitted.
        prop_assert_eq!(got(&watcher), parts(COUNT, seed));
        let stage = &report.stages[1];
        prop_assert_eq!((stage.received, stage.failed), (60, 8));
        let failed: BTreeSet<_> = watcher.problems().iter().map(|it| it.message.as_ref().unwrap().sequence).collect();
        let expected: BTreeSet<u64> = (1..=8).map(|it| it * 7).collect();
        prop_assert_eq!(failed, expected);
        prop_assert_eq!(stage.restarted > 0, restarts);
        prop_assert_eq!(report.failure, None);
    }
}

const SOON: Restart = Restart {
    max: 8,
    backoff: Duration::from_millis(1),
};

/// Starts a run with three workers of which no call returns before the run ends.
fn at_the_same_time(start: impl Fn(Builder, &Arc<Watcher>) -> RunHandle) {
    let line = line(10, 3, "act", json!({ "do": "until-ending" }));
    let watcher = Arc::new(Watcher::default());
    let run = start(line, &watcher);
    until("three calls", || run.progress().stages[1].received == 3);
    assert_eq!(run.progress().stages[1].workers, 3);
    run.stop();
    let report = finish(run);
    assert_eq!((report.failure, watcher.problems()), (None, Vec::new()));
    assert_eq!(report.stages[1].workers, 3);
}

#[test]
fn workers_process_messages_at_the_same_time() {
    at_the_same_time(Builder::start);
}

#[cfg(unix)]
#[test]
fn workers_have_processes_of_their_own() {
    at_the_same_time(|mut line, watcher| {
        line.0.stages[1].isolation = Isolation::Process;
        crate::isolated::start(line.0, crate::common::lasting_catalogue(), watcher)
    });
}

#[test]
fn a_later_message_waits_for_an_earlier_one() {
    let on_first = json!({ "do": "until-ending", "on": 1 });
    for (ordered, left) in [(true, 0), (false, 9)] {
        let mut line = line(10, 2, "act", on_first.clone());
        line.0.stages[1].ordered = ordered;
        let watcher = Arc::new(Watcher::default());
        let run = line.start(&watcher);
        match ordered {
            // The first is in its call, and the second waits for its turn.
            true => until("two messages", || run.progress().stages[1].received == 2),
            false => until("the others", || run.progress().stages[1].emitted == left),
        }
        assert_eq!(
            run.progress().stages[1].emitted,
            if ordered { 0 } else { 9 }
        );
        run.abort();
        let report = finish(run);
        assert_eq!((report.failure, watcher.problems()), (None, Vec::new()));
        assert_eq!(report.stages[1].emitted, left, "ordered: {ordered}");
    }
}

#[test]
fn a_worker_that_hangs_is_replaced_and_stops_nobody() {
    let config = json!({ "do": "hang", "every": 7, "count": 1 });
    let mut line = line(20, 3, "jitter", config);
    let stage = &mut line.0.stages[1];
    stage.timeout = Some(Duration::from_millis(100));
    stage.watchdog = Duration::from_millis(100);
    stage.on_error = OnError::Skip;
    let (report, watcher) = line.run();
    adds_up(&report);
    let all: Vec<_> = (1..=20).map(|n| (n, 0)).collect();
    assert_eq!(got(&watcher), all);
    let stage = &report.stages[1];
    assert_eq!((stage.abandoned, stage.received), (2, 20));
    let kinds = watcher.kinds().into_iter();
    // Each was also reported as slow.
    assert_eq!(kinds.filter(|kind| *kind == ProblemKind::Hang).count(), 2);
    assert_eq!(report.failure, None);
}

#[test]
fn a_failure_ends_the_run_and_the_others_drain_the_queue() {
    let mut line = line(30, 3, "act", json!({ "do": "fail", "on": 4 }));
    line.0.edges[0].queue = queue(30, WhenFull::Block);
    let (report, watcher) = line.run();
    adds_up(&report);
    assert_eq!(watcher.problem().message.unwrap().sequence, 4);
    assert_eq!(report.failure.unwrap().kind, ProblemKind::Failed);
    let stage = &report.stages[1];
    assert_eq!(stage.emitted, stage.received - 1);
    assert!(report.stages[2].received == stage.emitted);
}

#[test]
fn a_stage_ends_when_all_its_workers_have_no_more_output() {
    // Each plugin ends at its first message.
    let (report, _) = line(100, 3, "act", json!({ "do": "end" })).run();
    let stage = &report.stages[1];
    assert_eq!((stage.received, stage.emitted), (3, 0));
    assert_eq!(report.failure, None);
}

#[test]
fn a_stage_ends_when_its_receiver_is_gone() {
    let mut line = line(1_000_000, 3, "jitter", json!({ "count": 1 }));
    line.0.stages[2].contestants[0].plugin = "act".to_owned();
    line.0.stages[2].contestants[0].config = json!({ "do": "end", "on": 5 });
    let (report, _) = line.run();
    assert!(report.stages[1].received < 1_000_000);
    assert_eq!((report.failure, report.frames.live), (None, 0));
}

#[test]
fn each_worker_can_be_a_race() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 40 }));
    let answers = |seed: u64| {
        (
            "jitter",
            json!({ "count": 1, "on": seed, "delay_us": 3000 }),
        )
    };
    let race = pipeline.race(&[answers(1), answers(2), ("act", json!({ "do": "slow" }))]);
    let pass = pipeline.stage("pass", json!({}));
    pipeline.join(source, race);
    pipeline.join(race, pass);
    pipeline.0.stages[race].workers = 3;
    let (report, watcher) = pipeline.run();
    adds_up(&report);
    assert_eq!(watcher.problems(), []);
    let answered: Vec<_> = got(&watcher).into_iter().map(|(n, _)| n).collect();
    assert_eq!(answered, (1..=40).collect::<Vec<_>>());
    let won = report.stages[race].contestants.iter().map(|it| it.won);
    // And one answer at the end of the stream of each worker.
    assert_eq!(won.sum::<u64>(), 43);
    assert_eq!(report.stages[race].contestants[2].won, 0);
}

#[test]
fn a_cycle_ends() {
    for workers in [1, 2, 5] {
        let mut pipeline = Builder::new();
        let source = pipeline.stage("source", json!({ "count": 40 }));
        let counter = pipeline.stage("count-down", json!({}));
        let pass = pipeline.stage("pass", json!({ "delay_us": 100 }));
        let sink = pipeline.stage("sink", json!({}));
        pipeline.edge((source, 0), (counter, 0), queue(4, WhenFull::Block));
        pipeline.edge((counter, 1), (pass, 0), queue(10_000, WhenFull::DropNewest));
        pipeline.edge((pass, 0), (counter, 1), queue(10_000, WhenFull::DropNewest));
        pipeline.edge((counter, 0), (sink, 0), queue(4, WhenFull::Block));
        pipeline.0.stages[counter].workers = workers;
        pipeline.0.stages[pass].workers = workers;
        let (report, watcher) = pipeline.run();
        adds_up(&report);
        assert_eq!(watcher.problems(), []);
        assert_eq!(report.stages[sink].received, 40, "{workers} workers");
        assert_eq!(report.stages[counter].received, 40 + (1..=40).sum::<u64>());
        assert!(report.edges.iter().all(|it| it.dropped + it.discarded == 0));
    }
}

/// The calls of a run.
#[derive(Default)]
struct Calls(Mutex<Vec<Call>>);

impl Observer for Calls {
    fn wants_calls(&self) -> bool {
        true
    }

    fn call(&self, stage: usize, call: &Call) {
        if stage == 1 {
            self.0.lock().unwrap().push(call.clone());
        }
    }
}

#[test]
fn a_call_has_the_number_of_its_worker() {
    let calls = Arc::new(Calls::default());
    let options = Options {
        observers: vec![calls.clone()],
        ..Options::default()
    };
    let config = json!({ "count": 1, "delay_us": 2000 });
    finish(line(60, 3, "jitter", config).start_with(options));
    let calls = calls.0.lock().unwrap();
    let workers = |event: Event| -> Vec<usize> {
        let calls = calls.iter().filter(|call| call.event == event);
        calls.map(|call| call.worker).collect()
    };
    let mut ends = workers(Event::Finish);
    ends.sort_unstable();
    assert_eq!(ends, [0, 1, 2]);
    let messages = workers(Event::Message);
    assert_eq!(messages.len(), 60);
    assert_eq!(BTreeSet::from_iter(messages), BTreeSet::from([0, 1, 2]));
}

#[test]
fn some_stages_have_one_worker() {
    let refusal = |stage: usize, workers: usize, plugin: &str| {
        let mut line = Builder::line(1, plugin, json!({}));
        line.0.stages[stage].workers = workers;
        let error = Run::start(line.0, catalogue(), Options::default()).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    for (stage, workers, plugin, text) in [
        (0, 2, "pass", "a source can't have several workers"),
        (1, 2, "act-mouse", "there is one mouse"),
        (1, 0, "pass", "a stage has 1 to 64 workers, not 0"),
        (1, 65, "pass", "a stage has 1 to 64 workers, not 65"),
    ] {
        let refusal = refusal(stage, workers, plugin);
        assert!(refusal.ends_with(text), "{refusal}");
    }
    assert_eq!(refusal(1, 64, "pass"), "");
    assert_eq!(refusal(1, 1, "act-mouse"), "");
}

/// The numbers that left the last stage are all numbers up to a certain one, in order.
fn are_all_in_order(watcher: &Watcher, report: &Report) {
    let numbers = reloading::numbers(watcher, 3);
    let count = i64::try_from(numbers.len()).unwrap();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    assert_eq!(report.failure, None);
    reloading::adds_up(report);
}

#[test]
fn a_reload_changes_the_number_of_workers() {
    let config = json!({ "delay_us": 200 });
    let mut pipeline = reloading::line(1_000_000, "counter", config).0;
    let watcher = Arc::new(Watcher::default());
    let run = reloading::start(&pipeline, &watcher);
    for (workers, plugin) in [
        (3, "counter"),
        (3, "counter-too"),
        (1, "counter-too"),
        (5, "counter"),
    ] {
        let seen = watcher.from(3).len();
        until("more messages", || watcher.from(3).len() > seen + 20);
        let stage = &mut pipeline.stages[2];
        let changes_plugin = stage.contestants[0].plugin != plugin;
        let changes_workers = stage.workers != workers;
        stage.workers = workers;
        stage.contestants[0].plugin = plugin.to_owned();
        let changes = run
            .change(pipeline.clone(), catalogue())
            .unwrap()
            .to_string();
        assert_eq!(changes.contains("workers"), changes_workers, "{changes}");
        // The state of each worker goes to the same one.
        assert_eq!(changes.contains("state kept"), changes_plugin, "{changes}");
    }
    let seen = watcher.from(3).len();
    until("more messages", || watcher.from(3).len() > seen + 20);
    run.stop();
    let report = finish(run);
    are_all_in_order(&watcher, &report);
    assert_eq!(report.stages[2].workers, 5);
    // The first worker has counted from the start.
    let counts = watcher.from(3);
    let most = counts.iter().map(|it| it.json["count"].as_i64().unwrap());
    assert!(most.max().unwrap() > 40);
}

#[test]
fn a_reload_that_a_worker_holds_up_changes_nothing() {
    // The first message is in its call until the run ends; other workers go on.
    let config = json!({ "do": "until-ending", "on": 1 });
    let mut pipeline = reloading::line(1_000_000, "act", config).0;
    let stage = &mut pipeline.stages[2];
    (stage.workers, stage.ordered) = (3, false);
    for stage in &mut pipeline.stages {
        stage.watchdog = Duration::from_millis(20);
    }
    let watcher = Arc::new(Watcher::default());
    let run = reloading::start(&pipeline, &watcher);
    let goes_on = || {
        let seen = watcher.from(3).len();
        until("more messages", || watcher.from(3).len() > seen + 20);
    };
    goes_on();
    let mut other = pipeline.clone();
    other.stages[2].workers = 2;
    for _ in 0..3 {
        let refused = run.change(other.clone(), catalogue());
        assert!(
            matches!(refused, Err(ChangeError::Busy { .. })),
            "{refused:?}"
        );
        goes_on();
    }
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[2].workers, 3);
    reloading::adds_up(&report);
}

#[cfg(unix)]
#[test]
fn a_killed_process_loses_its_own_message() {
    let mut line = line(
        30,
        3,
        "act",
        json!({ "do": "kill", "on": 4, "delay_us": 1000 }),
    );
    line.0.stages[1].isolation = Isolation::Process;
    line.0.stages[1].restart = Some(SOON);
    let (report, watcher) = crate::isolated::run(line.0, crate::common::lasting_catalogue());
    let problem = watcher.problem();
    assert_eq!(problem.kind, ProblemKind::Crashed);
    assert_eq!(problem.message.unwrap().sequence, 4);
    let all: Vec<i64> = (1..=30).filter(|n| *n != 4).collect();
    assert_eq!(reloading::numbers(&watcher, 2), all);
    assert_eq!((report.stages[1].restarted, report.failure), (1, None));
}
