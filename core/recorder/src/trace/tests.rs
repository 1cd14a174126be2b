//! Tests of the written events.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use flowpipe_config::pipeline::{Contestant, Edge, OnError, OnStop, Queue, Stage, WhenFull};
use flowpipe_host::problem::{MessageId, ProblemKind};
use serde_json::{Value, json};

use super::*;

/// A file that the test can read.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn port(stage: usize) -> PortRef {
    PortRef { stage, port: 0 }
}

/// camera -> solver, where two plugins race; the queue holds one message.
fn pipeline() -> Pipeline {
    let stage = |name: &str, plugins: &[&str]| Stage {
        name: name.to_owned(),
        contestants: plugins
            .iter()
            .map(|plugin| Contestant {
                plugin: (*plugin).to_owned(),
                config: json!({}),
                revision: 0,
            })
            .collect(),
        timeout: None,
        on_error: OnError::Stop,
        watchdog: std::time::Duration::from_secs(10),
        isolation: flowpipe_config::pipeline::Isolation::Thread,
        restart: None,
        fresh: false,
        workers: 1,
        ordered: true,
    };
    Pipeline {
        name: "two".to_owned(),
        stages: vec![
            stage("camera", &["capture"]),
            stage("solver", &["slow", "fast"]),
        ],
        edges: vec![Edge {
            from: port(0),
            to: port(1),
            queue: Queue {
                capacity: 1,
                when_full: WhenFull::DropOldest,
            },
        }],
        on_stop: OnStop::Drain,
        machines: flowpipe_config::pipeline::Machines::default(),
        record: None,
    }
}

/// The call that emits all messages.
const CALL: Current = Current {
    track: 0,
    began_ns: 5,
};

fn took(sequence: u64) -> Taken {
    Taken {
        from: port(0),
        to: port(1),
        sequence,
    }
}

fn slice(track: usize, times: (i64, i64), taken: Option<u64>) -> Note {
    Note::Completion(Box::new(Slice {
        track,
        event: Event::Message,
        taken: taken.map(took),
        origin: taken.map(|sequence| Origin {
            stage: 0,
            sequence,
            captured_ns: 0,
        }),
        began_ns: times.0,
        ended_ns: times.1,
        waited_ns: 0,
        emitted: 1,
        lost: track == 1,
        stopped: false,
        failed: None,
    }))
}

fn emitted(sequence: u64, at_ns: i64) -> Note {
    Note::Emitted {
        call: Some(CALL),
        source: port(0),
        sequence,
        at_ns,
    }
}

/// The events written for these notes.
fn written(notes: Vec<Note>) -> Vec<Value> {
    let buffer = Buffer::default();
    let (tracer, trace) = Tracer::start(buffer.clone(), &pipeline(), Clock::start(), true).unwrap();
    notes.into_iter().for_each(|note| tracer.note(note));
    // The tracer is still referenced, as by a stage that hangs.
    trace.finish().unwrap();
    drop(tracer);
    let bytes = buffer.0.lock().unwrap().clone();
    serde_json::from_slice(&bytes).unwrap()
}

fn of<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

#[test]
fn a_race_has_a_track_for_each_plugin_and_arrows_to_each() {
    let taken = |at_ns| Note::Began {
        taken: Some(took(1)),
        at_ns,
    };
    let events = written(vec![
        emitted(1, 1_500),
        slice(0, (1_000, 2_000), None),
        taken(2_500),
        taken(2_600),
        slice(2, (2_600, 3_000), Some(1)),
        slice(1, (2_500, 4_000), Some(1)),
    ]);
    let names: Vec<_> = of(&events, "M")
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| event["args"]["name"].clone())
        .collect();
    assert_eq!(names, ["camera", "solver/slow", "solver/fast"]);
    let fast = &of(&events, "X")[1];
    assert_eq!((&fast["ts"], &fast["dur"]), (&json!(2.6), &json!(0.4)));
    assert_eq!(fast["name"], "solver");
    let expected = json!({
        "plugin": "fast", "event": "message", "edge": "camera -> solver", "input": 0, "sequence": 1,
        "frame": 1, "captured_by": "camera", "emitted": 1, "waited_us": 0.0, "result": "done"
    });
    assert_eq!(fast["args"], expected);
    assert_eq!(of(&events, "X")[2]["args"]["result"], "lost");
    let ids = |phase| -> Vec<_> {
        let mut ids: Vec<_> = of(&events, phase)
            .iter()
            .map(|event| (event["id"].as_u64(), event["name"].to_string()))
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("s"), ids("f"));
    assert_eq!(ids("s").len(), 2);
    let fills: Vec<_> = of(&events, "C")
        .iter()
        .map(|event| event["args"]["messages"].clone())
        .collect();
    assert_eq!(fills, [1, 0], "two plugins take one message");
}

#[test]
fn each_worker_has_a_track() {
    let mut pipeline = pipeline();
    pipeline.stages[1].workers = 2;
    let chart = Chart::new(&pipeline, None);
    let names: Vec<_> = chart.tracks.iter().map(|it| it.name.as_str()).collect();
    let expected = [
        "camera",
        "solver#1/slow",
        "solver#1/fast",
        "solver#2/slow",
        "solver#2/fast",
    ];
    assert_eq!(names, expected);
    let tracks = [(0, 1), (1, 0), (7, 0)].map(|(worker, plugin)| chart.track(1, worker, plugin));
    assert_eq!(
        tracks,
        [2, 3, 4],
        "a worker that came later shares the last one"
    );
}

#[test]
fn workers_take_messages_of_a_queue_in_any_order() {
    let taken = |sequence, at_ns| Note::Began {
        taken: Some(took(sequence)),
        at_ns,
    };
    let events = written(vec![
        emitted(1, 1_000),
        emitted(2, 1_100),
        taken(2, 2_000),
        taken(1, 2_100),
    ]);
    let fills = of(&events, "C").into_iter();
    let fills: Vec<_> = fills
        .map(|event| event["args"]["messages"].clone())
        .collect();
    // The sender held the second one.
    assert_eq!(fills, [1, 1, 1, 0]);
}

#[test]
fn drops_marks_and_problems_are_instants() {
    let problem = Problem {
        kind: ProblemKind::Hang,
        stage: "solver".to_owned(),
        plugin: "fast".to_owned(),
        message: Some(MessageId {
            port: "in".to_owned(),
            sequence: 2,
            frame: 2,
            source: None,
        }),
        text: "it hangs".to_owned(),
    };
    let events = written(vec![
        emitted(1, 10),
        emitted(2, 20),
        Note::Dropped {
            track: 0,
            edge: 0,
            sequence: 1,
            frame: 1,
            at_ns: 21,
        },
        Note::Marked {
            track: 2,
            name: "action".to_owned(),
            frame: 2,
            at_ns: 30,
        },
        Note::Problem {
            problem: Box::new(problem),
            at_ns: 40,
        },
    ]);
    let instants = of(&events, "i");
    let tracks: Vec<_> = instants
        .iter()
        .map(|event| (event["cat"].as_str(), event["tid"].as_u64()))
        .collect();
    assert_eq!(
        tracks,
        [
            (Some("drop"), Some(1)),
            (Some("mark"), Some(3)),
            (Some("problem"), Some(3))
        ]
    );
    assert_eq!(instants[0]["args"]["queue"], "camera -> solver");
    assert_eq!(instants[2]["args"]["text"], "it hangs");
    let fills: Vec<_> = of(&events, "C")
        .iter()
        .map(|event| event["args"]["messages"].clone())
        .collect();
    assert_eq!(fills, [1, 1, 1], "never more than the queue holds");
}

#[test]
fn queues_between_the_same_stages_have_different_names() {
    let mut pipeline = pipeline();
    pipeline.edges.push(pipeline.edges[0]);
    pipeline.edges[1].to.port = 1;
    let chart = Chart::new(&pipeline, None);
    let names: Vec<_> = chart.queues.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["camera -> solver", "camera -> solver (2)"]);
    assert_eq!(chart.edge_name(port(0), port(1)), names[0]);
    assert_eq!(chart.edge_name(port(0), pipeline.edges[1].to), names[1]);
    assert_eq!(chart.edge_name(port(1), port(0)), "solver -> camera");
}

#[test]
fn only_remembered_messages_have_arrows() {
    let mut emissions = writer::Emissions::default();
    let last = writer::REMEMBERED as u64 + 1;
    for sequence in 1..=last {
        emissions.note((port(0), sequence), CALL);
    }
    assert_eq!(emissions.of.len(), writer::REMEMBERED);
    assert!(!emissions.of.contains_key(&(port(0), 1)));
    assert!(emissions.of.contains_key(&(port(0), last)));
    let events = written(vec![slice(2, (10, 20), Some(1))]);
    assert_eq!(of(&events, "X").len(), 1);
    assert!(of(&events, "s").is_empty() && of(&events, "f").is_empty());
}

#[test]
fn a_slow_destination_takes_bounded_memory() {
    let (file, most) = (Buffer::default(), 1 << 20);
    let (tracer, trace) =
        Tracer::bounded(file.clone(), &pipeline(), Clock::start(), true, most).unwrap();
    // Writes block meanwhile.
    let blocked = file.0.lock().unwrap();
    let text = "x".repeat(most / 64);
    let sent: u64 = 128;
    for at_ns in 1..=sent as i64 {
        let Note::Completion(mut slice) = slice(0, (at_ns, at_ns), None) else {
            unreachable!("it is a call");
        };
        slice.failed = Some(text.clone());
        tracer.note(Note::Completion(slice));
        assert!(tracer.notes.bytes() <= most);
    }
    drop(blocked);
    let traced = trace.finish().unwrap();
    assert!(traced.dropped >= sent / 2, "{traced:?}");
    assert_eq!(traced.calls + traced.dropped, sent);
    let events: Vec<Value> = serde_json::from_slice(&file.0.lock().unwrap()).unwrap();
    let missing = of(&events, "i");
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0]["args"]["notes"], traced.dropped);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match bytes {
                b"[" => Ok(1),
                _ => Err(io::ErrorKind::StorageFull.into()),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let refused = Tracer::start(Full, &pipeline(), Clock::start(), true);
    assert!(refused.is_err());
}
