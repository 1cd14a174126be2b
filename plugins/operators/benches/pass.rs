//! What a small message costs in `filter` and `map`: the expression alone, and the whole stage through the ABI.
//!
//! `cargo bench -p operators --bench pass`. The plugin is a dynamic library, which a bench cannot link to: its modules are
//! built into the bench instead.
#![allow(
    dead_code,
    unused_imports,
    clippy::expect_used,
    reason = "a bench ends by panicking, and uses a part of the modules"
)]

#[path = "../src/filter.rs"]
mod filter;
#[path = "../src/map.rs"]
mod map;
#[path = "../src/pass.rs"]
mod pass;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use flowpipe_jq::Expression;
use flowpipe_plugin::harness;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::filter::Filter;
use crate::map::Map;

const CONDITION: &str = ".celsius > 30 and .sensor != \"test\"";
const OTHER: &str = "{ sensor, kelvin: (.celsius + 273.15) }";

/// The time that this thread has run: other programs may use the processors meanwhile.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn measure<T>(bencher: &mut Bencher<'_>, mut pass: impl FnMut() -> T) {
    bencher.iter_custom(|times| {
        let before = worked();
        for _ in 0..times {
            black_box(pass());
        }
        worked() - before
    });
}

fn passes(criterion: &mut Criterion) {
    let message =
        json!({ "sensor": "kitchen", "celsius": 34.25, "time": 1_732_752_000, "tags": ["a", "b"] });
    let json = message.to_string();
    let compiled = |jq| Expression::compile(jq).expect("it is jq");
    let (condition, other) = (compiled(CONDITION), compiled(OTHER));
    criterion.bench_function("expression/filter", |bencher| {
        measure(bencher, || {
            condition
                .accepts(black_box(json.as_bytes()), &|| false)
                .expect("it runs")
        });
    });
    criterion.bench_function("expression/map", |bencher| {
        measure(bencher, || {
            other
                .outputs(black_box(json.as_bytes()), 10, &|| false)
                .expect("it runs")
        });
    });
    // The harness writes the message and reads what is emitted, which is a part of these times.
    let mut filter = harness!(Filter, json!({ "jq": CONDITION })).expect("it starts");
    criterion.bench_function("harness/filter", |bencher| {
        measure(bencher, || {
            filter
                .send(0, "sensor.reading/1", &message)
                .expect("it passes")
                .len()
        });
    });
    let mut map = harness!(Map, json!({ "jq": OTHER })).expect("it starts");
    criterion.bench_function("harness/map", |bencher| {
        measure(bencher, || {
            map.send(0, "sensor.reading/1", &message)
                .expect("it passes")
                .len()
        });
    });
}

criterion_group!(benches, passes);
criterion_main!(benches);
