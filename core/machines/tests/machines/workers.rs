//! Workers of a stage on another machine: what they do, and how they fail, is as if they were here.

use flowpipe_config::pipeline::{OnError, Restart};
use flowpipe_engine::run::served::WorkerHost;
use flowpipe_host::problem::ProblemKind;
use flowpipe_machines::Served;
use proptest::prelude::*;

use super::*;
use crate::common::ten;

const SOON: Restart = Restart {
    max: 1_000,
    backoff: Duration::from_millis(1),
};

/// The machine that distributes, with its run, and the one that has workers alone.
struct Distributed {
    desk: Running,
    rack: Bridge,
}

/// Distributes the stage 1: so many of its workers are here, and the others on `rack`.
fn distribute(
    machines: [Machine; 2],
    pipeline: &Builder,
    here: usize,
    patience: Duration,
) -> Distributed {
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [mut desk, mut rack] = machines;
    let workers: Vec<_> = (here..pipeline.0.stages[1].workers)
        .map(|worker| (1, worker))
        .collect();
    let machine = desk.peer.worker_machine();
    let host = WorkerHost::new(&pipeline.0, catalogue(), rack.clock, None);
    rack.peer.serve(Served {
        host: Arc::new(host),
        workers: workers.clone(),
        clock: rack.clock,
        is_dry: false,
    });
    let options = Options {
        worker_machines: workers
            .into_iter()
            .map(|it| (it, machine.clone()))
            .collect(),
        ..Options::default()
    };
    let report = |_| {};
    let nothing = flowpipe_engine::run::remote::RemoteEnds::default();
    let rack = Bridge::start(rack.peer, nothing, LONG, report).unwrap();
    let all: Vec<_> = (0..pipeline.0.stages.len()).collect();
    let desk = desk.start_with(pipeline, &all, patience, options);
    Distributed { desk, rack }
}

impl Distributed {
    /// Waits for the end of the run. Returns also how many messages `rack` has processed.
    fn finish(self) -> (Report, Arc<Watcher>, u64) {
        let (report, watcher, processed, _) = self.finish_with_traffic();
        (report, watcher, processed)
    }

    /// Returns also what was sent of frames, to the workers and back.
    fn finish_with_traffic(self) -> (Report, Arc<Watcher>, u64, [FrameTraffic; 2]) {
        let Running {
            run,
            bridge,
            watcher,
            ..
        } = self.desk;
        let report = finish(run);
        bridge.end_workers();
        common::until("the workers end", || !self.rack.is_serving());
        let processed = bridge.processed().unwrap();
        let traffic = [&bridge, &self.rack].map(|it| it.worker_frame_traffic().remove(0));
        let rack = std::thread::spawn(move || self.rack.finish());
        assert!(bridge.finish());
        assert!(rack.join().unwrap());
        (report, watcher, processed, traffic)
    }
}

/// Frames through a stage in the middle, which has four workers.
fn four(count: u64) -> Builder {
    let mut pipeline = line(count);
    let stage = &mut pipeline.0.stages[1];
    stage.workers = 4;
    // Otherwise the workers here do all before those there are ready.
    stage.contestants[0].config = json!({ "delay_us": 2_000 });
    pipeline
}

#[test]
fn workers_on_another_machine_do_what_workers_here_do() {
    let (_, alone) = four(300).run();
    for here in [0, 2] {
        let pipeline = four(300);
        let distributed = distribute(machines(2, None), &pipeline, here, LONG);
        let (report, watcher, processed, traffic) = distributed.finish_with_traffic();
        for traffic in traffic {
            // The first ones are in memory that the other machine can't read.
            assert_eq!(traffic.frames, processed);
            assert!(traffic.shared >= processed - 20, "{traffic:?}");
            assert!(traffic.sent_bytes < traffic.bytes / 4, "{traffic:?}");
        }
        for stage in [0, 1, 2] {
            assert_eq!(seen(&alone, stage), seen(&watcher, stage), "stage {stage}");
        }
        assert_eq!(report.failure, None);
        edges_add_up(&report);
        match here {
            0 => assert_eq!(processed, 300),
            _ => assert!((1..300).contains(&processed), "{processed}"),
        }
        // Times are of the clock here: a frame is captured before what descends from it is emitted.
        for seen in watcher.from(2) {
            let age = seen.age_ns.unwrap();
            assert!((0..60_000_000_000).contains(&age), "{age}");
        }
    }
}

#[test]
fn cuts_lose_nothing_and_change_no_order() {
    const CUTS: usize = 10;
    let pipeline = four(WITHOUT_END);
    let mut proxy = None;
    let pair = machines(2, Some(&mut proxy));
    let distributed = distribute(pair, &pipeline, 2, LONG);
    let proxy = proxy.unwrap();
    assert!(proxy.cut_often(CUTS) >= CUTS);
    distributed.desk.run.stop();
    let events = distributed.desk.events.clone();
    let (report, watcher, processed, traffic) = distributed.finish_with_traffic();
    let disconnections = disconnections(&events.lock().unwrap());
    assert!(disconnections >= CUTS / 2, "{disconnections}");
    let (_, alone) = four(report.stages[0].emitted).run();
    assert_eq!(seen(&alone, 2), seen(&watcher, 2));
    assert_eq!(report.failure, None);
    assert!(processed > 0);
    // They are on two machines.
    assert!(traffic.iter().all(|it| it.frames > 0 && it.shared == 0));
}

/// source -> `jitter` with so many workers -> pass.
fn jitter(count: u64, workers: usize, capacity: usize, config: serde_json::Value) -> Builder {
    let mut line = Builder::line(count, "jitter", config);
    line.0.stages[1].workers = workers;
    for edge in &mut line.0.edges {
        edge.queue.capacity = capacity;
    }
    line
}

/// What `jitter` has emitted for messages, each with its part.
fn parts(watcher: &Watcher) -> Vec<(i64, i64)> {
    let seen = watcher.from(1);
    let number = |value: &serde_json::Value| value.as_i64();
    let parts = seen
        .iter()
        .filter_map(|it| Some((number(&it.json["n"])?, number(&it.json["part"])?)));
    parts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// However long each message takes, whatever it becomes, and wherever its worker is.
    #[test]
    fn messages_leave_as_from_one_machine(
        workers in 1..6_usize,
        here in 0..6_usize,
        capacity in 1..5_usize,
        seed in any::<i16>(),
        is_ordered in any::<bool>(),
        cuts in any::<bool>(),
    ) {
        const CUTS: usize = 3;
        let config = json!({ "on": seed, "delay_us": 400 });
        // With cuts, until they are done.
        let count = if cuts { WITHOUT_END } else { 80 };
        let mut pipeline = jitter(count, workers, capacity, config.clone());
        pipeline.0.stages[1].ordered = is_ordered;
        let mut proxy = None;
        let pair = machines(2, Some(&mut proxy));
        let here = here.min(workers - 1);
        let distributed = distribute(pair, &pipeline, here, LONG);
        if let Some(proxy) = proxy.as_ref().filter(|_| cuts) {
            prop_assert!(proxy.cut_often(CUTS) >= CUTS);
            distributed.desk.run.stop();
        }
        let events = distributed.desk.events.clone();
        let (report, watcher, _) = distributed.finish();
        prop_assert_eq!(disconnections(&events.lock().unwrap()) > 0, cuts);
        let (_, alone) = jitter(report.stages[0].emitted, 1, capacity, config).run();
        prop_assert_eq!(watcher.problems(), []);
        prop_assert_eq!(&report.failure, &None);
        edges_add_up(&report);
        let mut got = parts(&watcher);
        if !is_ordered {
            // Those of one message are in order.
            got.sort_by_key(|(n, _)| *n);
        }
        prop_assert_eq!(got, parts(&alone));
    }

    /// Failures cost their messages, and no order.
    #[test]
    fn a_failure_costs_its_message_alone(
        workers in 1..5_usize,
        capacity in 1..5_usize,
        what in prop::sample::select(vec!["fail", "panic"]),
        restarts in any::<bool>(),
    ) {
        let config = json!({ "on": 7, "delay_us": 400, "every": 7, "do": what });
        let mut pipeline = jitter(60, workers, capacity, config);
        let stage = &mut pipeline.0.stages[1];
        stage.on_error = OnError::Skip;
        stage.restart = restarts.then_some(SOON);
        let mut alone = jitter(60, 1, capacity, json!({ "on": 7 }));
        alone.0.stages[1].on_error = OnError::Skip;
        let (_, alone) = alone.run();
        let distributed = distribute(machines(2, None), &pipeline, 0, LONG);
        let (report, watcher, _) = distributed.finish();
        // It fails after it has emitted.
        prop_assert_eq!(parts(&watcher), parts(&alone));
        let stage = &report.stages[1];
        prop_assert_eq!((stage.received, stage.failed), (60, 8));
        let problems = watcher.problems();
        let failed = problems.iter().map(|it| it.message.as_ref().unwrap().sequence);
        let failed: BTreeSet<_> = failed.collect();
        prop_assert_eq!(failed, (1..=8).map(|it| it * 7).collect::<BTreeSet<u64>>());
        prop_assert_eq!(stage.restarted > 0, restarts);
        prop_assert_eq!(report.failure, None);
    }
}

#[test]
fn problems_are_those_of_workers_here() {
    let failing = || {
        let mut pipeline = ten(OnError::Skip, json!({ "do": "fail", "on": 5 }));
        pipeline.0.stages[1].workers = 2;
        pipeline
    };
    let (alone_report, alone) = failing().run();
    let distributed = distribute(machines(2, None), &failing(), 0, LONG);
    let (report, watcher, _) = distributed.finish();
    assert_eq!(seen(&alone, 2), seen(&watcher, 2));
    assert_eq!(report.stages[1].failed, alone_report.stages[1].failed);
    assert_eq!(alone.problems(), watcher.problems());
}

#[test]
fn one_that_hangs_is_given_up_and_restarted() {
    let mut pipeline = ten(OnError::Skip, json!({ "do": "hang", "on": 5 }));
    let stage = &mut pipeline.0.stages[1];
    stage.workers = 2;
    stage.timeout = Some(Duration::from_millis(50));
    stage.watchdog = Duration::from_millis(100);
    stage.restart = Some(SOON);
    let distributed = distribute(machines(2, None), &pipeline, 0, LONG);
    let (report, watcher, _) = distributed.finish();
    assert!(
        watcher.kinds().contains(&ProblemKind::Hang),
        "{:?}",
        watcher.problems()
    );
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[2].received, 9);
}

#[test]
fn one_that_does_not_start_ends_the_run() {
    let mut pipeline = Builder::line(10, "act", json!({ "create": "fail-to-activate" }));
    pipeline.0.stages[1].workers = 2;
    let distributed = distribute(machines(2, None), &pipeline, 0, LONG);
    let (report, ..) = distributed.finish();
    let failure = report.failure.unwrap();
    let expected = "it can't be started on machine rack: no device";
    assert_eq!(failure.text, expected);
}

#[test]
fn a_plugin_there_ends_the_run_here() {
    let mut pipeline = Builder::line(1_000, "act", json!({ "do": "end-done", "on": 5 }));
    pipeline.0.stages[1].workers = 2;
    let distributed = distribute(machines(2, None), &pipeline, 0, LONG);
    let (report, ..) = distributed.finish();
    let ended = report.ended.unwrap();
    assert_eq!(
        (ended.stage.as_str(), ended.reason.as_str()),
        ("act-1", "enough")
    );
}

/// The plugins of a stage whose workers are races: the first one answers, and the second one waits until it has lost.
fn races(count: u64) -> Builder {
    let mut pipeline = Builder::new();
    pipeline.stage("source", json!({ "count": count }));
    pipeline.race(&[
        ("pass", json!({ "delay_us": 500 })),
        ("act", json!({ "do": "slow" })),
    ]);
    pipeline.stage("pass", json!({}));
    pipeline.join(0, 1);
    pipeline.join(1, 2);
    pipeline.0.stages[1].workers = 4;
    pipeline
}

#[test]
fn races_are_run_by_workers_on_another_machine() {
    let (_, alone) = races(60).run();
    let distributed = distribute(machines(2, None), &races(60), 0, LONG);
    let (report, watcher, processed) = distributed.finish();
    assert_eq!(seen(&alone, 2), seen(&watcher, 2));
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.stages[1].contestants[0].won, 60);
    // Of both plugins.
    assert!(processed > 60, "{processed}");
}

#[test]
fn a_loop_ends_when_its_workers_on_another_machine_have_done_all() {
    let looping = || {
        let mut pipeline = loops::cycle(WhenFull::DropOldest);
        let stage = &mut pipeline.0.stages[1];
        stage.workers = 3;
        stage.ordered = false;
        pipeline
    };
    for here in [0, 1] {
        let distributed = distribute(machines(4, None), &looping(), here, LONG);
        let (report, watcher, _) = distributed.finish();
        assert_eq!(report.failure, None);
        assert_eq!(watcher.problems(), []);
        // Each message has left the loop once.
        assert_eq!(report.stages[3].received, loops::COUNT);
        edges_add_up(&report);
    }
}

/// Lets `rack` die while the stage works, and waits for the end of the run. Returns its report, and the lost messages.
fn kill_rack(pipeline: &Builder, here: usize) -> (Report, BTreeSet<u64>) {
    let pair = machines(2, None);
    let patience = Duration::from_millis(300);
    let Distributed { desk, rack } = distribute(pair, pipeline, here, patience);
    common::until("it works", || desk.bridge.processed().unwrap() > 20);
    drop(rack);
    while !desk.run.is_over() {
        desk.run.end_workers_of_dead_machines();
        std::thread::sleep(Duration::from_millis(5));
    }
    if here == 0 {
        assert_eq!(desk.run.progress().stages[1].workers, 0, "all are dead");
    }
    let report = finish(desk.run);
    let problems = desk.watcher.problems();
    let lost = problems
        .iter()
        .filter_map(|it| Some(it.message.as_ref()?.sequence));
    let lost: BTreeSet<_> = lost.collect();
    assert!(!desk.bridge.finish());
    edges_add_up(&report);
    // What was put back was not taken.
    assert_eq!(report.stages[1].received, report.edges[0].delivered);
    // Everything that was taken has been answered, or is reported. The answer may have come right before the death.
    let answered = report.edges[1].sent;
    let (taken, reported) = (report.stages[1].received, lost.len() as u64);
    assert!(
        (answered..=answered + reported).contains(&taken),
        "{taken} taken, {answered} answered, lost: {lost:?}"
    );
    (report, lost)
}

#[test]
fn the_run_goes_on_while_there_are_workers_here() {
    let mut pass = Builder::line(400, "pass", json!({ "delay_us": 500 }));
    pass.0.stages[1].workers = 4;
    for pipeline in [pass, races(400)] {
        let (report, lost) = kill_rack(&pipeline, 2);
        assert_eq!(report.failure, None);
        assert!(lost.len() <= 2, "one of each worker: {lost:?}");
        // The answer to one that is reported may have come right before the death.
        let received = report.stages[2].received as usize;
        assert!((400 - lost.len()..=400).contains(&received), "{received}");
    }
}

#[test]
fn the_run_fails_with_the_last_worker() {
    let mut pass = Builder::line(1_000_000, "pass", json!({ "delay_us": 500 }));
    pass.0.stages[1].workers = 4;
    for pipeline in [pass, races(1_000_000)] {
        let (report, lost) = kill_rack(&pipeline, 0);
        let failure = report.failure.unwrap();
        assert_eq!(failure.text, "all machines of its workers are dead");
        assert!(
            (1..=4).contains(&lost.len()),
            "one of each worker: {lost:?}"
        );
    }
}
