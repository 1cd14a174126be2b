//! Cycles whose stages are on two machines end when all their messages are processed.

use super::*;

/// The machines of the stages: the source, the one that counts down, the one on the way back, the sink.
const DIVISIONS: [[usize; 4]; 4] = [[0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]];
pub const COUNT: u64 = 40;

pub fn cycle(when_full: WhenFull) -> Builder {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": COUNT }));
    let counter = pipeline.stage("count-down", json!({}));
    let way_back = pipeline.stage("pass", json!({}));
    let sink = pipeline.stage("pass", json!({}));
    pipeline.join(source, counter);
    let large = queue(1000, WhenFull::DropOldest);
    pipeline.edge((counter, 1), (way_back, 0), queue(1000, when_full));
    pipeline.edge((way_back, 0), (counter, 1), large);
    pipeline.join(counter, sink);
    pipeline
}

impl Running {
    /// Waits for the end of the run, and lets the machines know of each other's idleness meanwhile. `own`: its number.
    fn end_with_cycles(self, own: usize) -> (Report, Arc<Watcher>) {
        let mut has_sent = false;
        while !self.run.is_over() {
            for cycle in &self.cycles {
                has_sent = has_sent || cycle.is_idle() && self.bridge.send_idle(cycle.index(), own);
                let other = BridgeEvent::Idle {
                    cycle: cycle.index(),
                    machine: 1 - own,
                };
                if self.events.lock().unwrap().contains(&other) {
                    cycle.others_are_idle();
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let (report, watcher, ..) = self.finish();
        (report, watcher)
    }
}

fn ends(division: [usize; 4], when_full: WhenFull, cuts: usize) {
    let pipeline = cycle(when_full);
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
    let [desk, rack] = running;
    let rack = std::thread::spawn(move || rack.end_with_cycles(1));
    if let Some(proxy) = &proxy {
        proxy.cut_often(cuts);
    }
    let (report, watcher) = desk.end_with_cycles(0);
    let (other_report, _) = rack.join().unwrap();
    assert_eq!((&report.failure, &other_report.failure), (&None, &None));
    // Each number went round until nothing was left.
    assert_eq!(watcher.from(3).len() as u64, COUNT, "{division:?}");
    let way_back = [&report, &other_report][division[2]];
    assert_eq!(
        way_back.stages[2].received,
        (1..=COUNT).sum::<u64>(),
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
