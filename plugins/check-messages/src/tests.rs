use flowpipe_plugin::Format;
use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::message::{Action, Gesture, Metric, Rectangle, Shape};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn harness() -> Harness {
    flowpipe_plugin::harness!(MessageCheck, json!({})).unwrap()
}

fn refusal(judgement: Result<Judgement>) -> String {
    match judgement {
        Ok(Judgement::Refuse(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn click(x: f64) -> Value {
    let bounds = Rectangle::new(0.0, 0.0, 10.0, 10.0);
    let click = Gesture::new("click", vec![Action::click([x, 5.0])]);
    let frame = FrameNote::of("test");
    json!(Gestures::new("planner-test", frame, bounds, vec![click]))
}

#[test]
fn frames_need_pixels_and_a_place() {
    let harness = harness();
    let note = json!(FrameNote::of("test"));
    assert_eq!(
        refusal(harness.judge(FRAME, None, &note)),
        "a frame without pixels"
    );
    let frame = harness.host().new_frame(Format::Grey8, 2, 2).unwrap();
    let judge = |note: &Value| harness.judge_picture(FRAME, note, &frame);
    assert_eq!(judge(&note).unwrap(), Judgement::Accept);
    for scale in [0.0, -1.0] {
        let note = json!(FrameNote::of("test").with_scale(scale));
        assert!(refusal(judge(&note)).contains("makes no sense"));
    }
    assert!(refusal(judge(&json!({ "source": 5 }))).contains("not a flowpipe"));
}

#[test]
fn gestures_stay_inside_of_their_bounds() {
    let harness = harness();
    let judge = |body: &Value| harness.judge(GESTURES, None, body);
    assert_eq!(judge(&click(5.0)).unwrap(), Judgement::Accept);
    assert_eq!(
        refusal(judge(&click(10.5))),
        "gesture 1, action 1: 10.5, 5 lies outside of the bounds"
    );
    assert!(refusal(judge(&json!([]))).contains("not a flowpipe"));
    let outcome = GestureOutcome::new("actuator-test", FrameNote::of("test"), 1);
    let judgement = harness.judge(GESTURE_OUTCOME, None, &json!(outcome));
    assert_eq!(judgement.unwrap(), Judgement::Accept);
    for (field, value) in [("played", json!(u64::MAX)), ("act_ns", json!(-1))] {
        let mut outcome = json!(outcome);
        outcome[field] = value;
        let judgement = harness.judge(GESTURE_OUTCOME, None, &outcome).unwrap();
        assert!(
            matches!(judgement, Judgement::Refuse(_)),
            "{field}: {judgement:?}"
        );
    }
}

#[test]
fn gestures_name_the_window_that_was_captured() {
    let harness = harness();
    let judge = |captured: &FrameNote, planned: &FrameNote| {
        let mut body = click(5.0);
        body["frame"] = json!(planned);
        harness
            .judge_descendant(GESTURES, &json!(captured), &body)
            .unwrap()
    };
    let of = |window| FrameNote::of("game").with_window(window);
    assert_eq!(judge(&of(7), &of(7)), Judgement::Accept);
    assert_eq!(
        refusal(Ok(judge(&of(7), &of(8)))),
        "its frame is one of window 8, and the frame that it descends from (game) shows window 7"
    );
    // Gestures that descend from no frame name none.
    let mut body = click(5.0);
    body["frame"] = json!(of(8));
    assert_eq!(
        refusal(harness.judge(GESTURES, None, &body)),
        "its frame is one of window 8, and it descends from no captured frame"
    );
}

#[test]
fn a_message_that_can_not_be_read_names_the_place() {
    let body = json!({ "metrics": [Metric::counter("a", 1), { "kind": "gauge", "name": "b" }] });
    assert_eq!(
        refusal(harness().judge(METRICS, None, &body)),
        "not a flowpipe.metrics/1: at /metrics/1: missing field `value`"
    );
}

#[test]
fn metrics_and_overlays_have_bounds() {
    let harness = harness();
    let judge = |schema: &str, body: &Value| harness.judge(schema, None, body);
    let metrics = |name: &str| json!(Metrics::new(vec![Metric::counter(name, 1)]));
    assert_eq!(
        judge(METRICS, &metrics("fields won")).unwrap(),
        Judgement::Accept
    );
    assert_eq!(
        refusal(judge(METRICS, &metrics(""))),
        "metric 1: an empty name"
    );
    assert_eq!(
        refusal(judge(METRICS, &metrics(&"\u{3164}".repeat(64)))),
        "metric 1: a name with U+3164, which shows nothing"
    );
    let overlay = |radius: f64| json!(Overlay::new(vec![Shape::circle([1.0, 2.0], radius)]));
    assert_eq!(judge(OVERLAY, &overlay(2.0)).unwrap(), Judgement::Accept);
    assert_eq!(
        refusal(judge(OVERLAY, &overlay(-2.0))),
        "shape 1: a circle that covers no area"
    );
}

proptest! {
    /// Whatever the bytes are, a check judges them.
    #[test]
    fn malformed_messages_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let harness = harness();
        for schema in MessageCheck::SCHEMAS {
            let judged = harness.judge_text(schema, None, &bytes).unwrap();
            prop_assert!(matches!(judged, Judgement::Refuse(_)), "{judged:?}");
            let text = click(5.0).to_string();
            let part = &text.as_bytes()[..cut.index(text.len())];
            let judged = harness.judge_text(schema, None, part).unwrap();
            prop_assert!(matches!(judged, Judgement::Refuse(_)), "{judged:?}");
        }
    }
}
