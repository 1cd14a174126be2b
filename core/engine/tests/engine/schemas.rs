//! Messages whose schema the plugin names: they reach inputs of that schema, and of any.

use std::sync::Arc;

use flowpipe_config::pipeline::{Isolation, OnError, Queue};
use flowpipe_engine::report::Report;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, adds_up, catalogue, finish, lasting_catalogue, until};

/// The reason for each refusal.
const WHY: &str = "it emitted at \"out\" a message of schema test.other/1, but input \"in\" of stage \"pass-2\" takes \
                   test.count/1";

/// source (ten messages) -> any, which names a foreign schema in every second message -> pass.
fn line() -> Builder {
    let mut line = Builder::line(10, "any", json!({ "do": "foreign", "every": 2 }));
    line.0.stages[1].on_error = OnError::Skip;
    line
}

/// The numbers of the messages that a stage emitted.
fn numbers(watcher: &Watcher, stage: usize) -> Vec<Value> {
    let seen = watcher.from(stage);
    seen.iter().map(|seen| seen.json["n"].clone()).collect()
}

#[track_caller]
fn only_the_odd_ones(report: &Report, watcher: &Watcher) {
    adds_up(report);
    let odd = [1, 3, 5, 7, 9].map(Value::from);
    assert_eq!(numbers(watcher, 1), odd, "sent");
    assert_eq!(numbers(watcher, 2), odd, "taken");
    let problems = watcher.problems();
    assert_eq!(problems.len(), 5, "{problems:?}");
    for problem in &problems {
        assert_eq!(problem.stage, "any-1");
        assert!(problem.text.contains(WHY), "{problem}");
    }
}

#[test]
fn a_message_that_an_input_does_not_take_is_a_failure_of_its_sender() {
    let (report, watcher) = line().run();
    assert_eq!(report.failure, None);
    only_the_odd_ones(&report, &watcher);
    let mut line = line();
    line.0.stages[1].on_error = OnError::Stop;
    let (report, _) = line.run();
    let failure = report.failure.map(|it| it.to_string()).unwrap_or_default();
    assert!(failure.contains(WHY), "{failure}");
    assert_eq!(report.stages[2].received, 1);
}

#[test]
fn one_input_that_does_not_take_it_is_enough() {
    let mut pipeline = line();
    let any = pipeline.stage("take-any", json!({}));
    pipeline.join(1, any);
    let (report, watcher) = pipeline.run();
    only_the_odd_ones(&report, &watcher);
    assert_eq!(report.stages[any].received, 5);
}

#[test]
fn an_input_of_any_schema_takes_everything() {
    let mut pipeline = line();
    pipeline.0.edges.pop();
    let any = pipeline.stage("take-any", json!({}));
    pipeline.join(1, any);
    let (report, watcher) = pipeline.run();
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.stages[any].received, 10);
}

#[test]
fn several_workers() {
    for ordered in [true, false] {
        let mut pipeline = line();
        pipeline.0.stages[1].workers = 3;
        pipeline.0.stages[1].ordered = ordered;
        let (report, watcher) = pipeline.run();
        adds_up(&report);
        assert_eq!(report.stages[2].received, 5);
        assert_eq!(watcher.problems().len(), 5);
    }
}

#[cfg(unix)]
#[test]
fn an_isolated_stage() {
    let mut pipeline = line();
    pipeline.0.stages[1].isolation = Isolation::Process;
    let (report, watcher) = crate::isolated::run(pipeline.0, lasting_catalogue());
    only_the_odd_ones(&report, &watcher);
}

#[test]
fn a_contestant_does_not_win_by_it() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 5 }));
    let own = json!({ "delay_us": 20_000 });
    let racers = pipeline.race(&[("any", json!({ "do": "foreign" })), ("any", own)]);
    let pass = pipeline.stage("pass", json!({}));
    pipeline.join(source, racers);
    pipeline.join(racers, pass);
    let (report, watcher) = pipeline.run();
    assert_eq!(report.failure, None);
    assert_eq!(numbers(&watcher, pass), [1, 2, 3, 4, 5].map(Value::from));
    let won = report.stages[racers].contestants.iter().map(|it| it.won);
    assert_eq!(won.collect::<Vec<_>>(), [0, 5]);
}

#[test]
fn an_edge_that_a_reload_adds() {
    let mut before = Builder::new();
    before.stage("source", json!({ "count": 1_000_000, "delay_us": 200 }));
    before.stage("any", json!({ "do": "foreign" }));
    before.stage("take-any", json!({}));
    before.join(0, 1);
    before.join(1, 2);
    before.0.stages[1].on_error = OnError::Skip;
    let mut after = Builder(before.0.clone());
    after.stage("pass", json!({}));
    after.edge((1, 0), (3, 0), Queue::default());
    let watcher = Arc::new(Watcher::default());
    let run = before.start(&watcher);
    until("messages arrive", || run.progress().stages[2].received > 10);
    assert_eq!(watcher.problems(), []);
    run.change(after.0, catalogue()).unwrap();
    until("they are refused", || !watcher.problems().is_empty());
    let sent = watcher.from(1).len();
    until("more are refused", || watcher.problems().len() > 10);
    assert_eq!(watcher.from(1).len(), sent, "neither input gets them");
    assert_eq!(run.progress().stages[3].received, 0);
    run.stop();
    adds_up(&finish(run));
}
