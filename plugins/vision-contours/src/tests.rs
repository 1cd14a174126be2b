//! Whole pictures, through the plugin's ABI.

mod corpus;
mod hostile;
mod pictures;
mod truth;

use flowpipe_plugin::Format;
use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::puzzle::message::{FRAME, FrameNote, Reading, Sighting};
use serde_json::json;

use crate::VisionContours;

fn harness() -> Harness {
    flowpipe_plugin::harness!(VisionContours, json!({})).unwrap()
}

/// What a stage makes of a picture.
fn see(harness: &mut Harness, layout: (Format, u32, u32), pixels: &[u8]) -> Reading {
    let note = FrameNote::of("test");
    let emitted = harness.send_picture(FRAME, &note, layout, pixels).unwrap();
    let sighting: Sighting = serde_json::from_value(emitted[0].body.clone()).unwrap();
    sighting.reading
}
