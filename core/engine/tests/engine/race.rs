//! Races: several plugins, one message, one answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::OnError;
use flowpipe_engine::check::{Judgement, Validator};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::Options;
use flowpipe_host::message::Message;
use flowpipe_host::problem::ProblemKind;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, finish};

/// Judges wrong and weak answers.
struct Judge;

impl Validator for Judge {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        match message.value()["answer"].as_str() {
            Some("wrong") => Judgement::Refuse("it is wrong".into()),
            Some("weak") => Judgement::Weak("it is incomplete".into()),
            _ => Judgement::Accept,
        }
    }
}

/// Contestants by behaviour and delay in milliseconds.
fn race(count: u64, on_error: OnError, contestants: &[(&str, u64)]) -> (Report, Arc<Watcher>) {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": count }));
    let plugins: Vec<(&str, Value)> = contestants
        .iter()
        .map(|(what, delay)| ("racer", json!({ "do": what, "delay_us": delay * 1000 })))
        .collect();
    let racers = pipeline.race(&plugins);
    pipeline.join(source, racers);
    pipeline.0.stages[racers].on_error = on_error;
    pipeline.0.stages[racers].watchdog = Duration::from_millis(200);
    let watcher = Arc::new(Watcher::default());
    let judge: Arc<dyn Validator> = Arc::new(Judge);
    let report = finish(pipeline.start_with(Options {
        observers: vec![watcher.clone()],
        validators: HashMap::from([("test.answer/1".to_owned(), vec![judge])]),
        ..Options::default()
    }));
    (report, watcher)
}

/// What the race emitted.
fn answers(watcher: &Watcher) -> Vec<String> {
    watcher
        .from(1)
        .iter()
        .map(|seen| seen.json["answer"].as_str().unwrap().to_owned())
        .collect()
}

fn won(report: &Report) -> Vec<u64> {
    report.stages[1]
        .contestants
        .iter()
        .map(|contestant| contestant.won)
        .collect()
}

#[test]
fn the_first_answer_wins_and_the_others_are_cancelled() {
    // "patient" ends only when it is cancelled, and then answers all the same.
    let (report, watcher) = race(5, OnError::Stop, &[("patient", 0), ("good", 5)]);
    assert_eq!(answers(&watcher), ["good"; 5]);
    assert_eq!(won(&report), [0, 5]);
    assert_eq!(watcher.problems(), []);
    assert_eq!(
        (report.stages[1].received, report.stages[1].emitted),
        (5, 5)
    );
    assert_eq!(watcher.from(1)[4].sequence, 5);
}

#[test]
fn a_wrong_answer_is_reported_and_the_race_continues() {
    let (report, watcher) = race(3, OnError::Stop, &[("wrong", 0), ("good", 20)]);
    assert_eq!(answers(&watcher), ["good"; 3]);
    let problems = watcher.problems();
    assert!(
        problems
            .iter()
            .all(|problem| problem.kind == ProblemKind::BadMessage),
        "{problems:?}"
    );
    assert!(problems[0].text.ends_with("it is wrong"));
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[1].contestants[0].failed, 3);
}

#[test]
fn a_weak_answer_counts_only_without_a_better_one() {
    let (_, watcher) = race(2, OnError::Stop, &[("weak", 0), ("good", 20)]);
    assert_eq!(answers(&watcher), ["good"; 2]);
    let (report, watcher) = race(
        2,
        OnError::Stop,
        &[("weak", 0), ("fail", 20), ("silent", 0)],
    );
    assert_eq!(answers(&watcher), ["weak"; 2]);
    assert_eq!(won(&report), [2, 0, 0]);
    assert_eq!(report.failure, None);
}

/// One contestant emits up to 64 weak answers of a megabyte each.
#[test]
fn weak_answers_take_little_memory() {
    let (report, watcher) = race(1, OnError::Skip, &[("weak-flood", 0), ("silent", 0)]);
    let mut problems = watcher.problems();
    // On a busy machine it is also reported as slow.
    problems.retain(|it| it.kind == ProblemKind::BadMessage);
    let text = "it emitted more than 16 MiB of weak answers to one message";
    assert!(problems.iter().any(|it| it.text == text), "{problems:#?}");
    assert_eq!(report.stages[1].contestants[0].failed, 1);
    // A better one wins all the same.
    let (_, watcher) = race(1, OnError::Stop, &[("weak-flood", 0), ("good", 200)]);
    assert_eq!(answers(&watcher), ["good"]);
}

#[test]
fn when_all_fail_the_stage_fails() {
    let (report, watcher) = race(2, OnError::Skip, &[("fail", 0), ("wrong", 5)]);
    assert_eq!(report.stages[1].failed, 2);
    let problems = watcher.problems();
    let last = problems.last().unwrap();
    assert!(
        last.text
            .starts_with("no contestant answered (racer: on purpose; racer: it emitted")
    );
    assert_eq!(last.message.as_ref().unwrap().sequence, 2);

    let (report, _) = race(2, OnError::Stop, &[("fail", 0), ("fail", 5)]);
    assert_eq!(report.failure.unwrap().message.unwrap().sequence, 1);
    assert_eq!(report.stages[1].received, 1);
}

#[test]
fn a_contestant_without_an_answer_does_not_fail() {
    let (report, watcher) = race(3, OnError::Stop, &[("silent", 0), ("silent", 2)]);
    assert_eq!(watcher.problems(), []);
    assert_eq!(
        (report.stages[1].received, report.stages[1].emitted),
        (3, 0)
    );
}

#[test]
fn a_loser_that_hangs_is_abandoned() {
    // Long enough for the other one to take the first message too, also on a busy machine.
    let (report, watcher) = race(60, OnError::Stop, &[("hang", 0), ("good", 60)]);
    assert_eq!(answers(&watcher).len(), 60);
    assert_eq!(report.failure, None, "the race continues without it");
    let racers = &report.stages[1].contestants;
    assert!(racers[0].sat_out > 0);
    // On a busy machine the other one can be late too.
    let hung: Vec<_> = watcher
        .problems()
        .into_iter()
        .filter(|problem| problem.kind == ProblemKind::Hang)
        .collect();
    let [problem] = &hung[..] else {
        panic!("{hung:?}")
    };
    assert_eq!(report.stages[1].abandoned, 1);
    assert!(
        problem.text.contains("another plugin had answered"),
        "{problem}"
    );
    assert_eq!(problem.message.as_ref().unwrap().sequence, 1);
}

#[test]
fn with_skip_a_contestant_that_hangs_is_restarted() {
    let (report, watcher) = race(60, OnError::Skip, &[("hang", 0), ("good", 10)]);
    assert_eq!(answers(&watcher).len(), 60);
    assert!(report.stages[1].abandoned >= 1);
}

/// One message, a timeout, contestants that hang.
fn all_hang(on_error: OnError) -> Report {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 2 }));
    let hang = || ("racer", json!({ "do": "hang" }));
    let racers = pipeline.race(&[hang(), hang()]);
    pipeline.join(source, racers);
    let stage = &mut pipeline.0.stages[racers];
    stage.on_error = on_error;
    stage.timeout = Some(Duration::from_millis(100));
    stage.watchdog = Duration::from_millis(100);
    pipeline.run().0
}

#[test]
fn when_all_hang_the_run_ends_or_continues() {
    let report = all_hang(OnError::Stop);
    assert!(report.failure.is_some());
    assert_eq!(
        (report.stages[1].received, report.stages[1].abandoned),
        (1, 2)
    );
    let report = all_hang(OnError::Skip);
    assert_eq!(report.failure, None);
    assert_eq!((report.stages[1].received, report.stages[1].failed), (2, 2));
    assert_eq!(report.stages[1].abandoned, 4);
}

#[test]
fn plugins_with_other_ports_can_not_race() {
    let mut pipeline = Builder::new();
    pipeline.race(&[("racer", json!({})), ("pass", json!({}))]);
    let error = flowpipe_engine::run::Run::start(
        pipeline.0,
        crate::common::catalogue(),
        Options::default(),
    );
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("their inputs and outputs differ")
    );
}
