//! Plugins that take too long or never return: reported, cancelled, abandoned.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::OnError;
use flowpipe_engine::report::Report;
use flowpipe_host::problem::ProblemKind;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, finish, ten, until};

/// Short, and still far more than a healthy call takes on a busy machine.
const SHORT: Duration = Duration::from_millis(150);

/// Ten messages through a stage that takes too long over the fourth.
fn late(on_error: OnError, what: &str, extra: Value) -> (Report, Arc<Watcher>) {
    let mut config = json!({ "do": what, "on": 4 });
    config
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let mut line = ten(on_error, config);
    line.0.stages[1].timeout = Some(SHORT);
    line.0.stages[1].watchdog = SHORT;
    line.run()
}

#[test]
fn a_timeout_cancels_the_work() {
    let (report, watcher) = late(OnError::Skip, "slow", json!({}));
    // The watchdog, which has the same time, may report that the call is slow before or after that.
    let problems = watcher.problems().into_iter();
    let mut timeouts = problems.filter(|it| it.kind != ProblemKind::Slow);
    let (problem, more) = (timeouts.next().unwrap(), timeouts.next());
    assert_eq!(
        (problem.kind, problem.text.as_str()),
        (ProblemKind::TimedOut, "not done after 150ms")
    );
    assert!(more.is_none(), "{more:?}");
    assert_eq!(problem.message.unwrap().sequence, 4);
    assert_eq!(
        (report.stages[1].timed_out, report.stages[1].abandoned),
        (1, 0)
    );
    assert_eq!(report.stages[2].received, 9);

    let (report, _) = late(OnError::Stop, "slow", json!({}));
    assert_eq!(report.failure.unwrap().kind, ProblemKind::TimedOut);
    assert_eq!(report.stages[1].received, 4);
}

#[test]
fn a_plugin_that_hangs_is_abandoned_and_restarted() {
    let (report, watcher) = late(OnError::Skip, "hang", json!({}));
    assert!(
        watcher.kinds().contains(&ProblemKind::Slow),
        "reported while it still may answer"
    );
    let problem = watcher.problems().pop().unwrap();
    assert_eq!(problem.kind, ProblemKind::Hang);
    assert!(
        problem.text.starts_with("it hangs: after "),
        "{}",
        problem.text
    );
    assert!(
        problem
            .text
            .ends_with("that its 150ms were over; it was abandoned")
    );
    assert_eq!(
        (problem.plugin.as_str(), problem.message.unwrap().sequence),
        ("act", 4)
    );
    assert_eq!(
        (report.stages[1].received, report.stages[1].abandoned),
        (10, 1)
    );
    assert_eq!((report.stages[2].received, report.failure), (9, None));
}

/// What replaces a plugin that hangs at the end of the stream is not called there again.
#[test]
fn a_hang_at_the_end_of_the_stream_costs_one_plugin() {
    let (report, watcher) = late(OnError::Skip, "hang-at-end", json!({ "on": 0 }));
    let hangs = watcher.kinds().into_iter();
    let hangs = hangs.filter(|kind| *kind == ProblemKind::Hang).count();
    assert_eq!((hangs, report.stages[1].abandoned), (1, 1));
    assert_eq!((report.stages[2].received, report.failure), (10, None));
}

#[test]
fn with_on_error_stop_a_plugin_that_hangs_ends_the_run() {
    let (report, _) = late(OnError::Stop, "hang", json!({}));
    let failure = report.failure.unwrap();
    assert_eq!(
        (failure.kind, failure.message.unwrap().sequence),
        (ProblemKind::Hang, 4)
    );
    assert_eq!(
        (report.stages[1].received, report.stages[2].received),
        (4, 3)
    );
}

#[test]
fn late_messages_of_an_abandoned_plugin_are_ignored() {
    // It sleeps through timeout and grace, and then emits.
    let (report, watcher) = late(OnError::Skip, "sleep", json!({ "delay_us": 1_500_000 }));
    assert_eq!(report.stages[1].abandoned, 1);
    assert_eq!(report.stages[2].received, 9);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(
        watcher
            .from(1)
            .iter()
            .all(|seen| seen.json["late"].is_null())
    );
}

#[test]
fn a_flood_that_ignores_every_answer_is_a_hang() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("act-source", json!({ "do": "flood-for-ever" }));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    pipeline.0.stages[source].watchdog = SHORT;
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("some messages", || {
        run.progress().stages[sink].received > 100
    });
    run.stop();
    let report = finish(run);
    assert_eq!((report.stages[source].abandoned, report.failure), (1, None));
    let problem = watcher.problems().pop().unwrap();
    assert!(
        problem
            .text
            .contains("has not noticed that the run was ending"),
        "{problem}"
    );
}

#[test]
fn without_a_timeout_the_watchdog_only_warns() {
    let mut line = ten(
        OnError::Stop,
        json!({ "do": "sleep", "on": 4, "delay_us": 600_000 }),
    );
    line.0.stages[1].watchdog = Duration::from_millis(200);
    let (report, watcher) = line.run();
    let problem = watcher.problem();
    assert_eq!(
        (problem.kind, problem.message.unwrap().sequence),
        (ProblemKind::Slow, 4)
    );
    assert!(
        problem.text.starts_with("it has not come back for "),
        "{}",
        problem.text
    );
    assert_eq!((report.stages[2].received, report.failure), (10, None));
}

#[test]
fn a_hang_without_a_timeout_ends_when_the_run_is_aborted() {
    let pipeline = ten(OnError::Stop, json!({ "do": "hang", "on": 4 }));
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("a call in progress", || {
        run.progress().stages[1].received == 4
    });
    run.stop();
    run.abort();
    let report = finish(run);
    assert_eq!(report.stages[1].abandoned, 1);
    assert_eq!(report.failure, None, "the run was aborted on request");
}

#[test]
fn waiting_for_a_full_queue_is_no_hang() {
    let mut line = Builder::line(6, "pass", json!({}));
    line.0.stages[1].timeout = Some(Duration::from_millis(250));
    line.0.stages[1].watchdog = Duration::from_millis(250);
    line.0.stages[2].contestants[0].config = json!({ "delay_us": 400_000 });
    for edge in &mut line.0.edges {
        edge.queue.capacity = 1;
    }
    let (report, watcher) = line.run();
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.stages[2].received, 6);
    assert!(
        report.stages[1].time.max_ns < 250_000_000,
        "{:?}",
        report.stages[1].time
    );
}

#[test]
fn each_of_several_late_messages_has_its_own_timeout() {
    let mut line = ten(OnError::Skip, json!({ "do": "slow" }));
    line.0.stages[1].timeout = Some(SHORT);
    line.0.stages[1].watchdog = Duration::from_secs(600);
    let (report, _) = line.run();
    assert_eq!(report.stages[1].timed_out, 10);
}
