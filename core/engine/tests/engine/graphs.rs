//! Any pipeline without cycles runs to its end, and every message is accounted for.

use flowpipe_config::pipeline::{Queue, WhenFull};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{Builder, adds_up};

/// A pipeline without cycles: for each stage its plugin, its number of workers, and for each of its inputs the earlier
/// stages that feed it, each through a queue of its own.
#[derive(Clone, Debug)]
struct Graph(Vec<(&'static str, usize, Vec<Feed>)>);

/// The feeding stage, the port at the side that has two, and the queue between.
type Feed = (usize, usize, Queue);

fn queues() -> impl Strategy<Value = Queue> {
    let policies = [
        WhenFull::Block,
        WhenFull::DropOldest,
        WhenFull::DropNewest,
        WhenFull::Latest,
    ];
    (1..5_usize, prop::sample::select(policies.to_vec())).prop_map(|(capacity, when_full)| Queue {
        capacity,
        when_full,
    })
}

fn graphs() -> impl Strategy<Value = Graph> {
    let kinds = vec!["pass", "fan", "join", "sink", "tally"];
    let feed = (any::<prop::sample::Index>(), 0..2_usize, queues());
    let stage = (
        prop::sample::select(kinds),
        1..4_usize,
        prop::collection::vec(feed, 1..4),
    );
    prop::collection::vec(stage, 1..7).prop_map(|stages| {
        let mut graph = Graph(vec![("source", 1, Vec::new()), ("source", 1, Vec::new())]);
        for (kind, workers, feeds) in stages {
            // Only stages with outputs can feed.
            let able: Vec<_> = (0..graph.0.len())
                .filter(|&stage| graph.0[stage].0 != "sink")
                .collect();
            let feeds = feeds
                .into_iter()
                .map(|(from, port, queue)| (able[from.index(able.len())], port, queue))
                .collect();
            graph.0.push((kind, workers, feeds));
        }
        graph
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_graph_deadlocks_or_loses_count(graph in graphs()) {
        let mut pipeline = Builder::new();
        for (kind, workers, feeds) in &graph.0 {
            let to = pipeline.stage(kind, json!({ "count": 60 }));
            pipeline.0.stages[to].workers = *workers;
            for (from, port, queue) in feeds {
                let out = if graph.0[*from].0 == "fan" { *port } else { 0 };
                let input = if *kind == "join" { *port } else { 0 };
                pipeline.edge((*from, out), (to, input), *queue);
            }
        }
        let (report, watcher) = pipeline.run();
        adds_up(&report);
        prop_assert_eq!(watcher.problems(), []);
        for edge in &report.edges {
            prop_assert_eq!(edge.discarded, 0, "its receiver ended before its sender: {:?}", edge);
        }
        for (stage, (kind, workers, _)) in report.stages.iter().zip(&graph.0) {
            let expected = match *kind {
                "source" => 60,
                "pass" => stage.received,
                "fan" => 2 * stage.received,
                // Each worker receives the end of the stream.
                "join" => stage.received + *workers as u64,
                "tally" => *workers as u64,
                _ => 0,
            };
            prop_assert_eq!(stage.emitted, expected, "{}", stage.name);
        }
    }
}
