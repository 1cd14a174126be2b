//! Reloads that create a plugin that drives the mouse: it may move the pointer at once, and no other may hold a button then.

use std::sync::Arc;

use flowpipe_config::pipeline::{Pipeline, WhenFull};
use flowpipe_engine::run::{ChangeError, RunHandle};
use serde_json::{Value, json};

use crate::common::reloading::{adds_up, line, start};
use crate::common::{Builder, catalogue, finish, queue, until};

/// The number of the message that takes long.
const LONG: u64 = 5;
const MOUSE: usize = 2;

/// Drives the mouse, and takes a second for one message.
fn slow() -> Value {
    json!({ "do": "sleep", "on": LONG, "delay_us": 1_000_000 })
}

/// A pipeline that drives the mouse.
fn with_mouse() -> Builder {
    line(10_000_000, "act-mouse", slow())
}

/// Starts it. Returns while the mouse is driven.
fn mid_drag(pipeline: &Pipeline) -> RunHandle {
    let run = start(pipeline, &Arc::default());
    until("the drag", || run.progress().stages[MOUSE].received == LONG);
    run
}

/// Changes to a pipeline whose new plugin is created in vain, and the drag is over by then. The run continues.
#[track_caller]
fn waits_for_the_drag(run: RunHandle, pipeline: Pipeline) {
    let error = run.change(pipeline, catalogue()).unwrap_err();
    let emitted = run.progress().stages[MOUSE].emitted;
    assert!(matches!(error, ChangeError::Start(_)), "{error}");
    assert!(emitted >= LONG, "it was created after message {emitted}");
    until("it continues", || {
        run.progress().stages[MOUSE].emitted > emitted
    });
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
}

#[test]
fn a_mouse_is_replaced_when_it_is_at_rest() {
    let mut pipeline = with_mouse().0;
    let run = mid_drag(&pipeline);
    pipeline.stages[MOUSE].contestants[0].config = json!({ "create": "fail" });
    waits_for_the_drag(run, pipeline);
}

#[test]
fn another_mouse_is_added_when_the_first_one_is_at_rest() {
    let mut builder = with_mouse();
    let run = mid_drag(&builder.0);
    let second = builder.stage("act-mouse", json!({ "create": "fail" }));
    builder.join(0, second);
    waits_for_the_drag(run, builder.0);
}

/// A removed stage drains its queue, with the button that it holds.
#[test]
fn a_mouse_is_added_when_one_that_was_removed_is_at_rest() {
    let mut builder = Builder::new();
    let source = builder.stage("source", json!({ "count": 10_000_000, "delay_us": 1_000 }));
    let sink = builder.stage("sink", json!({}));
    builder.join(source, sink);
    let without = builder.0.clone();
    let mouse = builder.stage("act-mouse", slow());
    // The source never waits for it, so that it can be removed meanwhile.
    builder.edge((source, 0), (mouse, 0), queue(4, WhenFull::DropNewest));
    let run = start(&builder.0, &Arc::default());
    let received = || run.progress().stages[mouse].received;
    until("the drag", || received() == LONG);
    run.change(without.clone(), catalogue()).unwrap();
    let mut builder = Builder(without);
    let second = builder.stage("act-mouse", json!({ "create": "fail" }));
    builder.0.stages[second].name = "second".to_owned();
    builder.join(source, second);
    let error = run.change(builder.0, catalogue()).unwrap_err();
    assert!(matches!(error, ChangeError::Start(_)), "{error}");
    let emitted = run.progress().stages[mouse].emitted;
    assert!(emitted >= LONG, "it was created after message {emitted}");
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    let edge = &report.edges[1];
    assert_eq!(edge.sent, edge.delivered + edge.dropped, "{edge:?}");
    assert_eq!(report.stages[mouse].received, edge.delivered);
}

/// What does not drive the mouse is created beside it: a reload takes no longer than it has to.
#[test]
fn others_are_created_while_the_mouse_is_driven() {
    let drag = json!({ "do": "until-ending", "on": LONG });
    let mut pipeline = line(10_000_000, "act-mouse", drag).0;
    let run = mid_drag(&pipeline);
    pipeline.stages[3].contestants[0].config = json!({ "create": "fail" });
    let error = run.change(pipeline, catalogue()).unwrap_err();
    assert!(matches!(error, ChangeError::Start(_)), "{error}");
    run.stop();
    finish(run);
}
