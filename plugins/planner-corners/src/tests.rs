use flowpipe_plugin::puzzle::message::{
    BoardState, Effort, FrameNote, Reading, SOLVED, Sighting, Solved, Stroke, Strokes, Verdict,
};
use flowpipe_plugin::puzzle::stroke_check::check_strokes;
use flowpipe_plugin::puzzle::{Geometry, level};
use serde_json::{Value, json};

use super::*;

/// 5 x 5: a staircase from corner to corner, and a flow round the corner on either side of it.
const STAIRCASE: &str = "5,0,1,3;0,1,6,7,12,13,18,19,24;2,3,4,9,14;5,10,15,20,21,22,23";
/// 5 x 2: a flow in the form of a two as on a display of seven segments.
const TWO: &str = "2:5,0,1,1;0,1,3,5,4,6,8,9";

fn solved(line: &str, profile: Option<Profile>) -> Solved {
    let level = level::parse(line).unwrap();
    let board = level.puzzle.board();
    let (rows, cols) = (board.rows(), board.cols());
    let palette = vec![[255, 0, 0]; level.solution.flows.len()];
    let board = SeenBoard {
        geometry: Geometry::upright(0.0, 0.0, 500.0, 500.0, rows, cols),
        puzzle: level.puzzle,
        palette,
        drawn: Vec::new(),
        state: BoardState::Empty,
        confidence: 1.0,
    };
    Solved {
        solver: "test".to_owned(),
        answer: Verdict::solution(level.solution, None),
        effort: Effort::default(),
        profile,
        sighting: Sighting {
            frame: FrameNote::of("test"),
            reading: Reading::Board(Box::new(board)),
        },
    }
}

fn plan(config: Value, line: &str, profile: Option<Profile>) -> Strokes {
    let solved = solved(line, profile);
    let mut harness = flowpipe_plugin::harness!(Corners, config).unwrap();
    let emitted = harness.send(0, SOLVED, &solved).unwrap();
    let strokes: Strokes = serde_json::from_value(emitted[0].body.clone()).unwrap();
    let puzzle = &solved.sighting.board().unwrap().puzzle;
    check_strokes(puzzle, solved.solution().unwrap(), &strokes.strokes).unwrap();
    strokes
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
fn a_way_that_needs_other_points_is_not_found() {
    let strokes = plan(json!({ "inner": 0.65 }), TWO, None);
    assert_eq!(segments(&strokes), 4);
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
fn a_wrong_share_is_refused() {
    let refusal = |config| flowpipe_plugin::harness!(Corners, config).err().unwrap();
    let error = refusal(json!({ "inner": 1.5 })).to_string();
    assert!(error.contains("less than 1, not 1.5"), "{error}");
    let error = refusal(json!({ "iner": 0.5 })).to_string();
    assert!(error.contains("unknown field `iner`"), "{error}");
}
