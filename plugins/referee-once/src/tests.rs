//! The stage through the ABI. What becomes of outcomes is tested with the whole program: it takes
//! frames that descend from each other.

use flowpipe_plugin::harness::{Emitted, Harness, samples};
use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Flow, Solution, text};
use serde_json::{Value, json};

use super::*;

/// What older versions called `reported`.
const OLDER: &str = "told"; // key of older files

fn referee() -> Harness {
    flowpipe_plugin::harness!(Once, json!({})).unwrap()
}

/// A board of one row, solved.
fn solved(cells: usize) -> Solved {
    let puzzle = text::read(&format!("A{}A", ".".repeat(cells - 2)))
        .remove(0)
        .puzzle
        .unwrap()
        .0;
    let flow = Flow {
        colour: 0,
        cells: (0..cells).collect(),
    };
    samples::solved(puzzle, Solution { flows: vec![flow] })
}

fn in_state(cells: usize, state: BoardState) -> Sighting {
    let Solved { sighting, .. } = solved(cells);
    assert!(sighting.board().is_some(), "no board");
    Sighting::new(sighting.frame, sighting.reading.with_state(state))
}

fn ports(emitted: &[Emitted]) -> Vec<usize> {
    emitted.iter().map(|it| it.port).collect()
}

#[test]
fn a_board_is_asked_for_once_and_at_rest() {
    let mut referee = referee();
    let mut look = |sighting: &Sighting| ports(&referee.send(0, SIGHTING, sighting).unwrap());
    assert_eq!(look(&in_state(5, BoardState::Moving)), [0; 0]);
    assert_eq!(look(&in_state(5, BoardState::Empty)), [ASK]);
    assert_eq!(look(&in_state(5, BoardState::Partial)), [0; 0]);
    assert_eq!(look(&in_state(6, BoardState::Partial)), [ASK]);
    assert_eq!(look(&in_state(5, BoardState::Empty)), [0; 0]);
}

#[test]
fn what_is_solved_is_played_as_it_was_seen() {
    let mut referee = referee();
    let solved = solved(5);
    let emitted = referee.send(1, SOLVED, &solved).unwrap();
    assert_eq!(ports(&emitted), [PLAY]);
    assert_eq!(emitted[0].body, serde_json::to_value(&solved).unwrap());
}

#[test]
fn what_is_not_solved_is_reported() {
    let mut referee = referee();
    let reason = "tired".to_owned();
    let mut given_up = solved(5);
    given_up.answer = Verdict::unknown(reason);
    let emitted = referee.send(1, SOLVED, &given_up).unwrap();
    assert_eq!(ports(&emitted), [RESULTS]);
    let body: &Value = &emitted[0].body;
    assert_eq!(
        (&body["number"], &body["solved"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(body["reason"], "test found no solution");
}

#[test]
fn another_in_its_place_asks_for_no_board_again() {
    let mut old = referee();
    old.send(0, SIGHTING, &in_state(5, BoardState::Empty))
        .unwrap();
    old.send(1, SOLVED, &solved(5)).unwrap();
    let state = old.save().unwrap();
    assert_eq!(state.0, "referee-once/1");
    assert_eq!(state.1["reported"], 0);
    let mut older = state.clone();
    let reported = older.1.as_object_mut().unwrap().remove("reported").unwrap();
    older.1[OLDER] = reported;
    assert!(referee().load(&older).unwrap(), "by its older key");
    let mut new = referee();
    assert!(new.load(&state).unwrap());
    let mut look = |sighting: &Sighting| ports(&new.send(0, SIGHTING, sighting).unwrap());
    assert_eq!(look(&in_state(5, BoardState::Empty)), [0; 0]);
    assert_eq!(look(&in_state(6, BoardState::Empty)), [ASK]);
    assert!(!new.load(&("referee-repair/1".into(), json!({}))).unwrap());
    assert!(
        new.load(&("referee-once/1".into(), json!({ "asked": 1 })))
            .is_err()
    );
}
