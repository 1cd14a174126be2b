//! How messages flow: nothing is lost unasked, everything is counted, every run ends.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::{OnStop, Queue, WhenFull};
use flowpipe_engine::run::Options;
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::run::Ending;
use serde_json::json;

use crate::common::{Builder, Watcher, adds_up, finish, queue, until};

#[test]
fn the_end_of_the_stream_drains_everything_in_order() {
    let (report, watcher) = Builder::line(1000, "pass", json!({})).run();
    assert_eq!(report.failure, None);
    let numbers: Vec<_> = watcher
        .from(2)
        .iter()
        .map(|seen| seen.json["n"].clone())
        .collect();
    assert_eq!(numbers, (1..=1000).map(|n| json!(n)).collect::<Vec<_>>());
    assert_eq!(
        (report.stages[1].received, report.stages[1].emitted),
        (1000, 1000)
    );
    let emitted = (0..3).map(|stage| watcher.from(stage).len());
    assert_eq!(watcher.ends(), [emitted.sum::<usize>()]);
    // The calls that end a stage are no latency of a message.
    let counts = report.stages.iter().map(|stage| stage.time.count);
    assert_eq!(counts.collect::<Vec<_>>(), [1000, 1000, 1000]);
    let shares: f64 = report.stages.iter().map(|stage| stage.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    adds_up(&report);
}

#[test]
fn a_fresh_stage_forgets_the_messages_before() {
    for (fresh, remembered) in [(false, 3), (true, 1)] {
        let mut pipeline = Builder::line(3, "tally", json!({}));
        pipeline.0.stages[1].fresh = fresh;
        let (report, watcher) = pipeline.run();
        assert_eq!(watcher.from(2)[0].json["n"], remembered);
        adds_up(&report);
    }
}

#[test]
fn lineage_names_the_frame_and_every_hop() {
    let mut pipeline = Builder::line(3, "tally", json!({}));
    pipeline.0.stages[0].contestants[0].config = json!({ "count": 3, "width": 8, "height": 8 });
    let (_, watcher) = pipeline.run();
    let sources = watcher.from(0);
    assert_eq!(
        sources.iter().map(|seen| seen.sequence).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(
        sources
            .iter()
            .map(|seen| seen.frame_sequence)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let last = &watcher.from(2)[0];
    assert_eq!(last.json["n"], 3, "what was held is emitted at the end");
    assert_eq!(last.sequence, 1);
    assert_eq!(last.frame_sequence, 3, "it descends from the last frame");
    assert_eq!(
        last.hops,
        [1, 2],
        "at the end of the stream the message's own hops begin"
    );
    let (_, watcher) = Builder::line(2, "pass", json!({})).run();
    assert_eq!(watcher.from(2)[1].hops, [0, 1, 2]);
    assert_eq!(watcher.from(2)[1].frame_sequence, 0, "no pixels, no frame");
}

#[test]
fn fan_out_shares_the_frame_and_writing_copies_it() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 20, "width": 64, "height": 64 }));
    let fan = pipeline.stage("fan", json!({}));
    let left = pipeline.stage("pass", json!({}));
    let right = pipeline.stage("scribble", json!({}));
    pipeline.join(source, fan);
    pipeline.join(fan, left);
    pipeline.edge((fan, 1), (right, 0), Queue::default());
    let (report, watcher) = pipeline.run();
    adds_up(&report);
    let sent = watcher.from(source);
    let shared = watcher.from(left);
    let scribbled = watcher.from(right);
    assert_eq!((sent.len(), shared.len(), scribbled.len()), (20, 20, 40));
    for (n, seen) in sent.iter().enumerate() {
        assert_eq!(seen.pixels, shared[n].pixels, "the same memory");
        assert_eq!(
            seen.pixels,
            scribbled[2 * n + 1].pixels,
            "the original is untouched"
        );
        let (place, first) = scribbled[2 * n].pixels.unwrap();
        assert_eq!(first, 255);
        assert_ne!(place, seen.pixels.unwrap().0, "a copy");
    }
}

#[test]
fn a_steady_pipeline_allocates_no_frames() {
    let mut pipeline = Builder::line(500, "pass", json!({}));
    pipeline.0.stages[0].contestants[0].config =
        json!({ "count": 500, "width": 320, "height": 200 });
    for edge in &mut pipeline.0.edges {
        edge.queue.capacity = 2;
    }
    let (report, _) = pipeline.run();
    let frames = report.frames;
    // In two queues of two, in three stages, and one being returned.
    assert!(frames.allocated <= 8, "{frames:?}");
    assert_eq!(frames.allocated + frames.reused, 500);
    assert_eq!(frames.live, 0);
}

#[test]
fn frames_that_a_plugin_leaks_are_reported() {
    let mut pipeline = Builder::line(5, "act", json!({ "do": "leak", "on": 2 }));
    pipeline.0.stages[0].contestants[0].config = json!({ "count": 5, "width": 8, "height": 8 });
    let (report, _) = pipeline.run();
    assert_eq!(report.frames.live, 1);
    assert_eq!(
        report.stages[0].frames_left, 1,
        "attributed to the stage that allocated it"
    );
}

#[test]
fn every_policy_accounts_for_every_message() {
    for when_full in [
        WhenFull::Block,
        WhenFull::DropOldest,
        WhenFull::DropNewest,
        WhenFull::Latest,
    ] {
        let mut pipeline = Builder::line(400, "pass", json!({ "delay_us": 100 }));
        pipeline.0.edges[0].queue = queue(3, when_full);
        let (report, watcher) = pipeline.run();
        adds_up(&report);
        let edge = &report.edges[0];
        assert_eq!((edge.sent, edge.discarded), (400, 0), "{when_full:?}");
        assert_eq!(report.stages[1].dropped, edge.dropped);
        let numbers: Vec<_> = watcher
            .from(1)
            .iter()
            .map(|seen| seen.json["n"].as_i64().unwrap())
            .collect();
        assert!(numbers.is_sorted(), "{when_full:?} keeps the order");
        match when_full {
            WhenFull::Block => assert_eq!(edge.dropped, 0),
            WhenFull::DropNewest => assert_eq!(numbers[0], 1, "the first stays"),
            WhenFull::DropOldest | WhenFull::Latest => {
                assert_eq!(numbers.last(), Some(&400), "the last one arrives");
            }
        }
    }
}

#[test]
fn several_ports_and_several_edges_into_one() {
    let mut pipeline = Builder::new();
    let sources: Vec<_> = (0..3)
        .map(|_| pipeline.stage("source", json!({ "count": 100 })))
        .collect();
    let join = pipeline.stage("join", json!({}));
    for (index, source) in sources.into_iter().enumerate() {
        let when_full = if index == 1 {
            WhenFull::DropOldest
        } else {
            WhenFull::Block
        };
        pipeline.edge(
            (source, 0),
            (join, usize::from(index == 2)),
            queue(200, when_full),
        );
    }
    let (report, watcher) = pipeline.run();
    adds_up(&report);
    let seen = watcher.from(join);
    let at = |port| seen.iter().filter(|seen| seen.json["port"] == port).count();
    assert_eq!((at(0), at(1)), (200, 100));
    assert_eq!(
        seen.last().unwrap().json,
        json!({ "finish": 1 }),
        "when all inputs have ended"
    );
    assert_eq!(seen.len(), 301);
}

#[test]
fn cycles_end_when_all_messages_are_processed() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 20 }));
    let counter = pipeline.stage("count-down", json!({}));
    let way_back = pipeline.stage("pass", json!({}));
    let sink = pipeline.stage("pass", json!({}));
    pipeline.join(source, counter);
    pipeline.edge(
        (counter, 1),
        (way_back, 0),
        queue(1000, WhenFull::DropOldest),
    );
    pipeline.edge(
        (way_back, 0),
        (counter, 1),
        queue(1000, WhenFull::DropOldest),
    );
    pipeline.join(counter, sink);
    let (report, watcher) = pipeline.run();
    adds_up(&report);
    assert_eq!(
        watcher.from(sink).len(),
        20,
        "each number went round until nothing was left"
    );
    assert_eq!(report.stages[way_back].received, (1..=20).sum::<u64>());
}

#[test]
fn a_cycle_of_blocking_queues_does_not_start() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({}));
    let counter = pipeline.stage("count-down", json!({}));
    pipeline.join(source, counter);
    pipeline.edge((counter, 1), (counter, 1), Queue::default());
    let error = flowpipe_engine::run::Run::start(
        pipeline.0,
        crate::common::catalogue(),
        flowpipe_engine::run::Options::default(),
    );
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("cycle of blocking queues")
    );
}

#[test]
fn a_receiver_that_ends_early_ends_its_source() {
    let (report, _) = Builder::line(u64::MAX >> 1, "act", json!({ "do": "end", "on": 10 })).run();
    adds_up(&report);
    assert_eq!(report.failure, None);
    assert_eq!(report.stages[1].received, 10);
    assert_eq!(report.stages[2].received, 9);
}

#[test]
fn stopping_drains_or_drops() {
    for on_stop in [OnStop::Drain, OnStop::Drop] {
        let mut pipeline = Builder::line(u64::MAX >> 1, "pass", json!({ "delay_us": 2000 }));
        pipeline.0.on_stop = on_stop;
        let watcher = Arc::new(Watcher::default());
        let run = pipeline.start(&watcher);
        until("a full queue", || run.progress().stages[1].queued >= 15);
        run.stop();
        let report = finish(run);
        adds_up(&report);
        assert!(report.stopped && report.failure.is_none());
        let discarded: u64 = report.edges.iter().map(|edge| edge.discarded).sum();
        match on_stop {
            OnStop::Drain => {
                assert_eq!(discarded, 0);
                assert_eq!(report.stages[2].received, report.stages[0].emitted);
            }
            OnStop::Drop => assert!(discarded >= 10, "{discarded} of 16 were dropped"),
        }
    }
}

/// A stage may wait for a time that is years away, or for somebody who never comes.
#[test]
fn a_run_that_is_stopped_ends_stages_that_wait() {
    for on_stop in [OnStop::Drain, OnStop::Drop] {
        let mut pipeline = Builder::line(u64::MAX >> 1, "act", json!({ "do": "wait" }));
        pipeline.0.on_stop = on_stop;
        let watcher = Arc::new(Watcher::default());
        let run = pipeline.start_with(Options {
            observers: vec![watcher.clone()],
            last_wait: Duration::from_millis(20),
            ..Options::default()
        });
        until("a full queue", || run.progress().stages[1].queued >= 15);
        run.stop();
        let report = finish(run);
        adds_up(&report);
        assert!(report.stopped && report.failure.is_none());
        // What is lost is counted: the message that waited, and those behind it.
        assert_eq!(report.stages[1].timed_out, 1);
        let discarded: u64 = report.edges.iter().map(|edge| edge.discarded).sum();
        assert!(discarded >= 15, "{discarded} of 16 were left");
        let problem = watcher.problem();
        assert_eq!(problem.kind, ProblemKind::TimedOut);
        assert!(problem.text.contains("is lost"), "{problem}");
    }
}

#[test]
fn stopping_twice_or_aborting_cancels_the_current_calls() {
    for abort in [false, true] {
        let pipeline = Builder::line(u64::MAX >> 1, "act", json!({ "do": "slow" }));
        let watcher = Arc::new(Watcher::default());
        let run = pipeline.start(&watcher);
        until("a call in progress", || {
            run.progress().stages[1].received == 1
        });
        let stopper = run.stopper();
        if abort {
            stopper.abort();
        } else {
            stopper.stop();
            stopper.stop();
        }
        let report = finish(run);
        adds_up(&report);
        assert_eq!(watcher.problems(), [], "it noticed");
    }
}

#[test]
fn a_source_in_a_loop_of_its_own_is_stopped_by_emit() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("burst", json!({}));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("some messages", || run.progress().stages[1].received > 100);
    run.stop();
    let report = finish(run);
    adds_up(&report);
    assert_eq!(report.stages[0].emitted, report.stages[1].received);
    assert_eq!(watcher.problems(), []);
}

#[test]
fn marks_give_the_time_from_capture() {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 10, "width": 4, "height": 4 }));
    let slow = pipeline.stage("pass", json!({ "delay_us": 1000 }));
    let sinks = [
        pipeline.stage("sink", json!({})),
        pipeline.stage("sink", json!({})),
    ];
    pipeline.join(source, slow);
    for sink in sinks {
        pipeline.join(slow, sink);
    }
    let (report, watcher) = pipeline.run();
    let mut marks = watcher.marks();
    marks.retain(|(_, _, message)| *message == Some(3));
    marks.sort();
    let mark = |stage: usize| (stage, "action".to_owned(), Some(3));
    assert_eq!(marks, sinks.map(mark), "the observer sees every mark");
    let action = report.marks["action"].time;
    assert_eq!(
        action.count, 10,
        "two sinks mark each frame, the first counts"
    );
    assert!(
        action.p50_ns >= 1_000_000 && action.max_ns >= action.p95_ns,
        "{action:?}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["marks"]["action"]["count"], 10);
    assert_eq!(json["stages"][0]["out"], 10);
}

#[test]
fn a_stage_can_end_the_run_with_a_reason() {
    for (what, how) in [("end-done", Ending::Done), ("end-stopped", Ending::Stopped)] {
        let mut pipeline = Builder::line(1_000_000, "act", json!({ "do": what, "on": 5 }));
        pipeline.0.stages[0].contestants[0].config = json!({ "delay_us": 500 });
        let (report, watcher) = pipeline.run();
        let ended = report.ended.clone().unwrap();
        assert_eq!((ended.stage.as_str(), ended.how), ("act-1", how));
        assert!(["enough", "hands off"].contains(&ended.reason.as_str()));
        assert_eq!((report.failure.clone(), report.stopped), (None, false));
        assert_eq!(watcher.problems(), []);
        adds_up(&report);
    }
}

#[test]
fn a_stage_sees_that_the_run_ends_without_being_cancelled() {
    // Draining cancels only sources; a stage that holds the mouse queries the run.
    let pipeline = Builder::line(3, "act", json!({ "do": "until-ending", "on": 1 }));
    let watcher = Arc::new(Watcher::default());
    let run = pipeline.start(&watcher);
    until("a call in progress", || {
        run.progress().stages[1].received == 1
    });
    run.stop();
    let report = finish(run);
    assert_eq!((report.failure.clone(), report.ended.clone()), (None, None));
    assert_eq!(watcher.problems(), [], "giving up is no failure then");
    adds_up(&report);
}

#[test]
fn a_stage_knows_whether_the_run_is_dry() {
    for dry in [false, true] {
        let watcher = Arc::new(Watcher::default());
        let pipeline = Builder::line(1, "act", json!({ "do": "report-run" }));
        finish(pipeline.start_with(Options {
            observers: vec![watcher.clone()],
            dry,
            ..Options::default()
        }));
        let reported = &watcher.from(1)[0].json;
        assert_eq!(
            *reported,
            json!({ "dry": i32::from(dry), "ending": 0, "others": 0 })
        );
    }
}
