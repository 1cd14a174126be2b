//! What a pointer and keys should do.
//!
//! ```
//! use flowpipe_message::{Action, Button, FrameNote, Gesture, Gestures, Rectangle};
//!
//! let field = Rectangle::new(10.0, 40.0, 144.0, 144.0);
//! let open = Gesture::new("open 1, 1", vec![Action::click([26.0, 56.0])]);
//! let flag = Gesture::new("flag 2, 1", vec![Action::click([42.0, 56.0]).with_button(Button::Right)]);
//! let gestures = Gestures::new("planner-mines", FrameNote::of("Mines"), field, vec![open, flag]);
//! assert_eq!(gestures.check(), Ok(()));
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Action, Button, FrameNote, Point, Rectangle};

/// What a pointer and keys should do on what a frame shows.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gestures {
    /// The plugin that planned them.
    pub planner: String,
    /// The frame that they descend from: where its pixels lie on the screen, and in which window.
    pub frame: FrameNote,
    /// Outside of this part of the frame nothing may happen, in pixels of the frame.
    pub bounds: Rectangle,
    /// The part of the frame in whose pixels all points are, counted from its top left corner. Without it they are in
    /// pixels of the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<NamedArea>,
    /// In the order of play.
    pub gestures: Vec<Gesture>,
}

/// A part of a frame that has a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedArea {
    /// What it is, for people: `board`, `toolbar`.
    pub name: String,
    /// Where it lies, in pixels of the frame.
    pub place: Rectangle,
}

/// What counts as one thing that is done, such as a drag or a click. A button that is down at its end stays down for the
/// next one; after the last one all buttons are up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gesture {
    /// What it does, for people: `open 3, 4`.
    pub name: String,
    /// In their order.
    pub actions: Vec<Action>,
}

/// The most actions of one message.
pub const MOST_ACTIONS: usize = 100_000;

/// The longest time that the pointer stays at one place, in milliseconds.
pub const LONGEST_STAY_MS: f64 = 10_000.0;

/// The longest time that all actions of one message wait together, in milliseconds: ten minutes.
pub const LONGEST_MS: f64 = 600_000.0;

/// How often a place is sent at most.
pub const MOST_REPEATS: u32 = 20;

impl Gestures {
    /// A planner's gestures on a frame, inside of a part of it, in the order of play. Their points are in pixels of the
    /// frame.
    #[must_use]
    pub fn new(
        planner: impl Into<String>,
        frame: FrameNote,
        bounds: Rectangle,
        gestures: Vec<Gesture>,
    ) -> Self {
        Self {
            planner: planner.into(),
            frame,
            bounds,
            area: None,
            gestures,
        }
    }

    /// The same gestures with points in pixels of a named area.
    #[must_use]
    pub fn with_area(mut self, name: impl Into<String>, place: Rectangle) -> Self {
        self.area = Some(NamedArea {
            name: name.into(),
            place,
        });
        self
    }

    /// The actions of all gestures.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.gestures.iter().flat_map(|gesture| &gesture.actions)
    }

    /// A point of the gestures in pixels of the frame.
    #[must_use]
    pub fn in_frame(&self, [x, y]: Point) -> Point {
        match &self.area {
            Some(area) => [area.place.x + x, area.place.y + y],
            None => [x, y],
        }
    }

    /// Checks the gestures in themselves: places inside of the bounds, buttons that are up or down as the actions need
    /// it, possible times.
    ///
    /// # Errors
    /// The first thing that is wrong, with the gesture and the action counted from 1.
    pub fn check(&self) -> Result<(), String> {
        if !self.bounds.is_valid() {
            return Err("bounds that cover no area".to_owned());
        }
        if self
            .area
            .as_ref()
            .is_some_and(|area| !area.place.is_valid())
        {
            return Err("a named area that covers no area".to_owned());
        }
        if let Some([width, height]) = self.frame.size
            && !Rectangle::new(0.0, 0.0, width.into(), height.into()).contains_all_of(&self.bounds)
        {
            return Err(format!(
                "bounds that reach beyond the frame of {width}x{height}"
            ));
        }
        let count = self.actions().count();
        if count > MOST_ACTIONS {
            return Err(format!("{count} actions, the most are {MOST_ACTIONS}"));
        }
        let mut state = State::default();
        for (number, gesture) in (1..).zip(&self.gestures) {
            for (step, action) in (1..).zip(&gesture.actions) {
                self.check_action(action, &mut state)
                    .map_err(|wrong| format!("gesture {number}, action {step}: {wrong}"))?;
            }
        }
        let waits: f64 = self.actions().map(Action::waits_ms).sum();
        if waits > LONGEST_MS {
            return Err(format!("{waits} ms of waiting, the most are {LONGEST_MS}"));
        }
        Ok(())
    }

    fn check_action(&self, action: &Action, state: &mut State) -> Result<(), String> {
        if let Some(point) = action.place() {
            let [x, y] = self.in_frame(point);
            if !self.bounds.contains([x, y]) {
                return Err(format!("{x}, {y} lies outside of the bounds"));
            }
            state.has_place = true;
        } else if !state.has_place && !matches!(action, Action::Key { .. }) {
            return Err("no place before it says where the pointer is".to_owned());
        }
        let possible = |ms: f64| (0.0..=LONGEST_STAY_MS).contains(&ms);
        if !possible(action.stay_ms()) {
            return Err(format!("stay_ms must be 0 to {LONGEST_STAY_MS}"));
        }
        match action {
            Action::Press { button, .. } if !state.press(*button) => {
                Err(format!("the {button:?} button is down already").to_lowercase())
            }
            Action::Release { button, .. } if !state.release(*button) => {
                Err(format!("the {button:?} button is not down").to_lowercase())
            }
            Action::Click {
                button, hold_ms, ..
            } => match state.down.contains(button) {
                true => Err(format!("the {button:?} button is down already").to_lowercase()),
                false if !possible(*hold_ms) => {
                    Err(format!("hold_ms must be 0 to {LONGEST_STAY_MS}"))
                }
                false => Ok(()),
            },
            Action::Move { repeats, .. } if !(1..=MOST_REPEATS).contains(repeats) => {
                Err(format!("repeats must be 1 to {MOST_REPEATS}"))
            }
            Action::Move { until_shown_ms, .. } if !possible(*until_shown_ms) => {
                Err(format!("until_shown_ms must be 0 to {LONGEST_STAY_MS}"))
            }
            Action::Key { name, .. } if name.is_empty() => Err("a key without a name".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The pointer between two actions.
#[derive(Default)]
struct State {
    has_place: bool,
    down: Vec<Button>,
}

impl State {
    /// Returns false if the button is down already.
    fn press(&mut self, button: Button) -> bool {
        let is_up = !self.down.contains(&button);
        if is_up {
            self.down.push(button);
        }
        is_up
    }

    /// Returns false if the button is not down.
    fn release(&mut self, button: Button) -> bool {
        let before = self.down.len();
        self.down.retain(|it| *it != button);
        self.down.len() < before
    }
}

impl Gesture {
    /// A gesture of these actions; the name is for people.
    #[must_use]
    pub fn new(name: impl Into<String>, actions: Vec<Action>) -> Self {
        Self {
            name: name.into(),
            actions,
        }
    }
}

#[cfg(test)]
mod tests;
