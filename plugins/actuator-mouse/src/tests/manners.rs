//! The manners in which strokes are played.

use flowpipe_plugin::puzzle::message::Profile;
use proptest::prelude::*;

use super::*;

/// Two strokes, the first of which is held, in a game that is played in a manner.
fn held(manner: Manner) -> Strokes {
    let mut strokes = strokes(&[0.5, 0.5]);
    strokes.strokes[0].points = vec![[0.5, 0.5], [1.5, 0.5]];
    strokes.strokes[0].held = true;
    strokes.strokes[1].points = vec![[3.5, 0.5], [2.5, 0.5]];
    strokes.manner = Some(manner);
    strokes
}

#[test]
fn a_held_stroke_goes_on_from_elsewhere_without_a_press() {
    let (_, outcome, events) = play_all(Mischief::None, &json!({}), &held(manner(Hold::Drag)));
    assert_eq!(events, "105,55 down 115,55 135,55 125,55 up");
    assert_eq!(outcome.unwrap().strokes.len(), 2);
}

#[test]
fn a_held_stroke_lets_go_at_the_end_and_when_something_happens() {
    let mut last = held(manner(Hold::Drag));
    last.strokes.pop();
    let (_, _, events) = play_all(Mischief::None, &json!({}), &last);
    assert_eq!(events, "105,55 down 115,55 up");
    for mischief in [
        Mischief::Person,
        Mischief::Cover,
        Mischief::Fail,
        Mischief::Panic,
    ] {
        let (_, _, events) = play_all(mischief, &json!({}), &held(manner(Hold::Drag)));
        assert_eq!(events, "105,55 down 115,55 135,55 up", "{mischief:?}");
    }
}

#[test]
fn a_stroke_can_be_two_clicks_with_moves_between() {
    let mut strokes = strokes(&[0.5]);
    strokes.manner = Some(manner(Hold::Clicks));
    let (_, _, events) = play_all(Mischief::None, &json!({}), &strokes);
    assert_eq!(events, "105,55 down up 115,55 125,55 135,55 down up");
    let (_, _, events) = play_all(Mischief::None, &json!({}), &held(manner(Hold::Clicks)));
    assert_eq!(events, "105,55 down up 115,55 135,55 125,55 down up");
    // Covered on the way, nothing is clicked any more.
    let (_, outcome, events) = play_all(Mischief::Cover, &json!({}), &strokes);
    assert_eq!(events, "105,55 down up 115,55 125,55");
    assert_eq!(outcome.unwrap().refused.as_deref(), Some("covered"));
}

#[test]
fn it_stays_from_when_the_desktop_has_passed_on_what_was_sent() {
    let mut strokes = strokes(&[0.5]);
    // What needs no wait is passed on together, and what is captured afterwards shows all of it.
    let (_, outcome, events) = play_all(Mischief::Frames, &json!({}), &strokes);
    assert_eq!(events, "105,55 down 115,55 125,55 135,55 up no no yes");
    assert_eq!(outcome.unwrap().strokes.len(), 1);
    let stops = Pace {
        dwell_ms: 0.5,
        ..manner(Hold::Drag).pace
    };
    strokes.strokes[0].points.insert(1, [1.5, 0.5]);
    strokes.manner = Some(Manner::new(stops));
    let (_, _, events) = play_all(Mischief::Frames, &json!({}), &strokes);
    assert_eq!(
        events,
        "105,55 down 115,55 no no yes 125,55 135,55 up no no yes"
    );
    // A desktop that passes nothing on: the button goes up, and the board may be played later.
    // A machine that stands still meanwhile refuses it for that.
    let asleep = || {
        let (harness, outcome, events) = play_all(Mischief::Asleep, &json!({}), &strokes);
        assert_eq!(events, "105,55 down 115,55 up");
        assert_eq!(harness.ended(), None);
        outcome.unwrap().refused.unwrap()
    };
    let mut refused = asleep();
    for _ in 0..5 {
        if refused.contains("stood still") {
            refused = asleep();
        }
    }
    assert!(refused.contains("check that its screen is on"), "{refused}");
}

#[test]
fn a_nudge_comes_after_the_press() {
    let mut strokes = strokes(&[0.5]);
    strokes.manner = Some(manner(Hold::Drag).with_nudge(0.3));
    strokes.manner.as_mut().unwrap().pace.step = None;
    let (_, _, events) = play_all(Mischief::None, &json!({}), &strokes);
    assert_eq!(events, "105,55 down 108,55 135,55 up");
}

#[test]
fn strokes_without_a_manner_are_sent_cell_by_cell() {
    let mut strokes = strokes(&[0.5]);
    strokes.manner = None;
    let (_, outcome, events) = play_all(Mischief::None, &json!({}), &strokes);
    assert_eq!(
        events,
        "105,55 down 110,55 115,55 120,55 125,55 130,55 135,55 up"
    );
    assert!(outcome.is_ok());
}

#[test]
fn a_pace_in_the_config_counts_before_the_strokes_own() {
    let pace = json!({ "dwell_ms": 0.0, "ends_ms": 0.0, "repeats": 2 });
    let mut strokes = strokes(&[0.5]);
    strokes.manner = Some(manner(Hold::Clicks));
    let config = json!({ "pace": pace });
    let (_, _, events) = play_all(Mischief::None, &config, &strokes);
    assert_eq!(events, "105,55 down up 135,55 136,55 135,55 down up");
}

#[test]
fn a_manner_that_can_not_be_meant_is_refused() {
    let mut strokes = strokes(&[0.5]);
    for (nudge, step, text) in [
        (f64::NAN, Some(1.0), "nudge"),
        (-0.1, None, "nudge"),
        (0.0, Some(1e-9), "pace.step"),
    ] {
        let mut manner = manner(Hold::Drag);
        (manner.nudge, manner.pace.step) = (nudge, step);
        strokes.manner = Some(manner);
        let error = Config::default().manner(strokes.manner).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    for profile in Profile::ALL {
        assert!(Config::default().manner(Some(profile.manner())).is_ok());
    }
}

proptest! {
    /// In every manner the button is pressed as often as it is released, never twice in a row, and the
    /// pointer stays inside of the board.
    #[test]
    fn the_button_is_up_in_the_end_in_every_manner(
        profile in prop::sample::select(Profile::ALL.to_vec()),
        segments: bool,
        ways in prop::collection::vec((
            prop::collection::vec((0.1..3.9f64, 0.1..0.9f64), 1..4), any::<bool>()
        ), 1..4),
        mischief in prop::sample::select(vec![Mischief::None, Mischief::Person, Mischief::Fail]),
    ) {
        let mut strokes = strokes(&vec![0.5; ways.len()]);
        for (stroke, (points, held)) in strokes.strokes.iter_mut().zip(&ways) {
            stroke.points = points.iter().map(|&(x, y)| [x, y]).collect();
            stroke.held = *held;
        }
        let mut manner = profile.manner();
        (manner.pace.dwell_ms, manner.pace.ends_ms) = (0.0, 0.0);
        strokes.manner = Some(manner);
        let drags = if segments { "segments" } else { "strokes" };
        let (_, outcome, events) = play_all(mischief, &json!({ "drags": drags }), &strokes);
        let mut is_down = false;
        for event in events.split(' ') {
            match event {
                "down" => prop_assert!(!std::mem::replace(&mut is_down, true), "{events}"),
                "up" => prop_assert!(std::mem::replace(&mut is_down, false), "{events}"),
                place => {
                    let (x, y) = place.split_once(',').unwrap();
                    let (x, y): (i32, i32) = (x.parse().unwrap(), y.parse().unwrap());
                    prop_assert!((100..140).contains(&x) && (50..60).contains(&y), "{events}");
                }
            }
        }
        prop_assert!(!is_down, "{events}");
        if mischief == Mischief::None {
            prop_assert_eq!(outcome.unwrap().strokes.len(), ways.len());
        }
    }
}
