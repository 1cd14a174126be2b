use flowpipe_plugin::harness::samples;
use flowpipe_plugin::puzzle::message::{
    BoardState, Profile, Reading, SOLVED, Solved, Stroke, Strokes,
};
use flowpipe_plugin::puzzle::{Board, Flow, Puzzle, Rules, Terminal, level};
use serde_json::{Value, json};

use super::*;

/// 3 x 3: A goes round the outside to the left of B, which fills the middle column's end.
///
/// ```text
/// A─┐B
/// ┌─┘│
/// A B┘   (B: 2, 5, 8, 7)
/// ```
fn solved() -> Solved {
    let flows = [(0, vec![0, 1, 4, 3, 6]), (1, vec![2, 5, 8, 7])]
        .map(|(colour, cells)| Flow { colour, cells })
        .to_vec();
    let terminals = flows
        .iter()
        .flat_map(|flow| {
            [flow.cells[0], flow.cells[flow.cells.len() - 1]].map(|cell| Terminal {
                cell,
                colour: flow.colour,
            })
        })
        .collect();
    let rules = Rules {
        touch: true,
        ..Rules::default()
    };
    let puzzle = Puzzle::new(Board::rectangle(3, 3).unwrap(), terminals, rules).unwrap();
    samples::solved(puzzle, Solution { flows })
}

fn plan(config: Value) -> Vec<Stroke> {
    plan_of(solved(), config).strokes
}

fn plan_of(solved: Solved, config: Value) -> Strokes {
    let mut harness = flowpipe_plugin::harness!(Grid, config).unwrap();
    let strokes = samples::strokes(&mut harness, &solved).unwrap();
    assert_eq!(strokes.sighting, solved.sighting);
    strokes
}

#[test]
fn every_cell() {
    let strokes = plan(json!({ "strategy": "cells" }));
    assert_eq!(
        strokes[0].points,
        [[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 1.5], [0.5, 2.5]]
    );
}

#[test]
fn turns_only() {
    let strokes = plan(json!({}));
    assert_eq!(strokes[1].points, [[2.5, 0.5], [2.5, 2.5], [1.5, 2.5]]);
    assert_eq!(strokes[1].cells, [2, 5, 8, 7]);
}

#[test]
fn without_the_last_terminal() {
    let strokes = plan(json!({ "strategy": "cells", "skip_last_terminal": true }));
    assert_eq!(strokes[0].cells, [0, 1, 4, 3]);
    assert_eq!(strokes[1].points.last(), Some(&[2.5, 2.5]));
}

/// The board of a Flow Free level line instead of the plain one.
fn solved_level(line: &str) -> Solved {
    let level = level::parse(line).unwrap();
    samples::solved(level.puzzle, level.solution)
}

#[test]
fn every_kind_of_board_is_planned() {
    // Hexes; and a board that warps, where the first flow goes over the left edge.
    for (line, strokes) in [
        ("X_3:2,0,1,2;0,1,2,5;3,4", 2),
        ("W_3,0,1,2;0,2,5,3;1,4,7,6,8", 3),
    ] {
        for strategy in ["cells", "turns"] {
            for profile in ["events", "segments", "turns", "cells", "slow", "clicks"] {
                let config = json!({ "strategy": strategy, "profile": profile, "order": true });
                let planned = plan_of(solved_level(line), config);
                assert_eq!(
                    planned.strokes.len(),
                    strokes,
                    "{line} {strategy} {profile}"
                );
            }
        }
    }
}

#[test]
fn what_the_game_was_found_to_need_is_planned() {
    let points = |found: Option<Profile>, config: Value| {
        let mut solved = solved();
        solved.profile = found;
        let strokes = plan_of(solved, config);
        (strokes.profile.unwrap(), strokes.strokes[0].points.len())
    };
    assert_eq!(points(None, json!({})), (Profile::default(), 5));
    let turns = json!({ "profile": "turns" });
    assert_eq!(points(Some(Profile::Cells), turns), (Profile::Turns, 5));
    let found = Some(Profile::Events);
    assert_eq!(points(found, json!({})), (Profile::Events, 5));
    assert_eq!(points(Some(Profile::Slow), json!({})), (Profile::Slow, 5));
}

#[test]
fn only_what_is_missing_is_planned_and_only_at_rest() {
    let mut harness = flowpipe_plugin::harness!(Grid, json!({})).unwrap();
    let mut seen = |drawn: usize, state: BoardState| {
        let mut solved = solved();
        let drawn = solved.solution().unwrap().flows[..drawn].to_vec();
        let Reading::Board(board) = &mut solved.sighting.reading else {
            unreachable!()
        };
        (board.drawn, board.state) = (drawn, state);
        let emitted = harness.send(0, SOLVED, &solved).unwrap();
        let strokes = emitted.first().map(|it| it.body["strokes"].clone());
        strokes.map_or(0, |strokes| strokes.as_array().unwrap().len())
    };
    assert_eq!(seen(0, BoardState::Empty), 2);
    assert_eq!(seen(1, BoardState::Partial), 1);
    assert_eq!(seen(2, BoardState::Solved), 0);
    assert_eq!(seen(0, BoardState::Moving), 0);
}

#[test]
fn a_wrong_strategy_is_refused() {
    let error = flowpipe_plugin::harness!(Grid, json!({ "strategy": "hops" }))
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("unknown variant `hops`"),
        "{error}"
    );
}
