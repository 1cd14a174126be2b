use flowpipe_abi::Hop;
use flowpipe_message::{Action, FrameNote, Gesture, Metric, Metrics, Rectangle};
use flowpipe_puzzle::message::StrokeOutcome;
use serde::Serialize;

use super::*;

fn message(schema: &str, body: &impl Serialize, stages: &[u32]) -> Message {
    let json = serde_json::to_vec(body).unwrap();
    let mut message = Message::detached(schema, &json).unwrap();
    let hop = |&stage| Hop {
        stage,
        reserved: 0,
        taken_ns: 0,
        emitted_ns: 0,
    };
    message.lineage.hops = stages.iter().map(hop).collect();
    message.source.stage = stages.last().copied().unwrap_or_default() as usize;
    message
}

fn sighting(stages: &[u32]) -> Message {
    let puzzle = flowpipe_puzzle::text::read("AA")
        .remove(0)
        .puzzle
        .unwrap()
        .0;
    let seen = SeenBoard::untouched(puzzle, 40.0);
    let reading = Reading::Board(Box::new(seen));
    message(
        SIGHTING,
        &Sighting::new(FrameNote::of("a.png"), reading),
        stages,
    )
}

fn printed(tally: &mut Tally, message: &Message) -> String {
    let mut text = Vec::new();
    tally.add(message, &mut text, false).unwrap();
    String::from_utf8(text).unwrap()
}

/// A pipeline that plays boards, without a referee.
fn boards() -> Visibility {
    Visibility {
        names: Vec::new(),
        is_shown: Vec::new(),
        has_referee: false,
        has_boards: true,
        has_solver: true,
        wanted_boards: None,
        writes_stdout: false,
    }
}

#[test]
fn a_board_that_a_stage_forwards_counts_once() {
    let mut tally = Tally::new(&boards(), false);
    for _ in 0..3 {
        printed(&mut tally, &sighting(&[0, 1]));
        printed(&mut tally, &sighting(&[0, 1, 2]));
        printed(&mut tally, &sighting(&[0, 1, 2, 3]));
    }
    assert_eq!(tally.boards, 3);
    // Another vision stage reads boards of its own.
    printed(&mut tally, &sighting(&[0, 4]));
    assert_eq!(tally.boards, 4);
    tally.pipeline_changed(&[]);
    printed(&mut tally, &sighting(&[1, 2]));
    assert_eq!(tally.boards, 5);
}

#[test]
fn a_dry_run_is_named_wherever_something_is_played() {
    let stroke = StrokeOutcome::new(0, Some(true));
    let frame = || FrameNote::of("a.png");
    let played = Outcome::new("actuator", frame(), vec![stroke.clone()])
        .with_solved(true)
        .with_act_ns(1);
    let refused = Outcome::new("actuator", frame(), vec![stroke]).with_refused("this is a dry run");
    let run = |dry| {
        let mut tally = Tally::new(&boards(), dry);
        let text = [&played, &refused]
            .map(|it| printed(&mut tally, &message(OUTCOME, it, &[])))
            .concat();
        text + &tally.summary()
    };
    assert_eq!(
        run(true),
        "a.png: played 1 stroke in a dry run, the game counts it as solved\n\
         a.png: not played, this is a dry run\n\
         0 boards read, 0 solved, 1 played in a dry run, 1 accepted by the game"
    );
    assert!(!run(false).replace("this is a dry run", "").contains("dry"));
}

#[test]
fn the_same_refusal_of_gestures_is_printed_once_until_some_are_played() {
    let mut tally = Tally::new(&boards(), false);
    let mut outcome = |played: usize, reason: Option<&str>| {
        let outcome = GestureOutcome::new("actuator-mouse", FrameNote::of("a"), played);
        let outcome = match reason {
            Some(reason) => outcome.with_refused(reason),
            None => outcome,
        };
        printed(&mut tally, &message(GESTURE_OUTCOME, &outcome, &[]))
    };
    let late = |age: u32| format!("the frame was captured {age} ms ago");
    assert_eq!(
        outcome(0, Some(&late(700))),
        format!("a: not played, {}\n", late(700))
    );
    assert_eq!(outcome(0, Some(&late(731))), "");
    assert_eq!(outcome(0, Some("covered")), "a: not played, covered\n");
    assert_eq!(
        outcome(1, Some("covered")),
        "a: played 1 gesture, covered\n"
    );
    assert_eq!(
        outcome(0, Some(&late(900))),
        format!("a: not played, {}\n", late(900))
    );
    let summary = tally.summary();
    assert!(summary.contains("5 messages refused"), "{summary}");
}

#[test]
fn a_pipeline_without_boards_counts_gestures() {
    let visibility = Visibility {
        has_boards: false,
        ..boards()
    };
    let mut tally = Tally::new(&visibility, false);
    assert_eq!(tally.summary(), "", "there is nothing to count");
    assert_eq!(on_this_machine(tally.summary()), "");
    let note = || FrameNote::of("Mines");
    let click = || Gesture::new("click", vec![Action::click([1.0, 1.0])]);
    let field = Rectangle::new(0.0, 0.0, 9.0, 9.0);
    let gestures = Gestures::new("planner", note(), field, vec![click(), click()]);
    printed(&mut tally, &message(GESTURES, &gestures, &[]));
    let played = GestureOutcome::new("actuator-mouse", note(), 2);
    let refused =
        GestureOutcome::new("actuator-mouse", note(), 0).with_refused("the window is gone");
    let text = [&played, &refused]
        .map(|it| printed(&mut tally, &message(GESTURE_OUTCOME, it, &[])))
        .concat();
    assert_eq!(
        text + &tally.summary(),
        "Mines: played 2 gestures\n\
         Mines: not played, the window is gone\n\
         2 gestures planned, 2 played, 1 message refused"
    );
}

#[test]
fn a_pipeline_without_boards_counts_what_its_stages_publish() {
    let visibility = Visibility {
        names: vec!["screen".to_owned(), "planner".to_owned()],
        has_boards: false,
        ..boards()
    };
    let mut tally = Tally::new(&visibility, false);
    let metrics = Metrics::new(vec![
        Metric::note("field 1 is\u{202e}won").with_tone(Tone::Good),
        Metric::counter("fields won", 2),
    ]);
    let text = printed(&mut tally, &message(METRICS, &metrics, &[0, 1]));
    assert_eq!(text, "planner: field 1 is\\u202ewon\n");
    assert_eq!(tally.summary(), "fields won: 2");
    assert_eq!(
        on_this_machine(tally.summary()),
        "on this machine: fields won: 2"
    );
    assert!(!tally.has_boards());
    // A reload adds a stage.
    let stages = ["screen", "planner", "judge"].map(str::to_owned);
    tally.pipeline_changed(&stages);
    let metrics = Metrics::new(vec![Metric::counter("fields won", 1)]);
    printed(&mut tally, &message(METRICS, &metrics, &[0, 1, 2]));
    let rows = tally.metrics.rows();
    assert_eq!(rows[1].stage, "judge");
    assert_eq!(tally.summary(), "fields won: 3");
}

#[test]
fn a_run_with_fewer_boards_than_it_was_to_solve_is_in_vain() {
    let in_vain = |wanted_boards, solved: u64, has_referee| {
        let visibility = Visibility {
            has_referee,
            wanted_boards,
            ..boards()
        };
        let mut tally = Tally::new(&visibility, false);
        (tally.boards, tally.accepted) = (9, solved);
        tally.is_in_vain()
    };
    assert!(in_vain(None, 0, true) && !in_vain(None, 1, true));
    assert!(in_vain(Some(3), 2, true) && !in_vain(Some(3), 3, true));
    assert!(!in_vain(Some(3), 0, false), "nobody counts");
}
