//! The overhead of the runtime: a hop between two stages, frames through five stages that do nothing, and a stage that
//! waits with several workers, with real dynamic libraries. If GStreamer's tools are installed, its queues carry the same
//! frames in the same run.
//!
//! `cargo bench -p flowpipe-engine --bench hop`, with `-- hop`, `-- apart`, `-- stages` or `-- workers` for one part of
//! it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a bench ends by panicking"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Builder, Watcher};
use flowpipe_config::pipeline::Isolation;
use flowpipe_engine::run::{Options, Run};
use serde_json::{Value, json};

const WIDTH: u32 = 1920;
const HEIGHT: u32 = 1080;
/// Messages that a queue holds, here and in GStreamer.
const CAPACITY: usize = 16;
const STAGES: usize = 5;
/// The number of runs. Each figure is their median.
const ROUNDS: usize = 5;

/// With this argument the bench is the process of a stage.
#[cfg(unix)]
const PROCESS: &str = "isolated-stage";

fn main() {
    #[cfg(unix)]
    if std::env::args().nth(1).as_deref() == Some(PROCESS) {
        let _ = flowpipe_isolation::child::run();
        return;
    }
    // Cargo passes arguments of its own, and runs benches as tests too: then a little is enough.
    let brief = std::env::args().any(|argument| argument == "--test");
    let only = std::env::args()
        .nth(1)
        .filter(|argument| !argument.starts_with('-'));
    let wants = |part: &str| only.as_deref().is_none_or(|only| part.contains(only));
    let scale = if brief { 1 } else { 100 };
    if wants("hop") {
        hops(scale);
    }
    #[cfg(unix)]
    if wants("apart") {
        apart(scale);
    }
    if wants("stages") {
        stages(scale);
    }
    if wants("workers") {
        workers(scale);
    }
}

/// The rate of a stage that waits for 5 ms with each message, by its number of workers. It does not need processors.
fn workers(scale: u64) {
    const WAIT_US: u64 = 5_000;
    let numbers = [1, 2, 4, 8];
    let mut rates = numbers.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (workers, rates) in numbers.iter().zip(&mut rates) {
            rates.extend(rate(4 * scale, |count| waiting(*workers, count, WAIT_US)));
        }
    }
    println!(
        "A stage that waits for {WAIT_US} us with each message, in order (medians of {ROUNDS} runs)"
    );
    let rates = rates.map(middle);
    for (workers, rate) in numbers.iter().zip(rates) {
        println!(
            "  {workers} workers  {rate:8.1} messages/s  {:5.2} times one",
            rate / rates[0]
        );
    }
}

/// source -> a stage that waits -> sink.
fn waiting(workers: usize, count: u64, wait_us: u64) -> Option<Duration> {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", source(count, false, 0));
    let waits = pipeline.stage("pass", json!({ "delay_us": wait_us }));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, waits);
    pipeline.join(waits, sink);
    pipeline.0.stages[waits].workers = workers;
    let start = Instant::now();
    let (report, _) = run(pipeline);
    assert_eq!(report.stages[sink].received, count);
    Some(start.elapsed())
}

/// The cost of `isolation = "process"`: the receiver runs on a thread and in a process of its own, interleaved.
#[cfg(unix)]
fn apart(scale: u64) {
    println!(
        "A hop into a process of its own (medians of {ROUNDS} runs, thread and process interleaved)"
    );
    for (name, frames) in [("JSON message", false), ("1080p frame ", true)] {
        let both = |count: u64, delay_us: u64| {
            let mut hops = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (isolation, hops) in [Isolation::Thread, Isolation::Process]
                    .iter()
                    .zip(&mut hops)
                {
                    hops.push(hop_into(*isolation, count, frames, delay_us));
                }
            }
            hops.map(middles)
        };
        let [busy_thread, busy_process] = both(200 * scale, 0).map(|hop| hop.interval_us);
        let [idle_thread, idle_process] = both(10 * scale, 1000).map(|hop| hop.latency_us);
        println!(
            "  {name}  busy {busy_thread:7.3} us on a thread, {busy_process:7.3} us in a process   \
             idle {idle_thread:7.3} us, {idle_process:7.3} us"
        );
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (isolation, times) in [Isolation::Thread, Isolation::Process]
            .iter()
            .zip(&mut times)
        {
            times.extend(rate(20 * scale, |count| made(*isolation, count)));
        }
    }
    let [thread, process] = times.map(|rates| 1e6 / middle(rates));
    println!(
        "  1080p frame that a source makes and sends  {thread:7.3} us on a thread, {process:7.3} us in a process"
    );
}

/// source -> sink.
#[cfg(unix)]
fn made(isolation: Isolation, count: u64) -> Option<Duration> {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", source(count, true, 0));
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(source, sink);
    pipeline.0.stages[source].isolation = isolation;
    let start = Instant::now();
    let (report, _) = run(pipeline);
    assert_eq!(report.stages[sink].received, count);
    Some(start.elapsed())
}

fn hops(scale: u64) {
    println!("A hop between two stages (medians of {ROUNDS} runs)");
    for (name, frames) in [("JSON message", false), ("1080p frame ", true)] {
        let busy = median(|| hop(2_000 * scale, frames, 0));
        let idle = median(|| hop(10 * scale, frames, 1000));
        println!(
            "  {name}  busy {:7.3} us from message to message at the receiver   idle {:7.3} us from emit to process",
            busy.interval_us, idle.latency_us
        );
    }
}

fn stages(scale: u64) {
    let count = 1000 * scale;
    // Interleaved, so that other load affects both alike. Each time is the difference of a long and a short run, so
    // that startup and shutdown do not count.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.extend(rate(count, five_stages));
        theirs.extend(rate(count, gstreamer));
    }
    println!("1080p frames through {STAGES} stages that pass them on, queues of {CAPACITY}");
    let ours = middle(ours);
    println!("  flowpipe   {ours:10.0} frames/s");
    if theirs.is_empty() {
        println!("  GStreamer's gst-launch-1.0 is not installed: no comparison");
    } else {
        let theirs = middle(theirs);
        println!("  GStreamer  {theirs:10.0} frames/s");
        println!("  flowpipe : GStreamer = {:.2}", ours / theirs);
    }
}

/// Frames a second, from how long a number of frames takes.
fn rate(count: u64, run: impl Fn(u64) -> Option<Duration>) -> Option<f64> {
    let (few, many) = (count / 10, count + count / 10);
    let time = run(many)?.checked_sub(run(few)?)?;
    Some(count as f64 / time.as_secs_f64())
}

/// Medians of one run.
#[derive(Clone, Copy, Default)]
struct Hop {
    interval_us: f64,
    latency_us: f64,
}

fn median(mut run: impl FnMut() -> Hop) -> Hop {
    middles((0..ROUNDS).map(|_| run()).collect())
}

fn middles(hops: Vec<Hop>) -> Hop {
    let of = |which: fn(&Hop) -> f64| middle(hops.iter().map(which).collect());
    Hop {
        interval_us: of(|hop| hop.interval_us),
        latency_us: of(|hop| hop.latency_us),
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn source(count: u64, frames: bool, delay_us: u64) -> Value {
    let (width, height) = if frames { (WIDTH, HEIGHT) } else { (0, 0) };
    json!({ "count": count, "delay_us": delay_us, "width": width, "height": height })
}

/// source -> meter.
fn hop(count: u64, frames: bool, delay_us: u64) -> Hop {
    hop_into(Isolation::Thread, count, frames, delay_us)
}

fn hop_into(isolation: Isolation, count: u64, frames: bool, delay_us: u64) -> Hop {
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", source(count, frames, delay_us));
    let meter = pipeline.stage("meter", json!({ "count": count }));
    pipeline.join(source, meter);
    pipeline.0.stages[meter].isolation = isolation;
    let (report, watcher) = run(pipeline);
    assert_eq!(report.stages[meter].received, count);
    let seen = watcher.from(meter);
    let us = |name: &str| seen[0].json[name].as_f64().unwrap() / 1000.0;
    Hop {
        interval_us: us("interval_ns"),
        latency_us: us("latency_ns"),
    }
}

/// source -> five times pass -> sink.
fn five_stages(count: u64) -> Option<Duration> {
    let mut pipeline = Builder::new();
    let mut last = pipeline.stage("source", source(count, true, 0));
    for _ in 0..STAGES {
        let next = pipeline.stage("pass", json!({}));
        pipeline.join(last, next);
        last = next;
    }
    let sink = pipeline.stage("sink", json!({}));
    pipeline.join(last, sink);
    let start = Instant::now();
    let (report, _) = run(pipeline);
    assert_eq!(report.stages[sink].received, count);
    Some(start.elapsed())
}

/// Runs without an observer, except where messages are to be read.
fn run(mut pipeline: Builder) -> (flowpipe_engine::report::Report, Arc<Watcher>) {
    for edge in &mut pipeline.0.edges {
        edge.queue.capacity = CAPACITY;
    }
    let watcher = Arc::new(Watcher::only_last());
    #[cfg(unix)]
    let program = flowpipe_isolation::Program::this([PROCESS.into()]).ok();
    #[cfg(not(unix))]
    let program = None;
    let options = Options {
        observers: vec![watcher.clone()],
        program,
        ..Options::default()
    };
    let handle = Run::start(pipeline.0, common::lasting_catalogue(), options);
    let report = handle.unwrap_or_else(|error| panic!("{error}")).wait();
    assert_eq!(report.failure, None);
    (report, watcher)
}

/// The same through GStreamer's queues. Its source makes frames without filling them.
fn gstreamer(count: u64) -> Option<Duration> {
    let size = WIDTH * HEIGHT * 4;
    let mut arguments =
        format!("-q fakesrc num-buffers={count} sizetype=fixed sizemax={size} filltype=nothing");
    for _ in 0..STAGES {
        arguments += &format!(
            " ! queue leaky=no max-size-buffers={CAPACITY} max-size-bytes=0 max-size-time=0 ! identity"
        );
    }
    arguments += " ! queue leaky=no max-size-bytes=0 max-size-time=0";
    arguments += &format!(" max-size-buffers={CAPACITY} ! fakesink sync=false");
    let start = Instant::now();
    let status = Command::new("gst-launch-1.0")
        .args(arguments.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    status.success().then(|| start.elapsed())
}
