//! The messages that belong to no domain: one type for each schema id.
//!
//! As JSON they are canonical: the same value always gives the same bytes, so that runs can be compared. Readers ignore
//! fields that they don't know. Messages, [`FrameNote`] and [`Shape`] may get further fields: they are
//! `#[non_exhaustive]`, and are made with `new`, `of` and the `with_…` methods. Read strictly are gestures, actions and
//! rectangles: a gesture of which a part was ignored is another gesture. A schema id keeps its kinds of actions, metrics
//! and forms: a further kind is a new version of the id.
//!
//! # Layout
//! - [`frame`]: where a frame comes from.
//! - [`rectangle`]: a part of a picture.
//! - [`gestures`], [`action`]: what a pointer and keys should do; [`gesture_outcome`]: what became of that.
//! - [`metrics`]: what a stage reports of its work; [`overlay`]: shapes over a frame.

pub mod action;
pub mod frame;
pub mod gesture_outcome;
pub mod gestures;
mod line;
pub mod metrics;
pub mod overlay;
pub mod rectangle;

use schemars::{Schema, schema_for};

pub use action::{Action, Button};
pub use frame::FrameNote;
pub use gesture_outcome::GestureOutcome;
pub use gestures::{Gesture, Gestures, LONGEST_MS, NamedArea};
pub use metrics::{Metric, Metrics, Tone};
pub use overlay::{Form, Overlay, Shape};
pub use rectangle::Rectangle;

/// A point of a plane, `[x, y]`: x grows to the right and y down.
pub type Point = [f64; 2];

/// Schema id of [`FrameNote`], which comes with pixels.
pub const FRAME: &str = "flowpipe.frame/1";
/// Schema id of [`Gestures`].
pub const GESTURES: &str = "flowpipe.gestures/1";
/// Schema id of [`GestureOutcome`].
pub const GESTURE_OUTCOME: &str = "flowpipe.gesture-outcome/1";
/// Schema id of [`Metrics`].
pub const METRICS: &str = "flowpipe.metrics/1";
/// Schema id of [`Overlay`].
pub const OVERLAY: &str = "flowpipe.overlay/1";

/// The plugin that checks these messages before they are sent: outputs name it
/// (`flowpipe_plugin::Port::checked_by`).
pub const CHECK: &str = "check-messages";

/// The JSON Schema of each message, by schema id.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        (FRAME, schema_for!(FrameNote)),
        (GESTURES, schema_for!(Gestures)),
        (GESTURE_OUTCOME, schema_for!(GestureOutcome)),
        (METRICS, schema_for!(Metrics)),
        (OVERLAY, schema_for!(Overlay)),
    ]
}
