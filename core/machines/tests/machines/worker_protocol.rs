//! What a machine sends that breaks the protocol of workers, over a real link: it ends the link or fails a call, with a
//! clear reason.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use flowpipe_engine::run::remote::RemoteEnds;
use flowpipe_engine::run::served::WorkerHost;
use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_machines::Served;
use serde_json::Value;

use super::*;

const EDGES: usize = 2;
/// The channels of a pipeline with two edges: what workers are to do, and what they do.
const CALLS: u32 = 4;
const ANSWERS: u32 = 5;
const PATIENCE: Duration = Duration::from_millis(300);

/// A time at which the run has started, and is not over, by the clock of a machine that is made up.
const SHORT_NS: i64 = 1_500_000_000;

/// What a machine that is made up does in a call of an instance.
type OnCall = fn(&Fake, u64);
/// What a machine that is made up does.
type Script = fn(&Fake);

/// A machine that is made up.
struct Fake {
    link: Link,
    is_over: AtomicBool,
}

impl Fake {
    /// `receives`: the channel that it receives on.
    fn start(opens: bool, transport: impl Transport + 'static, receives: u32) -> Arc<Self> {
        let clock = Clock::start();
        let now = Arc::new(move || clock.now());
        let link = Link::start(Settings::new(opens, 6), Box::new(transport), now).unwrap();
        link.receive_on(0, 64);
        link.receive_on(receives, 16);
        Arc::new(Self {
            link,
            is_over: AtomicBool::new(false),
        })
    }

    /// Sends a packet, unless the link has ended.
    fn send(&self, channel: u32, what: &Value, json: &[u8]) {
        let head = json!({ "what": what, "json": json.len(), "frame": null }).to_string();
        let length = (head.len() as u32).to_le_bytes();
        self.send_raw(channel, &[&length, head.as_bytes(), json].concat());
    }

    fn send_raw(&self, channel: u32, body: &[u8]) {
        let body = body.into();
        while !self.is_over() {
            if self
                .link
                .send(channel, &body, Duration::from_millis(20))
                .is_ok()
            {
                break;
            }
        }
    }

    fn answer(&self, instance: u64, what: Value) {
        self.send_worker(instance, what, b"");
    }

    fn send_worker(&self, instance: u64, what: Value, json: &[u8]) {
        let what = json!({ "instance": instance, "polls": 0, "cancelled": null, "what": what });
        self.send(ANSWERS, &what, json);
    }

    fn command(&self, instance: u64, what: Value, json: &[u8]) {
        self.send(CALLS, &json!({ "instance": instance, "what": what }), json);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// The head of the next packet. `None`: there is none any more.
    fn next(&self) -> Option<Value> {
        Some(self.next_with_json()?.0)
    }

    /// Also its JSON.
    fn next_with_json(&self) -> Option<(Value, Vec<u8>)> {
        while !self.is_over() {
            match self.link.next_event(Duration::from_millis(20)) {
                Some(Event::Message { id, body }) => {
                    self.link.take(id.channel);
                    self.link.done(id);
                    if id.channel > 0 {
                        let (length, rest) = body.split_first_chunk().unwrap();
                        let (head, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
                        let head: Value = serde_json::from_slice(head).unwrap();
                        let json = &rest[..head["json"].as_u64().unwrap() as usize];
                        return Some((head["what"].clone(), json.to_vec()));
                    }
                }
                Some(Event::PeerLost) => return None,
                _ => {}
            }
        }
        None
    }
}

fn created() -> Value {
    json!({ "Created": { "clock": [] } })
}

fn done() -> Value {
    json!({ "Done": { "status": 0, "error": null, "clock": [], "death": null } })
}

fn failed(text: &str) -> Value {
    json!({ "Done": { "status": -1, "error": [-1, text], "clock": [], "death": null } })
}

fn emit(schema: &str) -> Value {
    json!({ "Emit": { "is_whole": true, "port": 0, "schema": schema, "has_json": true, "captured_ns": 0 } })
}

/// Runs a pipeline whose stage 1 has so many workers here, and one on a machine that does `on_call` in each call. Returns
/// the report, and what was refused.
fn with_fake(
    here: usize,
    on_call: impl Fn(&Fake, u64) + Send + 'static,
) -> (Report, Arc<Watcher>, Vec<String>) {
    let mut pipeline = Builder::line(60, "pass", json!({ "delay_us": 2_000 }));
    let stage = &mut pipeline.0.stages[1];
    stage.workers = here + 1;
    stage.on_error = flowpipe_config::pipeline::OnError::Skip;
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let mut desk = machine(["desk", "rack"], EDGES, true, dialer);
    let fake = Fake::start(false, acceptor, CALLS);
    let own = fake.clone();
    let thread = std::thread::spawn(move || {
        while let Some(command) = own.next() {
            let instance = command["instance"].as_u64().unwrap();
            let what = &command["what"];
            if what.get("Create").is_some() {
                own.answer(instance, created());
            } else if what.get("Process").is_some() {
                on_call(&own, instance);
            }
        }
    });
    let options = Options {
        worker_machines: [((1, here), desk.peer.worker_machine())].into(),
        ..Options::default()
    };
    let desk = desk.start_with(&pipeline, &[0, 1, 2], PATIENCE, options);
    let began = Instant::now();
    while !desk.run.is_over() {
        assert!(began.elapsed() < LONG, "the run has no end");
        desk.run.end_workers_of_dead_machines();
        std::thread::sleep(Duration::from_millis(2));
    }
    let report = finish(desk.run);
    fake.is_over.store(true, Ordering::SeqCst);
    thread.join().unwrap();
    drop(desk.bridge);
    let events = desk.events.lock().unwrap();
    let refused = events.iter().filter_map(|event| match event {
        BridgeEvent::Refused { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    (report, desk.watcher, refused.collect())
}

/// What breaks the protocol in a call, and why it is refused.
fn violations() -> Vec<(&'static str, OnCall)> {
    let out_of_range = "an answer of a worker is out of range";
    let malformed = "an answer of a worker is malformed";
    vec![
        (malformed, |fake, _| fake.send_raw(ANSWERS, b"")),
        (malformed, |fake, _| fake.send_raw(ANSWERS, &[255; 64])),
        (malformed, |fake, it| fake.answer(it, json!("Reset"))),
        (malformed, |fake, it| {
            fake.send_worker(it, done(), b"{}");
            // It has no frame, and more bytes than JSON.
            fake.send_raw(
                ANSWERS,
                &[&2_u32.to_le_bytes()[..], b"{}", b"more"].concat(),
            );
        }),
        ("a worker was created twice", |fake, it| {
            fake.answer(it, created());
        }),
        ("nobody waits for an answer of a worker", |fake, it| {
            // The first one ends the call.
            (0..1_000).for_each(|_| fake.answer(it, done()));
        }),
        ("a worker does not wait for its answer", |fake, it| {
            let wait = || json!({ "Wait": { "deadline_ns": SHORT_NS } });
            (0..2).for_each(|_| fake.answer(it, wait()));
        }),
        ("a worker sends more than it may", |fake, it| {
            // The thread that calls it waits meanwhile.
            fake.answer(it, json!({ "Wait": { "deadline_ns": SHORT_NS } }));
            let mark = || json!({ "Mark": { "name": "a", "at_ns": 0 } });
            (0..3_000).for_each(|_| fake.answer(it, mark()));
        }),
        (malformed, |fake, it| {
            // Its machine dies long before.
            fake.answer(
                it,
                json!({ "Wait": { "deadline_ns": 3_600_000_000_000_i64 } }),
            );
            fake.send_raw(ANSWERS, b"");
        }),
        (out_of_range, |fake, it| {
            fake.answer(it, failed(&"a".repeat((64 << 10) + 1)));
        }),
        (out_of_range, |fake, it| {
            let mark = json!({ "Mark": { "name": "a".repeat(257), "at_ns": 0 } });
            fake.answer(it, mark);
        }),
        (out_of_range, |fake, it| {
            let mut late = done();
            late["Done"]["clock"] = json!([(1_i64 << 60) + 1]);
            fake.answer(it, late);
        }),
        (out_of_range, |fake, it| {
            let mut many = done();
            many["Done"]["clock"] = json!(vec![0; 100_001]);
            fake.answer(it, many);
        }),
        (out_of_range, |fake, it| {
            let mut long = done();
            long["Done"]["death"] = json!([false, "a".repeat((64 << 10) + 1)]);
            fake.answer(it, long);
        }),
        (
            "it ends the run of a stage that is not of its workers",
            |fake, it| {
                fake.answer(
                    it,
                    json!({ "End": { "stage": 2, "how": "done", "reason": "" } }),
                );
            },
        ),
        (out_of_range, |fake, it| {
            let reason = "a".repeat((64 << 10) + 1);
            fake.answer(
                it,
                json!({ "End": { "stage": 1, "how": "done", "reason": reason } }),
            );
        }),
    ]
}

#[test]
fn a_worker_that_breaks_the_protocol_is_lost() {
    for (expected, violation) in violations() {
        let (report, watcher, refused) = with_fake(0, violation);
        assert_eq!(refused.first().map(String::as_str), Some(expected));
        let failure = report.failure.as_ref().unwrap();
        assert_eq!(failure.text, "all machines of its workers are dead");
        edges_add_up(&report);
        assert!(watcher.problems().len() <= 2, "{:?}", watcher.problems());
    }
}

/// The run goes on with the worker here.
#[test]
fn beside_a_worker_that_breaks_the_protocol_the_others_go_on() {
    for (expected, violation) in violations() {
        let (report, _, refused) = with_fake(1, violation);
        assert_eq!(refused.first().map(String::as_str), Some(expected));
        assert_eq!(report.failure, None);
        edges_add_up(&report);
    }
}

#[test]
fn what_a_worker_may_not_emit_fails_its_call_alone() {
    let (report, watcher, refused) = with_fake(0, |fake, it| {
        // Nobody has created that one.
        fake.answer(99, done());
        fake.send_worker(it, emit("unknown/1"), b"{}");
        fake.answer(it, done());
    });
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!(report.failure, None);
    assert_eq!(
        (report.stages[1].failed, report.stages[2].received),
        // Also the one at the end.
        (61, 0)
    );
    let problems = watcher.problems();
    let kind = flowpipe_host::problem::ProblemKind::BadMessage;
    assert!(problems.iter().all(|it| it.kind == kind), "{problems:?}");
}

#[test]
fn after_an_emission_that_is_refused_a_good_one_is_sent() {
    let (report, watcher, refused) = with_fake(0, |fake, it| {
        for schema in ["unknown/1", "test.count/1"] {
            fake.send_worker(it, emit(schema), b"{}");
            let answer = fake.next().unwrap();
            let is_sent = answer["what"]["Status"] == flowpipe_abi::OK;
            assert_eq!(is_sent, schema != "unknown/1", "{answer}");
        }
        fake.answer(it, done());
    });
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!(report.failure, None);
    // As with a plugin here: what it sends counts, and its call has failed.
    assert_eq!(
        (report.stages[1].failed, report.stages[2].received),
        (61, 61)
    );
    let problems = watcher.problems();
    let kind = flowpipe_host::problem::ProblemKind::BadMessage;
    assert!(problems.iter().all(|it| it.kind == kind), "{problems:?}");
}

/// Lets a machine that is made up call a worker of a real one. Returns what was refused.
fn call_worker(script: impl FnOnce(&Fake)) -> Vec<String> {
    let pipeline = Builder::line(1, "pass", json!({ "delay_us": 50_000 }));
    call_worker_of(&pipeline, false, script)
}

/// `is_dry`: whether the run of the real one is.
fn call_worker_of(pipeline: &Builder, is_dry: bool, script: impl FnOnce(&Fake)) -> Vec<String> {
    let (fake, rack, events) = serve_fake(pipeline, is_dry, LONG);
    script(&fake);
    drop(rack);
    let events = events.lock().unwrap();
    let refused = events.iter().filter_map(|event| match event {
        BridgeEvent::Refused { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    refused.collect()
}

/// What happens on a bridge.
type Events = Arc<Mutex<Vec<BridgeEvent>>>;

/// A machine that is made up, and a real one that has a worker for it. `patience`: of the real one.
fn serve_fake(pipeline: &Builder, is_dry: bool, patience: Duration) -> (Arc<Fake>, Bridge, Events) {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let dialer = TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap();
    let mut rack = machine(["rack", "desk"], EDGES, false, acceptor);
    let fake = Fake::start(true, dialer, ANSWERS);
    let host = WorkerHost::new(&pipeline.0, catalogue(), rack.clock, None);
    rack.peer.serve(Served {
        host: Arc::new(host),
        workers: vec![(1, 0)],
        clock: rack.clock,
        is_dry,
    });
    let events = Events::default();
    let own = events.clone();
    let report = move |event| own.lock().unwrap().push(event);
    let rack = Bridge::start(rack.peer, RemoteEnds::default(), patience, report).unwrap();
    (fake, rack, events)
}

#[test]
fn what_a_worker_had_of_a_machine_that_died_is_reported() {
    let pipeline = Builder::line(1, "pass", json!({}));
    let (fake, rack, events) = serve_fake(&pipeline, false, PATIENCE);
    fake.command(1, create(1, 0, 0), b"");
    assert_eq!(fake.next().unwrap()["what"], created());
    fake.command(1, process(&message()), b"{}");
    // It waits for what becomes of this.
    let answer = fake.next().unwrap();
    assert!(answer["what"].get("Emit").is_some(), "{answer}");
    drop(fake);
    let unanswered = BridgeEvent::Unanswered {
        stage: 1,
        sequences: vec![1],
    };
    let has = |event: &BridgeEvent| events.lock().unwrap().contains(event);
    common::until("the message is reported", || has(&unanswered));
    assert!(has(&BridgeEvent::Died));
    drop(rack);
}

fn create(stage: usize, worker: usize, plugin: usize) -> Value {
    let place = json!({ "stage": stage, "worker": worker, "plugin": plugin });
    let mut create = json!({ "clock": "Run", "dry": false, "mode": 0 });
    create
        .as_object_mut()
        .unwrap()
        .extend(place.as_object().unwrap().clone());
    json!({ "Create": create })
}

fn message() -> Value {
    json!({
        "port": 0, "schema": "test.count/1", "sequence": 1, "frame_sequence": 0, "captured_ns": 0, "hops": [[0, 1, 2]],
    })
}

fn process(message: &Value) -> Value {
    process_with(flowpipe_abi::EVENT_MESSAGE, message)
}

fn process_with(event: flowpipe_abi::Event, message: &Value) -> Value {
    json!({ "Process": { "event": event, "call": 4, "message": message } })
}

#[test]
fn a_worker_is_dry_when_either_machine_is() {
    let pipeline = Builder::line(1, "act", json!({ "do": "report-run" }));
    for (there, here) in [(false, false), (false, true), (true, false), (true, true)] {
        let refused = call_worker_of(&pipeline, here, |fake| {
            let mut create = create(1, 0, 0);
            create["Create"]["dry"] = json!(there);
            fake.command(1, create, b"");
            assert_eq!(fake.next().unwrap()["what"], created());
            fake.command(1, process(&message()), b"{}");
            let (answer, json) = fake.next_with_json().unwrap();
            assert!(answer["what"].get("Emit").is_some(), "{answer}");
            let reported: Value = serde_json::from_slice(&json).unwrap();
            let expected = i32::from(there || here);
            assert_eq!(reported["dry"], expected, "{there} there, {here} here");
        });
        assert_eq!(refused, Vec::<String>::new());
    }
}

#[test]
fn a_distributor_that_breaks_the_protocol_is_refused() {
    let calls: [(&str, Script); 10] = [
        ("a call of a worker is malformed", |fake| {
            fake.send_raw(CALLS, &[255; 9]);
        }),
        ("a call of a worker is malformed", |fake| {
            fake.command(1, created(), b"");
        }),
        ("it needs a worker that is not of this machine", |fake| {
            fake.command(1, create(0, 0, 0), b"");
        }),
        ("it needs a worker that is not of this machine", |fake| {
            fake.command(1, create(usize::MAX, 0, 0), b"");
        }),
        ("it needs a worker that is not of this machine", |fake| {
            fake.command(1, create(1, 0, 1), b"");
        }),
        // A plugin would read a message that is not there.
        ("it calls a worker as no run does", |fake| {
            fake.command(1, create(1, 0, 0), b"");
            fake.command(
                1,
                process_with(flowpipe_abi::EVENT_MESSAGE, &Value::Null),
                b"",
            );
        }),
        ("it calls a worker as no run does", |fake| {
            fake.command(1, create(1, 0, 0), b"");
            fake.command(
                1,
                process_with(flowpipe_abi::EVENT_FINISH, &message()),
                b"{}",
            );
        }),
        ("it calls a worker as no run does", |fake| {
            fake.command(1, create(1, 0, 0), b"");
            fake.command(1, process_with(flowpipe_abi::EVENT_TICK, &Value::Null), b"");
        }),
        ("it needs a worker twice", |fake| {
            fake.command(1, create(1, 0, 0), b"");
            fake.command(2, create(1, 0, 0), b"");
        }),
        ("it does not wait for its worker", |fake| {
            fake.command(1, create(1, 0, 0), b"");
            (0..3).for_each(|_| fake.command(1, process(&message()), b"{}"));
        }),
    ];
    for (expected, script) in calls {
        let refused = call_worker(|fake| {
            script(fake);
            while fake.next().is_some() {}
        });
        assert_eq!(refused.first().map(String::as_str), Some(expected));
    }
}

#[test]
fn a_call_with_a_wrong_message_fails_alone() {
    let change = |key: &str, value: Value| {
        let mut message = message();
        message[key] = value;
        message
    };
    let hops = "the stages that a message passed are wrong";
    let late = (1_i64 << 60) + 10_000_000_000_000;
    let cases = [
        (
            change("port", json!(9)),
            "the message is none that it takes",
        ),
        (
            change("schema", json!("a\0b")),
            "the message is none that it takes",
        ),
        (
            change("schema", json!("unknown/1")),
            "the message is none that it takes",
        ),
        (change("sequence", json!(0)), "no run has a message 0"),
        (
            change("frame_sequence", json!(u64::MAX)),
            "the frame that a message descends from is wrong",
        ),
        (change("hops", json!([[3, 1, 2]])), hops),
        (change("hops", json!([[0, late, 2]])), hops),
        (change("hops", json!(vec![json!([0, 1, 2]); 1_000])), hops),
    ];
    let refused = call_worker(|fake| {
        fake.command(9, json!("Reset"), b"");
        fake.command(1, create(1, 0, 0), b"");
        assert_eq!(fake.next().unwrap()["what"], created());
        for (message, expected) in cases {
            fake.command(1, process(&message), b"{}");
            let answer = fake.next().unwrap();
            let error = &answer["what"]["Done"]["error"][1];
            assert_eq!(error.as_str(), Some(expected), "{message}");
        }
        fake.command(1, process(&message()), b"{ not JSON");
        let answer = fake.next().unwrap();
        assert_eq!(answer["what"]["Done"]["status"], -1);
        // The next one is processed.
        fake.command(1, process(&message()), b"{}");
        assert!(fake.next().unwrap()["what"].get("Emit").is_some());
        assert_eq!(fake.next().unwrap()["what"]["Done"]["status"], 0);
    });
    assert_eq!(refused, Vec::<String>::new());
}
