//! Samples of the messages that belong to no domain and have no pixels, written by hand. Those of sound get a buffer.

use flowpipe_message::{
    FrameNote, GESTURE_OUTCOME, GestureOutcome, METRICS, Metric, Metrics, OVERLAY, Overlay,
    Rectangle, Shape, Tone,
};
use serde_json::{Value, json};

/// Blocks of sound, as `capture-audio` emits them.
const AUDIO_BLOCK: &str = "audio.block/1";

/// The schema, and samples of it. `None`: the schema is none of these.
pub fn of(schema: &str) -> Option<(&'static str, Vec<Value>)> {
    match schema {
        METRICS => Some((METRICS, metrics().iter().map(|it| json!(it)).collect())),
        OVERLAY => Some((OVERLAY, overlays().iter().map(|it| json!(it)).collect())),
        GESTURE_OUTCOME => Some((
            GESTURE_OUTCOME,
            outcomes().iter().map(|it| json!(it)).collect(),
        )),
        AUDIO_BLOCK => Some((AUDIO_BLOCK, audio_blocks().into())),
        _ => None,
    }
}

/// Each kind of metric, and none.
fn metrics() -> [Metrics; 3] {
    [
        Metrics::new(vec![
            Metric::counter("frames read", 1),
            Metric::gauge("fields left", 12.0),
            Metric::distribution("time to read", vec![1.5, 2.25]).with_unit("ms"),
            Metric::note("a field is won").with_tone(Tone::Good),
        ]),
        Metrics::new(vec![Metric::note("a field is lost").with_tone(Tone::Bad)]),
        Metrics::new(vec![]),
    ]
}

/// Each form of shape, and none.
fn overlays() -> [Overlay; 3] {
    [
        Overlay::new(vec![
            Shape::rectangle(Rectangle::new(10.0, 20.0, 300.0, 200.0)).with_label("field"),
            Shape::circle([160.0, 120.0], 25.0)
                .with_colour([255, 0, 0])
                .filled(),
            Shape::line(vec![[10.0, 20.0], [310.0, 220.0]]),
            Shape::polygon(vec![[10.0, 20.0], [310.0, 20.0], [160.0, 220.0]]),
            Shape::text([160.0, 120.0], "3", 14.0),
        ]),
        Overlay::new(vec![Shape::circle([-5.0, 0.5], 0.25)]),
        Overlay::new(vec![]),
    ]
}

/// The first and the second block of a file, and one of another.
fn audio_blocks() -> [Value; 3] {
    let block = |source: &str, position: u32, seconds: f64| json!({ "source": source, "rate": 8000, "position": position, "seconds": seconds });
    [
        block("a.wav", 0, 0.0),
        block("a.wav", 8, 0.001),
        block("b.wav", 0, 0.0),
    ]
}

/// Played, played in part, and not played.
fn outcomes() -> [GestureOutcome; 3] {
    let outcome = |played| GestureOutcome::new("a sample", FrameNote::of("a sample"), played);
    [
        outcome(4).with_act_ns(1_000_000),
        outcome(1)
            .with_refused("the mouse was moved")
            .with_act_ns(250_000),
        outcome(0).with_refused("the window is gone"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_valid() {
        for metrics in metrics() {
            assert_eq!(metrics.check(), Ok(()));
        }
        for overlay in overlays() {
            assert_eq!(overlay.check(), Ok(()));
        }
    }

    /// What has pixels and what presses buttons comes of boards.
    #[test]
    fn every_message_without_a_domain_has_samples() {
        for (schema, _) in flowpipe_message::schemas() {
            let of_boards = [flowpipe_message::FRAME, flowpipe_message::GESTURES];
            match of(schema) {
                Some((same, samples)) => assert!(same == schema && samples.len() > 1),
                None => assert!(of_boards.contains(&schema), "{schema}"),
            }
        }
        assert!(of("spots.targets/1").is_none());
    }
}
