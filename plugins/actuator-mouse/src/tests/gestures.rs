//! Gestures of any domain.

use super::surroundings::OnDesktop;
use super::*;

/// 40 x 10 pixels at 100, 50 on the screen, in the window that rises when it is asked to.
fn gestures(of: Vec<Gesture>) -> Gestures {
    let frame = FrameNote::of("test")
        .with_origin([100.0, 50.0])
        .with_window(7);
    Gestures::new(
        "planner-test",
        frame,
        Rectangle::new(0.0, 0.0, 40.0, 10.0),
        of,
    )
}

/// Plays gestures until the window has risen. Returns what became of them, and the events.
fn play(of: Vec<Gesture>) -> (Result<GestureOutcome>, String) {
    play_with(None, Mischief::None, of)
}

/// The same on a screen that shows something else after so many looks, if it can be looked at.
pub(super) fn play_with(
    changes_after: Option<usize>,
    mischief: Mischief,
    of: Vec<Gesture>,
) -> (Result<GestureOutcome>, String) {
    LOG.with_borrow_mut(|log| {
        *log = MouseLog {
            changes_after,
            mischief,
            ..MouseLog::default()
        };
    });
    // However busy this machine is.
    play_within(60_000, of)
}

/// The same with frames of so many milliseconds at most.
fn play_within(max_age_ms: u64, of: Vec<Gesture>) -> (Result<GestureOutcome>, String) {
    let config = json!({ "max_age_ms": max_age_ms });
    let mut harness = flowpipe_plugin::harness!(OnDesktop, config).unwrap();
    let sent = harness.send(1, GESTURES, &gestures(of));
    let outcome = sent.map(|emitted| {
        assert_eq!(emitted[0].port, 1);
        serde_json::from_value(emitted[0].body.clone()).unwrap()
    });
    (outcome, LOG.with_borrow(|log| log.events.join(" ")))
}

#[test]
fn clicks_chords_drags_and_keys_are_played_in_order() {
    let right = Action::click([15.5, 5.0]).with_button(Button::Right);
    let chord = vec![
        Action::press([25.0, 5.0]),
        Action::press_here().with_button(Button::Right),
        Action::release().with_button(Button::Right),
        Action::release(),
    ];
    let drag = vec![
        Action::press([5.0, 5.0]).with_button(Button::Middle),
        Action::move_to([7.0, 5.0]).with_repeats(2),
        Action::release().with_button(Button::Middle),
    ];
    let (outcome, events) = play(vec![
        Gesture::new("open", vec![Action::click([5.0, 5.0])]),
        Gesture::new("flag", vec![right]),
        Gesture::new("chord", chord),
        Gesture::new("drag", drag),
        Gesture::new("new game", vec![Action::key("F2")]),
    ]);
    assert_eq!(
        events,
        "105,55 down up 115,55 button-3-down button-3-up 125,55 down button-3-down button-3-up up \
         105,55 button-2-down 107,55 108,55 107,55 button-2-up key-68-down key-68-up"
    );
    let outcome = outcome.unwrap();
    assert_eq!((outcome.played, outcome.refused), (5, None));
}

/// What is asked right before a press may take as long as a desktop stands still.
#[test]
fn nothing_is_pressed_after_an_answer_that_took_long() {
    let click = || Gesture::new("click", vec![Action::click([5.0, 5.0])]);
    let key = || Gesture::new("key", vec![Action::key("F2")]);
    for (after, of, pressed) in [
        // Before the first move, before the first press, and before the second one.
        (0, [click(), click()], ""),
        (1, [click(), click()], "105,55"),
        (4, [click(), click()], "105,55 down up 105,55"),
        (3, [click(), key()], "105,55 down up"),
    ] {
        let (outcome, events) = play_with(None, Mischief::LateAnswer(after, 1000), of.to_vec());
        assert_eq!(events, pressed);
        let reason = outcome.unwrap().refused.unwrap();
        assert!(reason.contains("stood still for"), "{reason}");
    }
}

#[test]
fn nothing_is_pressed_for_a_frame_that_has_grown_old_at_the_last_question() {
    LOG.with_borrow_mut(|log| {
        *log = MouseLog {
            mischief: Mischief::LateAnswer(1, 500),
            ..MouseLog::default()
        };
    });
    let click = Gesture::new("click", vec![Action::click([5.0, 5.0])]);
    let (outcome, events) = play_within(450, vec![click]);
    assert!(!events.contains("down"), "{events}");
    let reason = outcome.unwrap().refused.unwrap();
    assert!(reason.contains("max_age_ms"), "{reason}");
}

/// Without a window, only the monitors say where the captured place is.
#[test]
fn nothing_is_pressed_after_the_monitors_have_changed() {
    LOG.with_borrow_mut(|log| {
        *log = MouseLog {
            mischief: Mischief::Monitors,
            ..MouseLog::default()
        };
    });
    let config = json!({ "max_age_ms": 60_000, "any_window": true });
    let mut harness = flowpipe_plugin::harness!(OnDesktop, config).unwrap();
    let click = Action::click([5.0, 5.0]);
    let clicks = Gestures::new(
        "planner-test",
        FrameNote::of("monitor 1"),
        Rectangle::new(0.0, 0.0, 40.0, 10.0),
        vec![Gesture::new("clicks", vec![click.clone(), click])],
    );
    for expected in ["5,5 down up 5,5", "5,5 down up 5,5"] {
        let emitted = harness.send(1, GESTURES, &clicks).unwrap();
        let outcome: GestureOutcome = serde_json::from_value(emitted[0].body.clone()).unwrap();
        let refused = outcome.refused.unwrap_or_default();
        assert!(refused.contains("monitors have changed"), "{refused}");
        let events = LOG.with_borrow(|log| log.events.join(" "));
        assert_eq!(events, expected);
    }
}

#[test]
fn what_is_down_at_the_end_goes_up() {
    let held = vec![
        Action::press([5.0, 5.0]),
        Action::press_here().with_button(Button::Right),
    ];
    let (outcome, events) = play(vec![Gesture::new("hold", held)]);
    assert_eq!(events, "105,55 down button-3-down button-3-up up");
    assert_eq!(outcome.unwrap().played, 1);
}

#[test]
fn nothing_is_pressed_when_one_of_the_gestures_can_t_be_played() {
    let fine = Gesture::new("fine", vec![Action::click([5.0, 5.0])]);
    for (wrong, expected) in [
        (
            Action::click([40.5, 5.0]),
            "gesture 2, action 1: 40.5, 5 lies outside of the bounds",
        ),
        (
            Action::release(),
            "gesture 2, action 1: the left button is not down",
        ),
        (Action::key("F3"), "other keys in this test"),
    ] {
        let (outcome, events) = play(vec![fine.clone(), Gesture::new("wrong", vec![wrong])]);
        assert_eq!(events, "");
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_dry_run_reports_gestures_and_plays_none() {
    let open = |x: f64| Gesture::new(format!("open {x}"), vec![Action::click([x, 5.0])]);
    let it = gestures((1..=7).map(|x| open(f64::from(x))).collect());
    assert_eq!(
        would_do(&it),
        "open 1 at 101,55; open 2 at 102,55; open 3 at 103,55; open 4 at 104,55; open 5 at 105,55; and 2 more"
    );
}

#[test]
fn gestures_on_an_old_frame_or_on_none_are_not_played() {
    let config = Config {
        max_age_ms: 500,
        ..Config::default()
    };
    let second = 1_000_000_000;
    assert_eq!(too_old(&config, second, second + 500_000_000), None);
    let late = too_old(&config, second, second + 501_000_000).unwrap();
    assert!(late.contains("captured 501 ms ago"), "{late}");
    // At the start of the run, too.
    let unknown = too_old(&config, 0, 1).unwrap();
    assert!(unknown.contains("they descend from no frame"), "{unknown}");
}
