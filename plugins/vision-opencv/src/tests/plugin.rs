//! Through the plugin's ABI.

use flowpipe_plugin::Format;
use flowpipe_plugin::puzzle::message::{FRAME, FrameNote, Reading, Sighting};
use serde_json::json;

use super::canvas::{Canvas, Place};
use crate::VisionOpencv;

fn note() -> FrameNote {
    FrameNote::of("test")
}

#[test]
fn a_frame_becomes_a_sighting() {
    let mut harness = flowpipe_plugin::harness!(VisionOpencv, json!({})).unwrap();
    let mut canvas = Canvas::new(300, 300, [0, 0, 0]);
    canvas.board(
        Place {
            x: 40.0,
            y: 40.0,
            cell: 40.0,
        },
        &["R...", "..B.", ".R..", "...B"],
    );
    let emitted = harness
        .send_picture(FRAME, &note(), (Format::Rgb8, 300, 300), &canvas.rgb)
        .unwrap();
    let sighting: Sighting = serde_json::from_value(emitted[0].body.clone()).unwrap();
    assert_eq!(sighting.frame, note());
    assert!(sighting.board().is_some());
    let blank = Canvas::new(300, 300, [0, 0, 0]);
    let emitted = harness
        .send_picture(FRAME, &note(), (Format::Rgb8, 300, 300), &blank.rgb)
        .unwrap();
    let sighting: Sighting = serde_json::from_value(emitted[0].body.clone()).unwrap();
    assert!(matches!(sighting.reading, Reading::Refused { .. }));
    assert_eq!(sighting.steps, [], "not configured");
}

#[test]
fn the_time_of_each_step_where_it_is_asked_for() {
    let mut harness = flowpipe_plugin::harness!(VisionOpencv, json!({ "timed": true })).unwrap();
    let mut canvas = Canvas::new(300, 300, [0, 0, 0]);
    let place = Place {
        x: 40.0,
        y: 40.0,
        cell: 40.0,
    };
    canvas.board(place, &["R...", "..B.", ".R..", "...B"]);
    let mut names = |canvas: &Canvas| -> Vec<String> {
        let emitted = harness
            .send_picture(FRAME, &note(), (Format::Rgb8, 300, 300), &canvas.rgb)
            .unwrap();
        let sighting: Sighting = serde_json::from_value(emitted[0].body.clone()).unwrap();
        let steps = sighting.steps.into_iter();
        steps.map(|time| time.step).collect()
    };
    let found = names(&canvas);
    for step in ["samples", "lines", "grid", "cells", "terminals", "pipes"] {
        assert!(found.iter().any(|name| name == step), "{step} of {found:?}");
    }
    // Where the board is is known now, and from then on all its pixels.
    let known = names(&canvas);
    assert!(known.iter().any(|name| name == "cells"), "{known:?}");
    assert!(known.iter().all(|name| name != "samples"), "{known:?}");
    assert_eq!(names(&canvas), ["same pixels"]);
}

#[test]
fn a_picture_of_each_step_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({ "steps": folder.path() });
    let mut harness = flowpipe_plugin::harness!(VisionOpencv, config).unwrap();
    let mut canvas = Canvas::new(300, 200, [0, 0, 0]);
    let place = Place {
        x: 20.0,
        y: 20.0,
        cell: 40.0,
    };
    canvas.board(place, &["R...", "..B.", ".R..", "...B"]);
    let layout = (Format::Rgb8, 300, 200);
    let emitted = harness
        .send_picture(FRAME, &note(), layout, &canvas.rgb)
        .unwrap();
    assert!(emitted[0].body.get("steps").is_none(), "pictures, no times");
    for name in ["01-lines", "02-grid-lines", "03-terminals", "04-pipes"] {
        let picture = image::open(folder.path().join(format!("{name}.png"))).unwrap();
        assert_eq!((picture.width(), picture.height()), (300, 200), "{name}");
    }
}

#[test]
fn configs_that_cannot_be() {
    for (config, text) in [
        (
            json!({ "min_cells": 9, "max_cells": 5 }),
            "min_cells (9) is larger than max_cells (5)",
        ),
        (json!({ "max_cells": 100 }), "between 2 and 64"),
        (json!({ "min_cell_pixels": 1 }), "at least 8"),
        (json!({ "cells": 5 }), "unknown field"),
    ] {
        let error = flowpipe_plugin::harness!(VisionOpencv, config)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(text), "{error}");
    }
}
