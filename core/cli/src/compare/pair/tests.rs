use std::sync::Arc;

use flowpipe_puzzle::message::{BoardState, Reading, SeenBoard, Verdict};
use flowpipe_puzzle::{Flow, Solution, text};
use flowpipe_recording::Topic;

use super::*;
use crate::compare::frame::{FrameResult, SolverAnswer, StageFailure};
use crate::compare::puzzles::CellDifference;
use crate::compare::side::VerdictKind;

const ONE: &str = "A.B\nA.B";
const OTHER: &str = "A.B\n.AB";
/// The first one with other names.
const RENAMED: &str = "B.A\nB.A";

fn frame(board: &str) -> FrameResult {
    let puzzle = text::read(board).remove(0).puzzle.unwrap().0;
    let seen = SeenBoard::untouched(puzzle, 10.0);
    FrameResult {
        source: "window".into(),
        reading: Some(Reading::Board(Box::new(seen))),
        ..FrameResult::default()
    }
}

fn moving(board: &str) -> FrameResult {
    let mut frame = frame(board);
    if let Some(Reading::Board(seen)) = &mut frame.reading {
        seen.state = BoardState::Moving;
    }
    frame
}

fn refused(reason: &str) -> FrameResult {
    let reading = Reading::refused("lines", reason);
    FrameResult {
        reading: Some(reading),
        ..FrameResult::default()
    }
}

fn answered(board: &str, verdict: Verdict) -> FrameResult {
    FrameResult {
        answer: Some(Box::new(SolverAnswer {
            solver: "solver".into(),
            verdict: Ok(verdict),
            took_ns: Some(7),
        })),
        ..frame(board)
    }
}

fn solution(cells: &[&[usize]]) -> Verdict {
    let flows = cells.iter().zip(0..).map(|(cells, colour)| Flow {
        colour,
        cells: cells.to_vec(),
    });
    Verdict::solution(
        Solution {
            flows: flows.collect(),
        },
        None,
    )
}

fn gave_up() -> Verdict {
    Verdict::unknown("tired")
}

fn frames(all: Vec<FrameResult>) -> Frames {
    let id = |number| FrameId {
        topic: Topic::new("screen", "out"),
        number,
    };
    all.into_iter()
        .zip(1..)
        .map(|(frame, number)| (id(number), frame))
        .collect()
}

fn found(a: Vec<FrameResult>, b: Vec<FrameResult>) -> Vec<(u64, Vec<Difference>)> {
    let pairs = pairs(&frames(a), &frames(b));
    pairs
        .into_iter()
        .map(|it| (it.frame.number, it.differences))
        .collect()
}

#[test]
fn boards_are_joined_across_frames_and_colour_names() {
    let a = vec![refused("dark"), frame(ONE), frame(ONE), frame(OTHER)];
    let b = vec![frame(RENAMED), frame(RENAMED), moving(ONE), frame(OTHER)];
    assert_eq!(found(a.clone(), b.clone()), [(1, vec![]), (4, vec![])]);
    let counts = count(&frames(a), &frames(b));
    let expected = FrameCounts {
        both: 2,
        a_alone: 1,
        b_alone: 1,
        ..FrameCounts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_frame_that_is_read_differently_is_one_board() {
    let reading = Difference::Reading {
        frame: 1,
        cell: CellDifference {
            row: Some(2),
            col: Some(1),
            a: "terminal A".into(),
            b: "an empty cell".into(),
        },
    };
    let both = found(vec![frame(ONE)], vec![frame(OTHER)]);
    assert_eq!(both, [(1, vec![reading.clone()])]);
    // Also if both boards are known to both.
    let both = found(
        vec![frame(ONE), frame(OTHER), frame(ONE)],
        vec![frame(OTHER), frame(OTHER), frame(ONE)],
    );
    assert_eq!(both, [(1, vec![reading]), (1, vec![])]);
}

#[test]
fn an_unread_board_is_reported_with_the_reason() {
    let unread = |by, reason: &str| Difference::Unread {
        by,
        reason: Some(reason.into()),
    };
    let a = vec![frame(ONE), refused("dark")];
    let b = vec![refused("small"), frame(OTHER)];
    assert_eq!(
        found(a, b),
        [
            (1, vec![unread(PipelineId::B, "small")]),
            (2, vec![unread(PipelineId::A, "dark")])
        ]
    );
}

#[test]
fn answers_are_those_to_the_same_frame() {
    let (down, across) = (
        solution(&[&[0, 3], &[2, 5]]),
        solution(&[&[0, 1, 4, 3], &[2, 5]]),
    );
    let of = |verdicts: &[Option<&Verdict>]| -> Vec<FrameResult> {
        let frame = |verdict: &Option<&Verdict>| match verdict {
            Some(verdict) => answered(ONE, (*verdict).clone()),
            None => frame(ONE),
        };
        verdicts.iter().map(frame).collect()
    };
    // On the first frame that both answer, not on an earlier one.
    let both = found(
        of(&[Some(&gave_up()), Some(&down)]),
        of(&[None, Some(&down)]),
    );
    assert_eq!(both, [(1, vec![])]);
    let both = found(of(&[Some(&down)]), of(&[Some(&across)]));
    assert_eq!(both, [(1, vec![Difference::AnotherSolution])]);
    assert!(!both[0].1[0].matters());
    let both = found(of(&[Some(&down)]), of(&[None, Some(&gave_up())]));
    let (a, b) = (VerdictKind::Solved, VerdictKind::GaveUp);
    assert_eq!(both, [(1, vec![Difference::Verdict { a, b }])]);
    assert!(both[0].1[0].matters());
}

#[test]
fn failures_of_both_are_reported() {
    let failed = FrameResult {
        failures: vec![Arc::new(StageFailure {
            stage: "planner".into(),
            text: "no way".into(),
        })],
        ..frame(ONE)
    };
    let failure = |by| Difference::Failure {
        by,
        stage: "planner".into(),
        text: "no way".into(),
    };
    let both = found(
        vec![failed.clone(), failed.clone()],
        vec![failed, frame(ONE)],
    );
    assert_eq!(
        both,
        [(1, vec![failure(PipelineId::A), failure(PipelineId::B)])]
    );
}
