use flowpipe_message::FrameNote;
use proptest::prelude::*;

use super::*;
use crate::board::Description;
use crate::message::{Reading, SeenBoard, Sighting};
use crate::{Flow, Puzzle, Rules, Solution, Terminal};

fn manner(step: Option<f64>, nudge: f64) -> Manner {
    Manner::new(Pace {
        step,
        dwell_ms: 18.0,
        ends_ms: 4.0,
        repeats: 2,
        until_shown_ms: 90.0,
    })
    .with_nudge(nudge)
}

/// Strokes on a board of 10 x 10 cells of so many pixels.
fn strokes(of: &[Stroke], pixels: f64) -> Strokes {
    let board = Board::rectangle(10, 10).unwrap();
    let terminals = [0, 1].map(|cell| Terminal { cell, colour: 0 });
    let puzzle = Puzzle::new(board, terminals.to_vec(), Rules::default()).unwrap();
    let geometry = Geometry::axis_aligned(0.0, 0.0, 10.0 * pixels, 10.0 * pixels, 10, 10);
    let seen = SeenBoard::new(puzzle, geometry, vec![[255, 0, 0]]);
    Strokes::new(
        "planner-test",
        of.to_vec(),
        Solution::new(vec![Flow::new(0, vec![0, 1])]),
        Sighting::new(FrameNote::of("test"), Reading::Board(Box::new(seen))),
    )
}

/// The gestures of strokes on that board.
fn on_board(of: &[Stroke], pixels: f64, manner: &Manner, drags: Drags) -> Vec<Gesture> {
    let gestures = strokes(of, pixels).gestures(manner, drags).unwrap();
    assert_eq!(gestures.check(), Ok(()));
    gestures.gestures
}

fn stroke(points: &[Point]) -> Stroke {
    Stroke::new(0, Vec::new(), points.to_vec())
}

/// The places of a gesture in whole pixels, and how long the pointer stays there.
fn sent(gesture: &Gesture) -> Vec<([i32; 2], f64)> {
    let place = |action: &Action| {
        let pixel = action.place()?.map(|value| value.floor() as i32);
        Some((pixel, action.stay_ms()))
    };
    gesture.actions.iter().filter_map(place).collect()
}

fn presses(gesture: &Gesture) -> usize {
    let press = |action: &&Action| matches!(action, Action::Press { .. });
    gesture.actions.iter().filter(press).count()
}

fn releases(gesture: &Gesture) -> usize {
    let release = |action: &&Action| matches!(action, Action::Release { .. });
    gesture.actions.iter().filter(release).count()
}

const CORNER: [Point; 3] = [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]];

#[test]
fn it_waits_at_turns_and_sends_the_cells_between() {
    let strokes = [stroke(&CORNER)];
    let gestures = on_board(&strokes, 10.0, &manner(Some(1.0), 0.0), Drags::Strokes);
    assert_eq!(
        gestures[0].actions,
        [
            Action::press([5.0, 5.0]).with_stay_ms(4.0),
            Action::move_to([15.0, 5.0]).with_repeats(2),
            Action::move_to([25.0, 5.0])
                .with_repeats(2)
                .with_stay_ms(18.0)
                .with_until_shown_ms(90.0),
            Action::move_to([25.0, 15.0])
                .with_repeats(2)
                .with_stay_ms(4.0)
                .with_until_shown_ms(90.0),
            Action::release(),
        ]
    );
    assert_eq!(gestures[0].name, "draw A");
    let nothing = on_board(
        &[stroke(&[])],
        10.0,
        &manner(Some(1.0), 0.0),
        Drags::Strokes,
    );
    assert!(nothing[0].actions.is_empty());
}

#[test]
fn without_a_step_the_points_are_enough() {
    let gestures = on_board(&[stroke(&CORNER)], 10.0, &manner(None, 0.0), Drags::Strokes);
    assert_eq!(
        sent(&gestures[0]),
        [([5, 5], 4.0), ([25, 5], 18.0), ([25, 15], 4.0)]
    );
}

#[test]
fn a_nudge_is_a_stop_in_the_first_cell_of_each_drag() {
    let one = [stroke(&CORNER)];
    let gestures = on_board(&one, 10.0, &manner(None, 0.25), Drags::Strokes);
    assert_eq!(
        sent(&gestures[0]),
        [
            ([5, 5], 4.0),
            ([7, 5], 18.0),
            ([25, 5], 18.0),
            ([25, 15], 4.0)
        ]
    );
    let gestures = on_board(&one, 10.0, &manner(None, 0.25), Drags::Segments);
    assert_eq!(
        sent(&gestures[0]),
        [
            ([5, 5], 4.0),
            ([7, 5], 18.0),
            ([25, 5], 4.0),
            ([25, 5], 4.0),
            ([25, 7], 18.0),
            ([25, 15], 4.0)
        ]
    );
    assert_eq!((presses(&gestures[0]), releases(&gestures[0])), (2, 2));
}

#[test]
fn a_change_is_waited_for_where_a_pipe_is_drawn() {
    let waits = |nudge: f64, points: &[Point], drags: Drags| -> Vec<bool> {
        let gestures = on_board(&[stroke(points)], 10.0, &manner(None, nudge), drags);
        let waits = gestures[0]
            .actions
            .iter()
            .filter_map(|action| match action {
                Action::Move { until_shown_ms, .. } => Some(*until_shown_ms > 0.0),
                _ => None,
            });
        waits.collect()
    };
    // Its end is beside a terminal: the pipe is seen there.
    assert_eq!(waits(0.0, &CORNER, Drags::Strokes), [true, true]);
    assert_eq!(waits(0.25, &CORNER, Drags::Strokes), [false, true, true]);
    let segments = [false, true, false, true];
    assert_eq!(waits(0.25, &CORNER, Drags::Segments), segments);
    // There and back to the other terminal.
    let to_terminal = [[0.5, 0.5], [0.5, 1.5], [1.5, 1.5], [1.5, 0.5]];
    assert_eq!(
        waits(0.0, &to_terminal, Drags::Strokes),
        [true, true, false]
    );
}

#[test]
fn a_nudge_goes_neither_beyond_the_next_point_nor_out_of_the_cell() {
    let board = Board::rectangle(3, 3).unwrap();
    let nudged = |points: &[Point]| nudged(&board, points, 0.4);
    assert_eq!(nudged(&[[0.5, 0.5], [0.7, 0.5]]), None, "it is the nudge");
    assert_eq!(nudged(&[[0.5, 0.5], [0.5, 0.5]]), None, "nowhere to go");
    assert_eq!(nudged(&[[0.5, 0.5]]), None);
    let [x, y] = nudged(&[[0.75, 0.5], [1.5, 0.5]]).unwrap();
    assert!((x - 0.95).abs() < 1e-9 && y == 0.5, "{x}");
    let [x, y] = nudged(&[[1.5, 1.2], [1.5, 0.2]]).unwrap();
    assert!(x == 1.5 && (y - 1.05).abs() < 1e-9, "{y}");
}

#[test]
fn a_held_stroke_goes_on_in_the_next_one_but_for_the_last() {
    let held = stroke(&[[8.5, 0.5], [9.5, 0.5]]).and_held();
    let next = stroke(&[[0.5, 0.5], [2.5, 0.5]]).and_held();
    let gestures = on_board(&[held, next], 10.0, &manner(None, 0.25), Drags::Strokes);
    let (one, two) = (&gestures[0], &gestures[1]);
    assert_eq!((presses(one), releases(one)), (1, 0));
    assert_eq!((presses(two), releases(two)), (0, 1));
    // There is no wait for a missing release or press, and no nudge.
    assert_eq!(
        sent(one),
        [([85, 5], 4.0), ([87, 5], 18.0), ([95, 5], 18.0)]
    );
    assert_eq!(sent(two), [([5, 5], 18.0), ([25, 5], 4.0)]);
}

#[test]
fn clicks_press_at_both_ends() {
    let manner = manner(None, 0.0).with_hold(Hold::Clicks);
    let gestures = on_board(&[stroke(&CORNER[..2])], 10.0, &manner, Drags::Strokes);
    assert_eq!(
        gestures[0].actions,
        [
            Action::press([5.0, 5.0]).with_stay_ms(4.0),
            Action::release(),
            Action::move_to([25.0, 5.0])
                .with_repeats(2)
                .with_stay_ms(4.0),
            Action::press_here().with_stay_ms(4.0),
            Action::release(),
        ]
    );
}

#[test]
fn a_cell_beyond_a_board_that_warps_may_be_touched_in_a_known_window() {
    let geometry = Geometry::axis_aligned(40.0, 40.0, 30.0, 30.0, 3, 3);
    let board = |warps| {
        Board::new(Description {
            rows: 3,
            cols: 3,
            warps,
            ..Description::default()
        })
        .unwrap()
    };
    let inside = Some(Rectangle::new(40.0, 40.0, 30.0, 30.0));
    assert_eq!(bounds(&board(false), &geometry, true), inside);
    assert_eq!(bounds(&board(true), &geometry, false), inside);
    let wider = bounds(&board(true), &geometry, true).unwrap();
    for (found, expected) in wider
        .corners()
        .iter()
        .flatten()
        .zip([30.0, 30.0, 80.0, 30.0, 80.0, 80.0, 30.0, 80.0])
    {
        assert!((found - expected).abs() < 1e-9, "{wider:?}");
    }
}

/// The estimated duration of strokes is the time that playing them takes.
#[test]
fn stays_add_up_to_what_the_manner_sets() {
    let held = stroke(&CORNER).and_held();
    let strokes = [stroke(&CORNER), held, stroke(&CORNER[..2])];
    for manner in [
        manner(None, 0.0),
        manner(Some(0.3), 0.25),
        manner(None, 0.0).with_hold(Hold::Clicks),
    ] {
        let gestures = on_board(&strokes, 10.0, &manner, Drags::Strokes);
        let actions = gestures.iter().flat_map(|gesture| &gesture.actions);
        let stays: f64 = actions.map(Action::stay_ms).sum();
        assert_eq!(stays, manner.stays_ms(&strokes));
    }
}

proptest! {
    /// Steps are never longer than asked for, and every point of the stroke is a place.
    #[test]
    fn steps_are_short(
        points in prop::collection::vec((0.0..10.0f64, 0.0..10.0f64), 1..8),
        step in 0.05..1.0f64,
        nudge in 0.0..1.0f64,
    ) {
        let points: Vec<Point> = points.into_iter().map(|(x, y)| [x, y]).collect();
        let manner = manner(Some(step), nudge);
        let gestures = on_board(&[stroke(&points)], 100.0, &manner, Drags::Strokes);
        let places: Vec<[i32; 2]> = sent(&gestures[0]).into_iter().map(|(at, _)| at).collect();
        for pair in places.windows(2) {
            let gap = f64::from(pair[0][0] - pair[1][0]).hypot(f64::from(pair[0][1] - pair[1][1]));
            prop_assert!(gap <= 100.0 * step + 2.0);
        }
        let mut left = places.iter();
        for point in points {
            let pixel = point.map(|value| (100.0 * value).floor() as i32);
            prop_assert!(left.any(|at| *at == pixel));
        }
    }
}
