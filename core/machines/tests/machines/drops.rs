//! The rules of a full queue between two machines, through a link.

use flowpipe_config::pipeline::OnError;

use super::*;

const CAPACITY: usize = 3;
const COUNT: u64 = 100;

/// Both machines have agreed, and none runs.
fn agreed() -> [Machine; 2] {
    let machines = machines(2, None);
    for agreed in agree(&machines, [facts(), facts()]) {
        agreed.unwrap();
    }
    machines
}

/// source on `desk` -> slow on `rack`.
fn slow(when_full: WhenFull, source: serde_json::Value, delay_us: u64) -> Builder {
    let mut pipeline = Builder::line(0, "pass", json!({ "delay_us": delay_us }));
    pipeline.0.stages[0].contestants[0].config = source;
    pipeline.0.edges[0].queue = queue(CAPACITY, when_full);
    pipeline
}

/// Waits for both ends. Returns the reports of both, and the numbers that have arrived.
fn end(desk: Running, rack: Running) -> ([Report; 2], Vec<u64>) {
    let desk = std::thread::spawn(move || desk.finish());
    let (rack_report, watcher, ..) = rack.finish();
    let (report, ..) = desk.join().unwrap();
    let processed = watcher.from(1);
    let arrived = processed.iter().map(|it| it.json["n"].as_u64().unwrap());
    ([report, rack_report], arrived.collect())
}

/// What was sent has arrived, or was dropped and counted at its sender.
fn drops_are_at_the_sender(reports: &[Report; 2], arrived: &[u64], sent: u64) {
    let [desk, rack] = reports.each_ref().map(|it| &it.edges[0]);
    for report in reports {
        assert_eq!(report.failure, None);
        edges_add_up(report);
    }
    assert_eq!((desk.sent, rack.dropped), (sent, 0), "{desk:?} {rack:?}");
    assert_eq!(desk.dropped, sent - arrived.len() as u64, "{desk:?}");
    assert_eq!(reports[0].stages[1].dropped, desk.dropped);
    assert_eq!(reports[1].stages[1].dropped, 0);
    assert!(arrived.is_sorted_by(|one, next| one < next), "{arrived:?}");
}

#[test]
fn a_queue_that_drops_keeps_what_its_rule_says() {
    let (first, last) = (1..=CAPACITY as u64, COUNT + 1 - CAPACITY as u64..=COUNT);
    for (when_full, kept) in [
        (WhenFull::DropOldest, last),
        (WhenFull::DropNewest, first),
        (WhenFull::Latest, COUNT..=COUNT),
    ] {
        let pipeline = slow(when_full, json!({ "count": COUNT }), 0);
        let [desk, rack] = agreed();
        let desk = desk.start(&pipeline, &[0], LONG);
        // The other machine grants nothing before it runs.
        common::until("all is sent", || {
            desk.run.progress().stages[0].emitted == COUNT
        });
        let rack = rack.start(&pipeline, &[1, 2], LONG);
        let (reports, arrived) = end(desk, rack);
        assert_eq!(arrived, kept.collect::<Vec<_>>(), "{when_full:?}");
        drops_are_at_the_sender(&reports, &arrived, COUNT);
    }
}

#[test]
fn a_slow_receiver_gets_what_the_rule_of_its_queue_keeps() {
    // Ten messages come while one is processed.
    let source = json!({ "count": COUNT, "delay_us": 1_000 });
    // In work, granted, and read already.
    let ahead = 3;
    for when_full in [WhenFull::DropOldest, WhenFull::DropNewest, WhenFull::Latest] {
        let pipeline = slow(when_full, source.clone(), 10_000);
        let [desk, rack] = agreed();
        // It is ready.
        let rack = rack.start(&pipeline, &[1, 2], LONG);
        let desk = desk.start(&pipeline, &[0], LONG);
        let (reports, arrived) = end(desk, rack);
        drops_are_at_the_sender(&reports, &arrived, COUNT);
        let dropped = reports[0].edges[0].dropped;
        assert!(dropped > COUNT / 2, "{when_full:?}: {dropped}");
        let newest = |count: usize| arrived[arrived.len() - count..].to_vec();
        match when_full {
            WhenFull::DropNewest => {
                // The first ones are all kept.
                let kept: Vec<_> = (1..=CAPACITY as u64).collect();
                assert_eq!(arrived[..CAPACITY], kept, "{arrived:?}");
            }
            WhenFull::Latest => {
                assert_eq!(newest(1), [COUNT], "{arrived:?}");
                // What was not on its way is gone at once.
                let before = newest(ahead + 2)[0];
                assert!(before < COUNT - 5, "{arrived:?}");
            }
            _ => assert_eq!(
                newest(CAPACITY),
                [COUNT - 2, COUNT - 1, COUNT],
                "{arrived:?}"
            ),
        }
    }
}

#[test]
fn a_queue_that_blocks_stops_its_sender() {
    const PASSED: u64 = 10;
    let mut pipeline = slow(WhenFull::Block, json!({ "count": COUNT }), 0);
    let stage = &mut pipeline.0.stages[1];
    stage.contestants[0].plugin = "act".to_owned();
    stage.contestants[0].config = json!({ "do": "slow", "on": PASSED + 1 });
    stage.timeout = Some(Duration::from_secs(4));
    stage.on_error = OnError::Skip;
    let [desk, rack] = agreed();
    let desk = desk.start(&pipeline, &[0], LONG);
    let rack = rack.start(&pipeline, &[1, 2], LONG);
    common::until("it blocks", || {
        rack.run.progress().stages[1].received > PASSED
    });
    let emitted = until_still("the sender stops", || desk.run.progress().stages[0].emitted);
    // The one in work, the queue, three under way, and the one that waits to be emitted.
    let most = PASSED + 1 + CAPACITY as u64 + 3 + 1;
    let least = PASSED + 1 + CAPACITY as u64;
    assert!((least..=most).contains(&emitted), "{emitted}");
    let (reports, arrived) = end(desk, rack);
    // That one is cancelled, and the others follow.
    let expected = (1..=COUNT).filter(|it| *it != PASSED + 1);
    assert_eq!(arrived, expected.collect::<Vec<_>>());
    for report in &reports {
        assert_eq!(report.edges[0].dropped, 0);
        edges_add_up(report);
    }
}
