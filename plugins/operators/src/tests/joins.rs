//! Pairs of two streams, and what is in none.

use super::*;
use crate::join::Join;

/// The pairs that are sent for a message.
fn joined(stage: &mut Harness, port: usize, body: Value) -> Vec<Value> {
    let emitted = stage.send(port, "x.a/1", &body).unwrap();
    let pairs = emitted.into_iter().filter(|it| it.port == 0);
    pairs.map(|it| it.body).collect()
}

#[test]
fn join_counts_what_found_no_partner() {
    let config = json!({
        "schema": "x.p/1", "by": "key", "key": "select(. != null)", "most_waiting": 2
    });
    let mut stage = harness!(Join, config).unwrap();
    let counted = |emitted: Vec<Emitted>| -> Vec<(String, u64)> {
        let of_metrics = emitted.into_iter().filter(|it| it.port == 1);
        let counters = of_metrics.flat_map(|it| it.body["metrics"].as_array().unwrap().clone());
        let counter = |it: Value| {
            (
                it["name"].as_str().unwrap().to_owned(),
                it["add"].as_u64().unwrap(),
            )
        };
        counters.map(counter).collect()
    };
    let send = |stage: &mut Harness, port: usize, body: Value| {
        counted(stage.send(port, "x.a/1", &body).unwrap())
    };
    let of = |name: &str, count: u64| vec![(name.to_owned(), count)];
    for number in [1, 2] {
        assert_eq!(send(&mut stage, 0, json!(number)), []);
    }
    // The first one is reported at once, the others together.
    let too_many = "left without a pair: too many waited";
    assert_eq!(send(&mut stage, 0, json!(3)), of(too_many, 1));
    for number in 4..103 {
        assert_eq!(send(&mut stage, 0, json!(number)), [], "{number}");
    }
    let mut stage = replaced(
        stage,
        harness!(
            Join,
            json!({
                "schema": "x.p/1", "by": "key", "key": "select(. != null)", "most_waiting": 2
            })
        ),
    );
    assert_eq!(send(&mut stage, 0, json!(103)), of(too_many, 100));
    assert_eq!(send(&mut stage, 1, Value::Null), []);
    assert_eq!(send(&mut stage, 1, json!(103)), [], "it is in a pair");
    assert_eq!(send(&mut stage, 1, json!(1)), []);
    let last = counted(stage.finish().unwrap());
    let names: Vec<_> = last
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    let expected = [
        ("left without a pair: no partner came", 1),
        ("right without a pair: no key", 1),
        ("right without a pair: no partner came", 1),
    ];
    assert_eq!(names, expected);
    assert!(stage.finish().unwrap().is_empty(), "each is counted once");
}

#[test]
fn join_pairs_by_key() {
    let stage = || {
        harness!(
            Join,
            json!({ "schema": "x.p/1", "by": "key", "key": ".id", "right_key": ".of", "most_waiting": 2 })
        )
    };
    let mut first = stage().unwrap();
    assert!(joined(&mut first, 0, json!({ "id": 1, "n": "a" })).is_empty());
    assert!(joined(&mut first, 0, json!({ "id": 1, "n": "b" })).is_empty());
    assert!(joined(&mut first, 1, json!({ "of": 2 })).is_empty());
    let mut second = replaced(first, stage());
    // Each is in one pair, the oldest first.
    for name in ["a", "b"] {
        assert_eq!(
            joined(&mut second, 1, json!({ "of": 1.0 })),
            [json!({ "left": { "id": 1, "n": name }, "right": { "of": 1.0 } })]
        );
    }
    assert!(joined(&mut second, 1, json!({ "of": 1 })).is_empty());
    assert!(joined(&mut second, 1, json!({ "of": 3 })).is_empty());
    // Two wait: the one of 2 was dropped.
    assert!(joined(&mut second, 0, json!({ "id": 2 })).is_empty());
    assert_eq!(joined(&mut second, 0, json!({ "id": 3 })).len(), 1);
    let long = json!({ "id": "x".repeat(5_000) });
    let error = second.send(0, "x.a/1", &long).err().unwrap().to_string();
    assert_eq!(error, "the key has more than 4 KiB");
}

#[test]
fn join_pairs_by_time() {
    let mut stage = harness!(
        Join,
        json!({ "schema": "x.p/1", "by": "time", "tolerance_ms": 1_000 })
    )
    .unwrap();
    assert!(joined(&mut stage, 1, json!("late")).is_empty());
    sleep(1_100);
    assert!(joined(&mut stage, 0, json!(1)).is_empty());
    sleep(15);
    assert!(joined(&mut stage, 0, json!(2)).is_empty());
    // The nearest one.
    assert_eq!(
        joined(&mut stage, 1, json!("b")),
        [json!({ "left": 2, "right": "b" })]
    );
}

#[test]
fn join_pairs_by_frame() {
    let mut stage = harness!(Join, json!({ "schema": "x.p/1", "by": "frame" })).unwrap();
    let error = stage
        .send(0, "x.a/1", &json!(1))
        .err()
        .map(|error| error.to_string());
    // The harness gives each message a frame of its own, or none.
    assert!(error.is_none_or(|text| text.contains("descends from no frame")));
    for config in [
        json!({ "schema": "x.p/1", "by": "frame", "key": "." }),
        json!({ "schema": "x.p/1", "by": "time" }),
        json!({ "schema": "x.p/1", "by": "key" }),
        json!({ "schema": "x.p/1", "by": "key", "key": "." , "tolerance_ms": 1 }),
    ] {
        assert_eq!(
            refusal(harness!(Join, config.clone())).0,
            abi::BAD_CONFIG,
            "{config}"
        );
    }
}
