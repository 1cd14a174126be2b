//! The schedule with random events, and jobs on real links.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use flowpipe_link::link::Link;
use flowpipe_link::session::Event;
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::{FailureReason, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::coordinator::{BatchError, BatchEvent, Decoded, Encoded, Job, Notice, Reason, Workers};
use super::protocol::{Answer, AnswerKind, BatchControl, CHUNKS, CONTROL, SentChunk};
use super::remote::{start_link, take};
use super::schedule::{ChunkAnswer, Mismatch, Schedule};
use super::worker::{AcceptedJob, RefusedJob, Runner, Work, WorkerEvent, WorkerSettings, serve};
use crate::agreement::Facts;

const ABSENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// An event of the schedule, of one of its workers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Give(usize),
    /// The first of its chunks, of which it has done so many in a hundred.
    Complete(usize, u64),
    Release(usize),
    Lose(usize),
    Allow(usize, usize),
}

fn step(workers: usize) -> impl Strategy<Value = Step> {
    let worker = 0..workers;
    prop_oneof![
        6 => worker.clone().prop_map(Step::Give),
        6 => (worker.clone(), 1_u64..=100).prop_map(|(worker, part)| Step::Complete(worker, part)),
        1 => worker.clone().prop_map(Step::Release),
        1 => worker.clone().prop_map(Step::Lose),
        3 => (worker, 1_usize..5).prop_map(|(worker, chunks)| Step::Allow(worker, chunks)),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_each_result_is_delivered_once_and_in_order(
        items in 0_u64..300,
        held in prop_oneof![Just(0), Just(40_usize << 20)],
        steps in proptest::collection::vec(step(3), 0..400),
    ) {
        let mut schedule = Schedule::new(Some(items), 3);
        let mut given: [BTreeSet<u64>; 3] = Default::default();
        let mut delivered = Vec::new();
        let mut now_us = 0;
        // At the end one worker does what is left.
        let last = (0..2_000).map(|turn| match turn % 3 {
            0 => Step::Allow(0, 2),
            1 => Step::Give(0),
            _ => Step::Complete(0, 100),
        });
        let lose = (0..3).map(Step::Lose);
        for step in steps.into_iter().chain(lose).chain(last) {
            now_us += 300_000;
            match step {
                Step::Give(id) => if let Some(range) = schedule.give(id, now_us) {
                    prop_assert!(range.end <= items && !range.is_empty());
                    prop_assert!(given[id].insert(range.start), "twice to one worker");
                },
                Step::Complete(id, part) => if let Some(first) = given[id].pop_first() {
                    let range = schedule.given(id, first).unwrap();
                    let count = ((range.end - range.start) * part).div_ceil(100);
                    let results: Vec<_> = (first..first + count).collect();
                    // Some find no room.
                    let heap_bytes = results.len() * held;
                    let answer = ChunkAnswer { results, sent_bytes: 10, heap_bytes, took_us: 1_000 };
                    schedule.complete(id, first, answer).unwrap();
                },
                Step::Release(id) => schedule.release(id),
                Step::Lose(id) => { schedule.lose(id); given[id].clear(); },
                Step::Allow(id, chunks) => schedule.allow(id, chunks),
            }
            while let Some((first, results)) = schedule.next_results() {
                prop_assert_eq!(first, delivered.len() as u64);
                delivered.extend(results);
            }
        }
        prop_assert_eq!(delivered, (0..items).collect::<Vec<_>>());
        prop_assert!(schedule.is_finished());
    }
}

/// Results that take so many bytes.
fn answer_of<R>(results: Vec<R>, bytes: usize) -> ChunkAnswer<R> {
    ChunkAnswer {
        results,
        sent_bytes: bytes,
        heap_bytes: bytes,
        took_us: 1,
    }
}

#[test]
fn only_what_was_given_is_accepted() {
    let mut schedule = Schedule::new(Some(10), 2);
    schedule.allow(0, 2);
    let given = schedule.give(0, 0).unwrap();
    assert_eq!(given, 0..1);
    let foreign = schedule.complete(1, 0, answer_of(vec![0], 1));
    assert_eq!(foreign, Err(Mismatch::NotGiven));
    let more = schedule.complete(0, 0, answer_of(vec![0, 1], 1));
    assert_eq!(more, Err(Mismatch::Results { found: 2, asked: 1 }));
    schedule.complete(0, 0, answer_of(vec![0], 1)).unwrap();
    let twice = schedule.complete(0, 0, answer_of(vec![0], 1));
    assert_eq!(twice, Err(Mismatch::NotGiven));
}

#[test]
fn what_waits_for_a_slow_worker_is_bounded() {
    let mut schedule = Schedule::new(None, 2);
    schedule.allow(0, 1);
    schedule.allow(1, 1);
    assert_eq!(schedule.give(0, 0), Some(0..1));
    let mut items = 0;
    while let Some(range) = schedule.give(1, 0) {
        let count = range.end - range.start;
        items += count;
        let results = vec![0; count as usize];
        // A megabyte each.
        let answer = answer_of(results, (count as usize) << 20);
        schedule.complete(1, range.start, answer).unwrap();
    }
    assert!((60..80).contains(&items), "{items}");
    // It gets what the slow one has, once that takes long.
    assert_eq!(schedule.give(1, 10_000_000), Some(0..1));
}

#[test]
fn two_silent_workers_do_not_keep_a_chunk_from_a_third_one() {
    let mut schedule = Schedule::new(Some(1), 3);
    (0..3).for_each(|id| schedule.allow(id, 1));
    assert_eq!(schedule.give(0, 0), Some(0..1));
    assert_eq!(schedule.give(1, 2_000_000), Some(0..1));
    // The second one may just not have answered yet.
    assert_eq!(schedule.give(2, 2_100_000), None);
    assert_eq!(schedule.awaited(), [0, 1]);
    assert_eq!(schedule.give(2, 4_000_000), Some(0..1));
    schedule.complete(2, 0, answer_of(vec![7], 1)).unwrap();
    assert_eq!(schedule.next_results(), Some((0, vec![7])));
    assert!(schedule.is_finished());
    assert_eq!(schedule.awaited(), [] as [usize; 0]);
}

#[test]
fn answers_to_chunks_that_are_given_already_are_bounded_too() {
    const EACH: usize = 16 << 20;
    let mut schedule = Schedule::new(Some(60), 2);
    schedule.allow(0, 1);
    schedule.allow(1, 128);
    assert_eq!(schedule.give(0, 0), Some(0..1));
    let given: Vec<_> = std::iter::from_fn(|| schedule.give(1, 0)).collect();
    assert_eq!(given.last(), Some(&(59..60)));
    let answer = || answer_of(vec![()], EACH);
    for range in &given {
        schedule.complete(1, range.start, answer()).unwrap();
        assert!(schedule.waiting() <= 64 << 20);
    }
    // What was dropped is done once there is room.
    assert_eq!(schedule.give(1, 0), None);
    schedule.complete(0, 0, answer()).unwrap();
    let mut delivered = 0;
    while !schedule.is_finished() {
        while let Some((first, results)) = schedule.next_results() {
            assert_eq!(first, delivered);
            delivered += results.len() as u64;
        }
        while let Some(range) = schedule.give(1, 0) {
            schedule.complete(1, range.start, answer()).unwrap();
        }
    }
    assert_eq!(delivered, 60);
}

/// Doubles numbers. A task with `slow` takes a while.
struct Doubling {
    version: &'static str,
    calls: AtomicUsize,
}

struct DoublingRunner(Duration);

impl Work for Doubling {
    fn accept(&self, task: &Value) -> Result<AcceptedJob, RefusedJob> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let facts = facts(self.version);
        match task["what"].as_str() {
            Some("double") => Ok(AcceptedJob {
                facts,
                lanes: 2,
                runner: Box::new(DoublingRunner(Duration::from_micros(
                    task["us"].as_u64().unwrap_or(0),
                ))),
            }),
            _ => Err(RefusedJob {
                facts,
                reason: "it doubles numbers".to_owned(),
            }),
        }
    }
}

impl Runner for DoublingRunner {
    fn run(&self, items: &[u8], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
        let mut results = Vec::new();
        for item in items.chunks_exact(8) {
            if is_cancelled() {
                break;
            }
            std::thread::sleep(self.0);
            let number = u64::from_le_bytes(item.try_into().unwrap());
            results.extend((2 * number).to_le_bytes());
        }
        Ok(results)
    }
}

fn facts(version: &str) -> Facts {
    Facts([("the version".to_owned(), version.to_owned())].into())
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

fn encode(items: std::ops::Range<u64>) -> Encoded<u64> {
    // A message has room for ten of them.
    let count = (items.end - items.start).min(10);
    let body = (items.start..items.start + count).flat_map(u64::to_le_bytes);
    match items.start {
        13 => Encoded::Result(26),
        _ => Encoded::Items(body.collect(), count),
    }
}

fn decode(
    _: &str,
    items: std::ops::Range<u64>,
    body: &[u8],
    _: &dyn Fn() -> bool,
) -> Result<Decoded<u64>, String> {
    let results: Vec<u64> = body
        .chunks_exact(8)
        .map(|it| u64::from_le_bytes(it.try_into().unwrap()))
        .collect();
    let is_right = results
        .iter()
        .zip(items)
        .all(|(result, item)| *result == 2 * item);
    is_right
        .then_some(Decoded {
            results,
            heap_bytes: 0,
        })
        .ok_or_else(|| "a wrong result".to_owned())
}

/// Runs a job of this many items on the workers at these addresses.
fn run(
    addresses: &[SocketAddr],
    task: &Value,
    items: u64,
) -> (Result<ControlFlow<()>, BatchError>, Vec<u64>, Vec<Notice>) {
    let names: Vec<_> = (0..addresses.len()).map(|it| format!("rack{it}")).collect();
    let addresses = addresses.to_vec();
    let connect = move |place: usize| -> io::Result<Box<dyn Transport>> {
        Ok(Box::new(TcpDialer::new(addresses[place], "desk")?))
    };
    let mut workers = Workers::start("desk", &names, Box::new(connect)).unwrap();
    let job = Job {
        facts: &facts("1"),
        task,
        items: Some(items),
        encode: &encode,
        decode: &decode,
    };
    let (mut all, mut notices) = (Vec::new(), Vec::new());
    let ended = workers.run(&job, ABSENCE_TIMEOUT, |event| {
        match event {
            BatchEvent::Results { first, results } => {
                assert_eq!(first, all.len() as u64);
                all.extend(results);
            }
            BatchEvent::Notice(notice) => notices.push(notice),
            BatchEvent::Idle => {}
        }
        ControlFlow::<()>::Continue(())
    });
    (ended, all, notices)
}

fn doubled(items: u64) -> Vec<u64> {
    (0..items).map(|it| 2 * it).collect()
}

/// Runs a worker while `during` runs. Returns what happened there.
fn with_worker(
    place: usize,
    version: &'static str,
    during: impl FnOnce(SocketAddr),
) -> Vec<WorkerEvent> {
    let acceptor = TcpAcceptor::listen((Ipv4Addr::LOCALHOST, 0).into(), &["desk"])
        .unwrap()
        .remove(0);
    let address = acceptor.address().unwrap();
    let is_stopped = AtomicBool::new(false);
    let events = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let work = Doubling {
                version,
                calls: AtomicUsize::new(0),
            };
            let each = |event| events.lock().unwrap().push(event);
            let stop = || is_stopped.load(Ordering::Relaxed);
            let name = format!("rack{place}");
            let settings = WorkerSettings {
                own: &name,
                coordinator: "desk",
                lanes: 2,
            };
            serve(settings, Box::new(acceptor), &work, &each, &stop).unwrap();
        });
        during(address);
        is_stopped.store(true, Ordering::Relaxed);
        serving.join().unwrap();
    });
    events.into_inner().unwrap()
}

#[test]
fn two_workers_do_a_job_and_then_another_one() {
    let task = json!({ "what": "double", "us": 200 });
    with_worker(0, "1", |first| {
        let events = with_worker(1, "1", |second| {
            for items in [3_000, 0, 50] {
                let (ended, all, _) = run(&[first, second], &task, items);
                assert!(ended.unwrap().is_continue());
                assert_eq!(all, doubled(items));
            }
        });
        assert!(events.contains(&WorkerEvent::Started), "{events:?}");
    });
}

#[test]
fn a_worker_that_runs_something_else_is_refused_with_what_differs() {
    let task = json!({ "what": "double" });
    let events = with_worker(0, "2", |address| {
        let (ended, all, notices) = run(&[address], &task, 10);
        let Err(BatchError::Refused) = ended else {
            panic!("{ended:?}");
        };
        assert!(all.is_empty());
        let [
            Notice::Refused {
                machine,
                reason: Reason::Differs(found),
            },
        ] = &notices[..]
        else {
            panic!("{notices:?}");
        };
        assert_eq!(machine, "rack0");
        assert_eq!(
            found[0].to_string(),
            "the version differs: 1 on desk, 2 on rack0"
        );
    });
    assert!(
        matches!(&events[..], [WorkerEvent::Differs(_), ..]),
        "{events:?}"
    );
}

#[test]
fn a_job_that_no_worker_can_do_is_refused() {
    let task = json!({ "what": "halve" });
    with_worker(0, "1", |address| {
        let (ended, _, notices) = run(&[address], &task, 10);
        assert!(matches!(ended, Err(BatchError::Refused)));
        let reason = Reason::Failed("it doubles numbers".to_owned());
        let machine = "rack0".to_owned();
        assert_eq!(notices, [Notice::Refused { machine, reason }]);
    });
}

#[test]
fn a_machine_that_is_not_there_is_no_worker() {
    let addresses = [free_address()];
    let connect = move |place: usize| -> io::Result<Box<dyn Transport>> {
        Ok(Box::new(TcpDialer::new(addresses[place], "desk")?))
    };
    let names = ["rack0".to_owned()];
    let mut workers = Workers::start("desk", &names, Box::new(connect)).unwrap();
    let job = Job {
        facts: &facts("1"),
        task: &Value::Null,
        items: Some(5),
        encode: &encode,
        decode: &decode,
    };
    let absence_timeout = Duration::from_millis(300);
    let ended = workers.run(&job, absence_timeout, |_| ControlFlow::<()>::Continue(()));
    let Err(BatchError::Absent {
        seconds: 0,
        workers,
    }) = ended
    else {
        panic!("{ended:?}");
    };
    let [worker] = &workers[..] else {
        panic!("{workers:?}");
    };
    assert!(worker.machine == "rack0" && !worker.is_refused);
    let failure = worker.failure.as_ref().unwrap();
    assert_eq!(failure.reason, Some(FailureReason::Unreachable));
}

/// What a hostile worker sends when it has a chunk: the job, the first item and its bytes.
type Attack = fn(&Link, u64, u64);

/// A worker that keeps to the protocol until it has a chunk.
fn hostile(attack: Attack, during: impl FnOnce(SocketAddr)) {
    let acceptor = TcpAcceptor::listen((Ipv4Addr::LOCALHOST, 0).into(), &["desk"])
        .unwrap()
        .remove(0);
    let address = acceptor.address().unwrap();
    let link = start_link(Box::new(acceptor), false, 4).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let Some(Event::Message { id, body }) = link.next_event(Duration::from_millis(20))
                else {
                    continue;
                };
                take(&link, id);
                match id.channel {
                    CONTROL => {
                        let Some(BatchControl::Job { number, .. }) = BatchControl::decode(&body)
                        else {
                            continue;
                        };
                        let accepted = BatchControl::Accepted {
                            machine: "rack0".to_owned(),
                            number,
                            facts: facts("1"),
                            lanes: 1,
                        };
                        let body = accepted.encode().into();
                        link.send(CONTROL, &body, Duration::from_secs(5)).unwrap();
                    }
                    _ => {
                        let chunk = SentChunk::decode(&body).unwrap();
                        attack(&link, chunk.job, chunk.first);
                    }
                }
            }
        });
        during(address);
        is_over.store(true, Ordering::Relaxed);
    });
}

fn answer(link: &Link, job: u64, first: u64, results: &[u64]) {
    let body: Vec<u8> = results.iter().flat_map(|it| it.to_le_bytes()).collect();
    let answer = Answer {
        job,
        first,
        kind: AnswerKind::Results,
        took_us: 0,
        body: &body,
    };
    let _ = link.send(CHUNKS, &answer.encode().into(), Duration::from_secs(1));
}

#[test]
fn a_worker_that_answers_wrongly_is_dropped_and_others_do_its_work() {
    let task = json!({ "what": "double", "us": 200 });
    let attacks: [(Attack, &str); 6] = [
        (
            |link, job, first| answer(link, job, first, &[2 * first + 1]),
            "a wrong result",
        ),
        (
            |link, job, first| answer(link, job, first + 1_000_000, &[2]),
            "that it was not given",
        ),
        (
            |link, job, first| answer(link, job, first, &[]),
            "0 results for",
        ),
        (
            |link, job, first| {
                let many: Vec<u64> = (first..first + 5_000).map(|it| 2 * it).collect();
                answer(link, job, first, &many);
            },
            "results for",
        ),
        (
            |link, _, _| {
                let _ = link.send(CHUNKS, &b"answer".as_slice().into(), Duration::from_secs(1));
            },
            "a malformed answer",
        ),
        (
            |link, _, _| {
                let _ = link.send(CONTROL, &b"{}".as_slice().into(), Duration::from_secs(1));
            },
            "a malformed message",
        ),
    ];
    for (attack, why) in attacks {
        hostile(attack, |bad| {
            with_worker(1, "1", |good| {
                let (ended, all, notices) = run(&[bad, good], &task, 2_000);
                assert!(ended.unwrap().is_continue());
                assert_eq!(all, doubled(2_000), "{why}");
                let is_dropped = notices.iter().any(|notice| {
                    matches!(notice, Notice::Dropped { machine, reason }
                        if machine == "rack0" && reason.contains(why))
                });
                assert!(is_dropped, "{why}: {notices:?}");
            });
        });
    }
}

#[test]
fn a_worker_that_never_answers_delays_nothing_for_long() {
    let task = json!({ "what": "double" });
    hostile(
        |_, _, _| {},
        |bad| {
            with_worker(1, "1", |good| {
                let (ended, all, _) = run(&[bad, good], &task, 500);
                assert!(ended.unwrap().is_continue());
                assert_eq!(all, doubled(500));
            });
        },
    );
}

#[test]
fn a_coordinator_that_sends_no_job_is_reported() {
    let events = with_worker(0, "1", |address| {
        let dialer = TcpDialer::new(address, "desk").unwrap();
        for body in [b"{}".as_slice(), b"\xff\xff", &[b'['; 100_000]] {
            let link = start_link(Box::new(dialer.clone()), true, 4).unwrap();
            link.send(CONTROL, &body.into(), Duration::from_secs(10))
                .unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
        // A chunk without a job is nothing to work on.
        let link = start_link(Box::new(dialer.clone()), true, 4).unwrap();
        let chunk = SentChunk {
            job: 1,
            first: 0,
            body: &[0; 8],
        };
        link.send(CHUNKS, &chunk.encode().into(), Duration::from_secs(10))
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(link);
        let (ended, all, _) = run(&[address], &json!({ "what": "double" }), 20);
        assert!(ended.unwrap().is_continue());
        assert_eq!(all, doubled(20));
    });
    let malformed = events
        .iter()
        .filter(|it| **it == WorkerEvent::Malformed)
        .count();
    assert_eq!(malformed, 3, "{events:?}");
}
