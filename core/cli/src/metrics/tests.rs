use flowpipe_config::pipeline::PortRef;
use flowpipe_message::{METRICS, Tone};

use super::*;

fn message(stage: usize, metrics: Vec<Metric>) -> Message {
    let json = serde_json::to_vec(&Metrics::new(metrics)).unwrap();
    let mut message = Message::detached(METRICS, &json).unwrap();
    message.source = PortRef { stage, port: 0 };
    message
}

fn run() -> RunMetrics {
    RunMetrics::new(vec!["vision".to_owned(), "planner".to_owned()])
}

#[test]
fn metrics_of_one_stage_and_name_belong_together() {
    let metrics = run();
    for clicks in [30.0, 50.0, 40.0] {
        let won = Metric::counter("fields won", 1);
        let of_field = Metric::distribution("clicks", vec![clicks]);
        metrics.add(&message(1, vec![won, of_field]));
    }
    let left = |mines| Metric::gauge("mines left", mines).with_unit("mines");
    metrics.add(&message(0, vec![left(10.0), Metric::counter("looks", 2)]));
    metrics.add(&message(0, vec![left(2.5)]));
    let rows = metrics.rows();
    let shown: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}: {}", row.stage, row.name, row.text()))
        .collect();
    assert_eq!(
        shown,
        [
            "vision mines left: 2.500 mines",
            "vision looks: 2",
            "planner fields won: 3",
            "planner clicks: p50 40, p95 50, max 50 (3 samples)",
        ]
    );
    assert_eq!(summary(&rows), "looks: 2, fields won: 3");
    assert!(table(&rows).contains("fields won"));
    assert_eq!(metrics.left_out(), None);
    assert_eq!((summary(&[]), table(&[])), (String::new(), String::new()));
}

#[test]
fn one_name_may_be_of_several_kinds_and_stages() {
    let metrics = run();
    metrics.add(&message(0, vec![Metric::counter("a", u64::MAX)]));
    metrics.add(&message(0, vec![Metric::counter("a", 5)]));
    metrics.add(&message(
        1,
        vec![Metric::counter("a", 1), Metric::gauge("a", 1.0)],
    ));
    let rows = metrics.rows();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].value, MetricValue::Counter(u64::MAX));
    assert_eq!(summary(&rows), format!("a: {}", u64::MAX));
}

#[test]
fn a_run_of_many_names_and_notes_keeps_few() {
    let metrics = run();
    for number in 0..1_000 {
        let name = format!("name {number}");
        let note = Metric::note(format!("note {number}")).with_tone(Tone::Good);
        let notes = metrics.add(&message(0, vec![Metric::counter(name, 1), note]));
        assert_eq!(notes.unwrap()[0].line(), format!("vision: note {number}"));
    }
    assert_eq!(metrics.rows().len(), MOST_NAMES);
    let kept = metrics.notes();
    assert_eq!(kept.len(), NOTES);
    assert_eq!(kept[NOTES - 1].text, "note 999");
    assert_eq!(
        metrics.left_out().as_deref(),
        Some("800 values of further metrics left out: a run keeps 200")
    );
}

#[test]
fn the_most_names_may_be_others() {
    let metrics = RunMetrics::with_limit(Vec::new(), 2);
    for name in ["a", "b", "c", "a"] {
        metrics.add(&message(0, vec![Metric::counter(name, 1)]));
    }
    let counts: Vec<String> = metrics.rows().iter().map(MetricRow::text).collect();
    assert_eq!(counts, ["2", "1"]);
    assert_eq!(
        metrics.left_out().as_deref(),
        Some("1 value of further metrics left out: a run keeps 2")
    );
}

#[test]
fn what_is_not_metrics_adds_nothing() {
    let metrics = run();
    let other = Message::detached(METRICS, b"[1]").unwrap();
    assert_eq!(metrics.add(&other), None);
    let nameless = message(0, vec![Metric::counter("", 1)]);
    assert_eq!(metrics.add(&nameless), None);
    assert!(metrics.rows().is_empty());
}
