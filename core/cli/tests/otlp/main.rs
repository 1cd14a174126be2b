//! `flowpipe run --otlp`: runs of the real program, which send to a collector of the test.
//!
//! The program is built with the feature `otlp`. Its plugins are those of the workspace's own build, or of the folder that
//! `FLOWPIPE_PLUGIN_PATH` names.
#![allow(clippy::unwrap_used, reason = "tests end by panicking")]

mod collector;
mod misbehaving;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::Value as Json;

use self::collector::{Behaviour, Collector};

/// Lines of standard input, of which two workers make others.
const LINES: &str = r#"
name = "lines"
[stages.in]
plugin = "source-jsonl"
on_error = "skip"
config = { stdin = true, schema = "x.a/1" }
[stages.work]
plugin = "map"
from = "in"
workers = 2
config = { jq = "{ b: .a }", schema = "x.b/1" }
[stages.out]
plugin = "sink-jsonl"
from = "work"
config = { path = "out.jsonl" }
"#;

/// The program, without the user's settings and variables of OpenTelemetry.
fn flowpipe(folder: &Path, args: &[&str]) -> Command {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plugins = std::env::var_os("FLOWPIPE_PLUGIN_PATH");
    let plugins = plugins.map_or_else(|| workspace.join("target/debug"), PathBuf::from);
    let mut command = Command::new(env!("CARGO_BIN_EXE_flowpipe"));
    let of_others = std::env::vars_os().map(|(name, _)| name);
    for name in of_others.filter(|it| it.to_string_lossy().starts_with("OTEL_")) {
        command.env_remove(name);
    }
    command
        .args(args)
        .current_dir(folder)
        .env("FLOWPIPE_PLUGIN_PATH", plugins)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("XDG_DATA_HOME", folder.join("data"))
        .env_remove("FLOWPIPE_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A run that has ended.
struct Ended {
    /// The object of `--json`.
    json: Json,
    stderr: String,
    seconds: f64,
}

impl Ended {
    fn report(&self) -> &Json {
        &self.json["report"]
    }

    fn stage(&self, name: &str) -> &Json {
        let stages = self.report()["stages"].as_array().unwrap();
        stages.iter().find(|it| it["name"] == name).unwrap()
    }
}

/// Runs a pipeline with these lines, and `more` after its file. It ends well.
fn run_lines(folder: &Path, lines: &str, more: &[&str], change: impl Fn(&mut Command)) -> Ended {
    let file = folder.join("lines.toml");
    std::fs::write(&file, LINES).unwrap();
    let _ = std::fs::remove_file(folder.join("out.jsonl"));
    let args = [&["run", file.to_str().unwrap(), "--json"], more].concat();
    let mut command = flowpipe(folder, &args);
    change(&mut command);
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || {
        stdin.write_all(lines.as_bytes()).unwrap();
    });
    let ended = ended(child.wait_with_output().unwrap(), began.elapsed());
    writer.join().unwrap();
    ended
}

fn ended(output: Output, took: Duration) -> Ended {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    Ended {
        json: serde_json::from_slice(&output.stdout).unwrap(),
        stderr,
        seconds: took.as_secs_f64(),
    }
}

/// So many lines.
fn lines(count: usize) -> String {
    let lines = (0..count).map(|number| format!("{{\"a\":{number}}}\n"));
    lines.collect()
}

/// The attributes by name.
fn attributes(all: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |it: &KeyValue| match it.value.as_ref().unwrap().value.as_ref().unwrap() {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let found: BTreeMap<_, _> = all.iter().map(|it| (&*it.key, text(it))).collect();
    assert_eq!(found.len(), all.len(), "an attribute is there twice");
    found
}

/// Checks what holds of all spans: ids, times, and parents, which are there and began no later.
fn check_spans(spans: &[Span]) {
    let ids: BTreeMap<_, _> = spans.iter().map(|it| (&it.span_id, it)).collect();
    assert_eq!(ids.len(), spans.len(), "two spans have one id");
    for span in spans {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert!(span.trace_id.iter().any(|it| *it != 0), "{span:?}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let age = now.unwrap().as_nanos() as u64 - span.end_time_unix_nano;
        assert!(age < 600_000_000_000, "its times are those of today");
        if span.parent_span_id.is_empty() {
            continue;
        }
        let parent = ids
            .get(&span.parent_span_id)
            .unwrap_or_else(|| panic!("no parent of {span:#?}"));
        assert_eq!(parent.trace_id, span.trace_id);
        let of = attributes(&span.attributes);
        assert_eq!(of["flowpipe.message.from"], parent.name);
        let queued: u64 = of["flowpipe.queued_ns"].parse().unwrap();
        let emitted = span.start_time_unix_nano - queued;
        assert!(
            (parent.start_time_unix_nano..=parent.end_time_unix_nano).contains(&emitted),
            "the message was emitted during the call of its parent: {span:#?} {parent:#?}"
        );
    }
}

/// The spans of each trace, by the name of their stage.
fn traces(spans: &[Span]) -> BTreeMap<Vec<u8>, BTreeMap<String, Vec<Span>>> {
    let mut traces: BTreeMap<_, BTreeMap<_, Vec<Span>>> = BTreeMap::new();
    for span in spans {
        let trace = traces.entry(span.trace_id.clone()).or_default();
        let named = trace.entry(span.name.clone()).or_default();
        named.push(span.clone());
    }
    traces
}

#[test]
fn each_line_is_a_trace_and_a_failure_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(Behaviour::Takes);
    let text = format!("{}malformed\n{}", lines(700), lines(1));
    let ended = run_lines(folder.path(), &text, &["--otlp", &collector.url()], |_| {});
    let (spans, resources) = collector.spans();
    check_spans(&spans);
    let traces = traces(&spans);
    assert_eq!(traces.len(), 701 + 1);
    let mut workers = BTreeSet::new();
    let mut failed = 0;
    for trace in traces.values() {
        let of = |stage: &str| {
            let spans = trace.get(stage).unwrap_or_else(|| panic!("{trace:#?}"));
            assert_eq!(spans.len(), 1, "{trace:#?}");
            &spans[0]
        };
        let read = of("in");
        assert!(read.parent_span_id.is_empty());
        if let Some(status) = &read.status {
            assert_eq!(status.code, 2);
            assert!(status.message.contains("line 701"), "{status:?}");
            assert_eq!(attributes(&read.attributes)["flowpipe.result"], "failed");
            assert_eq!(trace.len(), 1);
            failed += 1;
            continue;
        }
        let (work, out) = (of("work"), of("out"));
        assert_eq!(trace.len(), 3, "{trace:#?}");
        assert_eq!(work.parent_span_id, read.span_id);
        assert_eq!(out.parent_span_id, work.span_id);
        let of_work = attributes(&work.attributes);
        assert_eq!(of_work["flowpipe.plugin"], "map");
        assert_eq!(of_work["flowpipe.event"], "message");
        assert_eq!(of_work["flowpipe.emitted"], "1");
        assert_eq!(of_work["flowpipe.result"], "done");
        workers.insert(of_work["flowpipe.worker"].clone());
        let of_out = attributes(&out.attributes);
        assert_eq!(of_out["flowpipe.emitted"], "0");
        assert!(!of_out.contains_key("flowpipe.worker"));
        assert_eq!(
            of_out["flowpipe.message.sequence"],
            of_work["flowpipe.message.sequence"]
        );
    }
    assert_eq!(failed, 1);
    assert!(workers.iter().all(|it| ["1", "2"].contains(&&**it)));
    // Each count is that of the report.
    for (stage, key) in [("in", "out"), ("work", "in"), ("out", "in")] {
        let done = spans
            .iter()
            .filter(|it| it.name == stage && it.status.is_none());
        assert_eq!(ended.stage(stage)[key], done.count(), "{stage}");
    }
    assert_eq!(ended.stage("in")["failed"], 1);
    let expected = format!("sent {} spans and metrics ", spans.len());
    assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    assert!(!ended.stderr.contains("missing"), "{}", ended.stderr);
    let first = attributes(&resources[0].attributes);
    assert_eq!(first["service.name"], "flowpipe");
    assert_eq!(first["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["flowpipe.pipeline"], "lines");
    assert_eq!(first["service.instance.id"].len(), 32);
    assert!(resources.iter().all(|it| *it == resources[0]));
    for request in collector.requests() {
        let header = |name: &str| {
            let mut headers = request.headers.iter();
            headers.find(|(it, _)| it == name).map(|it| &*it.1)
        };
        assert_eq!(header("content-type"), Some("application/x-protobuf"));
        let agent = concat!("flowpipe/", env!("CARGO_PKG_VERSION"));
        assert_eq!(header("user-agent"), Some(agent));
    }
}

/// The value of the only point with these attributes.
fn value(metrics: &[Metric], name: &str, labels: &[(&str, &str)]) -> f64 {
    let metric = metrics.iter().find(|it| it.name == name);
    let metric = metric.unwrap_or_else(|| panic!("no {name} in {metrics:#?}"));
    let points = match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => {
            assert!(
                sum.is_monotonic && sum.aggregation_temporality == 2,
                "{name}"
            );
            assert!(sum.data_points.iter().all(|it| it.start_time_unix_nano > 0));
            &sum.data_points
        }
        Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{other:?}"),
    };
    let labels: BTreeMap<_, _> = labels.iter().map(|(a, b)| (*a, (*b).to_owned())).collect();
    let mut found = points
        .iter()
        .filter(|point| attributes(&point.attributes) == labels);
    let point = found
        .next()
        .unwrap_or_else(|| panic!("no {labels:?} in {metric:#?}"));
    assert_eq!(found.count(), 0, "{labels:?} is there twice");
    match point.value.unwrap() {
        Number::AsInt(number) => number as f64,
        Number::AsDouble(number) => number,
    }
}

#[test]
fn the_last_metrics_are_those_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(Behaviour::Takes);
    let text = format!("malformed\n{}", lines(300));
    let ended = run_lines(folder.path(), &text, &["--otlp", &collector.url()], |_| {});
    let (metrics, resource) = collector.last_metrics();
    assert_eq!(
        attributes(&resource.attributes)["flowpipe.pipeline"],
        "lines"
    );
    for stage in ended.report()["stages"].as_array().unwrap() {
        let labels = [("stage", stage["name"].as_str().unwrap())];
        for (family, count) in [
            ("messages_received_total", &stage["in"]),
            ("messages_emitted_total", &stage["out"]),
            ("failures_total", &stage["failed"]),
            ("timeouts_total", &stage["timed_out"]),
            ("restarts_total", &stage["restarted"]),
            ("abandoned_total", &stage["given_up"]),
            ("workers", &stage["workers"]),
        ] {
            let name = format!("flowpipe_stage_{family}");
            let found = value(&metrics, &name, &labels);
            assert_eq!(Some(found), count.as_f64(), "{name} {labels:?}");
        }
        let name = "flowpipe_stage_call_duration_seconds";
        let metric = metrics.iter().find(|it| it.name == name).unwrap();
        assert_eq!(metric.unit, "s");
        let Some(Data::Histogram(histogram)) = &metric.data else {
            panic!("{metric:?}");
        };
        assert_eq!(histogram.aggregation_temporality, 2);
        let mut points = histogram.data_points.iter();
        let point = points.find(|it| attributes(&it.attributes)["stage"] == labels[0].1);
        let point = point.unwrap();
        assert_eq!(stage["time"]["count"], point.count);
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let total = stage["time"]["total_ns"].as_f64().unwrap() / 1e9;
        assert!((point.sum.unwrap() - total).abs() < 1e-8, "{point:?}");
    }
    for edge in ended.report()["edges"].as_array().unwrap() {
        let ends = ["from", "to"].map(|end| (end, edge[end].as_str().unwrap()));
        let sent = value(&metrics, "flowpipe_edge_messages_sent_total", &ends);
        assert_eq!(Some(sent), edge["sent"].as_f64());
        let full = [ends[0], ends[1], ("reason", "queue_full")];
        let dropped = value(&metrics, "flowpipe_edge_messages_dropped_total", &full);
        assert_eq!(Some(dropped), edge["dropped"].as_f64());
    }
    for (kind, count) in ended.report()["problem_counts"].as_object().unwrap() {
        let found = value(&metrics, "flowpipe_problems_total", &[("kind", kind)]);
        assert_eq!(Some(found), count.as_f64(), "{kind}");
    }
    let run = [("pipeline", "lines"), ("dry", "false")];
    assert_eq!(value(&metrics, "flowpipe_run_info", &run), 1.0);
    let started = value(&metrics, "flowpipe_run_start_time_seconds", &[]);
    assert!(started > 1.7e9, "{started}");
}

#[test]
fn of_a_race_each_plugin_has_a_span_and_marks_are_events() {
    let folder = tempfile::tempdir().unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines");
    let ready = std::fs::read_to_string(project.join("replay.toml")).unwrap();
    let race = "[\"solver-search\", \"solver-batsat\"]";
    let frames = format!("\"{}/frames/*.png\"", project.display());
    let text = ready
        .split("[[tests]]")
        .next()
        .unwrap()
        .replace("\"solver-search\"", race)
        .replace("\"frames/*.png\"", &frames);
    let file = folder.path().join("race.toml");
    std::fs::write(&file, text).unwrap();
    let collector = Collector::start(Behaviour::Takes);
    let url = collector.url();
    let args = ["run", file.to_str().unwrap(), "--json", "--otlp", &url];
    let began = Instant::now();
    let output = flowpipe(folder.path(), &args).output().unwrap();
    let ended = ended(output, began.elapsed());
    let (spans, _) = collector.spans();
    check_spans(&spans);
    let traces = traces(&spans);
    assert_eq!(ended.stage("frames")["out"], traces.len());
    for trace in traces.values() {
        let frame = &attributes(&trace["vision"][0].attributes)["flowpipe.frame"];
        let solvers = &trace["solver"];
        assert!(solvers.len() <= 2, "{solvers:#?}");
        let result = |span: &Span| attributes(&span.attributes)["flowpipe.result"].clone();
        let winner = solvers.iter().filter(|it| result(it) == "done");
        let winners: Vec<_> = winner
            .filter(|it| attributes(&it.attributes)["flowpipe.emitted"] == "1")
            .collect();
        assert_eq!(winners.len(), 1, "{solvers:#?}");
        assert_eq!(trace["planner"][0].parent_span_id, winners[0].span_id);
        let played = &trace["actuator"][0];
        assert_eq!(&attributes(&played.attributes)["flowpipe.frame"], frame);
        let names: Vec<_> = played.events.iter().map(|it| &*it.name).collect();
        assert!(names.contains(&"action"), "{played:#?}");
        let times = played.start_time_unix_nano..=played.end_time_unix_nano;
        assert!(
            played
                .events
                .iter()
                .all(|it| times.contains(&it.time_unix_nano))
        );
    }
}

#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (named, other) = (
        Collector::start(Behaviour::Takes),
        Collector::start(Behaviour::Takes),
    );
    let set = |command: &mut Command| {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", other.url())
            .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
            .env("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine,a=b")
            // No proxy gets it either.
            .env("HTTP_PROXY", other.url())
            .env("http_proxy", other.url());
    };
    let silent = run_lines(folder.path(), &lines(3), &[], set);
    assert!(!silent.stderr.contains("sent"), "{}", silent.stderr);
    run_lines(folder.path(), &lines(3), &["--otlp", &named.url()], set);
    assert_eq!(other.requests().len(), 0);
    let requests = named.requests();
    assert!(requests.len() >= 2);
    let has_key = |it: &collector::Request| it.headers.iter().any(|(name, _)| name == "api-key");
    assert!(!requests.iter().any(has_key));
    let (_, resources) = named.spans();
    assert_eq!(
        attributes(&resources[0].attributes)["service.name"],
        "flowpipe"
    );
    // The variables, when they are asked for.
    run_lines(folder.path(), &lines(3), &["--otlp", "env"], set);
    let requests = other.requests();
    assert!(requests.len() >= 2 && requests.iter().all(has_key));
    let (spans, resources) = other.spans();
    assert_eq!(spans.len(), 9);
    let of_run = attributes(&resources[0].attributes);
    assert_eq!((&*of_run["service.name"], &*of_run["a"]), ("mine", "b"));
}

#[test]
fn what_can_not_be_used_is_an_error_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.toml");
    std::fs::write(&file, LINES).unwrap();
    for (to, expected) in [
        ("localhost:4318", "expected the URL of a collector"),
        ("https://localhost:4318", "https is not supported"),
        ("env", "set OTEL_EXPORTER_OTLP_ENDPOINT"),
    ] {
        let args = ["run", file.to_str().unwrap(), "--otlp", to];
        let output = flowpipe(folder.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{to}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(expected), "{to}: {stderr}");
        assert!(!folder.path().join("out.jsonl").exists());
    }
}
