use std::time::Duration;

use flowpipe_config::pipeline::{PortRef, Queue};

use super::*;

const SOURCE: usize = 0;
const VISION: usize = 1;
const REFEREE: usize = 2;
const SOLVER: usize = 3;
const PLANNER: usize = 4;
const MOUSE: usize = 5;
const COUNTER: usize = 6;
const NAMES: [&str; 7] = [
    "screen", "vision", "referee", "solver", "planner", "mouse", "counter",
];

/// The live pipeline, with a stage that only reads the mouse's outcomes.
fn live() -> Pipeline {
    let stage = |name: &str| Stage {
        name: name.into(),
        contestants: vec![contestant("some", json!({}))],
        timeout: None,
        on_error: OnError::Stop,
        watchdog: Duration::from_secs(1),
        isolation: flowpipe_config::pipeline::Isolation::Thread,
        restart: None,
        fresh: false,
        workers: 1,
        ordered: true,
    };
    let edge = |(from, to)| Edge {
        from: PortRef {
            stage: from,
            port: 0,
        },
        to: PortRef { stage: to, port: 0 },
        queue: Queue {
            capacity: 2,
            when_full: WhenFull::Latest,
        },
    };
    let edges = [
        (SOURCE, VISION),
        (VISION, REFEREE),
        (REFEREE, SOLVER),
        (SOLVER, REFEREE),
        (REFEREE, PLANNER),
        (PLANNER, MOUSE),
        (MOUSE, REFEREE),
        (MOUSE, COUNTER),
    ];
    Pipeline {
        name: "live".into(),
        stages: NAMES.map(stage).into(),
        edges: edges.map(edge).into(),
        on_stop: OnStop::Drain,
        machines: flowpipe_config::pipeline::Machines::default(),
        record: None,
    }
}

/// Only the first stage is a source.
fn manifests() -> Vec<Manifest> {
    let port = Port {
        name: "in".into(),
        schema: "*".into(),
        ..Port::default()
    };
    let manifest = |stage: usize| Manifest {
        inputs: vec![port.clone(); usize::from(stage != SOURCE)],
        ..Manifest::default()
    };
    (0..NAMES.len()).map(manifest).collect()
}

#[test]
fn stages_with_effects_are_left_out_with_those_that_only_they_feed() {
    let pipeline = live();
    let acts: Vec<bool> = (0..NAMES.len()).map(|stage| stage == MOUSE).collect();
    let (kept, changes) = kept(&pipeline, &manifests(), &acts);
    assert_eq!(kept, [SOURCE, VISION, REFEREE, SOLVER, PLANNER]);
    let changed: Vec<_> = changes
        .iter()
        .map(|it| (it.stage.as_str(), &it.what))
        .collect();
    assert_eq!(
        changed,
        [
            ("mouse", &ChangeKind::ActsOnTheWorld),
            ("counter", &ChangeKind::Unfed)
        ]
    );
    let edges = edges_among(&kept, &pipeline.edges);
    let ends: Vec<_> = edges
        .iter()
        .map(|it| (it.from.stage, it.to.stage))
        .collect();
    assert_eq!(ends, [(0, 1), (1, 2), (2, 3), (3, 2), (2, 4)]);
}

#[test]
fn edges_get_the_indices_of_the_kept_stages() {
    let pipeline = live();
    let edges = edges_among(&[SOURCE, VISION, REFEREE, COUNTER], &pipeline.edges);
    let ends: Vec<_> = edges
        .iter()
        .map(|it| (it.from.stage, it.to.stage))
        .collect();
    assert_eq!(ends, [(0, 1), (1, 2)]);
    let mouse_to_counter = edges_among(&[MOUSE, COUNTER], &pipeline.edges);
    assert_eq!(mouse_to_counter[0].to.stage, 1);
}

#[test]
fn queues_block_and_on_cycles_never_fill() {
    let mut pipeline = live();
    lose_nothing(&mut pipeline, 1000);
    let queue = |from, to| {
        let mut edges = pipeline.edges.iter();
        let edge = edges.find(|it| (it.from.stage, it.to.stage) == (from, to));
        edge.expect("it is there").queue
    };
    let waits = Queue {
        capacity: 2,
        when_full: WhenFull::Block,
    };
    for (from, to) in [(SOURCE, VISION), (VISION, REFEREE), (MOUSE, COUNTER)] {
        assert_eq!(queue(from, to), waits);
    }
    for (from, to) in [(REFEREE, SOLVER), (SOLVER, REFEREE), (PLANNER, MOUSE)] {
        assert_eq!(queue(from, to).capacity, 1000, "{from} to {to}");
    }
    assert!(blocking_cycles(NAMES.len(), &pipeline.edges).is_empty());
}

#[test]
fn stages_that_emit_nothing_in_a_dry_run_are_listed() {
    assert!(idles_dry(&contestant("http-request", json!({}))));
    assert!(!idles_dry(&contestant("map", json!({}))));
}

#[test]
fn stages_that_use_the_time_are_listed() {
    let uses_time = |plugin: &str, config: Value| uses_time(&contestant(plugin, config));
    assert!(uses_time("throttle", json!({ "messages": 1 })));
    assert!(uses_time("batch", json!({ "within_ms": 1 })));
    assert!(uses_time("window", json!({ "span_ms": 1 })));
    assert!(uses_time("join", json!({ "by": "time" })));
    assert!(!uses_time("batch", json!({ "count": 1 })));
    assert!(!uses_time("window", json!({ "count": 1 })));
    assert!(!uses_time("join", json!({ "by": "key", "key": "time" })));
    assert!(!uses_time("map", json!({ "span_ms": 1 })));
}
