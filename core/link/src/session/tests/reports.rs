//! When an end reports what has arrived, and which messages are finished.

use super::*;

/// So many messages of end 0 have room at end 1 that no credit is sent between reports.
const ROOM: u64 = 1000;

/// Both ends are connected, know everything of each other, and send no ping soon.
fn connected() -> Network {
    let mut network = Network::new(1, false, false);
    network.ends[1].session.receive_on(0, ROOM);
    network.settle(0);
    network
}

fn report_ns() -> i64 {
    Timing::default().report_ns
}

/// A message of end 0 arrives at end 1.
fn arrive(network: &mut Network) {
    assert!(network.ends[0].send(0, 0));
    network.transmit(0, 0, 99);
    network.deliver(0, 1, 99);
}

/// End 1 finishes all messages that have arrived.
fn finish_all(network: &mut Network) {
    network.take(1, 0);
    let end = &mut network.ends[1];
    (0..end.held.len()).for_each(|_| end.finish_one(0));
}

/// End 1 sends what it has to send now, and that arrives. Returns how many packets it is.
fn report(network: &mut Network) -> usize {
    network.transmit(0, 1, 99);
    let packets = network.wires[0].packets[0].len();
    network.deliver(0, 0, 99);
    network.take(0, 0);
    packets
}

/// When end 1 has something to do without further input.
fn next_tick_ns(network: &Network) -> Option<i64> {
    network.ends[1].session.next_tick_ns()
}

#[test]
fn many_messages_that_follow_each_other_cause_few_reports() {
    let mut network = connected();
    let step = report_ns() / 40;
    let first = network.now_ns + step;
    let mut times = Vec::new();
    for _ in 0..400 {
        network.now_ns += step;
        arrive(&mut network);
        finish_all(&mut network);
        let packets = report(&mut network);
        assert!(packets <= 1, "{packets}");
        times.extend((packets == 1).then_some(network.now_ns));
    }
    assert_eq!(times.first(), Some(&first), "it goes at once");
    let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(pauses.min() >= Some(report_ns()), "{times:?}");
    assert_eq!(times.len(), 10);
    network.settle(0);
    network.check_complete();
}

#[test]
fn what_is_owed_goes_with_an_item_that_is_sent_anyway() {
    let mut network = connected();
    arrive(&mut network);
    assert_eq!(report(&mut network), 1);
    // The number of what has arrived is part of each item.
    network.now_ns += report_ns() / 4;
    arrive(&mut network);
    assert_eq!(report(&mut network), 0, "it is not due");
    assert!(network.ends[1].send(0, 0));
    assert_eq!(report(&mut network), 1);
    assert_eq!(network.ends[0].arrived[0], 2);
    // What is finished is an item of its own.
    network.now_ns += report_ns() / 4;
    finish_all(&mut network);
    assert_eq!(report(&mut network), 0, "it is not due");
    assert!(network.ends[1].send(0, 0));
    assert_eq!(report(&mut network), 2);
    assert_eq!(network.ends[0].finished.len(), 2);
    // Nothing is left to report.
    network.now_ns += 2 * report_ns();
    assert_eq!(report(&mut network), 0);
    assert!(next_tick_ns(&network) > Some(network.now_ns));
}

#[test]
fn what_is_owed_is_sent_when_it_is_due() {
    let mut network = connected();
    arrive(&mut network);
    assert!(next_tick_ns(&network).is_some_and(|it| it <= network.now_ns));
    assert_eq!(report(&mut network), 1);
    let due = network.now_ns + report_ns();
    network.now_ns += report_ns() / 4;
    arrive(&mut network);
    finish_all(&mut network);
    assert!(next_tick_ns(&network).is_some_and(|it| it <= due));
    network.now_ns = due - 1;
    assert_eq!(report(&mut network), 0);
    assert!(next_tick_ns(&network).is_some_and(|it| it <= due));
    network.now_ns = due;
    assert_eq!(report(&mut network), 1);
    assert_eq!(network.ends[0].finished.len(), 2);
    assert_eq!(network.ends[0].arrived[0], 2);
    // Until something else is to be sent, its owner can sleep.
    assert_eq!(report(&mut network), 0);
    assert!(next_tick_ns(&network) > Some(due + report_ns()));
}

#[test]
fn what_is_owed_waits_for_a_connection() {
    let mut network = connected();
    arrive(&mut network);
    assert_eq!(report(&mut network), 1);
    arrive(&mut network);
    finish_all(&mut network);
    for (id, end) in network.wires[0].ids.into_iter().zip(&mut network.ends) {
        end.session.close(id.unwrap());
    }
    network.wires.clear();
    assert_eq!(next_tick_ns(&network), None);
    network.settle(0);
    network.check_complete();
}

/// Its peer can't learn of that: nothing comes behind the last item.
#[test]
fn what_is_finished_after_the_last_item_is_not_sent_for_ever() {
    let mut network = connected();
    (0..3).for_each(|_| arrive(&mut network));
    network.take(1, 0);
    network.ends[1].finish();
    assert_eq!(report(&mut network), 1);
    assert!(network.ends[0].peer_has_finished);
    for _ in 0..3 {
        network.now_ns += report_ns();
        network.ends[1].finish_one(0);
        let packets = report(&mut network);
        assert!(packets <= 1, "{packets}");
        assert_eq!(report(&mut network), 0);
        assert!(next_tick_ns(&network) > Some(network.now_ns));
    }
    assert!(network.ends[1].held.is_empty());
    assert!(network.ends[0].finished.is_empty());
    network.ends[0].finish();
    network.settle(0);
    network.check_finished();
}
