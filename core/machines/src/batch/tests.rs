//! Jobs on real links.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::Event;
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::{FailureReason, Transport};
use serde_json::{Value, json};

use super::coordinator::{BatchError, BatchEvent, Decoded, Encoded, Job, Notice, Reason, Workers};
use super::protocol::{
    Answer, AnswerKind, BatchControl, CHUNKS, CONTROL, CONTROL_BYTES, SentChunk,
};
use super::remote::{start_link, take};
use super::schedule::Supply;
use super::worker::{AcceptedJob, RefusedJob, Runner, Work, WorkerEvent, WorkerSettings, serve};
use crate::agreement::Facts;

const ABSENCE_TIMEOUT: Duration = Duration::from_secs(30);

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
) -> Result<Option<Decoded<u64>>, String> {
    let results: Vec<u64> = body
        .chunks_exact(8)
        .map(|it| u64::from_le_bytes(it.try_into().unwrap()))
        .collect();
    let is_right = results
        .iter()
        .zip(items)
        .all(|(result, item)| *result == 2 * item);
    is_right
        .then_some(Some(Decoded {
            results,
            heap_bytes: 0,
        }))
        .ok_or_else(|| "a wrong result".to_owned())
}

/// Links to the workers at these addresses.
fn connected(addresses: &[SocketAddr]) -> Workers {
    let names: Vec<_> = (0..addresses.len()).map(|it| format!("rack{it}")).collect();
    let addresses = addresses.to_vec();
    let connect = move |place: usize| -> io::Result<Box<dyn Transport>> {
        Ok(Box::new(TcpDialer::new(addresses[place], "desk")?))
    };
    Workers::start("desk", &names, Box::new(connect)).unwrap()
}

/// Runs a job of this many items on the workers at these addresses.
fn run(
    addresses: &[SocketAddr],
    task: &Value,
    items: u64,
) -> (Result<ControlFlow<()>, BatchError>, Vec<u64>, Vec<Notice>) {
    run_ahead(addresses, task, items, u64::MAX)
}

/// The same, with so many items at most whose results are not delivered. The others are not there.
fn run_ahead(
    addresses: &[SocketAddr],
    task: &Value,
    items: u64,
    ahead: u64,
) -> (Result<ControlFlow<()>, BatchError>, Vec<u64>, Vec<Notice>) {
    let delivered = AtomicU64::new(0);
    let first = || delivered.load(Ordering::SeqCst);
    let supply = || {
        let known = first().saturating_add(ahead).min(items);
        Supply {
            items: known,
            is_complete: known == items,
        }
    };
    let mut workers = connected(addresses);
    let job = Job {
        facts: &facts("1"),
        task,
        supply: &supply,
        encode: &|items| match items.start < first() {
            true => Encoded::Delivered,
            false => encode(items),
        },
        decode: &|machine, items, body, is_over| match items.start < first() {
            true => Ok(None),
            false => decode(machine, items, body, is_over),
        },
        longest_item: None,
    };
    let (mut all, mut notices) = (Vec::new(), Vec::new());
    let ended = workers.run(&job, ABSENCE_TIMEOUT, |event| {
        match event {
            BatchEvent::Results { first, results } => {
                assert_eq!(first, all.len() as u64);
                all.extend(results);
                delivered.store(all.len() as u64, Ordering::SeqCst);
            }
            // The machine may stand still before a worker is there.
            BatchEvent::Notice(Notice::Awaited { .. }) | BatchEvent::Idle => {}
            BatchEvent::Notice(notice) => notices.push(notice),
        }
        ControlFlow::<()>::Continue(())
    });
    (ended, all, notices)
}

fn doubled(items: u64) -> Vec<u64> {
    (0..items).map(|it| 2 * it).collect()
}

/// Ends the threads of a test, also when it fails: a scope waits for them.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a worker while `during` runs. Returns what happened there.
fn with_worker(
    place: usize,
    version: &'static str,
    during: impl FnOnce(SocketAddr),
) -> Vec<WorkerEvent> {
    with_watched_worker(place, version, |address, _| during(address))
}

/// The same. `during` also gets what has happened there so far.
fn with_watched_worker(
    place: usize,
    version: &'static str,
    during: impl FnOnce(SocketAddr, &Mutex<Vec<WorkerEvent>>),
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
        {
            let _stop = SetAtEnd(&is_stopped);
            during(address, &events);
        }
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
fn few_items_are_ahead_of_their_results() {
    let task = json!({ "what": "double", "us": 50 });
    with_worker(0, "1", |first| {
        with_worker(1, "1", |second| {
            for ahead in [1, 7, 100] {
                let (ended, all, _) = run_ahead(&[first, second], &task, 300, ahead);
                assert!(ended.unwrap().is_continue());
                assert_eq!(all, doubled(300), "{ahead}");
            }
        });
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
    let mut workers = connected(&[free_address()]);
    let job = Job {
        facts: &facts("1"),
        task: &Value::Null,
        supply: &|| Supply::all(5),
        encode: &encode,
        decode: &decode,
        longest_item: None,
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

/// Keeps to the protocol of a worker, and passes each chunk to `each` until it breaks.
fn pretend(link: &Link, is_over: &AtomicBool, each: impl Fn(u64, u64) -> ControlFlow<()>) {
    while !is_over.load(Ordering::Relaxed) {
        let Some(Event::Message { id, body }) = link.next_event(Duration::from_millis(20)) else {
            continue;
        };
        take(link, id);
        if id.channel != CONTROL {
            let chunk = SentChunk::decode(&body).unwrap();
            if each(chunk.job, chunk.first).is_break() {
                return;
            }
        } else if let Some(BatchControl::Job { number, .. }) = BatchControl::decode(&body) {
            let accepted = BatchControl::Accepted {
                machine: "rack0".to_owned(),
                number,
                facts: facts("1"),
                lanes: 1,
            };
            let body = accepted.encode().into();
            link.send(CONTROL, &body, Duration::from_secs(5)).unwrap();
        }
    }
}

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
            pretend(&link, &is_over, |job, first| {
                attack(&link, job, first);
                ControlFlow::Continue(())
            });
        });
        let _stop = SetAtEnd(&is_over);
        during(address);
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
    let attacks: [(Attack, &str); 7] = [
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
        (
            |link, _, _| {
                let long = vec![b' '; CONTROL_BYTES + 1].into();
                let _ = link.send(CONTROL, &long, Duration::from_secs(1));
            },
            "sent what breaks the protocol: it sent a message on channel 0 of more than 1048576 bytes",
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
fn a_job_that_is_too_long_to_send_is_refused() {
    let task = json!({ "what": "double", "why": "x".repeat(CONTROL_BYTES) });
    with_worker(0, "1", |address| {
        let (ended, _, notices) = run(&[address], &task, 10);
        assert!(matches!(ended, Err(BatchError::Refused)), "{ended:?}");
        let is_why = |reason: &str| reason.ends_with("and may have 1048576");
        assert!(
            matches!(&notices[..], [Notice::Refused { reason: Reason::Failed(why), .. }] if is_why(why)),
            "{notices:?}"
        );
    });
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
fn a_worker_that_never_answers_is_dropped_once_others_have_done_what_it_has() {
    let task = json!({ "what": "double", "us": 100 });
    hostile(
        |_, _, _| {},
        |bad| {
            with_worker(1, "1", |good| {
                // There are more items until it is dropped: it gets some whenever it is connected.
                let known = Mutex::new(Supply {
                    items: 50,
                    is_complete: false,
                });
                let supply = || *known.lock().unwrap();
                let job = Job {
                    facts: &facts("1"),
                    task: &task,
                    supply: &supply,
                    encode: &encode,
                    decode: &decode,
                    longest_item: None,
                };
                let mut workers = connected(&[bad, good]);
                let mut all = Vec::new();
                let ended = workers.run(&job, ABSENCE_TIMEOUT, |event| {
                    match event {
                        BatchEvent::Results { results, .. } => {
                            all.extend(results);
                            let mut known = known.lock().unwrap();
                            if !known.is_complete {
                                known.items = known.items.max(all.len() as u64 + 50);
                            }
                        }
                        BatchEvent::Notice(Notice::Dropped { machine, reason }) => {
                            let why = "has answered nothing for";
                            assert!(machine == "rack0" && reason.starts_with(why), "{reason}");
                            known.lock().unwrap().is_complete = true;
                        }
                        _ => {}
                    }
                    ControlFlow::<()>::Continue(())
                });
                assert!(ended.unwrap().is_continue());
                assert_eq!(all, doubled(supply().items));
            });
        },
    );
}

#[test]
fn a_worker_that_ends_with_each_chunk_is_dropped() {
    let (address, is_over) = (free_address(), AtomicBool::new(false));
    let lives = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let acceptor = TcpAcceptor::listen(address, &["desk"]).unwrap().remove(0);
                let link = start_link(Box::new(acceptor), false, 4).unwrap();
                pretend(&link, &is_over, |_, _| {
                    lives.fetch_add(1, Ordering::Relaxed);
                    ControlFlow::Break(())
                });
            }
        });
        let _stop = SetAtEnd(&is_over);
        let (ended, all, notices) = run(&[address], &json!({ "what": "double" }), 20);
        assert!(matches!(ended, Err(BatchError::NoneLeft)), "{ended:?}");
        assert_eq!(all, [0; 0]);
        assert_eq!(lives.load(Ordering::Relaxed), 5);
        let dropped = Notice::Dropped {
            machine: "rack0".to_owned(),
            reason: "was lost 5 times in a row before it answered what it had".to_owned(),
        };
        assert!(notices.contains(&dropped), "{notices:?}");
    });
}

fn malformed(events: &[WorkerEvent]) -> usize {
    let malformed = events.iter().filter(|it| **it == WorkerEvent::Malformed);
    malformed.count()
}

#[test]
fn a_coordinator_that_sends_no_job_is_reported() {
    let events = with_watched_worker(0, "1", |address, events| {
        let dialer = TcpDialer::new(address, "desk").unwrap();
        let long = vec![b' '; CONTROL_BYTES + 1];
        let bodies = [&b"{}"[..], b"\xff\xff", &[b'['; 100_000], &long[..]];
        for (before, body) in bodies.into_iter().enumerate() {
            let link = start_link(Box::new(dialer.clone()), true, 4).unwrap();
            link.send(CONTROL, &body.into(), Duration::from_secs(10))
                .unwrap();
            let began = Instant::now();
            while malformed(&events.lock().unwrap()) == before && began.elapsed() < ABSENCE_TIMEOUT
            {
                std::thread::sleep(Duration::from_millis(10));
            }
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
    assert_eq!(malformed(&events), 4, "{events:?}");
}
