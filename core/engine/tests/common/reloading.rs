//! A pipeline that is changed while it runs.

use std::sync::Arc;

use flowpipe_config::pipeline::{Pipeline, WhenFull};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Options, Run, RunHandle};
use serde_json::{Value, json};

use super::{Builder, Watcher, catalogue, queue};

/// source -> pass -> middle -> pass, with blocking queues.
pub fn line(count: u64, middle: &str, config: Value) -> Builder {
    let mut line = Builder::new();
    line.stage("source", json!({ "count": count }));
    line.stage("pass", json!({}));
    line.race(&[(middle, config)]);
    line.stage("pass", json!({}));
    for (from, to) in [(0, 1), (1, 2), (2, 3)] {
        line.edge((from, 0), (to, 0), queue(4, WhenFull::Block));
    }
    let names = ["source", "before", "middle", "after"];
    for (stage, name) in line.0.stages.iter_mut().zip(names) {
        stage.name = name.to_owned();
    }
    line
}

pub fn start(pipeline: &Pipeline, watcher: &Arc<Watcher>) -> RunHandle {
    let options = Options {
        observers: vec![watcher.clone()],
        ..Options::default()
    };
    Run::start(pipeline.clone(), catalogue(), options).unwrap()
}

/// The numbers that a stage forwarded.
pub fn numbers(watcher: &Watcher, stage: usize) -> Vec<i64> {
    let seen = watcher.from(stage);
    seen.iter()
        .map(|it| it.json["n"].as_i64().unwrap())
        .collect()
}

pub fn adds_up(report: &Report) {
    for edge in &report.edges {
        assert_eq!(
            edge.sent,
            edge.delivered + edge.dropped + edge.discarded,
            "{edge:?}"
        );
        assert_eq!((edge.dropped, edge.discarded), (0, 0), "{edge:?}");
    }
    assert_eq!(report.frames.live, 0);
}
