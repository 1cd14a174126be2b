//! Windows by count and by time.

use super::*;

#[test]
fn windows_by_count_overlap_or_leave_out() {
    let windows = |count: u64, step: u64, messages: u64| {
        let mut stage = harness!(
            Window,
            json!({ "schema": "x.w/1", "count": count, "step": step })
        )
        .unwrap();
        let mut all: Vec<_> = (0..messages)
            .flat_map(|number| send(&mut stage, json!(number)))
            .collect();
        all.extend(stage.finish().unwrap().into_iter().map(|it| it.body));
        all
    };
    assert_eq!(windows(2, 2, 5), [json!([0, 1]), json!([2, 3]), json!([4])]);
    assert_eq!(
        windows(3, 1, 5),
        [json!([0, 1, 2]), json!([1, 2, 3]), json!([2, 3, 4])]
    );
    assert_eq!(
        windows(3, 2, 6),
        [json!([0, 1, 2]), json!([2, 3, 4]), json!([4, 5])]
    );
    assert_eq!(windows(1, 3, 7), [json!([0]), json!([3]), json!([6])]);
    assert_eq!(windows(3, 1, 2), [json!([0, 1])]);
    assert!(windows(3, 1, 0).is_empty());
}

/// Each message is in a window, and in one only where windows do not overlap.
#[test]
fn other_windows_go_on_where_the_ones_before_ended() {
    let window = |count: u64, step: u64| {
        harness!(
            Window,
            json!({ "schema": "x.w/1", "count": count, "step": step })
        )
    };
    let changed = |before: [u64; 2], messages: u64, after: [u64; 2]| {
        let mut first = window(before[0], before[1]).unwrap();
        for number in 0..messages {
            send(&mut first, json!(number));
        }
        let mut stage = replaced(first, window(after[0], after[1]));
        let mut all: Vec<_> = (messages..messages + 2)
            .flat_map(|number| send(&mut stage, json!(number)))
            .collect();
        all.extend(stage.finish().unwrap().into_iter().map(|it| it.body));
        all
    };
    assert_eq!(
        changed([6, 6], 5, [2, 2]),
        [json!([0, 1]), json!([2, 3]), json!([4, 5]), json!([6])]
    );
    // The windows before overlap: those of 0 to 5 are sent.
    assert_eq!(changed([6, 2], 6, [2, 2]), [json!([6, 7])]);
    assert_eq!(
        changed([6, 6], 5, [1, 3]),
        [json!([0]), json!([3]), json!([6])]
    );
    assert_eq!(changed([2, 2], 1, [3, 3]), [json!([0, 1, 2])]);
}

/// Another instance with the state of this one, so many milliseconds later: by its clock, which starts with it, what
/// this one did was before its start.
fn later(ms: i64, mut old: Harness, new: Result<Harness>) -> Harness {
    let (format, mut state) = old.save().unwrap();
    let earlier = |time_ns: &mut Value| {
        if let Some(time) = time_ns.as_i64() {
            *time_ns = json!(time - ms * 1_000_000);
        }
    };
    earlier(&mut state["start_ns"]);
    for item in state["gathered"]["items"].as_array_mut().unwrap() {
        earlier(&mut item[0]);
    }
    let mut new = new.unwrap();
    assert!(new.load(&(format, state)).unwrap());
    new
}

/// A window of a time that overlaps no other one has nothing of the windows before.
#[test]
fn what_overlapping_windows_had_is_not_sent_again() {
    let window = |config: Value| harness!(Window, config);
    let overlapping = json!({ "schema": "x.w/1", "span_ms": 300_000, "step_ms": 100_000 });
    for (after, expected) in [
        (json!({ "schema": "x.w/1", "span_ms": 100_000 }), json!([2])),
        (json!({ "schema": "x.w/1", "count": 5 }), json!([2])),
        (
            json!({ "schema": "x.w/1", "count": 5, "step": 4 }),
            json!([1, 2]),
        ),
    ] {
        let mut first = window(overlapping.clone()).unwrap();
        assert!(send(&mut first, json!(1)).is_empty());
        let mut first = later(200_000, first, window(overlapping.clone()));
        assert_eq!(send(&mut first, json!(2)), [json!([1]), json!([1])]);
        let mut stage = replaced(first, window(after.clone()));
        let rest = stage.finish().unwrap();
        let rest: Vec<_> = rest.into_iter().map(|it| it.body).collect();
        assert_eq!(rest, [expected], "{after}");
    }
}

/// A window that was sent is not sent again when the windows to come start at other times.
#[test]
fn overlapping_windows_of_another_step_go_on_where_the_ones_before_ended() {
    let window = |step_ms: u64| {
        let span_ms = 300_000;
        harness!(
            Window,
            json!({ "schema": "x.w/1", "span_ms": span_ms, "step_ms": step_ms })
        )
    };
    for (earlier_ms, sent, expected) in [
        // The next window started in the last third of the one that has it.
        (200_000, 2, json!([2])),
        // It is in the next window of the new step too.
        (50_000, 1, json!([1, 2])),
    ] {
        let mut first = window(100_000).unwrap();
        assert!(send(&mut first, json!(1)).is_empty());
        let mut first = later(earlier_ms, first, window(100_000));
        assert_eq!(send(&mut first, json!(2)), vec![json!([1]); sent]);
        // The next window starts between two multiples of the new step.
        let mut stage = later(100_000, first, window(200_000));
        let rest = stage.finish().unwrap();
        let rest: Vec<_> = rest.into_iter().map(|it| it.body).collect();
        assert_eq!(rest, [expected], "{earlier_ms}");
    }
}

#[test]
fn windows_of_a_time_have_nothing_that_windows_of_a_count_had() {
    let count = json!({ "schema": "x.w/1", "count": 3, "step": 1 });
    let mut first = harness!(Window, count).unwrap();
    let sent: Vec<_> = (0..3)
        .flat_map(|number| send(&mut first, json!(number)))
        .collect();
    assert_eq!(sent, [json!([0, 1, 2])]);
    let time = json!({ "schema": "x.w/1", "span_ms": 300_000, "step_ms": 100_000 });
    let mut stage = replaced(first, harness!(Window, time));
    assert!(stage.finish().unwrap().is_empty());
}

#[test]
fn shorter_windows_have_what_no_longer_one_had() {
    let window = |span_ms: u64| harness!(Window, json!({ "schema": "x.w/1", "span_ms": span_ms }));
    let mut first = window(1_000).unwrap();
    let now_ms = |stage: &Harness| stage.host().now_ns() / 1_000_000;
    while now_ms(&first) % 1_000 > 200 {
        sleep(5);
    }
    assert!(send(&mut first, json!(1)).is_empty());
    sleep(1_010);
    assert_eq!(send(&mut first, json!(2)), [json!([1])]);
    let mut second = replaced(first, window(50));
    assert_eq!(second.finish().unwrap()[0].body, json!([2]));
}

#[test]
fn windows_by_time_have_what_came_in_it() {
    let stage = || harness!(Window, json!({ "schema": "x.w/1", "span_ms": 1_000 }));
    let mut first = stage().unwrap();
    // Windows start at multiples of their length by the clock.
    let now_ms = |stage: &Harness| stage.host().now_ns() / 1_000_000;
    while now_ms(&first) % 1_000 > 200 {
        sleep(5);
    }
    assert!(send(&mut first, json!(1)).is_empty());
    assert!(send(&mut first, json!(2)).is_empty());
    sleep(1_010);
    assert_eq!(send(&mut first, json!(3)), [json!([1, 2])]);
    // Windows without messages are not sent.
    sleep(2_050);
    assert_eq!(send(&mut first, json!(4)), [json!([3])]);
    assert_eq!(first.finish().unwrap()[0].body, json!([4]));
    assert!(first.finish().unwrap().is_empty());
    let mut overlapping = harness!(
        Window,
        json!({ "schema": "x.w/1", "span_ms": 300_000, "step_ms": 100_000 })
    )
    .unwrap();
    assert!(send(&mut overlapping, json!(1)).is_empty());
    let last = overlapping.finish().unwrap();
    assert_eq!(last.len(), 3, "it is in three windows");
    for config in [
        json!({ "schema": "x.w/1" }),
        json!({ "schema": "x.w/1", "count": 1, "span_ms": 1 }),
        json!({ "schema": "x.w/1", "count": 1, "step_ms": 1 }),
        json!({ "schema": "x.w/1", "span_ms": 10_000, "step_ms": 1 }),
        json!({ "schema": "x", "count": 1 }),
    ] {
        assert_eq!(
            refusal(harness!(Window, config.clone())).0,
            abi::BAD_CONFIG,
            "{config}"
        );
    }
}

/// The stream ends once: no message comes that would send what is left.
#[test]
fn a_window_that_fails_at_the_end_holds_none_behind_it() {
    let why = "only some of the messages carry a buffer";
    let failure = |stage: &mut Harness| stage.finish().err().unwrap().to_string();
    // What was sent although the call failed comes with the next one.
    let sent = |stage: &mut Harness| -> Vec<Value> {
        let all = stage.finish().unwrap().into_iter();
        all.map(|it| it.body).collect()
    };
    let count = |count: u64| harness!(Window, json!({ "schema": "x.w/1", "count": count }));
    let mut first = count(6).unwrap();
    assert!(send_sound(&mut first, &[1, 2], 2).unwrap().is_empty());
    for number in 2..6 {
        assert!(send(&mut first, json!(number)).is_empty());
    }
    let mut stage = replaced(first, count(2));
    assert!(failure(&mut stage).starts_with(why));
    assert_eq!(sent(&mut stage), [json!([3, 4]), json!([5])]);
    let time = |step_ms: u64, span_ms: u64| {
        harness!(
            Window,
            json!({ "schema": "x.w/1", "span_ms": span_ms, "step_ms": step_ms })
        )
        .unwrap()
    };
    let mut first = time(100_000, 100_000);
    assert!(send_sound(&mut first, &[1, 2], 2).unwrap().is_empty());
    for number in 2..4 {
        assert!(send(&mut first, json!(number)).is_empty());
    }
    // The first two came in an earlier window than the third one.
    let (format, mut state) = first.save().unwrap();
    for index in 0..2 {
        let time_ns = &mut state["gathered"]["items"][index][0];
        *time_ns = json!(time_ns.as_i64().unwrap() - 200_000_000_000);
    }
    let mut stage = time(100_000, 100_000);
    assert!(stage.load(&(format, state)).unwrap());
    assert!(failure(&mut stage).starts_with(why));
    assert_eq!(sent(&mut stage), [json!([3])]);
    // Each message is in three windows.
    let mut overlapping = time(100_000, 300_000);
    assert!(send_sound(&mut overlapping, &[1, 2], 2).unwrap().is_empty());
    assert!(send(&mut overlapping, json!(2)).is_empty());
    let text = failure(&mut overlapping);
    let expected = format!("3 windows are left out; the first one: {why}");
    assert!(text.starts_with(&expected), "{text}");
    assert!(sent(&mut overlapping).is_empty());
}
