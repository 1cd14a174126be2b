//! Stages in processes of their own.

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

fn start(pipeline: Builder, watcher: &Arc<Watcher>) -> RunHandle {
    crate::isolated::start(pipeline.0, lasting_catalogue(), watcher)
}

fn run(pipeline: Builder) -> (Report, Arc<Watcher>) {
    crate::isolated::run(pipeline.0, lasting_catalogue())
}

fn isolated(mut line: Builder, stage: usize) -> Builder {
    let stage = &mut line.0.stages[stage];
    stage.isolation = Isolation::Process;
    stage.restart = stage.restart.or(Some(Restart {
        max: 8,
        backoff: Duration::from_millis(1),
    }));
    line
}

/// Ten messages with pictures through an isolated stage that does this, on the fourth.
fn act(on_error: OnError, what: &str) -> Builder {
    let mut line = ten(on_error, json!({ "do": what, "on": 4 }));
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "width": 64, "height": 64 });
    isolated(line, 1)
}

/// The numbers of the messages that came through.
fn numbers(watcher: &Watcher, stage: usize) -> Vec<i64> {
    let seen = watcher.from(stage);
    seen.iter()
        .map(|it| it.json["n"].as_i64().unwrap())
        .collect()
}

#[test]
fn a_crash_costs_its_message_and_is_told_in_words() {
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
    assert_eq!((report.stages[1].given_up, report.failure), (0, None));
}

#[test]
fn a_timeout_is_noticed_without_being_asked_for() {
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
fn errors_are_what_they_are_in_the_program_itself() {
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
        "flood",
    ] {
        let mut here = act(OnError::Skip, what);
        here.0.stages[1].restart = None;
        let mut apart = act(OnError::Skip, what);
        apart.0.stages[1].restart = None;
        here.0.stages[1].isolation = Isolation::Thread;
        if what == "flood" {
            // Each of a hundred thousand answers is a conversation.
            continue;
        }
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
fn pixels_are_not_copied() {
    // The stage says where the pixels lie in its process; that is a mapping of the memory that the host has.
    let (_, watcher) = run(act(OnError::Stop, "pass"));
    let from_source: Vec<_> = watcher.from(0).iter().map(|it| it.pixels).collect();
    let from_stage: Vec<_> = watcher.from(1).iter().map(|it| it.pixels).collect();
    assert_eq!(
        from_stage, from_source,
        "what it sends on is the host's own memory"
    );

    let mut line = act(OnError::Stop, "where");
    line.0.stages[1].contestants[0].config = json!({ "do": "where" });
    let watcher = Arc::new(Watcher::default());
    line.0.stages[0].contestants[0].config =
        json!({ "count": 200, "width": 64, "height": 64, "delay_us": 5_000 });
    let run = start(line, &watcher);
    until("an answer", || !watcher.from(1).is_empty());
    let said = watcher.from(1)[0].json.clone();
    let process = said["process"].as_u64().unwrap();
    assert_ne!(process, u64::from(std::process::id()));
    if cfg!(target_os = "linux") {
        let place = said["pixels"].as_u64().unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let shared = maps.lines().any(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            (number(from)..number(to)).contains(&place)
                && rest.starts_with("r--s")
                && rest.contains("memfd:flowpipe")
        });
        assert!(shared, "{place:x} in {maps}");
    }
    run.stop();
    let _ = finish(run);
}

#[test]
fn a_frame_of_the_librarys_own_host_is_a_frame() {
    let (_, watcher) = run(act(OnError::Stop, "library-frame"));
    assert_eq!(watcher.problems(), []);
    let pixels: Vec<_> = watcher
        .from(2)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(pixels, [0, 1, 2, 200, 4, 5, 6, 7, 8, 9]);

    // One of a library in the program goes to a stage apart.
    let mut line = act(OnError::Stop, "library-frame");
    line.0.stages[1].isolation = Isolation::Thread;
    let (_, watcher) = run(isolated(line, 2));
    assert_eq!(watcher.problems(), []);
    let pixels: Vec<_> = watcher
        .from(2)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(pixels, [0, 1, 2, 200, 4, 5, 6, 7, 8, 9]);
}

/// The pictures that came from a stage: the message's number, and the first pixel.
fn pictures(watcher: &Watcher, stage: usize) -> Vec<(i64, u8)> {
    let seen = watcher.from(stage);
    let picture = |it: &crate::common::Seen| (it.json["n"].as_i64().unwrap(), it.pixels.unwrap().1);
    seen.iter().map(picture).collect()
}

#[test]
fn a_wild_write_into_what_others_see_is_a_crash() {
    let (report, watcher) = run(act(OnError::Stop, "scribble-unasked"));
    let problem = watcher.problem();
    let signals = ["SIGSEGV", "SIGBUS"].map(|it| format!("its process was killed by {it}"));
    assert!(
        signals.iter().any(|it| problem.text.starts_with(it)),
        "{problem}"
    );
    assert_eq!(problem.message.unwrap().sequence, 4);
    let made: Vec<_> = (1..=10).map(|n| (n, n as u8 - 1)).collect();
    assert_eq!(pictures(&watcher, 0), made);
    let through: Vec<_> = made.into_iter().filter(|(n, _)| *n != 4).collect();
    assert_eq!(pictures(&watcher, 2), through);
    assert_eq!(report.failure, None);
}

#[test]
fn nobody_sees_a_wild_write_into_what_was_sent_on_or_given_back() {
    for what in ["scribble-sent", "scribble-gone"] {
        let (report, watcher) = run(act(OnError::Stop, what));
        assert_eq!(watcher.problems(), [], "{what}");
        assert_eq!(report.failure, None, "{what}");
        let made: Vec<_> = (1..=10).map(|n| (n, n as u8 - 1)).collect();
        assert_eq!(pictures(&watcher, 0), made, "{what}");
        let mut through = made;
        match what {
            "scribble-sent" => through[3] = (0, 1),
            _ => drop(through.remove(3)),
        }
        assert_eq!(pictures(&watcher, 2), through, "{what}");
    }
}

#[test]
fn frames_made_written_and_kept_apart_are_right() {
    // A source of more pictures than there can be alive at once.
    let mut line = Builder::line(200, "pass", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": 200, "width": 64, "height": 64 });
    let (report, watcher) = run(isolated(line, 0));
    let first: Vec<_> = watcher
        .from(0)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(first, (0..200).collect::<Vec<_>>());
    assert!(report.frames.allocated < 100, "{:?}", report.frames);

    // Copied before it is written.
    let mut line = Builder::line(10, "scribble", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "width": 64, "height": 64 });
    let (_, watcher) = run(isolated(line, 1));
    let values: Vec<_> = watcher
        .from(1)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    let expected: Vec<u8> = (0..10).flat_map(|n| [255, n]).collect();
    assert_eq!(values, expected);

    // Held beyond its call, and by a process that ends.
    let mut line = act(OnError::Stop, "keep");
    line.0.stages[1].contestants[0].config = json!({ "do": "keep" });
    let (_, watcher) = run(line);
    assert_eq!(numbers(&watcher, 2).len(), 10);
}

/// How many frames of that size a stage apart is given.
fn hoard(size: u32, count: u32) -> u64 {
    let mut line = act(OnError::Stop, "hoard");
    line.0.stages[1].contestants[0].config =
        json!({ "do": "hoard", "on": 4, "width": size, "height": size, "count": count });
    let (_, watcher) = run(line);
    watcher.from(1)[3].json["made"].as_u64().unwrap()
}

#[test]
fn a_stage_apart_is_not_given_all_memory() {
    // Of 1 GiB each: 4 GiB, less the picture of the message in hand.
    assert_eq!(hoard(16384, 32), 3);
}

#[test]
#[ignore = "alone in its process: `many_small_pictures_may_be_alive` starts it"]
fn many_small_pictures() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(256),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(hoard(8, 1000), 1000);
}

#[test]
fn many_small_pictures_may_be_alive() {
    crate::isolated::alone("isolation::many_small_pictures");
}

#[test]
fn what_the_host_tells_is_told() {
    let mut line = act(OnError::Stop, "getters");
    line.0.stages[1].contestants[0].config = json!({ "do": "getters" });
    let (report, watcher) = run(line);
    let expected = |n: i64| json!({ "n": n, "waited": 1, "hops": 1, "later": 1 });
    let said: Vec<Value> = watcher.from(1).into_iter().map(|it| it.json).collect();
    assert_eq!(said, (1..=10).map(expected).collect::<Vec<_>>());
    assert!(report.marks.contains_key("marked"), "{:?}", report.marks);
}

#[test]
fn a_stage_apart_knows_of_the_run_and_can_end_it() {
    let (_, watcher) = run(act(OnError::Stop, "tell-run"));
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
            "can't create: the config can't be used: n < 0",
        ),
        (json!({ "create": "fail" }), "can't create: no memory"),
        (
            json!({ "create": "null" }),
            "it created no stage and gave no reason",
        ),
        (
            json!({ "create": "fail-to-activate" }),
            "can't activate: no device",
        ),
        (
            json!({ "create": "emit-to-activate" }),
            "can't activate: its process was killed for an invalid packet: it emits, marks or waits outside of process",
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
    assert_eq!(report.failure, None, "somebody asked for it");
    assert_eq!(watcher.problems().pop().unwrap().kind, ProblemKind::Hang);
}

#[test]
fn one_of_a_race_crashes_and_the_others_answer() {
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
fn one_that_crashes_too_often_is_left_out_of_the_race() {
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
fn a_loser_is_told_at_once() {
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

/// A run whose plugin crashes on the fourth message, with its library of the first generation, to which something
/// happens meanwhile.
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
fn a_restart_takes_the_file_that_was_loaded() {
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
fn a_file_that_was_written_into_is_not_started_again() {
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

/// The calls of a run, as they are written down.
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
fn a_call_that_ends_in_a_crash_is_written_down_with_what_was_told_in_it() {
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
    // It exits with as many as it counted.
    let code = cancelled.after & 0xff;
    assert_eq!(*text, format!("its process exited with code {code}"));
    assert_eq!(failed.next(), None);
}

/// What this process and its children hold: file descriptors, children, shared memory.
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

#[cfg(target_os = "linux")]
#[test]
#[ignore = "alone in its process: `a_hundred_crashes_leave_nothing_behind` starts it"]
fn a_hundred_crashes() {
    // What is made once and kept is made before.
    let _ = run(act(OnError::Stop, "pass"));
    let before = held();
    let mut line = act(OnError::Stop, "pass");
    line.0.stages[0].contestants[0].config = json!({ "count": 200, "width": 640, "height": 480 });
    // A message that gets through between two crashes makes the next one the first in a row.
    line.0.stages[1].contestants[0].config = json!({ "do": "hold-and-abort", "every": 2 });
    let (report, watcher) = run(line);
    assert_eq!(report.stages[1].failed, 100, "{report:#?}");
    assert_eq!(report.stages[1].restarted, 100);
    assert_eq!(watcher.from(2).len(), 100);
    assert_eq!(held(), before);
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
        until("it goes on", || {
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
