use proptest::prelude::*;
use serde_json::json;

use super::*;

const FIELD: Rectangle = Rectangle::new(10.0, 20.0, 100.0, 50.0);

fn gestures(actions: Vec<Action>) -> Gestures {
    Gestures::new(
        "planner-test",
        FrameNote::of("test"),
        FIELD,
        vec![Gesture::new("it", actions)],
    )
}

#[test]
fn they_are_written_without_what_is_usual() {
    let drag = vec![
        Action::press([20.0, 30.0]),
        Action::move_to([40.0, 30.0])
            .with_stay_ms(18.0)
            .with_repeats(2),
        Action::move_to([40.0, 31.0]).with_until_shown_ms(250.0),
        Action::release(),
        Action::click([15.0, 25.0]).with_button(Button::Right),
        Action::key("F2"),
    ];
    let it = gestures(drag);
    let written = serde_json::to_value(&it).unwrap();
    assert_eq!(
        written["gestures"][0]["actions"],
        json!([
            { "press": { "at": [20.0, 30.0] } },
            { "move": { "to": [40.0, 30.0], "stay_ms": 18.0, "repeats": 2 } },
            { "move": { "to": [40.0, 31.0], "until_shown_ms": 250.0 } },
            { "release": {} },
            { "click": { "at": [15.0, 25.0], "button": "right" } },
            { "key": { "name": "F2" } },
        ])
    );
    assert_eq!(serde_json::from_value::<Gestures>(written).unwrap(), it);
    assert_eq!(it.check(), Ok(()));
}

#[test]
fn a_part_of_a_gesture_that_is_not_known_is_an_error() {
    let mut written = serde_json::to_value(gestures(vec![Action::release()])).unwrap();
    written["later"] = json!(true);
    assert!(serde_json::from_value::<Gestures>(written.clone()).is_ok());
    written["gestures"][0]["actions"][0] = json!({ "release": { "softly": true } });
    assert!(serde_json::from_value::<Gestures>(written.clone()).is_err());
    written["gestures"][0]["actions"][0] = json!({ "scroll": {} });
    assert!(serde_json::from_value::<Gestures>(written).is_err());
}

#[test]
fn what_can_t_be_played_is_found() {
    let at = [20.0, 30.0];
    for (actions, expected) in [
        (
            vec![Action::click([110.0, 30.0])],
            "gesture 1, action 1: 110, 30 lies outside of the bounds",
        ),
        (
            vec![Action::click([f64::NAN, 30.0])],
            "gesture 1, action 1: NaN, 30 lies outside of the bounds",
        ),
        (
            vec![Action::press_here()],
            "gesture 1, action 1: no place before it says where the pointer is",
        ),
        (
            vec![Action::move_to(at), Action::release()],
            "gesture 1, action 2: the left button is not down",
        ),
        (
            vec![Action::press(at), Action::press_here()],
            "gesture 1, action 2: the left button is down already",
        ),
        (
            vec![Action::press(at), Action::click(at)],
            "gesture 1, action 2: the left button is down already",
        ),
        (
            vec![Action::click(at).with_stay_ms(1e9)],
            "gesture 1, action 1: stay_ms must be 0 to 10000",
        ),
        (
            vec![Action::move_to(at).with_stay_ms(f64::NAN)],
            "gesture 1, action 1: stay_ms must be 0 to 10000",
        ),
        (
            vec![Action::move_to(at).with_repeats(0)],
            "gesture 1, action 1: repeats must be 1 to 20",
        ),
        (
            vec![Action::key("")],
            "gesture 1, action 1: a key without a name",
        ),
    ] {
        assert_eq!(gestures(actions).check(), Err(expected.to_owned()));
    }
    let mut nowhere = gestures(Vec::new());
    nowhere.bounds.width = -1.0;
    assert_eq!(nowhere.check(), Err("bounds that cover no area".to_owned()));
    let mut beyond = gestures(Vec::new());
    beyond.frame.size = Some([100, 50]);
    beyond.bounds = Rectangle::new(0.0, 0.0, 100.0, 50.0);
    assert_eq!(beyond.check(), Ok(()));
    beyond.bounds.width = 100.5;
    assert_eq!(
        beyond.check(),
        Err("bounds that reach beyond the frame of 100x50".to_owned())
    );
    let patient = Action::click([20.0, 30.0]).with_stay_ms(LONGEST_STAY_MS);
    assert_eq!(
        gestures(vec![patient; 61]).check(),
        Err("610000 ms of waiting, the most are 600000".to_owned())
    );
    let many = gestures(vec![Action::key("a"); MOST_ACTIONS + 1]);
    assert_eq!(
        many.check(),
        Err("100001 actions, the most are 100000".to_owned())
    );
}

#[test]
fn two_buttons_are_down_at_once_and_a_button_stays_down_between_gestures() {
    let at = [20.0, 30.0];
    let chord = vec![
        Action::press(at),
        Action::press_here().with_button(Button::Right),
        Action::release(),
        Action::release().with_button(Button::Right),
    ];
    assert_eq!(gestures(chord).check(), Ok(()));
    let mut held = gestures(vec![Action::press(at)]);
    held.gestures.push(Gesture::new(
        "on",
        vec![Action::move_to(at), Action::release()],
    ));
    assert_eq!(held.check(), Ok(()));
}

#[test]
fn points_of_an_area_are_counted_from_its_corner() {
    let place = Rectangle::new(30.0, 40.0, 20.0, 20.0);
    let it = gestures(vec![Action::click([1.0, 2.0])]).with_area("toolbar", place);
    assert_eq!(it.in_frame([1.0, 2.0]), [31.0, 42.0]);
    assert_eq!(it.check(), Ok(()));
    let beyond = gestures(vec![Action::click([-21.0, 2.0])]).with_area("toolbar", place);
    assert!(beyond.check().unwrap_err().contains("9, 42 lies outside"));
}

proptest! {
    /// What passes the check never touches a place outside of the bounds, and no button is pressed twice.
    #[test]
    fn nothing_passes_that_leaves_the_bounds(
        actions in prop::collection::vec(
            (0..5_usize, -5.0..120.0_f64, 0.0..90.0_f64, 0..3_usize),
            0..12,
        ),
    ) {
        let action = |&(kind, x, y, button): &(usize, f64, f64, usize)| {
            let action = match kind {
                0 => Action::press([x, y]),
                1 => Action::move_to([x, y]),
                2 => Action::release(),
                3 => Action::click([x, y]),
                _ => Action::press_here(),
            };
            action.with_button(Button::ALL[button])
        };
        let it = gestures(actions.iter().map(action).collect());
        let leaves = it.actions().filter_map(Action::place).any(|at| !FIELD.contains(at));
        if it.check().is_ok() {
            prop_assert!(!leaves);
            let mut down = Vec::new();
            for action in it.actions() {
                match action {
                    Action::Press { button, .. } => {
                        prop_assert!(!down.contains(button));
                        down.push(*button);
                    }
                    Action::Release { button, .. } => {
                        prop_assert!(down.contains(button));
                        down.retain(|it| it != button);
                    }
                    _ => {}
                }
            }
        }
    }
}
