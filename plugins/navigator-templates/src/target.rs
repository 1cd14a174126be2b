//! What can be pressed, as gestures.

use flowpipe_plugin::message::{Action, Button, FrameNote, Gesture, Gestures, Rectangle};

use crate::config::Place;

/// How long the pointer stays before a click, how long the button is down, and how long the pointer stays after it, in
/// milliseconds: games that sample the pointer see each.
const STAYS_MS: [f64; 3] = [40.0, 60.0, 20.0];
/// Half of the sides of the bounds around a place, in frame pixels.
const AROUND: f64 = 4.0;

/// Clicks the middle of a part of a frame, and stays inside of it.
pub fn click(planner: &str, name: &str, frame: FrameNote, bounds: Rectangle) -> Gestures {
    let at = [
        bounds.x + (bounds.width / 2.0).floor(),
        bounds.y + (bounds.height / 2.0).floor(),
    ];
    let [before, hold_ms, stay_ms] = STAYS_MS;
    let click = Action::Click {
        at,
        button: Button::Left,
        hold_ms,
        stay_ms,
    };
    let actions = vec![Action::move_to(at).with_stay_ms(before), click];
    let gesture = Gesture::new(format!("click {name}"), actions);
    Gestures::new(planner, frame, bounds, vec![gesture])
}

/// The part of a frame with these sides around a place.
pub fn around(place: Place, [width, height]: [f64; 2]) -> Rectangle {
    let [x, y] = [place.x * width, place.y * height].map(f64::floor);
    let (left, top) = ((x - AROUND).max(0.0), (y - AROUND).max(0.0));
    let (right, bottom) = (
        (x + AROUND + 1.0).min(width),
        (y + AROUND + 1.0).min(height),
    );
    Rectangle::new(left, top, right - left, bottom - top)
}

/// Presses a key in a frame with these sides.
pub fn key(planner: &str, name: &str, frame: FrameNote, [width, height]: [f64; 2]) -> Gestures {
    let gesture = Gesture::new(format!("press {name}"), vec![Action::key(name)]);
    let bounds = Rectangle::new(0.0, 0.0, width, height);
    Gestures::new(planner, frame, bounds, vec![gesture])
}
