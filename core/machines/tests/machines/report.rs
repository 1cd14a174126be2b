//! The report of a run on two machines.

use flowpipe_config::pipeline::{Machine, Machines, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_machines::{LONGEST_OBSERVATION, read_report, whole_report, write_report};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// `desk` has the first and the last stage, `rack` a slow one. Between them, a queue that drops.
fn pipeline(count: u64) -> Builder {
    let mut pipeline = Builder::line(count, "counter", json!({ "delay_us": 2_000 }));
    pipeline.0.edges[0].queue = queue(2, WhenFull::DropOldest);
    let machine = |name: &str| Machine {
        name: name.to_owned(),
        listen: None,
        connect: None,
        certificates: String::new(),
        reconnect_timeout: LONG,
    };
    pipeline.0.machines = Machines {
        all: vec![machine("desk"), machine("rack")],
        of_stages: vec![0, 1, 0],
        of_workers: Vec::new(),
    };
    pipeline
}

/// The reports of both machines.
fn reports(pipeline: &Builder) -> [Report; 2] {
    let machines = machines(pipeline.0.edges.len(), None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    let desk = desk.start(pipeline, &[0, 2], LONG);
    let rack = rack.start(pipeline, &[1], LONG);
    let rack = std::thread::spawn(move || rack.finish());
    let (desk, ..) = desk.finish();
    let (rack, ..) = rack.join().unwrap();
    [desk, rack]
}

#[test]
fn the_report_of_a_run_has_the_stages_of_all_machines() {
    const COUNT: u64 = 200;
    let pipeline = pipeline(COUNT);
    let [desk, rack] = reports(&pipeline);
    let read = |report| read_report(&write_report(report), &pipeline.0).unwrap();
    let (desk, rack) = (read(&desk), read(&rack));
    let all = [Some(&desk), Some(&rack)];
    for own in [0, 1] {
        let whole = whole_report(&pipeline.0, own, &all).unwrap();
        let machines: Vec<_> = whole
            .stages
            .iter()
            .map(|it| it.machine.as_deref())
            .collect();
        assert_eq!(machines, [Some("desk"), Some("rack"), Some("desk")]);
        let [source, middle, last] = &whole.stages[..] else {
            panic!("{whole:#?}");
        };
        assert_eq!(source.emitted, COUNT);
        assert!(middle.dropped > 0, "{middle:?}");
        // Each of them was dropped on one machine.
        assert_eq!(middle.received + middle.dropped, COUNT);
        assert_eq!((last.received, last.dropped), (middle.emitted, 0));
        edges_add_up(&whole);
        assert_eq!(whole.edges[0].delivered, middle.received);
        assert_eq!(whole.edges[1].sent, middle.emitted);
        let shares: f64 = whole.stages.iter().map(|it| it.share).sum();
        assert!((shares - 1.0).abs() < 1e-6, "{shares}");
        // How much more it works than the others depends on the machine.
        assert!(middle.share > 0.0, "{middle:?}");
        assert_eq!(whole.seconds, desk.seconds.max(rack.seconds));
    }
    // Without the other one, what is known here remains.
    let alone = whole_report(&pipeline.0, 0, &[Some(&desk), None]).unwrap();
    assert_eq!(alone.stages[0].emitted, COUNT);
    assert_eq!(alone.stages[1].received, 0);
    assert_eq!(alone.stages[1].machine.as_deref(), Some("rack"));
}

#[test]
fn without_the_report_of_a_machine_all_others_have_the_same_tables() {
    let mut pipeline = pipeline(50);
    let [desk, rack] = reports(&pipeline);
    // The last stage is on a third machine, which has counted the messages that came; `rack` is dead.
    let shelf = Machine {
        name: "shelf".to_owned(),
        ..pipeline.0.machines.all[0].clone()
    };
    pipeline.0.machines.all.push(shelf);
    pipeline.0.machines.of_stages = vec![0, 1, 2];
    let shelf = Report {
        stages: vec![
            rack.stages[0].clone(),
            desk.stages[1].clone(),
            desk.stages[2].clone(),
        ],
        edges: vec![rack.edges[0].clone(), desk.edges[1].clone()],
        ..desk.clone()
    };
    let mut desk = desk;
    desk.stages[2] = rack.stages[2].clone();
    desk.edges[1] = rack.edges[1].clone();
    // Nothing of the first edge comes to the third machine, and nothing of the last one is known to the first.
    let mut shelf = shelf;
    for (report, edge) in [(&mut shelf, 0), (&mut desk, 1)] {
        let edge = &mut report.edges[edge];
        (edge.sent, edge.delivered, edge.dropped, edge.discarded) = (0, 0, 0, 0);
    }
    let all = [Some(&desk), None, Some(&shelf)];
    let [first, last] = [0, 2].map(|own| whole_report(&pipeline.0, own, &all).unwrap());
    let counts = |report: &Report| {
        let edges = report.edges.iter();
        let counts = edges.map(|it| (it.sent, it.delivered, it.dropped, it.discarded));
        counts.collect::<Vec<_>>()
    };
    assert_eq!(counts(&first), counts(&last));
    assert_eq!(first.edges[0].sent, 50);
    assert!(last.edges[1].delivered > 0);
}

/// A problem of a stage.
fn problem(stage: &str) -> Problem {
    Problem {
        kind: ProblemKind::Failed,
        stage: stage.to_owned(),
        plugin: String::new(),
        message: None,
        text: "on purpose".to_owned(),
    }
}

#[test]
fn a_machine_reports_nothing_of_the_stages_of_others() {
    let pipeline = pipeline(3);
    let [desk, mut rack] = reports(&pipeline);
    let own = desk.stages[0].clone();
    let (here, there) = (desk.stages[0].name.clone(), rack.stages[1].name.clone());
    for stage in &mut rack.stages {
        stage.received = u64::MAX;
        stage.time.total_ns = u64::MAX;
    }
    for edge in &mut rack.edges {
        (edge.sent, edge.dropped, edge.delivered) = (u64::MAX, u64::MAX, u64::MAX);
        (edge.discarded, edge.longest) = (u64::MAX, u64::MAX);
        edge.from = "forged".to_owned();
    }
    rack.problems = vec![problem(&here), problem(&there)];
    rack.failure = Some(problem(&here));
    rack.seconds = f64::NAN;
    let whole = whole_report(&pipeline.0, 0, &[Some(&desk), Some(&rack)]).unwrap();
    let counts = |it: &flowpipe_engine::report::StageReport| (it.received, it.emitted, it.dropped);
    assert_eq!(counts(&whole.stages[0]), counts(&own));
    assert_eq!(whole.stages[1].received, u64::MAX, "it is its own");
    assert_eq!(whole.problems, [problem(&there)]);
    assert_eq!(whole.failure, None);
    assert_eq!(whole.seconds, desk.seconds);
    assert_eq!(whole.edges[0].sent, desk.edges[0].sent);
    assert_eq!(whole.edges[0].from, desk.edges[0].from);
}

#[test]
fn a_report_with_a_number_whose_sums_overflow_is_refused() {
    let pipeline = pipeline(3);
    let [report, _] = reports(&pipeline);
    let read = |report: &Report| read_report(&write_report(report), &pipeline.0);
    let largest = 1_u64 << 60;
    let changes: [fn(&mut Report, u64); 5] = [
        |report, number| report.stages[0].received = number,
        |report, number| report.edges[1].longest = number,
        |report, number| report.stages[1].time.total_ns = number,
        |report, number| report.frames.live = number as usize,
        |report, number| report.seconds = -(number as f64),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut changed = report.clone();
        change(&mut changed, largest);
        read(&changed).unwrap();
        change(&mut changed, largest + (1 << 20));
        let error = read(&changed).unwrap_err().to_string();
        let expected = "its report has a number that is out of range";
        assert_eq!(error, expected, "{place}");
    }
}

#[test]
fn a_report_of_another_pipeline_is_refused() {
    let ours = pipeline(3);
    let [report, _] = reports(&ours);
    let refusal = |report: &Report| {
        let error = read_report(&write_report(report), &ours.0).unwrap_err();
        error.to_string()
    };
    let mut other = report.clone();
    other.stages.pop();
    assert_eq!(
        refusal(&other),
        "its report is not of this pipeline: it has other stages"
    );
    let mut other = report.clone();
    other.stages[0].name = "x".to_owned();
    assert_eq!(
        refusal(&other),
        "its report is not of this pipeline: it has other stages"
    );
    let mut other = report.clone();
    other.edges.pop();
    assert_eq!(
        refusal(&other),
        "its report is not of this pipeline: it has other edges"
    );
    let long = read_report(&vec![b' '; 5 << 20], &ours.0).unwrap_err();
    assert_eq!(
        long.to_string(),
        format!("its report has 5242880 bytes, where at most {LONGEST_OBSERVATION} are read")
    );
    // A report with long problems is sent without them.
    let mut long = report.clone();
    long.problems = vec![problem(&"x".repeat(1 << 20)); 8];
    assert!(
        read_report(&write_report(&long), &ours.0)
            .unwrap()
            .problems
            .is_empty()
    );
}

proptest! {
    #[test]
    fn fuzz_reports(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        static REPORT: std::sync::OnceLock<(flowpipe_config::pipeline::Pipeline, [Report; 2])> =
            std::sync::OnceLock::new();
        let (pipeline, [desk, rack]) = REPORT.get_or_init(|| {
            let pipeline = pipeline(3);
            let reports = reports(&pipeline);
            (pipeline.0, reports)
        });
        let mut bytes = write_report(rack);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(forged) = read_report(&bytes, pipeline) {
            whole_report(pipeline, 0, &[Some(desk), Some(&forged)]).unwrap();
        }
        let cut = cut.index(bytes.len());
        let _ = read_report(&bytes[..cut], pipeline);
    }
}
