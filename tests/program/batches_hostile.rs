//! Workers of batches that send what they must not, and jobs that a worker must not do.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flowpipe_tests::bounds::{Bounded, bounded, most_memory};
use flowpipe_tests::{flowpipe, run};
use serde_json::{Value, json};

use crate::batches::{Rack, corpus, machines, untimed};
use crate::screen::wait_for;

/// The address of a worker of a file.
pub fn address_of(file: &str, rack: usize) -> std::net::SocketAddr {
    let file: toml::Table = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let listen = &file["machines"][&format!("rack{rack}")]["listen"];
    listen.as_str().unwrap()["tcp/".len()..].parse().unwrap()
}

/// What is written on the wire: control messages on one channel, chunks and answers on another one.
pub mod wire {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use flowpipe_link::link::Link;
    use flowpipe_link::session::{Event, Settings};
    use flowpipe_link::transport::Transport;
    use serde_json::Value;

    pub const CONTROL: u32 = 0;
    pub const CHUNKS: u32 = 1;

    pub fn link(transport: Box<dyn Transport>, opens: bool) -> Link {
        let began = Instant::now();
        let clock = move || i64::try_from(began.elapsed().as_nanos()).unwrap();
        let link = Link::start(Settings::new(opens, 2), transport, Arc::new(clock)).unwrap();
        link.receive_on(CONTROL, 4);
        link.receive_on(CHUNKS, 4);
        link
    }

    pub fn receive(link: &Link, timeout: Duration) -> Option<(u32, Vec<u8>)> {
        let Event::Message { id, body } = link.next_event(timeout)? else {
            return None;
        };
        link.take(id.channel);
        link.done(id);
        Some((id.channel, body))
    }

    pub fn send(link: &Link, channel: u32, body: &[u8]) {
        // The other end may have closed the link.
        let _ = link.send(channel, &body.into(), Duration::from_secs(5));
    }

    pub fn send_control(link: &Link, control: &Value) {
        send(link, CONTROL, control.to_string().as_bytes());
    }
}

/// A worker that claims to run what the coordinator runs, and answers the chunk that begins with a puzzle with a text.
fn lies(
    address: std::net::SocketAddr,
    lanes: usize,
    answer: impl Fn(u64) -> Option<Arc<str>>,
    is_over: impl Fn() -> bool,
) {
    let acceptor = flowpipe_link::tcp::TcpAcceptor::listen(address, &["desk"])
        .unwrap()
        .remove(0);
    let link = wire::link(Box::new(acceptor), false);
    while !is_over() {
        let Some((channel, body)) = wire::receive(&link, Duration::from_millis(50)) else {
            continue;
        };
        if channel == wire::CONTROL {
            let control: Value = serde_json::from_slice(&body).unwrap();
            let Some(job) = control.get("Job") else {
                continue;
            };
            let accepted = json!({
                "machine": "rack0",
                "number": job["number"],
                "facts": job["facts"],
                "lanes": lanes,
            });
            wire::send_control(&link, &json!({ "Accepted": accepted }));
        } else if let Some(answer) = answer(u64::from_le_bytes(body[8..16].try_into().unwrap())) {
            // The job and the chunk; results; the time.
            let mut bytes = body[..16].to_vec();
            bytes.extend_from_slice(&[0; 9]);
            bytes.extend_from_slice(answer.as_bytes());
            wire::send(&link, wire::CHUNKS, &bytes);
        }
    }
}

#[test]
fn a_worker_that_lies_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 100);
    let file = machines(folder.path(), "tcp", 2);
    let args = ["solve", &puzzles, "--json"];
    let alone = untimed(&run(&args).expect(65));
    let solution = |flows: Value| {
        let answer =
            json!({ "verdict": "solution", "solution": { "flows": flows }, "unique": true });
        let answer = json!({ "answer": answer, "effort": {}, "search_us": 1.0, "call_us": 1.0 });
        json!({ "solver": { "Answer": answer }, "plan": null }).to_string()
    };
    let wrong = solution(json!([{ "colour": 0, "cells": [0, 1] }]));
    let far = solution(json!([{ "colour": 0, "cells": [0, u64::MAX] }]));
    let planned = json!({ "solver": null, "plan": { "Err": "" } }).to_string();
    let long = json!({ "solver": { "x".repeat(1 << 20): null }, "plan": null }).to_string();
    for (answer, why) in [
        (wrong.as_str(), "a wrong solution"),
        (&far, "since it sent "),
        (&planned, "a plan that was not asked for"),
        ("{}\n{}\n{}", "more than"),
        ("[[[[", "a malformed answer"),
        ("\u{1b}[2J", "a malformed answer"),
        ("", "a malformed answer"),
        (&long, "a malformed answer: unknown variant `xxx"),
    ] {
        let is_over = AtomicBool::new(false);
        let _honest = Rack::start(&file, 1, &[]);
        std::thread::scope(|scope| {
            let address = address_of(&file, 0);
            let over = || is_over.load(Ordering::Relaxed);
            let sent: Arc<str> = answer.into();
            scope.spawn(move || lies(address, 2, |_| Some(sent.clone()), over));
            let ran = run(&[&args[..], &["--machines", &file]].concat());
            is_over.store(true, Ordering::Relaxed);
            let ran = ran.expect(65);
            assert!(untimed(&ran) == alone, "{why}: {ran:#?}");
            let dropped = "machine rack0 is not used any more";
            assert!(
                ran.stderr.contains(dropped) && ran.stderr.contains(why),
                "{why}: {ran:#?}"
            );
            assert!(!ran.stderr.contains('\u{1b}'), "{ran:#?}");
            let length = ran.stderr.len();
            assert!(length < 20_000, "{why}: {length} bytes are printed");
        });
    }
}

#[test]
fn a_command_whose_workers_are_all_dropped_fails() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 3);
    let file = machines(folder.path(), "tcp", 1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let address = address_of(&file, 0);
        let over = || is_over.load(Ordering::Relaxed);
        scope.spawn(move || lies(address, 2, |_| Some(Arc::from("[[[[")), over));
        let ran = run(&["solve", &puzzles, "--json", "--machines", &file]);
        is_over.store(true, Ordering::Relaxed);
        // Not 78: nothing is wrong with the file, and the worker took part.
        let ran = ran.expect(1);
        assert!(ran.stderr.contains("no worker is left"), "{ran:#?}");
    });
}

/// The most memory that a coordinator may take, in bytes.
const MEMORY: u64 = 350_000_000;

/// How long a worker has answered nothing that has answered all that it is asked.
const QUIET: Duration = Duration::from_secs(2);

/// So many puzzles, of which a worker answers all but the first one, until it is asked for no more. Then an honest one is
/// started. Returns what the coordinator took and printed.
fn floods(answer: String, puzzles: usize) -> Bounded {
    let ran = floods_with(&["solve"], answer, puzzles);
    assert!(ran.ran.stdout.lines().count() >= 2, "{ran:#?}");
    ran
}

/// The same with a command that reads the puzzles.
fn floods_with(command: &[&str], answer: String, puzzles: usize) -> Bounded {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("puzzles.txt");
    let count = puzzles.to_string();
    let generated = run(&["generate", "--size", "5x5", "--count", &count]).expect(0);
    std::fs::write(&corpus, generated.stdout).unwrap();
    let file = machines(folder.path(), "tcp", 2);
    let (is_over, answered) = (AtomicBool::new(false), Mutex::new(None::<Instant>));
    let answer: Arc<str> = answer.into();
    std::thread::scope(|scope| {
        let address = address_of(&file, 0);
        let (over, answered) = (|| is_over.load(Ordering::Relaxed), &answered);
        scope.spawn(move || {
            // Each once: what is asked for again is left to the other worker.
            let seen = RefCell::new(BTreeSet::from([0]));
            let answer = |first| {
                let is_new = seen.borrow_mut().insert(first);
                is_new.then(|| {
                    *answered.lock().unwrap() = Some(Instant::now());
                    answer.clone()
                })
            };
            lies(address, 64, answer, over);
        });
        let honest = scope.spawn(|| {
            wait_for("the last answer", || {
                let last = *answered.lock().unwrap();
                last.filter(|last| last.elapsed() > QUIET)
            });
            Rack::start(&file, 1, &[])
        });
        let corpus = corpus.to_str().unwrap();
        let command = [command, &[corpus, "--json", "--machines", &file]].concat();
        let command = flowpipe(&command);
        let ran = bounded(command, MEMORY, Duration::from_secs(120));
        // Before anything is asserted: the scope waits for the threads.
        is_over.store(true, Ordering::Relaxed);
        drop(honest.join().unwrap());
        let ran = ran.orderly();
        eprintln!("{} MB in {:.1?}", ran.peak / 1_000_000, ran.took);
        ran
    })
}

/// An answer that is believed, with this effort.
fn unsolvable(effort: &Value) -> String {
    let answer = json!({ "verdict": "unsolvable", "reason": null });
    let answer = json!({ "answer": answer, "effort": effort, "search_us": 1.0, "call_us": 1.0 });
    json!({ "solver": { "Answer": answer }, "plan": null }).to_string()
}

#[test]
fn an_answer_has_few_figures() {
    let figures = (0..1_000_000).map(|number| (number.to_string(), json!(0)));
    let figures: serde_json::Map<_, _> = figures.collect();
    let stderr = floods(unsolvable(&json!({ "figures": figures })), 40)
        .ran
        .stderr;
    let dropped = "machine rack0 is not used any more, since it sent a malformed answer: more than 64 figures";
    assert!(stderr.contains(dropped), "{stderr}");
}

/// Of answers that wait for the first one, 64 MiB are kept. All together are longer than the coordinator's memory.
#[test]
fn answers_that_wait_take_little_memory() {
    const PUZZLES: usize = 60;
    const ANSWER: usize = 8 << 20;
    const KEPT: u64 = 64 << 20;
    const { assert!((PUZZLES * ANSWER) as u64 > MEMORY + MEMORY / 4) };
    let failed = json!({ "Failed": "x".repeat(ANSWER) });
    let answer = json!({ "solver": failed, "plan": null }).to_string();
    let ran = floods(answer, PUZZLES);
    // Each is one that is kept, and not refused.
    let stderr = &ran.ran.stderr;
    assert!(!stderr.contains("is not used any more"), "{stderr}");
    let has_it = ran.ran.stdout.lines().any(|line| line.contains("xxxxxxxx"));
    assert!(has_it && ran.peak > KEPT, "{} MB", ran.peak / 1_000_000);
}

#[test]
fn a_benchmark_on_a_worker_that_lies_takes_little_memory() {
    const PUZZLES: usize = 60;
    let most = PUZZLES.to_string();
    let bench = ["bench", "--solver", "solver-search", "--most", &most];
    let figures = (0..1_000_000).map(|number| (number.to_string(), json!(0)));
    let figures: serde_json::Map<_, _> = figures.collect();
    // As many values as an answer may have: all together take 480 MB.
    let series = json!({ "series": { "a": vec![0; 1 << 20] } });
    for (effort, is_dropped) in [(json!({ "figures": figures }), true), (series, false)] {
        let ran = floods_with(&bench, unsolvable(&effort), PUZZLES)
            .ran
            .expect(0);
        let row: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(row["tried"], PUZZLES, "{row}");
        let dropped = ran.stderr.contains("machine rack0 is not used any more");
        assert_eq!(dropped, is_dropped, "{ran:#?}");
    }
}

/// The coordinator permits the solver more memory than there is.
#[test]
#[cfg(target_os = "linux")]
fn a_worker_limits_its_memory_itself() {
    const SIDE: usize = 24;
    let folder = tempfile::tempdir().unwrap();
    let puzzles = folder.path().join("puzzles.json");
    let hard = json!({
        "board": { "rows": SIDE, "cols": SIDE },
        "terminals": [{ "cell": SIDE + 1, "colour": 0 }, { "cell": SIDE * (SIDE - 1) - 3, "colour": 0 }],
        "rules": { "cover": true, "touch": true },
    });
    let easy = run(&[
        "generate", "--size", "5x5", "--count", "3", "--format", "json",
    ])
    .expect(0);
    std::fs::write(&puzzles, format!("{hard}\n{}", easy.stdout)).unwrap();
    let file = machines(folder.path(), "tcp", 1);
    let rack = Rack::start(&file, 0, &["--memory", "200"]);
    let config = "{ max_mebibytes = 1000000000 }";
    let puzzles = puzzles.to_str().unwrap();
    let args = [
        "solve",
        puzzles,
        "--json",
        "--solver",
        "solver-frontier",
        "--config",
        config,
    ];
    let command = flowpipe(&[&args[..], &["--machines", &file]].concat());
    let ran = bounded(command, MEMORY, Duration::from_secs(120))
        .orderly()
        .ran;
    let answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(answers.len(), 4, "{ran:#?}");
    let why = "it takes more than 200 MiB of memory, the limit of its worker";
    assert!(answers[0].to_string().contains(why), "{ran:#?}");
    for answer in &answers[1..] {
        assert_eq!(answer["status"], "solved", "{ran:#?}");
    }
    let peak = most_memory(&rack.0);
    assert!(peak > 200 << 20 && peak < 600 << 20, "{} MiB", peak >> 20);
}

#[test]
fn a_worker_runs_solvers_and_planners_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = machines(folder.path(), "tcp", 1);
    let marker = folder.path().join("marker").display().to_string();
    let _rack = Rack::start(&file, 0, &[]);
    let refused = |job: Value| {
        let dialer = flowpipe_link::tcp::TcpDialer::new(address_of(&file, 0), "desk").unwrap();
        let link = wire::link(Box::new(dialer), true);
        let job = json!({ "machine": "desk", "number": 1, "facts": {}, "job": job });
        wire::send(
            &link,
            wire::CONTROL,
            json!({ "Job": job }).to_string().as_bytes(),
        );
        for _ in 0..300 {
            if let Some((_, body)) = wire::receive(&link, Duration::from_millis(100)) {
                let answer: Value = serde_json::from_slice(&body).unwrap();
                return answer["Refused"]["reason"].as_str().map(str::to_owned);
            }
        }
        panic!("no answer");
    };
    let solve = |solver: &str, config: &str, planner: Value| {
        let solver = json!({ "name": solver, "config": config });
        json!({ "Solve": { "solver": solver, "planner": planner, "timeout": null, "is_measured": false } })
    };
    let command = format!("{{ command = [\"touch\", \"{marker}\"], effects = [] }}");
    let stage = format!("{{}}\n[stages.x]\nplugin = \"exec\"\nconfig = {command}");
    for (job, why) in [
        (
            solve("solver-exec", &command, Value::Null),
            "does not declare that it has no effects",
        ),
        (
            solve("exec", &command, Value::Null),
            "the plugin exec is no solver",
        ),
        (
            solve("planner-grid", "{}", Value::Null),
            "the plugin planner-grid is no solver",
        ),
        (
            solve(
                "solver-search",
                "{}",
                json!({ "name": "capture-files", "config": null }),
            ),
            "the plugin capture-files is no planner",
        ),
        (
            solve("solver-search", &stage, Value::Null),
            "a config is no TOML inline table",
        ),
        (
            solve("solver-search", "{ nothing = 1 }", Value::Null),
            "nothing",
        ),
        (
            solve("solver-none", "{}", Value::Null),
            "there is no plugin `solver-none`",
        ),
        (
            json!({ "Run": { "file": "pipelines/replay.toml" } }),
            "does not know the task",
        ),
        (Value::Null, "does not know the task"),
        (
            json!({ "Generate": { "cols": 1_000_000, "rows": 9, "kinds": [], "difficulty": null, "seed": 1 } }),
            "3 to 60",
        ),
    ] {
        let reason = refused(job).unwrap_or_else(|| panic!("not refused: {why}"));
        assert!(reason.contains(why), "{reason}, not {why}");
    }
    assert!(!Path::new(&marker).exists());
}
