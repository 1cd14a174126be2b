use flowpipe_plugin::harness::samples;
use flowpipe_plugin::puzzle::level;
use flowpipe_plugin::puzzle::message::{Profile, Stroke, StrokeEnd, Strokes};
use serde_json::{Value, json};

use super::*;

/// 5 x 5: a staircase from corner to corner, and a flow round the corner on either side of it.
const STAIRCASE: &str = "5,0,1,3;0,1,6,7,12,13,18,19,24;2,3,4,9,14;5,10,15,20,21,22,23";
/// 3 x 3 that warps: the first flow leaves over the left edge, goes down one and comes back.
const WARPED: &str = "W_3,0,1,2;0,2,5,3;1,4,7,6,8";
/// 5 x 2: a flow in the form of a two as on a display of seven segments.
const TWO: &str = "2:5,0,1,1;0,1,3,5,4,6,8,9";
/// Hexes: three columns of two.
const HEXES: &str = "X_3:2,0,1,2;0,1,2,5;3,4";

fn plan(config: Value, line: &str, profile: Option<Profile>) -> Strokes {
    let level = level::parse(line).unwrap();
    let mut solved = samples::solved(level.puzzle, level.solution);
    solved.profile = profile;
    let mut harness = flowpipe_plugin::harness!(Minlink, config).unwrap();
    samples::strokes(&mut harness, &solved).unwrap()
}

fn segments(strokes: &Strokes) -> usize {
    let segments = |stroke: &Stroke| stroke.points.len() - 1;
    strokes.strokes.iter().map(segments).sum()
}

#[test]
fn a_staircase_is_one_segment() {
    let strokes = plan(json!({ "profile": "segments" }), STAIRCASE, None);
    let staircase = strokes.strokes.iter().find(|it| it.colour == 0).unwrap();
    assert_eq!(staircase.points.len(), 2, "{staircase:?}");
    assert_eq!(staircase.cells.len(), 8, "without the last terminal");
    assert_eq!(strokes.profile, Some(Profile::Segments));
    assert_eq!(strokes.manner, Some(Profile::Segments.manner()));
}

#[test]
fn a_turn_may_lie_anywhere() {
    let strokes = plan(json!({ "inner": 0.65 }), TWO, None);
    assert_eq!(segments(&strokes), 3, "{strokes:?}");
}

#[test]
fn what_the_game_was_found_to_need_is_planned() {
    let points = |config: Value, found| {
        let strokes = plan(config, STAIRCASE, found);
        (strokes.profile.unwrap(), segments(&strokes))
    };
    assert_eq!(points(json!({}), None).0, Profile::default());
    assert_eq!(
        points(json!({}), Some(Profile::Turns)),
        (Profile::Turns, 8 + 2 + 2)
    );
    assert_eq!(
        points(json!({}), Some(Profile::Slow)),
        (Profile::Slow, 8 + 4 + 6)
    );
    let asked = json!({ "profile": "turns" });
    assert_eq!(points(asked, Some(Profile::Cells)).0, Profile::Turns);
}

#[test]
fn strokes_end_in_terminals_where_the_game_needs_it() {
    let cells = |end| {
        let level = level::parse(STAIRCASE).unwrap();
        let mut solved = samples::solved(level.puzzle, level.solution);
        solved.stroke_end = end;
        let mut harness = flowpipe_plugin::harness!(Minlink, json!({})).unwrap();
        let strokes = samples::strokes(&mut harness, &solved).unwrap().strokes;
        strokes.iter().map(|it| it.cells.len()).sum::<usize>()
    };
    assert_eq!(cells(None), 21 - 3);
    assert_eq!(cells(Some(StrokeEnd::BesideTerminal)), 21 - 3);
    assert_eq!(cells(Some(StrokeEnd::InTerminal)), 21);
}

#[test]
fn events_come_in_every_cell() {
    let strokes = plan(json!({ "profile": "events" }), STAIRCASE, None);
    for stroke in &strokes.strokes {
        let inner = |cell: &usize| {
            let (x, y) = ((cell % 5) as f64 + 0.5, (cell / 5) as f64 + 0.5);
            let near =
                |point: &&[f64; 2]| (point[0] - x).abs() < 0.334 && (point[1] - y).abs() < 0.334;
            stroke.points.iter().any(|point| near(&point))
        };
        assert!(stroke.cells.iter().all(inner), "{stroke:?}");
    }
}

#[test]
fn over_an_edge_a_new_press_or_none() {
    let pressed = plan(json!({}), WARPED, None);
    assert!(pressed.strokes.len() > 2);
    assert!(pressed.strokes.iter().all(|stroke| !stroke.held));
    let held = plan(json!({ "warps": "go-on" }), WARPED, None);
    assert_eq!(held.strokes.len(), pressed.strokes.len());
    for pair in held.strokes.windows(2) {
        assert_eq!(pair[0].held, pair[0].colour == pair[1].colour);
    }
    assert!(!held.strokes.last().unwrap().held);
}

#[test]
fn hexes_are_planned() {
    let strokes = plan(json!({ "profile": "segments", "inner": 0.8 }), HEXES, None);
    assert_eq!(strokes.strokes.len(), 2);
}

#[test]
fn a_wrong_share_is_refused() {
    let refusal = |config| flowpipe_plugin::harness!(Minlink, config).err().unwrap();
    let error = refusal(json!({ "inner": 1.5 })).to_string();
    assert!(error.contains("less than 1, not 1.5"), "{error}");
    let error = refusal(json!({ "iner": 0.5 })).to_string();
    assert!(error.contains("unknown field `iner`"), "{error}");
}
