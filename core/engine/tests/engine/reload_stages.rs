//! Reloads that add, remove and rewire stages.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::{Pipeline, WhenFull};
use flowpipe_engine::run::ChangeError;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::json;

use crate::common::reloading::{adds_up, line, numbers, start};
use crate::common::{Builder, Watcher, catalogue, finish, queue, until};

#[test]
fn stages_are_added_and_removed() {
    let plain = line(10_000_000, "counter", json!({}));
    let watcher = Arc::new(Watcher::default());
    let run = start(&plain.0, &watcher);
    // before -> middle -> extra -> after, and a side branch.
    let mut longer = line(10_000_000, "counter", json!({}));
    let extra = longer.stage("pass", json!({}));
    let side = longer.stage("sink", json!({}));
    longer.0.stages[extra].name = "extra".into();
    longer.0.stages[side].name = "side".into();
    longer.0.edges.pop();
    longer.join(2, extra);
    longer.join(extra, 3);
    longer.join(1, side);
    for round in 0..20 {
        let mut attempts = 0;
        let changes = loop {
            match run.change(longer.0.clone(), catalogue()) {
                Ok(changes) => break changes,
                // It was removed, and is draining its queue.
                Err(ChangeError::Leaving { .. }) => attempts += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(attempts < 60_000);
            std::thread::sleep(Duration::from_millis(1));
        };
        let changes = changes.to_string();
        assert!(
            changes.contains("extra (added: pass)") && changes.contains("after (from)"),
            "{changes}"
        );
        let seen = run.progress().stages[5].received;
        until("both work", || {
            run.progress().stages[5].received > seen + 20
        });
        let changes = run
            .change(plain.0.clone(), catalogue())
            .unwrap()
            .to_string();
        assert!(
            changes.contains("extra (removed), side (removed)"),
            "{round}: {changes}"
        );
    }
    assert_eq!(run.progress().stages.len(), 6, "names keep their numbers");
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    let mut seen = numbers(&watcher, 3);
    // Messages that the extra stage drained may arrive after messages that bypassed it.
    seen.sort_unstable();
    assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
    assert_eq!(report.edges.len(), 6);
}

#[test]
fn a_changed_race_keeps_its_unchanged_contestants() {
    let mut pipeline = line(10_000_000, "counter", json!({})).0;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    let alone = pipeline.stages[2].contestants[0].clone();
    for round in 0..100 {
        // The counter answers; the other contestant is slow and is cancelled.
        let mut other = alone.clone();
        other.plugin = "act".into();
        other.config = match round % 2 {
            0 => json!({ "do": "slow" }),
            _ => json!({ "do": "slow", "on": 0 }),
        };
        pipeline.stages[2].contestants = match round % 4 {
            0 => vec![alone.clone(), other],
            1 => vec![other, alone.clone()],
            2 => vec![other, alone.clone()],
            _ => vec![alone.clone()],
        };
        run.change(pipeline.clone(), catalogue()).unwrap();
        let before = run.progress().stages[3].emitted;
        until("it continues", || run.progress().stages[3].emitted > before);
    }
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    for (number, seen) in (1..).zip(&watcher.from(3)) {
        assert_eq!(
            (&seen.json["n"], &seen.json["count"]),
            (&json!(number), &json!(number))
        );
    }
}

#[test]
fn a_source_can_be_changed_and_removed() {
    let mut pipeline = line(10_000_000, "pass", json!({})).0;
    let second = pipeline.stages[0].clone();
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("it works", || run.progress().stages[3].emitted > 10);
    pipeline.stages[0].contestants[0].config = json!({ "count": 10_000_000, "do": "other" });
    run.change(pipeline.clone(), catalogue()).unwrap();
    // As a new source it starts with 1 again.
    until("it starts again", || {
        numbers(&watcher, 0).iter().filter(|n| **n == 1).count() == 2
    });
    let sequences: Vec<_> = watcher.from(0).iter().map(|seen| seen.sequence).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    // Another source replaces it: the rest of the pipeline continues with that.
    pipeline.stages[0] = second;
    pipeline.stages[0].name = "second".into();
    pipeline.stages[0].contestants[0].config = json!({ "count": 50 });
    let changes = run.change(pipeline, catalogue()).unwrap().to_string();
    assert!(
        changes.contains("second (added: source)") && changes.contains("source (removed)"),
        "{changes}"
    );
    let report = finish(run);
    assert_eq!(report.failure, None, "it ends with the second source");
    adds_up(&report);
    let sent = report.stages[0].emitted + 50;
    assert_eq!(report.stages[3].emitted, sent);
}

#[test]
fn a_run_whose_stages_have_ended_is_not_changed() {
    let pipeline = line(10, "counter", json!({})).0;
    let run = start(&pipeline, &Arc::new(Watcher::default()));
    let reloader = run.reloader();
    assert_eq!(finish(run).failure, None);
    assert!(reloader.is_ending());
    let changed = reloader.change(pipeline, catalogue());
    assert!(matches!(changed, Err(ChangeError::Ending)));
}

#[test]
fn a_cycle_ends_after_changes() {
    // source -> count -> sink, with a back edge that drops nothing because it never fills.
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 200, "delay_us": 500 }));
    let count = pipeline.stage("count-down", json!({}));
    let back = pipeline.stage("pass", json!({}));
    let sink = pipeline.stage("pass", json!({}));
    pipeline.join(source, count);
    pipeline.join(count, sink);
    pipeline.edge((count, 1), (back, 0), queue(100_000, WhenFull::DropNewest));
    pipeline.edge((back, 0), (count, 1), queue(100_000, WhenFull::DropNewest));
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline.0, &watcher);
    for round in 0..20 {
        let at = [count, back, sink][round % 3];
        pipeline.0.stages[at].contestants[0].config = json!({ "do": round.to_string() });
        if round % 5 == 0 {
            pipeline.0.edges[3].queue.capacity += 1;
        }
        match run.change(pipeline.0.clone(), catalogue()) {
            Ok(_) | Err(ChangeError::Ended { .. } | ChangeError::Ending) => {}
            Err(error) => panic!("{error}"),
        }
    }
    // The back edge bypasses the removed stage: the cycle is a new one.
    let mut straight = pipeline.0.clone();
    straight.stages.remove(back);
    straight.edges.truncate(2);
    for edge in &mut straight.edges {
        let down = |stage: &mut usize| *stage -= usize::from(*stage > back);
        down(&mut edge.from.stage);
        down(&mut edge.to.stage);
    }
    let mut back_edge = straight.edges[0];
    back_edge.from.stage = count;
    back_edge.from.port = 1;
    back_edge.to.stage = count;
    back_edge.to.port = 1;
    back_edge.queue = queue(100_000, WhenFull::DropNewest);
    straight.edges.push(back_edge);
    match run.change(straight, catalogue()) {
        Ok(changes) => assert!(changes.to_string().contains("removed"), "{changes}"),
        Err(ChangeError::Ended { .. } | ChangeError::Ending) => {}
        Err(error) => panic!("{error}"),
    }
    let report = finish(run);
    assert_eq!(report.failure, None);
    assert_eq!(
        watcher.from(sink).len(),
        200,
        "each number was counted down to zero"
    );
    adds_up(&report);
}

/// A change.
#[derive(Clone, Debug)]
enum Step {
    /// Another config of a stage, from the second on.
    Config(usize, u8),
    /// Another plugin in the middle.
    Middle(bool),
    /// A contestant beside the one in the middle.
    Race(bool),
    /// The queue into a stage.
    Queue(usize, usize),
    /// A stage between the middle and the last.
    Extra(bool),
    /// A sink that is fed by the middle too.
    Side(bool),
    /// Microseconds until the next change.
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_usize..4, any::<u8>()).prop_map(|(stage, config)| Step::Config(stage, config)),
        any::<bool>().prop_map(Step::Middle),
        any::<bool>().prop_map(Step::Race),
        (0_usize..3, 1_usize..20).prop_map(|(edge, capacity)| Step::Queue(edge, capacity)),
        any::<bool>().prop_map(Step::Extra),
        any::<bool>().prop_map(Step::Side),
        (0_u64..3000).prop_map(Step::Wait),
    ]
}

/// The pipeline after some steps.
fn after(steps: &[Step]) -> Pipeline {
    let mut builder = line(10_000_000, "counter", json!({}));
    let (mut races, mut extra, mut side) = (false, false, false);
    for step in steps {
        match step {
            Step::Config(stage, config) => {
                builder.0.stages[*stage].contestants[0].config =
                    json!({ "do": config.to_string() });
            }
            Step::Middle(other) => {
                let plugin = if *other { "counter-too" } else { "counter" };
                builder.0.stages[2].contestants[0].plugin = plugin.to_owned();
            }
            Step::Queue(edge, capacity) => builder.0.edges[*edge].queue.capacity = *capacity,
            Step::Race(is) => races = *is,
            Step::Extra(is) => extra = *is,
            Step::Side(is) => side = *is,
            Step::Wait(_) => {}
        }
    }
    if races {
        let mut other = builder.0.stages[2].contestants[0].clone();
        other.plugin = "act".into();
        other.config = json!({ "do": "slow" });
        builder.0.stages[2].contestants.push(other);
    }
    if extra {
        let queue = builder.0.edges.pop().unwrap().queue;
        let extra = builder.stage("pass", json!({}));
        builder.0.stages[extra].name = "extra".into();
        builder.join(2, extra);
        builder.edge((extra, 0), (3, 0), queue);
    }
    if side {
        let side = builder.stage("sink", json!({}));
        builder.0.stages[side].name = "side".into();
        builder.join(2, side);
    }
    builder.0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn any_changes_in_any_order_lose_nothing(steps in proptest::collection::vec(step(), 1..16)) {
        let watcher = Arc::new(Watcher::default());
        let run = start(&after(&[]), &watcher);
        for done in 1..=steps.len() {
            if let Step::Wait(time) = steps[done - 1] {
                std::thread::sleep(Duration::from_micros(time));
                continue;
            }
            until("the change", || match run.change(after(&steps[..done]), catalogue()) {
                Ok(_) => true,
                Err(ChangeError::Leaving { .. }) => false,
                Err(error) => panic!("{error}"),
            });
        }
        let before = run.progress().stages[3].emitted;
        until("it continues", || run.progress().stages[3].emitted > before);
        run.stop();
        let report = finish(run);
        prop_assert_eq!(&report.failure, &None);
        adds_up(&report);
        let mut seen = watcher.from(3);
        seen.sort_by_key(|it| it.json["n"].as_i64());
        for (number, seen) in (1..).zip(&seen) {
            prop_assert_eq!(&seen.json["n"], &json!(number));
            prop_assert_eq!(&seen.json["count"], &json!(number));
        }
    }
}
