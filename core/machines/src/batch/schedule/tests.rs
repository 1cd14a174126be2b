//! The schedule with random events.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// An event of the schedule, of one of its workers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Give(usize),
    /// The first of its chunks, of which it has done so many in a hundred.
    Complete(usize, u64),
    Release(usize),
    Lose(usize),
    Allow(usize, usize),
    /// There are so many more items.
    Supply(u64),
}

fn step(workers: usize) -> impl Strategy<Value = Step> {
    let worker = 0..workers;
    prop_oneof![
        6 => worker.clone().prop_map(Step::Give),
        6 => (worker.clone(), 1_u64..=100).prop_map(|(worker, part)| Step::Complete(worker, part)),
        1 => worker.clone().prop_map(Step::Release),
        1 => worker.clone().prop_map(Step::Lose),
        3 => (worker, 1_usize..5).prop_map(|(worker, chunks)| Step::Allow(worker, chunks)),
        2 => (1_u64..40).prop_map(Step::Supply),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_each_result_is_delivered_once_and_in_order(
        items in 0_u64..300,
        held in prop_oneof![Just(0), Just(40_usize << 20)],
        steps in proptest::collection::vec(step(3), 0..400),
    ) {
        let known = |so_far: u64| Supply { items: so_far.min(items), is_complete: so_far > items };
        let mut so_far = 0;
        let mut schedule = Schedule::new(known(so_far), 3);
        let mut given: [BTreeSet<u64>; 3] = Default::default();
        let mut delivered = Vec::new();
        let mut now_us = 0;
        // At the end one worker does what is left.
        let last = (0..2_000).map(|turn| match turn % 3 {
            0 => Step::Allow(0, 2),
            1 => Step::Give(0),
            _ => Step::Complete(0, 100),
        });
        let lose = (0..3).map(Step::Lose).chain([Step::Supply(items + 1)]);
        for step in steps.into_iter().chain(lose).chain(last) {
            now_us += 300_000;
            match step {
                Step::Give(id) => if let Some(range) = schedule.give(id, now_us) {
                    prop_assert!(range.end <= items.min(so_far) && !range.is_empty());
                    prop_assert!(given[id].insert(range.start), "twice to one worker");
                },
                Step::Complete(id, part) => if let Some(first) = given[id].pop_first() {
                    let range = schedule.given(id, first).unwrap();
                    let count = ((range.end - range.start) * part).div_ceil(100);
                    let results: Vec<_> = (first..first + count).collect();
                    // Some find no room.
                    let heap_bytes = results.len() * held;
                    let answer = ChunkAnswer { results, sent_bytes: 10, heap_bytes, took_us: 1_000 };
                    schedule.complete(id, first, answer, now_us).unwrap();
                },
                Step::Release(id) => schedule.release(id),
                Step::Lose(id) => { schedule.lose(id); given[id].clear(); },
                Step::Allow(id, chunks) => schedule.allow(id, chunks),
                Step::Supply(more) => {
                    so_far += more;
                    schedule.set_supply(known(so_far));
                },
            }
            prop_assert!(!schedule.is_finished() || so_far > items);
            while let Some((first, results)) = schedule.next_results() {
                prop_assert_eq!(first, delivered.len() as u64);
                delivered.extend(results);
            }
        }
        prop_assert_eq!(delivered, (0..items).collect::<Vec<_>>());
        prop_assert!(schedule.is_finished());
    }
}

/// Results that take so many bytes.
fn answer_of<R>(results: Vec<R>, bytes: usize) -> ChunkAnswer<R> {
    ChunkAnswer {
        results,
        sent_bytes: bytes,
        heap_bytes: bytes,
        took_us: 1,
    }
}

#[test]
fn only_what_was_given_is_accepted() {
    let mut schedule = Schedule::new(Supply::all(10), 2);
    schedule.allow(0, 2);
    let given = schedule.give(0, 0).unwrap();
    assert_eq!(given, 0..1);
    let foreign = schedule.complete(1, 0, answer_of(vec![0], 1), 0);
    assert_eq!(foreign, Err(Mismatch::NotGiven));
    let more = schedule.complete(0, 0, answer_of(vec![0, 1], 1), 0);
    assert_eq!(more, Err(Mismatch::Results { found: 2, asked: 1 }));
    schedule.complete(0, 0, answer_of(vec![0], 1), 0).unwrap();
    let twice = schedule.complete(0, 0, answer_of(vec![0], 1), 0);
    assert_eq!(twice, Err(Mismatch::NotGiven));
}

#[test]
fn what_waits_for_a_slow_worker_is_bounded() {
    let mut schedule = Schedule::new(Supply::ENDLESS, 2);
    schedule.allow(0, 1);
    schedule.allow(1, 1);
    assert_eq!(schedule.give(0, 0), Some(0..1));
    let mut items = 0;
    while let Some(range) = schedule.give(1, 0) {
        let count = range.end - range.start;
        items += count;
        let results = vec![0; count as usize];
        // A megabyte each.
        let answer = answer_of(results, (count as usize) << 20);
        schedule.complete(1, range.start, answer, 0).unwrap();
    }
    assert!((60..80).contains(&items), "{items}");
    // It gets what the slow one has, once that takes long.
    assert_eq!(schedule.give(1, 10_000_000), Some(0..1));
}

#[test]
fn two_silent_workers_do_not_keep_a_chunk_from_a_third_one() {
    let mut schedule = Schedule::new(Supply::all(1), 3);
    (0..3).for_each(|id| schedule.allow(id, 1));
    assert_eq!(schedule.give(0, 0), Some(0..1));
    assert_eq!(schedule.give(1, 2_000_000), Some(0..1));
    // The second one may just not have answered yet.
    assert_eq!(schedule.give(2, 2_100_000), None);
    assert_eq!(schedule.awaited(), [0, 1]);
    assert_eq!(schedule.give(2, 4_000_000), Some(0..1));
    schedule.complete(2, 0, answer_of(vec![7], 1), 0).unwrap();
    assert_eq!(schedule.next_results(), Some((0, vec![7])));
    assert!(schedule.is_finished());
    assert_eq!(schedule.awaited(), [] as [usize; 0]);
}

/// Two workers with a chunk, which the second one has done at 2 s, after 0.5 s.
fn done_by_the_other() -> Schedule<u8> {
    let mut schedule = Schedule::new(Supply::all(9), 2);
    (0..2).for_each(|id| schedule.allow(id, 1));
    assert_eq!(schedule.give(0, 0), Some(0..1));
    // The last one of those that nobody has.
    for first in 1..9 {
        let given = schedule.give(1, 0).unwrap();
        assert_eq!(given.start, first);
        let results = vec![0; (given.end - given.start) as usize];
        schedule
            .complete(1, given.start, answer_of(results, 1 << 20), 0)
            .unwrap();
    }
    assert_eq!(schedule.give(1, 1_500_000), Some(0..1));
    schedule
        .complete(1, 0, answer_of(vec![0], 1), 2_000_000)
        .unwrap();
    schedule
}

#[test]
fn who_does_nothing_of_what_others_have_done_is_overdue() {
    let schedule = done_by_the_other();
    let overdue = |schedule: &Schedule<u8>, now_us| schedule.overdue(0, None, now_us);
    assert_eq!(overdue(&schedule, 10_000_000), None);
    let expected = Overdue {
        silent_us: 10_000_001,
        limit: TimeLimit::Others(500_000),
    };
    assert_eq!(overdue(&schedule, 10_000_001), Some(expected));
    assert_eq!(
        schedule.overdue(1, Some(1), 90_000_000),
        None,
        "it has nothing"
    );
    // It answers late.
    let mut answered = done_by_the_other();
    answered
        .complete(0, 0, answer_of(vec![0], 1), 9_000_000)
        .unwrap();
    assert_eq!(overdue(&answered, 60_000_000), None);
    let mut gone = done_by_the_other();
    gone.release(0);
    assert_eq!(overdue(&gone, 60_000_000), None, "it is not connected");
}

#[test]
fn who_works_on_what_nobody_has_done_is_not_overdue() {
    let mut schedule = Schedule::new(Supply::all(2), 2);
    schedule.allow(0, 2);
    schedule.allow(1, 1);
    assert_eq!(schedule.give(0, 0), Some(0..1));
    assert_eq!(schedule.give(0, 0), Some(1..2));
    assert_eq!(schedule.give(1, 2_000_000), Some(0..1));
    schedule
        .complete(1, 0, answer_of(vec![0], 1), 4_000_000)
        .unwrap();
    assert_eq!(schedule.overdue(0, None, 3_600_000_000), None);
    // The other one takes long too.
    assert_eq!(schedule.give(1, 5_000_000), Some(1..2));
    schedule
        .complete(1, 1, answer_of(vec![0], 1), 65_000_000)
        .unwrap();
    assert_eq!(schedule.overdue(0, None, 20 * 60_000_000), None);
    assert!(schedule.overdue(0, None, 20 * 60_000_000 + 1).is_some());
}

#[test]
fn who_takes_longer_than_its_items_may_is_overdue() {
    let mut schedule: Schedule<u8> = Schedule::new(Supply::all(2), 1);
    schedule.allow(0, 2);
    (0..2).for_each(|_| assert!(schedule.give(0, 1_000_000).is_some()));
    let overdue = |longest_us: u64, silent_us: u64| {
        let overdue = schedule.overdue(0, Some(longest_us), 1_000_000 + silent_us);
        overdue.map(|it| it.limit)
    };
    let both = Some(TimeLimit::Items(2));
    assert_eq!(
        [60_000_000, 60_000_001].map(|it| overdue(1_000, it)),
        [None, both]
    );
    assert_eq!(
        [80_000_000, 80_000_001].map(|it| overdue(10_000_000, it)),
        [None, both]
    );
    assert_eq!(overdue(u64::MAX, 3_600_000_000), None);
    assert_eq!(
        schedule.overdue(0, None, 3_600_000_000),
        None,
        "nothing limits it"
    );
}

#[test]
fn answers_to_chunks_that_are_given_already_are_bounded_too() {
    const EACH: usize = 16 << 20;
    let mut schedule = Schedule::new(Supply::all(60), 2);
    schedule.allow(0, 1);
    schedule.allow(1, 128);
    assert_eq!(schedule.give(0, 0), Some(0..1));
    let given: Vec<_> = std::iter::from_fn(|| schedule.give(1, 0)).collect();
    assert_eq!(given.last(), Some(&(59..60)));
    let answer = || answer_of(vec![()], EACH);
    for range in &given {
        schedule.complete(1, range.start, answer(), 0).unwrap();
        assert!(schedule.waiting() <= 64 << 20);
    }
    // What was dropped is done once there is room.
    assert_eq!(schedule.give(1, 0), None);
    schedule.complete(0, 0, answer(), 0).unwrap();
    let mut delivered = 0;
    while !schedule.is_finished() {
        while let Some((first, results)) = schedule.next_results() {
            assert_eq!(first, delivered);
            delivered += results.len() as u64;
        }
        while let Some(range) = schedule.give(1, 0) {
            schedule.complete(1, range.start, answer(), 0).unwrap();
        }
    }
    assert_eq!(delivered, 60);
}
