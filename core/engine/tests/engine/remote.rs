//! A pipeline whose stages are in two runs, as on two machines. Here a thread moves the messages between them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::{OnError, PortRef, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::remote::{
    ArrivedMessage, Delivery, IncomingEdge, OutgoingEdge, Receipt, RemoteEnds, Taken,
};
use flowpipe_engine::run::{ChangeError, Options, Run, RunHandle};
use flowpipe_host::frame::Shape;
use flowpipe_host::message::Message;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, catalogue, edges_add_up, finish, queue, seen, until};

/// Starts the run of one machine. `here`: the stages that it runs.
fn start(pipeline: &Builder, here: &[usize]) -> (RunHandle, RemoteEnds, Arc<Watcher>) {
    let watcher = Arc::new(Watcher::default());
    let all: BTreeSet<_> = (0..pipeline.0.stages.len()).collect();
    let options = Options {
        observers: vec![watcher.clone()],
        elsewhere: all.into_iter().filter(|it| !here.contains(it)).collect(),
        ..Options::default()
    };
    let run = Run::start(pipeline.0.clone(), catalogue(), options);
    let mut run = run.unwrap_or_else(|error| panic!("{error}"));
    let ends = run.take_remote_ends();
    (run, ends, watcher)
}

/// A message as it arrives at the other machine.
fn arrived(message: &Message) -> ArrivedMessage {
    let lineage = message.lineage();
    let ancestor = lineage.captured.as_deref();
    ArrivedMessage {
        schema: message.schema().to_owned(),
        json: message.json().as_bytes().to_vec(),
        pixels: message
            .frame()
            .map(|frame| (*frame.layout(), Arc::new(frame.bytes().to_vec()))),
        sequence: lineage.sequence,
        origin: lineage.origin,
        captured: ancestor.map(|it| {
            let schema = it.schema.to_string_lossy().into_owned();
            (schema, it.body.json().as_bytes().to_vec())
        }),
        hops: lineage.hops.to_vec(),
        root: lineage.root,
    }
}

/// Moves the messages of an edge, until its stream ends.
fn carry(from: &OutgoingEdge, mut to: IncomingEdge) -> u64 {
    assert_eq!((from.index(), from.edge()), (to.index(), to.edge()));
    let mut carried = 0;
    while let Taken::Message(message, _) = from.take() {
        assert_eq!(to.accept(arrived(&message), None), Ok(Delivery::Queued));
        carried += 1;
    }
    carried
}

/// Connects both machines, and waits for the end of both runs.
fn connect(
    one: (RunHandle, RemoteEnds, Arc<Watcher>),
    other: (RunHandle, RemoteEnds, Arc<Watcher>),
) -> ([Report; 2], [Arc<Watcher>; 2]) {
    let (one, ends, watcher) = one;
    let (other, other_ends, other_watcher) = other;
    std::thread::scope(|scope| {
        for (ends, others) in [
            (ends.outgoing, other_ends.incoming),
            (other_ends.outgoing, ends.incoming),
        ] {
            assert_eq!(ends.len(), others.len());
            for (from, to) in ends.into_iter().zip(others) {
                scope.spawn(move || carry(&from, to));
            }
        }
        ([finish(one), finish(other)], [watcher, other_watcher])
    })
}

/// Frames through three stages.
fn line() -> Builder {
    let mut line = Builder::line(50, "pass", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": 50, "width": 8, "height": 8 });
    line
}

#[test]
fn two_machines_do_what_one_does() {
    let (report, alone) = line().run();
    let pipeline = line();
    // The middle stage on the other machine: there and back.
    let (reports, watchers) = connect(start(&pipeline, &[0, 2]), start(&pipeline, &[1]));
    for (stage, machine) in [(0, 0), (1, 1), (2, 0)] {
        assert_eq!(
            seen(&alone, stage),
            seen(&watchers[machine], stage),
            "{stage}"
        );
    }
    // Each machine also sees what arrives.
    assert_eq!(seen(&alone, 1), seen(&watchers[0], 1));
    assert_eq!(seen(&alone, 0), seen(&watchers[1], 0));
    let received = |report: &Report, stage: usize| report.stages[stage].received;
    assert_eq!(received(&reports[0], 2), received(&report, 2));
    assert_eq!(received(&reports[1], 1), received(&report, 1));
    for report in &reports {
        assert_eq!(report.failure, None);
        edges_add_up(report);
    }
}

#[test]
fn a_caller_feeds_a_source() {
    let (_, alone) = line().run();
    let pipeline = line();
    let (source, mut ends, _) = start(&pipeline, &[0]);
    let watcher = Arc::new(Watcher::default());
    let options = Options {
        observers: vec![watcher.clone()],
        fed: [0].into(),
        ..Options::default()
    };
    let run = Run::start(pipeline.0.clone(), catalogue(), options);
    let mut run = run.unwrap_or_else(|error| panic!("{error}"));
    let to = run.take_remote_ends().incoming.remove(0);
    let from = ends.outgoing.remove(0);
    let reports = std::thread::scope(|scope| {
        scope.spawn(move || carry(&from, to));
        [finish(source), finish(run)]
    });
    for stage in 0..3 {
        assert_eq!(seen(&alone, stage), seen(&watcher, stage), "{stage}");
    }
    assert!(reports.iter().all(|report| report.failure.is_none()));
    // There is no such stage.
    let options = Options {
        fed: [3].into(),
        ..Options::default()
    };
    assert!(Run::start(pipeline.0, catalogue(), options).is_err());
}

#[test]
fn a_queue_that_drops_is_at_the_sender() {
    let mut pipeline = Builder::line(100, "pass", json!({}));
    pipeline.0.edges[0].queue = queue(3, WhenFull::DropOldest);
    let (run, ends, _) = start(&pipeline, &[0]);
    let (other, mut other_ends, watcher) = start(&pipeline, &[1, 2]);
    until("the source ends", || {
        run.progress().stages[0].emitted == 100
    });
    let report = || run.progress().stages[1].dropped;
    assert_eq!(report(), 97, "counted where they were dropped");
    let to = other_ends.incoming.remove(0);
    assert_eq!(
        to.capacity(),
        1,
        "what waits at the sender can still be dropped"
    );
    assert_eq!(carry(&ends.outgoing[0], to), 3);
    let reports = [finish(run), finish(other)];
    let sequences: Vec<_> = watcher.from(0).iter().map(|it| it.sequence).collect();
    assert_eq!(sequences, [98, 99, 100]);
    assert_eq!(
        (reports[0].edges[0].dropped, reports[1].edges[0].dropped),
        (97, 0)
    );
}

#[test]
fn a_receiver_that_ends_ends_the_sender() {
    let mut pipeline = Builder::line(1_000_000, "pass", json!({}));
    pipeline.0.edges[0].queue = queue(2, WhenFull::Block);
    let (run, ends, _) = start(&pipeline, &[0]);
    until("it is full", || run.progress().stages[0].emitted > 1);
    drop(ends);
    let report = finish(run);
    assert!(report.stages[0].emitted < 1_000_000 && report.failure.is_none());
}

#[test]
fn edges_that_nobody_takes_end_with_the_run() {
    let pipeline = line();
    let options = Options {
        elsewhere: [0].into(),
        ..Options::default()
    };
    let run = Run::start(pipeline.0, catalogue(), options).unwrap();
    let report = run.wait();
    assert_eq!(report.stages[2].received, 0);
}

/// A hop through a stage.
fn hop(stage: u32, taken_ns: i64) -> abi::Hop {
    abi::Hop {
        stage,
        reserved: 0,
        taken_ns,
        emitted_ns: 0,
    }
}

/// Makes a message wrong.
type Spoil = &'static dyn Fn(&mut ArrivedMessage);

#[test]
fn what_another_machine_sends_is_validated() {
    let pipeline = line();
    let (run, ends, _) = start(&pipeline, &[0]);
    let Taken::Message(message, _) = ends.outgoing[0].take() else {
        panic!("there is one");
    };
    let good = arrived(&message);
    drop(ends);
    drop(finish(run));
    let (run, mut ends, watcher) = start(&pipeline, &[1, 2]);
    let mut edge = ends.incoming.remove(0);
    let bad: &[(&str, Spoil)] = &[
        ("schema", &|it| it.schema = "other/1".to_owned()),
        ("schema", &|it| it.schema = "a\0b".to_owned()),
        ("JSON", &|it| it.json = b"{".to_vec()),
        ("UTF-8", &|it| it.json = b"\"\xff\"".to_vec()),
        ("came after", &|it| it.sequence = 0),
        ("no run has a message", &|it| it.sequence = u64::MAX),
        ("no run has a message", &|it| it.sequence = (1 << 53) + 1),
        ("passed", &|it| it.hops.clear()),
        ("passed", &|it| it.hops = vec![hop(0, 0); 257]),
        ("passed", &|it| it.hops = vec![hop(9, 0), hop(0, 0)]),
        ("passed", &|it| it.hops = vec![hop(1, 0)]),
        ("passed", &|it| it.hops = vec![hop(0, i64::MIN)]),
        ("descends", &|it| {
            it.root = Some((PortRef { stage: 0, port: 0 }, 0))
        }),
        ("descends", &|it| it.origin.as_mut().unwrap().stage = 3),
        ("descends", &|it| it.origin.as_mut().unwrap().sequence = 0),
        ("descends", &|it| {
            it.origin.as_mut().unwrap().sequence = u64::MAX
        }),
        ("descends", &|it| {
            it.root = Some((PortRef { stage: 0, port: 0 }, u64::MAX))
        }),
        ("descends", &|it| {
            it.origin.as_mut().unwrap().captured_ns = i64::MAX
        }),
        ("descends", &|it| {
            it.origin = None;
            it.captured = Some(("a/1".to_owned(), b"{}".to_vec()));
        }),
        ("its bytes do not fit its layout", &|it| {
            Arc::make_mut(&mut it.pixels.as_mut().unwrap().1).truncate(3);
        }),
    ];
    for (why, spoil) in bad {
        let mut spoilt = good.clone();
        spoil(&mut spoilt);
        let refusal = edge.accept(spoilt, None).unwrap_err();
        assert!(refusal.contains(why), "{why}: {refusal}");
    }
    assert_eq!(edge.accept(good.clone(), None), Ok(Delivery::Queued));
    let again = edge.accept(good, None).unwrap_err();
    assert!(again.contains("message 1 came after message 1"), "{again}");
    drop(edge);
    drop(finish(run));
    assert_eq!(watcher.from(2).len(), 1);
    // A layout without pixels is no layout.
    let info = abi::FrameInfo {
        struct_size: size_of::<abi::FrameInfo>() as u32,
        format: abi::FORMAT_GREY8,
        width: 0,
        height: 1,
        stride: 0,
        size: 0,
    };
    assert_eq!(Shape::new(&info), None);
}

#[test]
fn what_comes_on_one_of_two_edges_of_an_output_is_observed_once() {
    let mut pipeline = line();
    // The source also feeds the last stage, over another edge from its machine.
    let mut second = pipeline.0.edges[0];
    second.to = pipeline.0.edges[1].to;
    pipeline.0.edges.push(second);
    let (run, ends, _) = start(&pipeline, &[0]);
    let take = |edge: usize| match ends.outgoing[edge].take() {
        Taken::Message(message, _) => arrived(&message),
        other => panic!("{other:?}"),
    };
    let messages: Vec<_> = (0..4).map(|_| (take(0), take(1)).0).collect();
    drop(ends);
    drop(finish(run));
    let (run, mut ends, watcher) = start(&pipeline, &[1, 2]);
    let is_from_source = |it: &IncomingEdge| it.edge().from.stage == 0;
    let mut edges: Vec<_> = ends
        .incoming
        .extract_if(.., |it| is_from_source(it))
        .collect();
    assert_eq!(edges.len(), 2);
    // Each edge drops others: the second one brings what the first one lacks, and first.
    for (edge, number) in [(1, 0), (0, 0), (0, 1), (1, 2), (1, 3), (0, 3)] {
        let sent = edges[edge].accept(messages[number].clone(), None);
        assert_eq!(sent, Ok(Delivery::Queued));
    }
    drop((edges, ends));
    drop(finish(run));
    let sequences: Vec<_> = watcher.from(0).iter().map(|it| it.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4]);
}

#[test]
fn unknown_stages_are_refused_and_runs_stay_as_they_are() {
    let pipeline = Builder::line(1, "pass", json!({}));
    let options = Options {
        elsewhere: [7].into(),
        ..Options::default()
    };
    let error = Run::start(pipeline.0, catalogue(), options).err();
    let error = error.expect("it is refused").to_string();
    assert!(error.contains("stages"), "{error}");
    let pipeline = line();
    let (run, _ends, _) = start(&pipeline, &[0]);
    let refused = run.change(pipeline.0, catalogue());
    assert!(matches!(refused, Err(ChangeError::Machines)), "{refused:?}");
}

/// A stage of which a plugin hangs gets messages of another machine, one after the other: each when the one before is
/// finished.
fn all_are_finished(plugins: &[(&str, Value)]) -> Report {
    const COUNT: u64 = 3;
    const SHORT: Duration = Duration::from_millis(300);
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": COUNT }));
    let stage = pipeline.race(plugins);
    pipeline.join(source, stage);
    let it = &mut pipeline.0.stages[stage];
    it.on_error = OnError::Skip;
    it.watchdog = SHORT;
    // A race abandons those that do not notice that another one has answered.
    it.timeout = (plugins.len() == 1).then_some(SHORT);
    let (run, ends, _) = start(&pipeline, &[source]);
    let take = || match ends.outgoing[0].take() {
        Taken::Message(message, _) => arrived(&message),
        other => panic!("{other:?}"),
    };
    let messages: Vec<_> = (0..COUNT).map(|_| take()).collect();
    drop(ends);
    drop(finish(run));
    let (run, mut ends, _) = start(&pipeline, &[stage]);
    let mut edge = ends.incoming.remove(0);
    for message in messages {
        let receipt: Receipt = Arc::new(());
        let unfinished = Arc::downgrade(&receipt);
        assert_eq!(edge.accept(message, Some(receipt)), Ok(Delivery::Queued));
        until("it is finished", || unfinished.strong_count() == 0);
    }
    drop((edge, ends));
    finish(run)
}

#[test]
fn the_message_of_a_call_that_is_abandoned_is_finished() {
    let report = all_are_finished(&[("act", json!({ "do": "hang", "on": 2 }))]);
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[1].abandoned, 1);
}

#[test]
fn a_loser_that_hangs_does_not_keep_the_message_of_its_race() {
    // Slow, so that the other one takes a message too, also on a busy machine.
    let answers = ("pass", json!({ "delay_us": 100_000 }));
    let report = all_are_finished(&[("act", json!({ "do": "hang" })), answers]);
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[1].contestants[1].won, 3);
    assert!(report.stages[1].abandoned >= 1);
}
