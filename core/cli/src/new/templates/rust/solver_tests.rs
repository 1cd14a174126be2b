use flowpipe_plugin::harness::samples;
use flowpipe_plugin::puzzle::check;
use flowpipe_plugin::puzzle::message::{SIGHTING, Solved, Verdict};
use serde_json::{Value, json};

use crate::Plugin;

/// The stage's answer to a puzzle, without a pipeline.
fn ask(puzzle: &str, config: Value) -> (flowpipe_plugin::puzzle::Puzzle, Verdict) {
    let puzzle = samples::puzzle(puzzle).unwrap();
    let mut harness = flowpipe_plugin::harness!(Plugin, config).unwrap();
    let emitted = harness
        .send(0, SIGHTING, &samples::sighting(puzzle.clone()))
        .unwrap();
    let solved: Solved = serde_json::from_value(emitted[0].body.clone()).unwrap();
    (puzzle, solved.answer)
}

#[test]
fn a_solution_keeps_the_rules() {
    let (puzzle, answer) = ask("A.B.C\n..D.E\n.....\n.B.C.\n.ADE.", json!({}));
    let Verdict::Solution { solution, .. } = answer else {
        panic!("it has a solution, but: {answer:?}");
    };
    check(&puzzle, &solution).unwrap();
}

#[test]
fn what_has_no_solution_gets_none() {
    let (_, answer) = ask("A.B\n...\nB.A", json!({}));
    assert_eq!(answer, Verdict::unsolvable(None));
}

#[test]
fn it_gives_up_when_it_should() {
    let (_, answer) = ask(
        "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.",
        json!({ "max_steps": 3 }),
    );
    assert!(matches!(answer, Verdict::Unknown { .. }), "{answer:?}");
}
