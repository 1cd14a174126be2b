//! Pipelines that change while they run: nothing is lost, nothing comes twice, nothing grows, and what fails changes
//! nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::{OnError, OnStop, Pipeline, WhenFull};
use flowpipe_engine::run::ChangeError;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::common::reloading::{adds_up, line, numbers, start};
use crate::common::{Builder, Watcher, catalogue, finish, queue, until};

/// Threads and open files of this process.
#[cfg(target_os = "linux")]
fn held() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// Memory of this process, kilobytes.
#[cfg(target_os = "linux")]
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_thousand_swaps_under_load_lose_nothing_and_keep_the_state() {
    let mut pipeline = line(10_000_000, "counter", json!({})).0;
    pipeline.stages[0].contestants[0].config =
        json!({ "count": 10_000_000, "width": 16, "height": 16 });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("the first message", || run.progress().stages[3].emitted > 0);
    #[cfg(target_os = "linux")]
    let mut before = (held(), memory());
    let began = Instant::now();
    for swap in 0..1000_u64 {
        let (plugin, config) = match swap % 4 {
            0 => ("counter-too", json!({})),
            1 => ("counter-too", json!({ "do": "other" })),
            2 => ("counter", json!({ "do": "other" })),
            _ => ("counter", json!({})),
        };
        let middle = &mut pipeline.stages[2].contestants[0];
        (middle.plugin, middle.config) = (plugin.to_owned(), config);
        let changes = run.change(pipeline.clone(), catalogue()).unwrap();
        assert!(changes.to_string().contains("state kept"), "{changes}");
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "stuck at {swap}"
        );
        #[cfg(target_os = "linux")]
        if swap == 100 {
            before = (held(), memory());
        }
    }
    #[cfg(target_os = "linux")]
    let after = (held(), memory());
    run.stop();
    let report = finish(run);
    assert_eq!(report.failure, None);
    adds_up(&report);
    let seen = watcher.from(3);
    assert!(seen.len() > 1000, "it was not under load: {}", seen.len());
    for (number, seen) in (1..).zip(&seen) {
        assert_eq!(seen.json["n"], number, "in order, each once");
        assert_eq!(seen.json["count"], number, "the count goes on");
        assert_eq!(seen.sequence, number);
        assert_eq!(seen.hops, [0, 1, 2, 3]);
    }
    assert_eq!(report.stages.len(), 4);
    assert_eq!(report.edges.len(), 3);
    assert_eq!(report.stages[2].received, seen.len() as u64);
    #[cfg(target_os = "linux")]
    {
        // Other tests run in this process too.
        assert!(after.0.0 < before.0.0 + 60, "threads: {before:?} {after:?}");
        assert!(after.0.1 < before.0.1 + 60, "files: {before:?} {after:?}");
        // What the watcher remembers is most of it.
        let remembered = 4 * seen.len() as u64 * 1200 / 1024;
        assert!(
            after.1 < before.1 + remembered + (64 << 10),
            "kilobytes: {before:?} {after:?}, {remembered} remembered"
        );
    }
}

#[test]
fn what_is_the_same_is_left_alone() {
    let pipeline = line(50_000, "pass", json!({}));
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline.0, &watcher);
    let changes = run.change(pipeline.0.clone(), catalogue()).unwrap();
    assert!(changes.is_empty(), "{changes}");
    let mut other = pipeline.0.clone();
    other.name = "other".into();
    other.on_stop = OnStop::Drop;
    let changes = run.change(other, catalogue()).unwrap();
    assert_eq!(changes.to_string(), "on_stop; from the next run on: name");
    run.stop();
    finish(run);
}

#[test]
fn what_fails_changes_nothing_and_says_why() {
    let pipeline = line(10_000_000, "counter", json!({})).0;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    let attempt = |plugin: &str, config: Value| {
        let mut other = pipeline.clone();
        let middle = &mut other.stages[2].contestants[0];
        (middle.plugin, middle.config) = (plugin.to_owned(), config);
        // Another stage changes too: both or none.
        other.stages[1].contestants[0].config = json!({ "do": "other" });
        run.change(other, catalogue()).unwrap_err().to_string()
    };
    for (plugin, config, reason) in [
        (
            "counter",
            json!({ "create": "fail" }),
            "counter can't create: no memory",
        ),
        (
            "counter",
            json!({ "create": "bad-config" }),
            "can't create: the config can't be used: n < 0",
        ),
        (
            "counter",
            json!({ "create": "fail-to-activate" }),
            "can't activate: no device",
        ),
        (
            "counter",
            json!({ "state": "no-load" }),
            "counter can't take over the state: too much to remember",
        ),
        (
            "counter-too",
            json!({ "state": "no-load" }),
            "counter-too can't take over the state",
        ),
        (
            "counter",
            json!({ "state": "stranger" }),
            "does not know the format \"counter/1\"",
        ),
        ("nobody", json!({}), "there is no plugin \"nobody\""),
        (
            "join",
            json!({}),
            "join has other inputs or outputs than counter",
        ),
    ] {
        let before = run.progress().stages[3].emitted;
        let told = attempt(plugin, config);
        assert!(told.contains(reason) && told.contains("middle"), "{told}");
        until("it goes on", || {
            run.progress().stages[3].emitted > before + 10
        });
    }
    run.stop();
    let report = finish(run);
    adds_up(&report);
    assert_eq!(report.failure, None);
    for (number, seen) in (1..).zip(&watcher.from(3)) {
        assert_eq!(
            (&seen.json["n"], &seen.json["count"]),
            (&json!(number), &json!(number))
        );
    }
}

#[test]
fn a_state_that_can_not_be_told_keeps_the_old_one_and_a_stranger_begins_afresh() {
    for (state, reason) in [
        (
            "no-save",
            "counter can't hand over the state: nothing to tell",
        ),
        ("silent", "it saved nothing"),
        ("not-json", "its state is"),
    ] {
        let mut pipeline = line(10_000_000, "counter", json!({ "state": state })).0;
        let run = start(&pipeline, &Arc::default());
        pipeline.stages[2].contestants[0].config = json!({});
        let told = run.change(pipeline, catalogue()).unwrap_err().to_string();
        assert!(told.contains(reason), "{told}");
        run.stop();
        adds_up(&finish(run));
    }
    let mut pipeline = line(10_000_000, "counter", json!({ "state": "new" })).0;
    let run = start(&pipeline, &Arc::default());
    pipeline.stages[2].contestants[0].plugin = "counter-too".into();
    let changes = run.change(pipeline, catalogue()).unwrap();
    assert_eq!(changes.to_string(), "middle (counter -> counter-too)");
    run.stop();
    adds_up(&finish(run));
}

#[test]
fn a_stage_that_does_not_come_back_is_not_changed() {
    let mut pipeline = line(10_000_000, "act", json!({ "do": "slow", "on": 2 })).0;
    pipeline.stages[0].contestants[0].config = json!({ "count": 100_000, "delay_us": 1000 });
    // Nobody else waits for it.
    pipeline.edges[1].queue.capacity = 100_000;
    pipeline
        .stages
        .iter_mut()
        .for_each(|it| it.watchdog = Duration::from_millis(100));
    let run = start(&pipeline, &Arc::default());
    until("it sits on its message", || {
        run.progress().stages[2].received == 2
    });
    let before = pipeline.clone();
    pipeline.stages[1].contestants[0].config = json!({ "do": "other" });
    pipeline.stages[2].contestants[0].config = json!({});
    let error = run.change(pipeline, catalogue()).unwrap_err();
    assert!(
        matches!(&error, ChangeError::Busy { stage } if stage == "middle"),
        "{error}"
    );
    // What paused goes on: a change elsewhere is made.
    let mut elsewhere = before;
    elsewhere.stages[3].contestants[0].config = json!({ "do": "other" });
    assert_eq!(
        run.change(elsewhere, catalogue()).unwrap().to_string(),
        "after (config)"
    );
    run.abort();
    finish(run);
}

#[test]
fn a_stage_that_hangs_is_given_up_while_others_wait_for_it() {
    let mut pipeline = line(10_000_000, "act", json!({ "do": "hang", "on": 5 })).0;
    pipeline.stages[2].on_error = OnError::Skip;
    pipeline.stages[2].timeout = Some(Duration::from_millis(50));
    pipeline.stages[2].watchdog = Duration::from_millis(50);
    let run = start(&pipeline, &Arc::default());
    until("it hangs", || run.progress().stages[2].received == 5);
    pipeline.stages[2].contestants[0] = pipeline.stages[1].contestants[0].clone();
    let changes = run.change(pipeline, catalogue()).unwrap();
    assert_eq!(changes.to_string(), "middle (act -> pass)");
    until("it goes on", || run.progress().stages[3].emitted > 100);
    run.stop();
    assert_eq!(finish(run).stages[2].given_up, 1);
}

#[test]
fn a_sleeping_stage_wakes_up_to_be_changed() {
    let mut pipeline = line(3, "counter", json!({})).0;
    pipeline.stages[0].contestants[0].config = json!({ "count": 3, "delay_us": 1_000_000 });
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    pipeline.stages[1].contestants[0].config = json!({ "do": "other" });
    pipeline.stages[2].contestants[0].config = json!({ "do": "other" });
    run.change(pipeline, catalogue()).unwrap();
    let report = finish(run);
    adds_up(&report);
    assert_eq!(numbers(&watcher, 3), [1, 2, 3]);
}

#[test]
fn stages_come_and_go() {
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
                // It was taken out, and works off what it was given.
                Err(ChangeError::Leaving { .. }) => attempts += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(attempts < 60_000);
            std::thread::sleep(Duration::from_millis(1));
        };
        let told = changes.to_string();
        assert!(
            told.contains("extra (added: pass)") && told.contains("after (from)"),
            "{told}"
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
    // What the extra stage worked off may come after what went past it.
    seen.sort_unstable();
    assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
    assert_eq!(report.edges.len(), 6);
}

#[test]
fn a_narrower_queue_loses_nothing() {
    let mut pipeline = line(10_000_000, "counter", json!({ "delay_us": 200 })).0;
    pipeline.edges[1].queue = queue(64, WhenFull::Block);
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    for capacity in [1, 64, 3, 1, 64] {
        until("it fills", || run.progress().stages[2].queued > 0);
        std::thread::sleep(Duration::from_millis(20));
        pipeline.edges[1].queue.capacity = capacity;
        pipeline.stages[2].contestants[0].config =
            json!({ "delay_us": 200, "do": capacity.to_string() });
        run.change(pipeline.clone(), catalogue()).unwrap();
        assert_eq!(run.progress().stages[2].capacity, capacity as u64);
    }
    run.stop();
    adds_up(&finish(run));
    let seen = numbers(&watcher, 3);
    assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
}

#[test]
fn a_race_is_changed_as_a_whole_and_who_stays_the_same_stays() {
    let mut pipeline = line(10_000_000, "counter", json!({})).0;
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    let alone = pipeline.stages[2].contestants[0].clone();
    for round in 0..100 {
        // The one with the count answers, the other says nothing for a while and is cancelled.
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
        until("it goes on", || run.progress().stages[3].emitted > before);
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
fn a_source_changes_between_two_ticks_and_can_be_taken_out() {
    let mut pipeline = line(10_000_000, "pass", json!({})).0;
    let second = pipeline.stages[0].clone();
    let watcher = Arc::new(Watcher::default());
    let run = start(&pipeline, &watcher);
    until("it works", || run.progress().stages[3].emitted > 10);
    pipeline.stages[0].contestants[0].config = json!({ "count": 10_000_000, "do": "other" });
    run.change(pipeline.clone(), catalogue()).unwrap();
    // It begins with 1 again, as a new source.
    until("it begins again", || {
        numbers(&watcher, 0).iter().filter(|n| **n == 1).count() == 2
    });
    let sequences: Vec<_> = watcher.from(0).iter().map(|seen| seen.sequence).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    // Another in its place: the rest of the pipeline goes on with that.
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
fn a_cycle_ends_as_it_should_after_changes() {
    // source -> count -> sink, with a way back that drops nothing because it never fills.
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
    // A way back that goes past the stage, and one through another: the cycle is another one.
    let mut straight = pipeline.0.clone();
    straight.stages.remove(back);
    straight.edges.truncate(2);
    for edge in &mut straight.edges {
        let down = |stage: &mut usize| *stage -= usize::from(*stage > back);
        down(&mut edge.from.stage);
        down(&mut edge.to.stage);
    }
    let mut way_back = straight.edges[0];
    way_back.from.stage = count;
    way_back.from.port = 1;
    way_back.to.stage = count;
    way_back.to.port = 1;
    way_back.queue = queue(100_000, WhenFull::DropNewest);
    straight.edges.push(way_back);
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
        "each number came down to nothing"
    );
    adds_up(&report);
}

#[test]
fn the_run_ends_while_it_is_changed() {
    for round in 0..50 {
        let mut pipeline = line(200, "counter", json!({})).0;
        let watcher = Arc::new(Watcher::default());
        let run = start(&pipeline, &watcher);
        let changer = run.changer();
        let thread = std::thread::spawn(move || {
            for swap in 0..1000 {
                pipeline.stages[2].contestants[0].config = json!({ "do": swap.to_string() });
                if changer.change(pipeline.clone(), catalogue()).is_err() {
                    return;
                }
            }
        });
        if round % 2 == 0 {
            run.stop();
        }
        let report = finish(run);
        thread.join().unwrap();
        assert_eq!(report.failure, None);
        adds_up(&report);
        let seen = numbers(&watcher, 3);
        assert_eq!(seen, (1..=seen.len() as i64).collect::<Vec<_>>());
    }
}

/// Something that is changed.
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
    /// A stage that is fed by the middle too, and feeds nobody.
    Side(bool),
    /// How long the run goes on before the next, microseconds.
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
        until("it goes on", || run.progress().stages[3].emitted > before);
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
