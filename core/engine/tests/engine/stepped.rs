//! Pipelines on the caller's thread, for tests of pipelines: what enters, what comes of it, and how it ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::{OnError, PortRef, Queue};
use flowpipe_engine::check::{Judgement, Validator};
use flowpipe_engine::run::{Options, StartError};
use flowpipe_engine::stepped::{EnteringMessage, Over, StageFailure, SteppedCanceller, SteppedRun};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_host::message::Message;
use serde_json::{Value, json};

use crate::common::{Builder, catalogue};

/// Starts these stages of a pipeline.
fn start_some(
    builder: Builder,
    stages: &[usize],
    options: Options,
    canceller: &SteppedCanceller,
) -> Result<SteppedRun, StartError> {
    let running = stages.iter().copied().collect();
    SteppedRun::new(builder.0, &running, catalogue(), options, canceller.clone())
}

/// Starts all stages of a pipeline.
fn start(builder: Builder) -> SteppedRun {
    let stages: Vec<_> = (0..builder.0.stages.len()).collect();
    let canceller = SteppedCanceller::default();
    start_some(builder, &stages, Options::default(), &canceller).unwrap()
}

/// These stages in a line. A stage that fails goes on.
fn line(stages: &[(&str, Value)]) -> Builder {
    let mut builder = Builder::new();
    for (index, (plugin, config)) in stages.iter().enumerate() {
        builder.stage(plugin, config.clone());
        builder.0.stages[index].on_error = OnError::Skip;
        if index > 0 {
            builder.join(index - 1, index);
        }
    }
    builder
}

fn port(stage: usize, port: usize) -> PortRef {
    PortRef { stage, port }
}

fn message(schema: &str, json: &str) -> EnteringMessage {
    EnteringMessage {
        schema: schema.to_owned(),
        json: json.as_bytes().to_vec(),
        frame: None,
    }
}

/// Sends a number to the first input of a stage.
fn enter(run: &mut SteppedRun, stage: usize, number: i64) {
    let entering = message("test.count/1", &json!({ "n": number }).to_string());
    run.enter(None, port(stage, 0), entering).unwrap();
}

/// What was emitted since: the stage, the output and the body.
fn emitted(run: &mut SteppedRun) -> Vec<(usize, usize, Value)> {
    let messages = run.take_emitted().into_iter();
    let entry =
        |(from, message): (PortRef, Arc<Message>)| (from.stage, from.port, message.value().clone());
    messages.map(entry).collect()
}

fn texts(run: &SteppedRun) -> Vec<(usize, &str, u64)> {
    let failures = run.failures().iter();
    failures
        .map(|StageFailure { stage, text, times }| (*stage, &**text, *times))
        .collect()
}

#[test]
fn messages_are_processed_in_the_order_in_which_they_were_emitted() {
    // Both outputs of the first stage lead to the last one, the second by a detour.
    let mut builder = Builder::new();
    for plugin in ["fan", "pass", "join"] {
        builder.stage(plugin, json!({}));
    }
    builder.edge((0, 0), (2, 0), Queue::default());
    builder.edge((0, 1), (1, 0), Queue::default());
    builder.edge((1, 0), (2, 1), Queue::default());
    let mut run = start(builder);
    enter(&mut run, 0, 5);
    let n = json!({ "n": 5 });
    let expected = [
        (0, 0, n.clone()),
        (0, 1, n.clone()),
        (2, 0, json!({ "port": 0, "n": 5 })),
        (1, 0, n),
        (2, 0, json!({ "port": 1, "n": 5 })),
    ];
    assert_eq!(emitted(&mut run), expected);
    assert_eq!(emitted(&mut run), [], "each is taken once");
    assert_eq!((run.over(), run.failures()), (None, &[][..]));
    run.end();
}

#[test]
fn streams_end_one_after_the_other_and_what_was_gathered_is_processed() {
    let mut run = start(line(&[
        ("tally", json!({})),
        ("tally", json!({})),
        ("counter", json!({})),
    ]));
    enter(&mut run, 0, 1);
    enter(&mut run, 0, 2);
    assert_eq!(emitted(&mut run), []);
    run.finish();
    let expected = [
        (0, 0, json!({ "n": 2 })),
        (1, 0, json!({ "n": 1 })),
        (2, 0, json!({ "n": 1, "count": 1 })),
    ];
    assert_eq!(emitted(&mut run), expected);
    // A stream that has ended takes no more.
    enter(&mut run, 0, 3);
    run.finish();
    assert_eq!(emitted(&mut run), []);
    run.end();
}

#[test]
fn a_loop_goes_round_until_it_emits_nothing_more_and_ends() {
    let mut builder = Builder::new();
    builder.stage("count-down", json!({}));
    builder.stage("tally", json!({}));
    builder.edge((0, 1), (0, 1), Queue::default());
    builder.join(0, 1);
    let mut run = start(builder);
    enter(&mut run, 0, 3);
    let outputs: Vec<_> = emitted(&mut run)
        .into_iter()
        .map(|it| (it.1, it.2))
        .collect();
    let n = |n: i64| json!({ "n": n });
    assert_eq!(outputs, [(1, n(2)), (1, n(1)), (1, n(0)), (0, n(0))]);
    run.finish();
    assert_eq!(emitted(&mut run), [(1, 0, n(1))]);
    run.end();
}

#[test]
fn only_the_stages_run_that_are_named() {
    let canceller = SteppedCanceller::default();
    let builder = line(&[
        // It can't start.
        ("act", json!({ "create": "fail" })),
        ("counter", json!({})),
        ("counter", json!({ "create": "fail" })),
    ]);
    let mut run = start_some(builder, &[1], Options::default(), &canceller).unwrap();
    enter(&mut run, 1, 4);
    // What goes to a stage that does not run is kept for the caller.
    assert_eq!(emitted(&mut run), [(1, 0, json!({ "n": 4, "count": 1 }))]);
    enter(&mut run, 2, 4);
    run.finish();
    assert_eq!(emitted(&mut run), []);
    assert_eq!(run.failures(), []);
    run.end();
}

#[test]
fn a_stage_that_can_not_start_is_an_error_and_the_others_are_destroyed() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("destroyed");
    for create in ["fail", "fail-to-activate"] {
        let builder = line(&[
            ("pass", json!({ "destroyed": mark })),
            ("pass", json!({ "create": create })),
        ]);
        let canceller = SteppedCanceller::default();
        let started = start_some(builder, &[0, 1], Options::default(), &canceller);
        let error = started.err().unwrap().to_string();
        assert!(error.contains("pass-1"), "{error}");
        std::fs::remove_file(&mark).unwrap();
    }
}

/// Refuses sevens.
struct NotSeven;

impl Validator for NotSeven {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        match message.value()["n"] == 7 {
            true => Judgement::Refuse("seven is not allowed".into()),
            false => Judgement::Accept,
        }
    }
}

#[test]
fn what_enters_is_checked_as_if_the_stage_in_front_had_sent_it() {
    let validator: Arc<dyn Validator> = Arc::new(NotSeven);
    let options = Options {
        validators: HashMap::from([("test.count/1".to_owned(), vec![validator])]),
        ..Options::default()
    };
    let builder = line(&[("pass", json!({})), ("counter", json!({}))]);
    let canceller = SteppedCanceller::default();
    let mut run = start_some(builder, &[0, 1], options, &canceller).unwrap();
    let (from, to) = (Some(port(0, 0)), port(1, 0));
    for (from, schema, json, expected) in [
        (from, "test.count/1", "{\"n\":", "it is "),
        (from, "test.count/1", "{\"n\":7}", "seven is not allowed"),
        (None, "test.count/1", "{\"n\":7}", "seven is not allowed"),
        (
            None,
            "test.other/1",
            "{}",
            "the input does not take test.other/1",
        ),
    ] {
        let refused = run.enter(from, to, message(schema, json)).err().unwrap();
        assert!(refused.contains(expected), "{refused}");
    }
    run.enter(from, to, message("test.count/1", "{\"n\":6}"))
        .unwrap();
    assert_eq!(emitted(&mut run), [(1, 0, json!({ "n": 6, "count": 1 }))]);
    // So is what a stage emits: it fails with what it was given.
    let refused = run.enter(None, port(0, 0), message("test.count/1", "{\"n\":7}"));
    assert!(refused.is_err());
    assert_eq!(run.failures(), []);
    run.end();
}

#[test]
fn a_wait_takes_no_time() {
    // It waits for a time that never comes.
    let builder = line(&[("act", json!({ "do": "wait" }))]);
    let canceller = SteppedCanceller::default();
    let mut run = start_some(builder, &[0], Options::default(), &canceller).unwrap();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(10)) == Err(RecvTimeoutError::Timeout) {
            canceller.cancel();
        }
    });
    enter(&mut run, 0, 1);
    enter(&mut run, 0, 2);
    drop(done);
    watcher.join().unwrap();
    assert_eq!((run.over(), run.failures()), (None, &[][..]));
    run.end();
}

#[test]
fn messages_of_one_edge_are_numbered() {
    let mut run = start(line(&[
        ("pass", json!({})),
        // It fails on the second message.
        ("act", json!({ "do": "fail", "on": 2 })),
    ]));
    let from = Some(port(0, 0));
    for _ in 0..3 {
        let entering = message("test.count/1", "{\"n\":0}");
        run.enter(from, port(1, 0), entering).unwrap();
    }
    assert_eq!(emitted(&mut run).len(), 2);
    assert_eq!(texts(&run), [(1, "on purpose", 1)]);
    run.end();
}

#[test]
fn equal_failures_are_counted_and_a_stage_that_must_not_fail_ends_the_run() {
    let mut builder = line(&[
        ("act", json!({ "do": "fail" })),
        ("act", json!({ "do": "bad-message", "on": 1 })),
    ]);
    let mut run = start(Builder(builder.0.clone()));
    for _ in 0..3 {
        enter(&mut run, 0, 1);
    }
    enter(&mut run, 1, 1);
    assert_eq!(
        texts(&run),
        [
            (0, "on purpose", 3),
            (1, "it can't read the message: no such field", 1)
        ]
    );
    assert_eq!((run.over(), run.unkept_failures()), (None, 0));
    run.end();

    builder.0.stages[0].on_error = OnError::Stop;
    let mut run = start(builder);
    for _ in 0..3 {
        enter(&mut run, 0, 1);
    }
    run.finish();
    assert_eq!(run.over(), Some(Over::Failed));
    assert_eq!(texts(&run), [(0, "on purpose", 1)], "nothing runs after it");
    run.end();
}

#[test]
fn a_bounded_number_of_failures_is_kept() {
    let count = 1005;
    let mut run = start(line(&vec![("act", json!({ "do": "fail" })); count]));
    for stage in 0..count {
        enter(&mut run, stage, 1);
    }
    assert_eq!(run.failures().len(), 1000);
    assert_eq!(run.unkept_failures(), 5);
    // One that is known is counted.
    enter(&mut run, 0, 1);
    assert_eq!(run.failures()[0].times, 2);
    assert_eq!(run.unkept_failures(), 5);
    run.end();
}

#[test]
fn a_message_that_one_input_does_not_take_goes_nowhere() {
    let mut builder = Builder::new();
    builder.stage("any", json!({ "do": "foreign", "every": 2 }));
    builder.stage("take-any", json!({}));
    builder.stage("counter", json!({}));
    builder.0.stages[0].on_error = OnError::Skip;
    builder.join(0, 1);
    builder.join(0, 2);
    let mut run = start(builder);
    enter(&mut run, 0, 2);
    assert_eq!(emitted(&mut run), []);
    let text = "it emitted test.other/1 with nothing, which counter-2 does not take";
    assert_eq!(texts(&run), [(0, text, 1)]);
    enter(&mut run, 0, 3);
    let stages: Vec<_> = emitted(&mut run).into_iter().map(|it| it.0).collect();
    assert_eq!(stages, [0, 2]);
    run.end();
}

#[test]
fn what_stages_emit_is_limited() {
    // 60,000 messages each time.
    let mut run = start(line(&[("jitter", json!({ "count": 60_000 }))]));
    enter(&mut run, 0, 1);
    assert_eq!(run.over(), None);
    assert_eq!(run.take_emitted().len(), 60_000);
    enter(&mut run, 0, 1);
    assert_eq!(run.over(), Some(Over::TooMuch));
    assert!(run.take_emitted().len() <= 40_000);
    run.end();

    // 32 MiB each time.
    let mut run = start(line(&[("pass", json!({}))]));
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(32 << 20));
    for _ in 0..8 {
        assert_eq!(run.over(), None);
        let entering = message("test.count/1", &long);
        run.enter(None, port(0, 0), entering).unwrap();
        // What is taken counts too.
        run.take_emitted();
    }
    assert_eq!(run.over(), Some(Over::TooMuch));
    run.end();
}

#[test]
fn a_cancelled_run_returns_and_does_no_more() {
    let canceller = SteppedCanceller::default();
    let builder = line(&[("act", json!({ "do": "slow" })), ("counter", json!({}))]);
    let options = Options::default();
    let mut run = start_some(builder, &[0, 1], options, &canceller).unwrap();
    let other = canceller.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        other.cancel();
    });
    // It returns when it is cancelled, and not before.
    enter(&mut run, 0, 1);
    thread.join().unwrap();
    assert!(canceller.is_cancelled());
    assert_eq!(run.over(), Some(Over::Cancelled));
    enter(&mut run, 1, 1);
    run.finish();
    assert_eq!(emitted(&mut run), []);
    run.end();
}

/// A race of the fixture `racer`, which answers what these say.
fn race(contestants: &[&str]) -> (Vec<(usize, usize, Value)>, Vec<String>) {
    let mut builder = Builder::new();
    let plugins = contestants.iter().map(|it| ("racer", json!({ "do": it })));
    builder.race(&plugins.collect::<Vec<_>>());
    builder.0.stages[0].on_error = OnError::Skip;
    let mut run = start(builder);
    enter(&mut run, 0, 1);
    let failures = run.failures().iter().map(|it| it.text.clone()).collect();
    let found = (emitted(&mut run), failures);
    run.end();
    found
}

#[test]
fn plugins_that_race_are_called_in_their_order_until_one_has_won() {
    let answer = |text: &str| vec![(0, 0, json!({ "answer": text }))];
    // The last one would never return.
    let (found, failures) = race(&["fail", "silent", "b", "hang"]);
    assert_eq!((found, failures.len()), (answer("b"), 0));
    let (found, failures) = race(&["a", "b"]);
    assert_eq!((found, failures.len()), (answer("a"), 0));
    let (found, failures) = race(&["fail", "fail"]);
    let expected = "no contestant answered (racer: on purpose; racer: on purpose)";
    assert_eq!((found, failures), (Vec::new(), vec![expected.to_owned()]));
    // One that has no answer is no failure.
    let (found, failures) = race(&["fail", "silent"]);
    assert_eq!((found.len(), failures.len()), (0, 0));
}

#[test]
fn stages_read_the_same_times_in_each_run() {
    let measured = || {
        // It reads when the stage in front emitted.
        let meter = ("meter", json!({ "count": 2 }));
        let mut run = start(line(&[("pass", json!({})), meter]));
        enter(&mut run, 0, 1);
        run.advance_to(Duration::from_secs(5));
        // Time never goes back.
        run.advance_to(Duration::from_secs(1));
        enter(&mut run, 0, 2);
        run.finish();
        let (_, _, times) = emitted(&mut run).pop().unwrap();
        run.end();
        times["interval_ns"].as_i64().unwrap()
    };
    let first = measured();
    let five_seconds = 5_000_000_000;
    assert!(
        (five_seconds - 1_000_000..=five_seconds + 1_000_000).contains(&first),
        "{first}"
    );
    assert_eq!(first, measured());
}

#[test]
fn frames_enter_with_their_time_and_are_copied_on_write() {
    let shape = Shape::new(&abi::FrameInfo {
        struct_size: size_of::<abi::FrameInfo>() as u32,
        format: abi::FORMAT_GREY8,
        width: 8,
        height: 8,
        stride: 0,
        size: 0,
    });
    let shape = shape.unwrap();
    let frame = Frame::from_bytes(&Pool::new(1), shape, 0, &vec![3; shape.size()]).unwrap();
    let mut run = start(line(&[("scribble", json!({})), ("pass", json!({}))]));
    run.advance_to(Duration::from_secs(3));
    let entering = EnteringMessage {
        frame: Some(frame),
        ..message("test.count/1", "{\"n\":1}")
    };
    run.enter(None, port(0, 0), entering).unwrap();
    let taken = run.take_emitted();
    let found: Vec<_> = taken
        .iter()
        .map(|(from, message)| {
            let origin = message.lineage().origin.unwrap();
            assert_eq!((origin.sequence, origin.captured_ns), (1, 3_000_000_000));
            (from.stage, message.frame().unwrap().bytes()[0])
        })
        .collect();
    // The stage emits what it has written to, and what it received.
    assert_eq!(found, [(0, 255), (0, 3), (1, 255), (1, 3)]);
    assert_eq!(run.failures(), []);
    run.end();
}
