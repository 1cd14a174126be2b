//! The stages through the ABI.

use std::time::{Duration, Instant};

use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{Element, Format, Result, abi, harness};
use serde_json::{Value, json};

use crate::batch::Batch;
use crate::dedup::Dedup;
use crate::filter::Filter;
use crate::map::Map;
use crate::sample::Sample;
use crate::throttle::Throttle;
use crate::ticks::Ticks;
use crate::window::Window;

mod joins;
mod windows;

/// The bodies that a stage sends for a message.
fn send(stage: &mut Harness, body: Value) -> Vec<Value> {
    let emitted = stage.send(0, "x.a/1", &body).unwrap();
    emitted.into_iter().map(|it| it.body).collect()
}

fn refusal(stage: Result<Harness>) -> (abi::Status, String) {
    let error = stage.err().expect("should be refused");
    (error.status(), error.to_string())
}

#[test]
fn filter_passes_on_what_is_true() {
    let mut stage = harness!(Filter, json!({ "jq": ".a" })).unwrap();
    for truth in [json!(true), json!(0), json!(""), json!([]), json!("false")] {
        let body = json!({ "a": truth, "b": 1.50 });
        assert_eq!(send(&mut stage, body.clone()), [body]);
    }
    for lie in [json!(null), json!(false)] {
        assert!(send(&mut stage, json!({ "a": lie })).is_empty());
    }
    assert!(send(&mut stage, json!({})).is_empty());
    let error = stage
        .send(0, "x.a/1", &json!("text"))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("the expression failed: cannot index"),
        "{error}"
    );
    // The first output counts, and none is no truth.
    let mut several = harness!(Filter, json!({ "jq": ".[]" })).unwrap();
    assert_eq!(send(&mut several, json!([1, null])).len(), 1);
    assert!(send(&mut several, json!([null, 1])).is_empty());
    assert!(send(&mut several, json!([])).is_empty());
}

#[test]
fn map_sends_each_output() {
    let mut stage = harness!(Map, json!({ "jq": ".[] | { a: . }", "max_outputs": 3 })).unwrap();
    assert_eq!(
        send(&mut stage, json!([1, "b"])),
        [json!({ "a": 1 }), json!({ "a": "b" })]
    );
    assert!(send(&mut stage, json!([])).is_empty());
    // Nothing of a message that fails is sent.
    let error = stage.send(0, "x.a/1", &json!([1, 2, 3, 4])).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the expression has more than 3 outputs (`max_outputs`)"
    );
    assert_eq!(send(&mut stage, json!([5])), [json!({ "a": 5 })]);
}

#[test]
fn frames_are_passed_on() {
    let pixels = (Format::Grey8, 2, 1);
    let mut filter = harness!(Filter, json!({ "jq": "true" })).unwrap();
    let mut map = harness!(Map, json!({ "jq": "., .", "schema": "x.b/1" })).unwrap();
    for (stage, count) in [(&mut filter, 1), (&mut map, 2)] {
        let emitted = stage
            .send_picture("x.a/1", &json!({}), pixels, &[7, 8])
            .unwrap();
        assert_eq!(emitted.len(), count);
        for message in emitted {
            assert_eq!(message.frame.unwrap().pixels(), [7, 8]);
        }
    }
}

#[test]
fn what_is_no_expression_is_refused_with_its_place() {
    let (status, text) = refusal(harness!(Filter, json!({ "jq": ".a | foo" })));
    assert_eq!(status, abi::BAD_CONFIG);
    assert!(
        text.ends_with("jq = \".a | foo\": line 1, column 6: there is no filter foo/0"),
        "{text}"
    );
    assert_eq!(
        refusal(harness!(Map, json!({ "jq": "[" }))).0,
        abi::BAD_CONFIG
    );
}

#[test]
fn an_expression_without_an_end_can_be_cancelled() {
    let mut stage = harness!(
        Map,
        json!({ "jq": "[range(1e12) | . * 2 | select(. < 0)]" })
    )
    .unwrap();
    let started = std::time::Instant::now();
    stage.cancel_when(move || started.elapsed() > std::time::Duration::from_millis(5));
    let error = stage.send(0, "x.a/1", &json!(1)).err().unwrap();
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
}

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Which of the numbers from 0 on a stage passes on.
fn passed(stage: &mut Harness, count: u64) -> Vec<u64> {
    let sent = (0..count).flat_map(|number| send(stage, json!(number)));
    sent.map(|body| body.as_u64().unwrap()).collect()
}

/// Another instance, with the state of this one.
fn replaced(mut old: Harness, new: Result<Harness>) -> Harness {
    let state = old.save().unwrap();
    let mut new = new.unwrap();
    assert!(new.load(&state).unwrap());
    assert!(!new.load(&("other/1".to_owned(), json!({}))).unwrap());
    new
}

#[test]
fn throttle_passes_on_so_many_within_a_time() {
    let config = json!({ "messages": 3, "within_ms": 2_000 });
    let stage = || harness!(Throttle, config);
    let mut first = stage().unwrap();
    assert_eq!(passed(&mut first, 10), [0, 1, 2]);
    // Another instance goes on within the same time, as its clock has it.
    let mut second = replaced(first, stage());
    second.finish().unwrap();
    let mut third = stage().unwrap();
    assert_eq!(passed(&mut third, 4), [0, 1, 2]);
    sleep(2_050);
    assert_eq!(passed(&mut third, 10), [0, 1, 2]);
}

#[test]
fn throttle_lets_messages_wait() {
    let mut stage = harness!(
        Throttle,
        json!({ "messages": 2, "within_ms": 100, "when_exceeded": "wait" })
    )
    .unwrap();
    let started = Instant::now();
    assert_eq!(passed(&mut stage, 7), [0, 1, 2, 3, 4, 5, 6]);
    assert!(
        started.elapsed() >= Duration::from_millis(299),
        "{:?}",
        started.elapsed()
    );
    let config = json!({ "messages": 1, "within_ms": 600_000, "when_exceeded": "wait" });
    let mut stage = harness!(Throttle, config).unwrap();
    assert_eq!(passed(&mut stage, 1), [0]);
    stage.cancel_when(|| true);
    let error = stage.send(0, "x.a/1", &json!(1)).err().unwrap();
    assert_eq!(error.status(), abi::CANCELLED);
}

#[test]
fn sample_passes_on_the_first_of_so_many_or_a_share() {
    let every = || harness!(Sample, json!({ "every": 4 }));
    let mut first = every().unwrap();
    assert_eq!(passed(&mut first, 10), [0, 4, 8]);
    let mut second = replaced(first, every());
    assert_eq!(passed(&mut second, 10), [2, 6]);
    let share = |share: f64, seed: u64| harness!(Sample, json!({ "share": share, "seed": seed }));
    let chosen = |share_: f64, seed| passed(&mut share(share_, seed).unwrap(), 1_000);
    assert_eq!(chosen(0.0, 1), [] as [u64; 0]);
    assert_eq!(chosen(1.0, 1).len(), 1_000);
    let some = chosen(0.25, 7);
    assert!((200..300).contains(&some.len()), "{}", some.len());
    assert_eq!(some, chosen(0.25, 7));
    assert_ne!(some, chosen(0.25, 8));
    let mut whole = share(0.5, 3).unwrap();
    let expected = passed(&mut whole, 100);
    let mut half = share(0.5, 3).unwrap();
    let mut found = passed(&mut half, 50);
    let mut rest = replaced(half, share(0.5, 99));
    found.extend(passed(&mut rest, 50).into_iter().map(|number| number + 50));
    assert_eq!(found, expected);
    for config in [
        json!({}),
        json!({ "every": 0 }),
        json!({ "share": 1.5 }),
        json!({ "every": 2, "share": 0.5 }),
    ] {
        assert_eq!(refusal(harness!(Sample, config)).0, abi::BAD_CONFIG);
    }
}

/// From 2^53 on, where not every integer is a floating-point number.
#[test]
fn large_numbers_are_equal_however_they_are_written() {
    let mut stage = harness!(Dedup, json!({})).unwrap();
    let numbers = [
        json!(1e17),
        json!(100_000_000_000_000_000_u64),
        json!(100_000_000_000_000_001_u64),
        json!(-0.0),
        json!(0),
        json!(9e300),
        json!(9e300),
    ];
    let passed = numbers.map(|number| send(&mut stage, number).len());
    assert_eq!(passed, [1, 0, 1, 1, 0, 1, 0]);
}

#[test]
fn dedup_drops_what_was_there() {
    let mut stage = harness!(Dedup, json!({ "last": 2 })).unwrap();
    let all = [
        json!({ "a": 1, "b": [1] }),
        // Equal, however it is written.
        json!({ "b": [1.0], "a": 1 }),
        json!(2),
        json!({ "a": 1, "b": [1] }),
        json!(3),
        // Not among the last two.
        json!({ "a": 1, "b": [1] }),
        json!(3),
    ];
    let passed: Vec<_> = all
        .iter()
        .map(|body| send(&mut stage, body.clone()).len())
        .collect();
    assert_eq!(passed, [1, 0, 1, 0, 1, 1, 0]);
    let by = || harness!(Dedup, json!({ "by": ".id?", "last": 1 }));
    let mut by_id = by().unwrap();
    assert_eq!(send(&mut by_id, json!({ "id": 1, "n": 1 })).len(), 1);
    assert_eq!(send(&mut by_id, json!({ "id": 1, "n": 2 })).len(), 0);
    let mut new = replaced(by_id, by());
    assert_eq!(send(&mut new, json!({ "id": 1, "n": 3 })).len(), 0);
    // No output: nothing to compare.
    assert_eq!(send(&mut new, json!("text")).len(), 1);
    assert_eq!(send(&mut new, json!("text")).len(), 1);
    assert_eq!(send(&mut new, json!({ "id": 2 })).len(), 1);
}

#[test]
fn batch_gathers_by_count_and_time_and_to_the_end() {
    let stage = || harness!(Batch, json!({ "schema": "x.b/1", "count": 3 }));
    let mut first = stage().unwrap();
    assert!(send(&mut first, json!({ "a": 1 })).is_empty());
    assert!(send(&mut first, json!("two")).is_empty());
    assert_eq!(
        send(&mut first, json!([3])),
        [json!([{ "a": 1 }, "two", [3]])]
    );
    assert!(send(&mut first, json!(4)).is_empty());
    let mut second = replaced(first, stage());
    let last = second.finish().unwrap();
    assert_eq!(last[0].body, json!([4]));
    assert!(second.finish().unwrap().is_empty());
    let mut timed = harness!(Batch, json!({ "schema": "x.b/1", "within_ms": 50 })).unwrap();
    assert!(send(&mut timed, json!(1)).is_empty());
    sleep(60);
    assert_eq!(send(&mut timed, json!(2)), [json!([1])]);
    assert_eq!(timed.finish().unwrap()[0].body, json!([2]));
}

#[test]
fn a_tick_ends_a_batch_and_is_in_none() {
    let tick = |stage: &mut Harness| {
        let emitted = stage.send(1, "time.tick/1", &json!({ "number": 1 }));
        let bodies = emitted.unwrap().into_iter().map(|it| it.body);
        bodies.collect::<Vec<_>>()
    };
    let mut always = harness!(Batch, json!({ "schema": "x.b/1" })).unwrap();
    assert!(tick(&mut always).is_empty());
    assert!(send(&mut always, json!(1)).is_empty());
    assert!(send(&mut always, json!(2)).is_empty());
    assert_eq!(tick(&mut always), [json!([1, 2])]);
    assert!(tick(&mut always).is_empty());
    assert!(always.finish().unwrap().is_empty());
    let mut young = harness!(Batch, json!({ "schema": "x.b/1", "within_ms": 600_000 })).unwrap();
    assert!(send(&mut young, json!(1)).is_empty());
    assert!(tick(&mut young).is_empty());
    let mut old = harness!(Batch, json!({ "schema": "x.b/1", "within_ms": 1 })).unwrap();
    assert!(send(&mut old, json!(1)).is_empty());
    sleep(2);
    assert_eq!(tick(&mut old), [json!([1])]);
    let mut window = harness!(Window, json!({ "schema": "x.w/1", "span_ms": 5 })).unwrap();
    assert!(send(&mut window, json!(1)).is_empty());
    sleep(6);
    assert_eq!(tick(&mut window), [json!([1])]);
    assert!(window.finish().unwrap().is_empty());
    let mut counting = harness!(Window, json!({ "schema": "x.w/1", "count": 5 })).unwrap();
    let error = counting.send(1, "time.tick/1", &json!(1)).err().unwrap();
    assert!(error.to_string().contains("set span_ms"), "{error}");
}

#[test]
fn ticks_come_at_an_interval_and_those_that_nobody_took_are_left_out() {
    let ticks = |config: Value| harness!(Ticks, config);
    let mut stage = ticks(json!({ "interval_ms": 20, "count": 3 })).unwrap();
    let next = |stage: &mut Harness| {
        let emitted = stage.tick().unwrap();
        emitted
            .first()
            .map(|it| it.body["number"].as_i64().unwrap())
    };
    let began_ns = stage.host().now_ns();
    assert_eq!(next(&mut stage), Some(1));
    assert!(stage.host().now_ns() - began_ns >= 20_000_000);
    sleep(70);
    let late = next(&mut stage).unwrap();
    assert!(late >= 4, "{late}");
    assert!(next(&mut stage).unwrap() > late);
    assert_eq!(next(&mut stage), None);
    // Waiting can be cancelled.
    let mut long = ticks(json!({ "interval_ms": 86_400_000 })).unwrap();
    long.cancel_when(|| true);
    assert_eq!(long.tick().err().unwrap().status(), abi::CANCELLED);
    assert_eq!(
        refusal(ticks(json!({ "interval_ms": 0 }))).0,
        abi::BAD_CONFIG
    );
}

#[test]
fn ticks_continue_their_numbers_also_with_another_interval() {
    let ticks = |interval_ms: u64, count: u64| {
        harness!(Ticks, json!({ "interval_ms": interval_ms, "count": count }))
    };
    let next = |stage: &mut Harness| {
        let emitted = stage.tick().unwrap();
        emitted
            .first()
            .map(|it| it.body["number"].as_i64().unwrap())
    };
    let mut first = ticks(5, 9).unwrap();
    let last = (0..3).filter_map(|_| next(&mut first)).last().unwrap();
    assert!(last >= 3, "{last}");
    let mut same = replaced(first, ticks(5, 9));
    let number = next(&mut same).unwrap();
    assert!(number > last, "{number} after {last}");
    let mut slower = replaced(same, ticks(50, 6));
    let began_ns = slower.host().now_ns();
    assert_eq!(next(&mut slower), Some(number + 1));
    assert!(slower.host().now_ns() - began_ns >= 50_000_000);
    // `count` is that of all.
    assert!(next(&mut slower).is_some());
    assert_eq!(next(&mut slower), None);
    assert_eq!(next(&mut replaced(slower, ticks(50, 2))), None);
}

#[test]
fn a_batch_has_a_bounded_size() {
    let mut stage = harness!(Batch, json!({ "schema": "x.b/1", "count": 100_000 })).unwrap();
    let large = json!("x".repeat(30 << 20));
    assert!(send(&mut stage, large.clone()).is_empty());
    assert!(send(&mut stage, large.clone()).is_empty());
    assert_eq!(send(&mut stage, large)[0].as_array().unwrap().len(), 2);
}

#[test]
fn a_window_that_is_too_large_is_dropped_and_the_next_one_starts() {
    let mut stage = harness!(Window, json!({ "schema": "x.w/1", "count": 3 })).unwrap();
    let large = json!("x".repeat(30 << 20));
    for _ in 0..2 {
        assert!(send(&mut stage, large.clone()).is_empty());
    }
    let error = stage.send(0, "x.a/1", &large).err().unwrap().to_string();
    assert!(
        error.contains("its 3 messages have more than 67108864 bytes"),
        "{error}"
    );
    assert!(send(&mut stage, json!(1)).is_empty());
    assert_eq!(send(&mut stage, json!(2)), [json!([large, 1, 2])]);
    assert!(send(&mut stage, json!(3)).is_empty());
}

/// Sends a sound of these samples, of which a step has so many.
fn send_sound(stage: &mut Harness, samples: &[i16], channels: u64) -> Result<Vec<Emitted>> {
    let shape = [samples.len() as u64 / channels, channels];
    let host = stage.host();
    let mut sound = host.new_buffer("audio/pcm", Element::I16, &shape)?;
    sound.as_mut_slice()?.copy_from_slice(samples);
    stage.send_buffer(0, "x.a/1", &json!(samples.len()), &sound)
}

#[test]
fn windows_and_batches_join_buffers() {
    let window = || harness!(Window, json!({ "schema": "x.w/1", "count": 2, "step": 1 }));
    let mut first = window().unwrap();
    assert!(send_sound(&mut first, &[1, 2], 2).unwrap().is_empty());
    // The state has the samples too.
    let mut stage = replaced(first, window());
    for (samples, joined) in [
        (&[3, 4, 5, 6][..], &[1, 2, 3, 4, 5, 6][..]),
        (&[7, 8], &[3, 4, 5, 6, 7, 8]),
    ] {
        let sent = send_sound(&mut stage, samples, 2).unwrap();
        let sound = sent[0].buffer().unwrap();
        assert_eq!(sound.shape(), [3, 2]);
        assert_eq!(sound.as_slice::<i16>().unwrap(), joined);
        assert_eq!(sent[0].body.as_array().unwrap().len(), 2);
    }
    let mut batch = harness!(Batch, json!({ "schema": "x.b/1", "count": 9 })).unwrap();
    for number in 0..3 {
        assert!(send_sound(&mut batch, &[number], 1).unwrap().is_empty());
    }
    let last = batch.finish().unwrap();
    let sound = last[0].buffer().unwrap();
    assert_eq!(
        (sound.media_type(), sound.shape()),
        ("audio/pcm", &[3, 1][..])
    );
}

#[test]
fn dedup_compares_what_messages_carry() {
    let whole = || harness!(Dedup, json!({}));
    let mut first = whole().unwrap();
    let mut by_body = harness!(Dedup, json!({ "by": "." })).unwrap();
    let passed = |stage: &mut Harness| {
        let all = [&[1, 2][..], &[1, 3], &[1, 2]];
        all.map(|samples| send_sound(stage, samples, 1).unwrap().len())
    };
    assert_eq!(passed(&mut first), [1, 1, 0]);
    assert_eq!(passed(&mut by_body), [1, 0, 0]);
    // The state has that too.
    let mut stage = replaced(first, whole());
    assert_eq!(passed(&mut stage), [0, 0, 0]);
    // The same bytes in another shape.
    assert_eq!(send_sound(&mut stage, &[1, 2], 2).unwrap().len(), 1);
    assert_eq!(send(&mut stage, json!(2)).len(), 1);
    for (pixels, passed) in [([7, 8], 1), ([7, 9], 1), ([7, 8], 0)] {
        let layout = (Format::Grey8, 2, 1);
        let emitted = stage.send_picture("x.a/1", &json!(2), layout, &pixels);
        assert_eq!(emitted.unwrap().len(), passed, "{pixels:?}");
    }
}

#[test]
fn buffers_that_differ_are_not_joined() {
    let stage = || harness!(Window, json!({ "schema": "x.w/1", "count": 2 })).unwrap();
    let mut mixed = stage();
    assert!(send(&mut mixed, json!(1)).is_empty());
    let error = send_sound(&mut mixed, &[1, 2], 2)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("only some of the messages carry a buffer"),
        "{error}"
    );
    let mut channels = stage();
    assert!(send_sound(&mut channels, &[1, 2], 2).unwrap().is_empty());
    let error = send_sound(&mut channels, &[1, 2], 1)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("[1, 2] and audio/pcm of i16 [2, 1]"),
        "{error}"
    );
    // The next window starts with the next message.
    assert!(send(&mut channels, json!(1)).is_empty());
    assert_eq!(send(&mut channels, json!(2)), [json!([1, 2])]);
}

/// The message that ends a batch or window by its time is not in it, and stays if that can't be sent.
#[test]
fn a_batch_or_window_that_fails_takes_no_later_message_with_it() {
    let mut batch = harness!(Batch, json!({ "schema": "x.b/1", "within_ms": 200 })).unwrap();
    let mut window = harness!(Window, json!({ "schema": "x.w/1", "span_ms": 1_000 })).unwrap();
    // Windows start at multiples of their length by the clock.
    while window.host().now_ns() / 1_000_000 % 1_000 > 200 {
        sleep(5);
    }
    for stage in [&mut batch, &mut window] {
        assert!(send(stage, json!(1)).is_empty());
        assert!(send_sound(stage, &[1, 2], 2).unwrap().is_empty());
    }
    sleep(1_010);
    for stage in [&mut batch, &mut window] {
        let error = stage.send(0, "x.a/1", &json!(3)).err().unwrap();
        assert!(error.to_string().contains("only some"), "{error}");
        assert_eq!(stage.finish().unwrap()[0].body, json!([3]));
    }
}

#[test]
fn a_state_whose_buffers_have_other_bytes_is_an_error() {
    let mut stage = harness!(Window, json!({ "schema": "x.w/1", "count": 2 })).unwrap();
    send_sound(&mut stage, &[1, 2], 2).unwrap();
    let (format, mut state) = stage.save().unwrap();
    state["gathered"]["items"][0][1]["elements"]["bytes"] = json!("AAAA");
    assert!(stage.load(&(format, state)).unwrap());
    let error = send_sound(&mut stage, &[1, 2], 2)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("fewer bytes than its shape"), "{error}");
}
