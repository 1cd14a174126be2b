use flowpipe_plugin::harness::samples;
use flowpipe_plugin::puzzle::level;
use flowpipe_plugin::puzzle::message::{Profile, Stroke, Strokes};
use serde_json::{Value, json};

use super::*;

/// The strokes for a level line's board, which have been checked.
fn plan(config: Value, line: &str) -> Strokes {
    let level = level::parse(line).unwrap();
    let mut harness = flowpipe_plugin::harness!(Corners, config).unwrap();
    samples::strokes(&mut harness, &samples::solved(level.puzzle, level.solution)).unwrap()
}

fn segments(strokes: &Strokes) -> usize {
    let segments = |stroke: &Stroke| stroke.points.len() - 1;
    strokes.strokes.iter().map(segments).sum()
}

#[test]
fn a_staircase_is_one_segment() {
    // From corner to corner of 5 x 5, and a flow round the corner on either side of it.
    let staircase = "5,0,1,3;0,1,6,7,12,13,18,19,24;2,3,4,9,14;5,10,15,20,21,22,23";
    let strokes = plan(json!({ "profile": "segments" }), staircase);
    let staircase = strokes.strokes.iter().find(|it| it.colour == 0).unwrap();
    assert_eq!(staircase.points.len(), 2, "{staircase:?}");
    assert_eq!(strokes.manner, Some(Profile::Segments.manner()));
}

#[test]
fn a_way_that_needs_other_points_is_not_found() {
    // A flow in the form of a two as on a display of seven segments: three would be enough.
    let two = "2:5,0,1,1;0,1,3,5,4,6,8,9";
    assert_eq!(segments(&plan(json!({ "inner": 0.65 }), two)), 4);
}
