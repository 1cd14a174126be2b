//! Cycles whose stages are on two machines end when all their messages are processed.

use flowpipe_config::pipeline::OnError;
use flowpipe_engine::run::Stopper;
use serde_json::Value;

use super::*;

/// The machines of the stages: the source, the one that counts down, the one on the way back, the sink.
const DIVISIONS: [[usize; 4]; 4] = [[0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]];
pub const COUNT: u64 = 40;
/// How many numbers go round where a plugin hangs.
const FEW: u64 = 6;

pub fn cycle(when_full: WhenFull) -> Builder {
    cycle_of(json!({ "count": COUNT }), &[("pass", json!({}))], when_full)
}

/// `source`: the config of its source. `way_back`: the plugins of its way back.
fn cycle_of(source: Value, way_back: &[(&str, Value)], when_full: WhenFull) -> Builder {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", source);
    let counter = pipeline.stage("count-down", json!({}));
    let way_back = pipeline.race(way_back);
    let sink = pipeline.stage("pass", json!({}));
    pipeline.join(source, counter);
    let large = queue(1000, WhenFull::DropOldest);
    pipeline.edge((counter, 1), (way_back, 0), queue(1000, when_full));
    pipeline.edge((way_back, 0), (counter, 1), large);
    pipeline.join(counter, sink);
    pipeline
}

impl Running {
    /// Waits for the end of the run, and lets the machines know of each other's idleness meanwhile. Returns also how often
    /// the connection was lost.
    fn end_with_cycles(self) -> (Report, Arc<Watcher>, usize) {
        let mut has_sent = false;
        let began = Instant::now();
        while !self.run.is_over() {
            assert!(
                began.elapsed() < 4 * LONG,
                "stuck: {:#?}",
                self.run.progress()
            );
            for cycle in &self.cycles {
                has_sent = has_sent || cycle.is_idle() && self.bridge.send_idle(cycle.index());
                let other = BridgeEvent::Idle {
                    cycle: cycle.index(),
                };
                if self.events.lock().unwrap().contains(&other) {
                    cycle.others_are_idle();
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let (report, watcher, events, _) = self.finish();
        (report, watcher, disconnections(&events))
    }
}

fn ends(division: [usize; 4], when_full: WhenFull, cuts: usize) {
    let pipeline = match cuts {
        0 => cycle(when_full),
        // Until all cuts are done: each number goes round more often.
        _ => cycle_of(
            json!({ "count": WITHOUT_END, "delay_us": 5_000 }),
            &[("pass", json!({}))],
            when_full,
        ),
    };
    let mut proxy = None;
    let machines = machines(4, (cuts > 0).then_some(&mut proxy));
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let here = |machine: usize| -> Vec<usize> {
        (0..4).filter(|&stage| division[stage] == machine).collect()
    };
    let mut number = 0;
    let running = machines.map(|machine| {
        number += 1;
        machine.start(&pipeline, &here(number - 1), LONG)
    });
    let stoppers = running.each_ref().map(|it| it.run.stopper());
    let [desk, rack] = running;
    let rack = std::thread::spawn(move || rack.end_with_cycles());
    if let Some(proxy) = &proxy {
        assert!(proxy.cut_often(cuts) >= cuts);
        stoppers.iter().for_each(Stopper::stop);
    }
    let (report, watcher, disconnections) = desk.end_with_cycles();
    let (other_report, ..) = rack.join().unwrap();
    let source = [&report, &other_report][division[0]];
    let count = source.stages[0].emitted;
    if cuts == 0 {
        assert_eq!(count, COUNT);
    }
    assert!(disconnections >= cuts / 2, "{disconnections}");
    assert_eq!((&report.failure, &other_report.failure), (&None, &None));
    // Each number went round until nothing was left.
    assert_eq!(watcher.from(3).len() as u64, count, "{division:?}");
    let way_back = [&report, &other_report][division[2]];
    assert_eq!(
        way_back.stages[2].received,
        (1..=count).sum::<u64>(),
        "{division:?}"
    );
}

#[test]
fn a_cycle_on_two_machines_ends_when_all_messages_are_processed() {
    for division in DIVISIONS {
        for when_full in [WhenFull::Block, WhenFull::DropOldest] {
            ends(division, when_full, 0);
        }
    }
}

#[test]
fn cuts_do_not_end_a_cycle() {
    for division in DIVISIONS {
        ends(division, WhenFull::Block, 5);
    }
}

/// Runs a cycle whose way back is on another machine, where a plugin hangs. Returns how many numbers went round until
/// nothing was left, and how many plugins were abandoned.
fn end_despite_hang(way_back: &[(&str, Value)]) -> (usize, u64) {
    const SHORT: Duration = Duration::from_millis(500);
    let source = json!({ "count": FEW });
    let mut pipeline = cycle_of(source, way_back, WhenFull::Block);
    let stage = &mut pipeline.0.stages[2];
    stage.on_error = OnError::Skip;
    stage.watchdog = SHORT;
    // A race abandons those that do not notice that another one has answered.
    stage.timeout = (way_back.len() == 1).then_some(SHORT);
    let machines = machines(4, None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = machines;
    let desk = desk.start(&pipeline, &[0, 1, 3], LONG);
    let rack = rack.start(&pipeline, &[2], LONG);
    let rack = std::thread::spawn(move || rack.end_with_cycles());
    let (report, watcher, _) = desk.end_with_cycles();
    let (other_report, ..) = rack.join().unwrap();
    assert_eq!((&report.failure, &other_report.failure), (&None, &None));
    (watcher.from(3).len(), other_report.stages[2].abandoned)
}

#[test]
fn a_cycle_ends_although_a_plugin_hangs_on_the_other_machine() {
    let hangs = ("act", json!({ "do": "hang", "on": 5 }));
    // One number is lost.
    assert_eq!(end_despite_hang(&[hangs]), (FEW as usize - 1, 1));
}

#[test]
fn a_cycle_ends_although_a_plugin_hangs_in_a_race_on_the_other_machine() {
    // Slow, so that the other one takes a message too, also on a busy machine.
    let answers = ("pass", json!({ "delay_us": 50_000 }));
    let hangs = ("act", json!({ "do": "hang" }));
    let (numbers, abandoned) = end_despite_hang(&[hangs, answers]);
    assert_eq!(numbers, FEW as usize);
    assert!(abandoned >= 1);
}
