//! Whatever a plugin does, the host reports the plugin and the message, and continues or ends as the pipeline is
//! configured.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowpipe_config::pipeline::OnError;
use flowpipe_engine::check::{Judgement, Validator};
use flowpipe_engine::run::{Observer, Options, Run};
use flowpipe_host::message::Message;
use flowpipe_host::problem::ProblemKind;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, catalogue, finish, ten, until};

fn on_fourth(what: &str) -> Value {
    json!({ "do": what, "on": 4 })
}

/// Runs with `skip`, where nine messages arrive, and with `stop`, where the run ends at the fourth. Both times the only
/// problem names stage, plugin and message.
fn misbehaves(what: &str, kind: ProblemKind, text: &str) {
    let (report, watcher) = ten(OnError::Skip, on_fourth(what)).run();
    let problem = watcher.problem();
    assert_eq!(
        (problem.kind, problem.text.as_str()),
        (kind, text),
        "{what}"
    );
    assert_eq!(
        (problem.stage.as_str(), problem.plugin.as_str()),
        ("act-1", "act")
    );
    let message = problem.message.unwrap();
    assert_eq!((message.port.as_str(), message.sequence), ("in", 4));
    assert_eq!(
        (report.stages[1].received, report.stages[2].received),
        (10, 9),
        "{what}"
    );
    assert_eq!((report.stages[1].failed, report.failure), (1, None));

    let (report, watcher) = ten(OnError::Stop, on_fourth(what)).run();
    let problem = watcher.problem();
    assert_eq!(report.failure.as_ref(), Some(&problem), "{what}");
    assert_eq!(problem.text, text);
    assert_eq!(
        (report.stages[1].received, report.stages[2].received),
        (4, 3),
        "{what}"
    );
}

#[test]
fn failing() {
    misbehaves("fail", ProblemKind::Failed, "on purpose");
    misbehaves(
        "fail-silently",
        ProblemKind::Failed,
        "it failed and gave no reason",
    );
    misbehaves(
        "panic",
        ProblemKind::Failed,
        "it panicked: panicked on purpose",
    );
    misbehaves(
        "bad-message",
        ProblemKind::Failed,
        "it can't read the message: no such field",
    );
}

#[test]
fn returning_an_invalid_status() {
    let odd = |status| format!("it returned {status}, which is not a status for this call");
    misbehaves("odd-status", ProblemKind::Failed, &odd(77));
    misbehaves("odd-negative-status", ProblemKind::Failed, &odd(-77));
    misbehaves("stopped-unasked", ProblemKind::Failed, &odd(-6));
    let unasked = "it returned CANCELLED, but nothing was cancelled";
    misbehaves("cancelled-unasked", ProblemKind::Failed, unasked);
    // Emitting without a context returns BAD_MESSAGE, and the fixture returns that too.
    misbehaves(
        "no-context",
        ProblemKind::Failed,
        "it can't read the message",
    );
}

#[test]
fn emitting_malformed_messages() {
    let kind = ProblemKind::BadMessage;
    misbehaves(
        "not-json",
        kind,
        "it emitted at \"out\" a message that is not JSON: EOF while parsing a value at line 1 column 5",
    );
    misbehaves(
        "not-utf8",
        kind,
        "it emitted at \"out\" a message that is not UTF-8 text: invalid utf-8 sequence of 1 bytes from index 1",
    );
    misbehaves("wrong-port", kind, "it emitted at output 9, but has 1");
    misbehaves(
        "wrong-schema",
        kind,
        "it emitted at \"out\" a message of schema \"test.other/1\" where \"test.count/1\" is declared",
    );
    misbehaves(
        "small-output",
        kind,
        "it emitted nothing, or an output whose struct_size is too small",
    );
}

/// Reads each message before it is sent.
#[derive(Default)]
struct Reader {
    accepted: AtomicUsize,
    sent: AtomicUsize,
}

impl Observer for Reader {
    fn accepted(&self, message: &Message) {
        let _ = message.read::<Value>();
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        assert!(message.body.is_read(), "{}", message.json());
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_observer_may_read_a_message_before_it_is_sent() {
    let reader = Arc::new(Reader::default());
    let options = Options {
        observers: vec![reader.clone()],
        ..Options::default()
    };
    let report = finish(ten(OnError::Skip, on_fourth("not-json")).start_with(options));
    let emitted: u64 = report.stages.iter().map(|stage| stage.emitted).sum();
    let sent = reader.sent.load(Ordering::Relaxed);
    assert_eq!((sent as u64, report.stages[1].failed), (emitted, 1));
    // What is no JSON was not refused by a check, and still is not sent.
    assert_eq!(reader.accepted.load(Ordering::Relaxed), sent + 1);
}

#[test]
fn emitting_nothing_is_no_failure() {
    let (report, watcher) = ten(OnError::Stop, on_fourth("nothing")).run();
    assert_eq!(watcher.problems(), []);
    assert_eq!(
        (report.stages[1].received, report.stages[2].received),
        (10, 9)
    );
}

#[test]
fn emitting_too_much() {
    let (report, watcher) = ten(OnError::Skip, on_fourth("flood")).run();
    let problem = watcher.problem();
    assert_eq!(
        problem.text,
        "it emitted more than 100000 messages in one call"
    );
    assert_eq!(problem.message.unwrap().sequence, 4);
    assert_eq!(
        report.stages[2].received,
        100_000 + 9,
        "a full queue slows it down"
    );
    assert!(report.edges[1].longest <= report.edges[1].capacity as u64);
}

#[test]
fn a_source_that_fails_again_and_again() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("act-source", json!({ "do": "fail" }));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    pipeline.0.stages[source].on_error = OnError::Skip;
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("three failures", || {
        run.progress().stages[source].failed >= 3
    });
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    let problem = &watcher.problems()[0];
    assert_eq!(
        (problem.text.as_str(), &problem.message),
        ("on purpose", &None)
    );
}

/// With a delay after each one, a program that sends such messages to a source would delay all others.
#[test]
fn a_source_whose_messages_are_refused_is_not_delayed() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("act-source", json!({ "do": "wrong-port" }));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    pipeline.0.stages[source].on_error = OnError::Skip;
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    // More than there could be with delays.
    until("a thousand failures", || {
        run.progress().stages[source].failed >= 1_000
    });
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    assert_eq!(watcher.problems()[0].kind, ProblemKind::BadMessage);
}

#[test]
fn stages_that_fail_to_start() {
    let refused = |how: &str| {
        let pipeline = Builder::line(1, "act", json!({ "create": how }));
        let watcher = Arc::new(Watcher::default());
        let options = Options {
            observers: vec![watcher.clone()],
            ..Options::default()
        };
        let error = match Run::start(pipeline.0, catalogue(), options) {
            Ok(_) => panic!("{how}: it starts"),
            Err(error) => error.to_string(),
        };
        assert_eq!(watcher.ends(), [0; 0], "{how}");
        error
    };
    let stage = "stage \"act-1\": act failed to";
    assert_eq!(refused("fail"), format!("{stage} start: no memory"));
    let config = format!("{stage} start: the config can't be used: n < 0");
    assert_eq!(refused("bad-config"), config);
    let silent = format!("{stage} start: it created no stage and gave no reason");
    assert_eq!(refused("null"), silent);
    let small = format!("{stage} start: its stage table has 16 bytes, 64 are needed");
    assert_eq!(refused("small-table"), small);
    let misaligned = format!("{stage} start: its stage table is not aligned");
    assert_eq!(refused("misaligned"), misaligned);
    let slot = format!("{stage} start: a function is missing in its stage table");
    assert_eq!(refused("null-slot"), slot);
    assert_eq!(
        refused("fail-to-activate"),
        format!("{stage} activate: no device")
    );
}

#[test]
fn unknown_plugins() {
    let pipeline = Builder::line(1, "nobody", json!({}));
    let error = Run::start(pipeline.0, catalogue(), Options::default())
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "stage \"nobody-1\": there is no plugin \"nobody\""
    );
}

/// Refuses one number.
struct NotFour;

impl Validator for NotFour {
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement {
        // The source has no parent; only messages of the second stage are judged.
        if parent.is_some() && message.value()["n"] == 4 {
            Judgement::Refuse("four is not allowed".into())
        } else {
            Judgement::Accept
        }
    }
}

#[test]
fn answers_that_do_not_pass_the_checks() {
    let watcher = Arc::new(Watcher::default());
    let mut pipeline = Builder::line(10, "pass", json!({}));
    pipeline.0.stages[1].on_error = OnError::Skip;
    let validator: Arc<dyn Validator> = Arc::new(NotFour);
    let run = pipeline.start_with(Options {
        observers: vec![watcher.clone()],
        validators: HashMap::from([("test.count/1".to_owned(), vec![validator])]),
        ..Options::default()
    });
    let report = finish(run);
    let problem = watcher.problem();
    assert_eq!(problem.kind, ProblemKind::BadMessage);
    assert!(
        problem
            .text
            .ends_with("does not pass the checks: four is not allowed"),
        "{problem}"
    );
    assert_eq!(report.stages[2].received, 9, "it was not sent");
}
