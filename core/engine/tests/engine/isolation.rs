//! Isolated stages: crashes, hangs, restarts, reloads.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_config::pipeline::{Isolation, OnError, Restart};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Observer, Run, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::problem::ProblemKind;
use flowpipe_isolation::scanner::Scanner;
use flowpipe_recording::entry::{Call, CancelReason};
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, finish, lasting_catalogue, ten, until};

pub fn start(pipeline: Builder, watcher: &Arc<Watcher>) -> RunHandle {
    crate::isolated::start(pipeline.0, lasting_catalogue(), watcher)
}

pub fn run(pipeline: Builder) -> (Report, Arc<Watcher>) {
    crate::isolated::run(pipeline.0, lasting_catalogue())
}

pub fn isolated(mut line: Builder, stage: usize) -> Builder {
    let stage = &mut line.0.stages[stage];
    stage.isolation = Isolation::Process;
    stage.restart = stage.restart.or(Some(Restart {
        max: 8,
        backoff: Duration::from_millis(1),
    }));
    line
}

/// Ten messages with pictures through an isolated stage that does this, on the fourth.
pub fn act(on_error: OnError, what: &str) -> Builder {
    let mut line = ten(on_error, json!({ "do": what, "on": 4 }));
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "width": 64, "height": 64 });
    isolated(line, 1)
}

/// The numbers of the messages that came through.
pub fn numbers(watcher: &Watcher, stage: usize) -> Vec<i64> {
    let seen = watcher.from(stage);
    seen.iter()
        .map(|it| it.json["n"].as_i64().unwrap())
        .collect()
}

#[test]
fn a_crash_costs_its_message_and_is_reported() {
    for (what, text) in [
        ("segv", "its process was killed by SIGSEGV"),
        ("abort", "its process aborted (SIGABRT"),
        ("kill", "its process was killed by SIGKILL (out of memory?)"),
        ("exit", "its process exited with code 3"),
        ("hold-and-abort", "its process aborted (SIGABRT"),
    ] {
        let (report, watcher) = run(act(OnError::Stop, what));
        let problem = watcher.problem();
        assert!(problem.text.starts_with(text), "{problem}");
        assert_eq!(problem.kind, ProblemKind::Crashed, "{what}");
        assert_eq!(problem.message.unwrap().sequence, 4, "{what}");
        assert_eq!(numbers(&watcher, 2), [1, 2, 3, 5, 6, 7, 8, 9, 10], "{what}");
        let stage = &report.stages[1];
        assert_eq!((stage.failed, stage.restarted), (1, 1), "{what}");
        assert_eq!(report.failure, None, "{what}");
    }
}

#[test]
fn a_hang_is_killed() {
    let mut line = act(OnError::Stop, "hang");
    line.0.stages[1].timeout = Some(Duration::from_millis(200));
    line.0.stages[1].watchdog = Duration::from_millis(200);
    let (report, watcher) = run(line);
    let problem = watcher.problems().pop().unwrap();
    assert_eq!(problem.kind, ProblemKind::Hang);
    assert!(
        problem.text.ends_with("; its process was killed"),
        "{problem}"
    );
    assert_eq!(problem.message.unwrap().sequence, 4);
    assert_eq!(numbers(&watcher, 2), [1, 2, 3, 5, 6, 7, 8, 9, 10]);
    assert_eq!((report.stages[1].abandoned, report.failure), (0, None));
}

#[test]
fn a_timeout_is_noticed_without_a_check() {
    let mut line = act(OnError::Skip, "slow");
    line.0.stages[1].timeout = Some(Duration::from_millis(200));
    let (report, watcher) = run(line);
    assert_eq!(watcher.problem().kind, ProblemKind::TimedOut);
    assert_eq!(
        (report.stages[1].timed_out, report.stages[1].received),
        (1, 10)
    );
}

#[test]
fn errors_are_the_same_as_in_the_program_itself() {
    for what in [
        "fail",
        "fail-silently",
        "panic",
        "bad-message",
        "odd-status",
        "not-json",
        "not-utf8",
        "wrong-port",
        "wrong-schema",
        "small-output",
        "no-context",
        "cancelled-unasked",
    ] {
        let mut here = act(OnError::Skip, what);
        here.0.stages[1].restart = None;
        let mut apart = act(OnError::Skip, what);
        apart.0.stages[1].restart = None;
        here.0.stages[1].isolation = Isolation::Thread;
        let (_, here) = run(here);
        let (report, apart) = run(apart);
        assert_eq!(apart.problems(), here.problems(), "{what}");
        assert_eq!(report.stages[1].restarted, 0, "{what}");
        assert_eq!(numbers(&apart, 2), numbers(&here, 2), "{what}");
    }
}

#[test]
fn after_too_many_crashes_on_error_decides() {
    let mut line = act(OnError::Stop, "abort");
    line.0.stages[1].contestants[0].config = json!({ "do": "abort" });
    line.0.stages[1].restart = Some(Restart {
        max: 2,
        backoff: Duration::from_millis(1),
    });
    let (report, _) = run(line);
    assert_eq!(report.stages[1].received, 3);
    assert_eq!(report.failure.unwrap().kind, ProblemKind::Crashed);
}

#[test]
fn host_getters_work_in_a_process() {
    let mut line = act(OnError::Stop, "getters");
    line.0.stages[1].contestants[0].config = json!({ "do": "getters" });
    let (report, watcher) = run(line);
    let expected = |n: i64| json!({ "n": n, "waited": 1, "hops": 1, "later": 1 });
    let answers: Vec<Value> = watcher.from(1).into_iter().map(|it| it.json).collect();
    assert_eq!(answers, (1..=10).map(expected).collect::<Vec<_>>());
    assert!(report.marks.contains_key("marked"), "{:?}", report.marks);
}

#[test]
fn a_stage_apart_knows_of_the_run_and_can_end_it() {
    let (_, watcher) = run(act(OnError::Stop, "report-run"));
    assert_eq!(
        watcher.from(1)[3].json,
        json!({ "dry": 0, "ending": 0, "others": 0 })
    );
    let (report, _) = run(act(OnError::Stop, "end-done"));
    assert_eq!(report.ended.unwrap().reason, "enough");
    let (report, _) = run(act(OnError::Stop, "end-stopped"));
    assert_eq!(report.ended.unwrap().reason, "hands off");
    let watcher = Arc::new(Watcher::default());
    let run = start(act(OnError::Stop, "until-ending"), &watcher);
    until("the fourth", || run.progress().stages[1].received == 4);
    run.stop();
    let _ = finish(run);
}

#[test]
fn a_bad_config_starts_nothing() {
    for (config, text) in [
        (
            json!({ "create": "bad-config" }),
            "failed to start: the config can't be used: n < 0",
        ),
        (json!({ "create": "fail" }), "failed to start: no memory"),
        (
            json!({ "create": "null" }),
            "it created no stage and gave no reason",
        ),
        (
            json!({ "create": "fail-to-activate" }),
            "failed to activate: no device",
        ),
        (
            json!({ "create": "emit-to-activate" }),
            "failed to activate: its process was killed for an invalid packet: it emits, marks or waits outside of process",
        ),
    ] {
        let mut line = act(OnError::Stop, "pass");
        line.0.stages[1].contestants[0].config = config;
        let watcher = Arc::new(Watcher::default());
        let started = Run::start(
            line.0,
            lasting_catalogue(),
            crate::isolated::options(&watcher),
        );
        let error = started.err().unwrap().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn an_aborted_run_leaves_no_process_waiting() {
    let watcher = Arc::new(Watcher::default());
    let mut line = act(OnError::Stop, "hang");
    line.0.stages[1].watchdog = Duration::from_millis(300);
    let run = start(line, &watcher);
    until("the hang", || run.progress().stages[1].received == 4);
    run.abort();
    let report = finish(run);
    assert_eq!(report.failure, None, "the run was aborted on request");
    assert_eq!(watcher.problems().pop().unwrap().kind, ProblemKind::Hang);
}

#[test]
fn a_contestant_crashes_and_the_others_answer() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 20, "delay_us": 5_000 }));
    let race = pipeline.race(&[
        ("act", json!({ "do": "abort" })),
        ("act", json!({ "do": "pass" })),
    ]);
    pipeline.join(source, race);
    let mut pipeline = isolated(pipeline, race);
    pipeline.0.stages[race].restart = Some(Restart {
        max: 1000,
        backoff: Duration::from_millis(1),
    });
    let (report, watcher) = run(pipeline);
    let stage = &report.stages[race];
    assert_eq!((stage.received, stage.emitted), (20, 20));
    assert!(stage.restarted >= 1, "{stage:#?}");
    assert!(
        watcher
            .kinds()
            .iter()
            .all(|kind| *kind == ProblemKind::Crashed)
    );
    assert_eq!(report.failure, None);
}

#[test]
fn a_contestant_that_crashes_too_often_leaves_the_race() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 40, "delay_us": 20_000 }));
    let race = pipeline.race(&[
        ("act", json!({ "do": "abort" })),
        ("act", json!({ "do": "sleep", "delay_us": 1_000 })),
    ]);
    pipeline.join(source, race);
    let mut pipeline = isolated(pipeline, race);
    pipeline.0.stages[race].restart = Some(Restart {
        max: 1,
        backoff: Duration::from_millis(1),
    });
    let (report, watcher) = run(pipeline);
    let stage = &report.stages[race];
    assert_eq!((stage.received, stage.emitted), (40, 40));
    assert_eq!((stage.restarted, watcher.problems().len()), (1, 2));
    assert_eq!(report.failure, None);
}

#[test]
fn a_loser_is_cancelled_at_once() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 5 }));
    let race = pipeline.race(&[
        ("racer", json!({ "do": "patient" })),
        ("racer", json!({ "do": "good" })),
    ]);
    pipeline.join(source, race);
    let (report, watcher) = run(isolated(pipeline, race));
    assert_eq!(report.stages[race].contestants[1].won, 5);
    assert_eq!(watcher.problems(), []);
}

/// A run whose plugin crashes on the fourth message, while `happens` changes its library of the first generation.
fn crash_after(happens: impl FnOnce(&Path)) -> (Report, Arc<Watcher>) {
    let folder = tempfile::tempdir().unwrap();
    let library = crate::common::compile("stages.c", folder.path(), "stages", &["GENERATION=1"]);
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &Scanner::InProcess);
    let mut line = act(OnError::Stop, "generation");
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "delay_us": 100_000 });
    line.0.stages[1].contestants[0].config = json!({ "do": "generation", "count": 4 });
    let watcher = Arc::new(Watcher::default());
    let run = Run::start(line.0, &catalogue, crate::isolated::options(&watcher)).unwrap();
    happens(&library);
    (finish(run), watcher)
}

#[test]
fn a_restart_uses_the_file_that_was_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let other = crate::common::compile("stages.c", folder.path(), "stages", &["GENERATION=2"]);
    let replace = |library: &Path| {
        let beside = library.with_extension("new");
        std::fs::copy(&other, &beside).unwrap();
        std::fs::rename(&beside, library).unwrap();
    };
    for removed in [false, true] {
        let (report, watcher) = crash_after(|library| match removed {
            false => replace(library),
            true => std::fs::remove_file(library).unwrap(),
        });
        assert_eq!(watcher.problem().kind, ProblemKind::Crashed);
        assert_eq!(numbers(&watcher, 1), [1; 9]);
        assert_eq!((report.stages[1].restarted, report.failure), (1, None));
    }
}

#[test]
fn a_file_that_was_written_into_is_not_restarted() {
    let (report, watcher) = crash_after(|library| {
        let file = std::fs::File::options().append(true).open(library).unwrap();
        let later = std::time::SystemTime::now() + Duration::from_secs(5);
        file.set_modified(later).unwrap();
    });
    let problem = watcher.problems().pop().unwrap();
    assert!(problem.text.contains("was written into"), "{problem}");
    assert_eq!(numbers(&watcher, 1), [1; 3]);
    assert!(report.failure.is_some());
}

/// The recorded calls of a run.
#[derive(Default)]
struct Calls(Mutex<Vec<Call>>);

impl Observer for Calls {
    fn wants_calls(&self) -> bool {
        true
    }

    fn call(&self, _: usize, call: &Call) {
        self.0.lock().unwrap().push(call.clone());
    }
}

#[test]
fn a_call_that_ends_in_a_crash_is_recorded_with_its_cancellation() {
    let mut line = act(OnError::Skip, "ask-and-exit");
    line.0.stages[1].contestants[0].plugin = "act-again".into();
    line.0.stages[1].timeout = Some(Duration::from_millis(200));
    let (watcher, calls) = (Arc::new(Watcher::default()), Arc::new(Calls::default()));
    let mut options = crate::isolated::options(&watcher);
    options.observers.push(calls.clone());
    let run = Run::start(line.0, lasting_catalogue(), options).unwrap();
    let _ = finish(run);
    let calls = calls.0.lock().unwrap();
    let mut failed = calls
        .iter()
        .filter_map(|call| Some((call.failed.as_ref()?, call.cancelled)));
    let (text, cancelled) = failed.next().unwrap();
    let cancelled = cancelled.unwrap();
    assert_eq!(cancelled.reason, CancelReason::Timeout);
    // Its exit code is the number of checks that it counted.
    let code = cancelled.after & 0xff;
    assert_eq!(*text, format!("its process exited with code {code}"));
    assert_eq!(failed.next(), None);
}

/// The number of file descriptors and children of this process.
#[cfg(target_os = "linux")]
fn held() -> (usize, usize) {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let itself = std::process::id().to_string();
    let children = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            let after = stat.rsplit_once(") ").map_or("", |it| it.1);
            after.split(' ').nth(1) == Some(itself.as_str())
        })
        .count();
    (files, children)
}

/// What is [`held`] between runs: a run's last threads may close a file after its end.
#[cfg(target_os = "linux")]
fn kept() -> (usize, usize) {
    let samples = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(20));
        held()
    });
    // At least one is taken.
    samples.take(50).min().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "alone in its process: `a_hundred_crashes_leave_nothing_behind` starts it"]
fn a_hundred_crashes() {
    // Initialize what is created once and kept.
    let _ = run(act(OnError::Stop, "pass"));
    let before = kept();
    let mut line = act(OnError::Stop, "pass");
    line.0.stages[0].contestants[0].config = json!({ "count": 200, "width": 640, "height": 480 });
    // A message processed between two crashes resets the count of failures in a row.
    line.0.stages[1].contestants[0].config = json!({ "do": "hold-and-abort", "every": 2 });
    let (report, watcher) = run(line);
    assert_eq!(report.stages[1].failed, 100, "{report:#?}");
    assert_eq!(report.stages[1].restarted, 100);
    assert_eq!(watcher.from(2).len(), 100);
    until("nothing of it is left", || held() == before);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "alone in its process: `a_stage_moves_from_process_to_process` starts it"]
fn a_stage_moves() {
    let line = isolated(Builder::line(10_000_000, "act", json!({ "do": "pass" })), 2);
    let watcher = Arc::new(Watcher::default());
    let mut pipeline = line.0.clone();
    let run = start(line, &watcher);
    for (isolation, count) in [
        (Isolation::Process, 2),
        (Isolation::Thread, 1),
        (Isolation::Process, 2),
    ] {
        pipeline.stages[1].isolation = isolation;
        let changes = run.change(pipeline.clone(), lasting_catalogue()).unwrap();
        assert_eq!(changes.to_string(), "act-1 (isolation)");
        until("its process", || held().1 == count);
        let before = run.progress().stages[2].emitted;
        until("it continues", || {
            run.progress().stages[2].emitted > before + 20
        });
    }
    // A new config, in its process.
    pipeline.stages[1].contestants[0].config = json!({ "do": "other" });
    run.change(pipeline, lasting_catalogue()).unwrap();
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    let seen = numbers(&watcher, 2);
    assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
    assert_eq!(held().1, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stage_moves_from_process_to_process() {
    crate::isolated::alone("isolation::a_stage_moves");
}

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_crashes_leave_nothing_behind() {
    crate::isolated::alone("isolation::a_hundred_crashes");
}
