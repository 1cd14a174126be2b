//! One action of a pointer or a key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Point;

/// One action of a pointer or a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Presses a button. It stays down until it is released.
    Press {
        /// Where; without it, where the pointer is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Point>,
        /// Which button.
        #[serde(default, skip_serializing_if = "is_left")]
        button: Button,
        /// How long the pointer stays there after the press, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        stay_ms: f64,
    },
    /// Moves the pointer.
    Move {
        /// Where to.
        to: Point,
        /// How long it stays there, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        stay_ms: f64,
        /// How often the place is sent, for programs that lose events.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        repeats: u32,
        /// How much longer it stays there at most, in milliseconds, until the picture at this place is another than before
        /// the way to it: for programs that look at the pointer less often than it could be moved. After several places in
        /// a row where nothing changes, the pointer no longer waits, until a place is seen that has changed.
        #[serde(default, skip_serializing_if = "is_zero")]
        until_shown_ms: f64,
    },
    /// Releases a button where the pointer is.
    Release {
        /// Which button.
        #[serde(default, skip_serializing_if = "is_left")]
        button: Button,
        /// How long the pointer stays there after the release, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        stay_ms: f64,
    },
    /// Presses and releases a button.
    Click {
        /// Where.
        at: Point,
        /// Which button.
        #[serde(default, skip_serializing_if = "is_left")]
        button: Button,
        /// How long the button is down, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        hold_ms: f64,
        /// How long the pointer stays there after the release, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        stay_ms: f64,
    },
    /// Presses and releases a key.
    Key {
        /// Its name in X11: `space`, `Return`, `F2`, `a`.
        name: String,
        /// How long the pointer stays after the release, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        stay_ms: f64,
    },
}

/// A button of a mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The first one, under the index finger.
    #[default]
    Left,
    /// The one between the others, or the wheel.
    Middle,
    /// The one for menus.
    Right,
}

impl Button {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Left, Self::Middle, Self::Right];
}

impl Action {
    /// Presses the left button at a place.
    #[must_use]
    pub fn press(at: Point) -> Self {
        Self::Press {
            at: Some(at),
            button: Button::Left,
            stay_ms: 0.0,
        }
    }

    /// Presses the left button where the pointer is.
    #[must_use]
    pub fn press_here() -> Self {
        Self::Press {
            at: None,
            button: Button::Left,
            stay_ms: 0.0,
        }
    }

    /// Moves the pointer to a place.
    #[must_use]
    pub fn move_to(to: Point) -> Self {
        Self::Move {
            to,
            stay_ms: 0.0,
            repeats: 1,
            until_shown_ms: 0.0,
        }
    }

    /// Releases the left button.
    #[must_use]
    pub fn release() -> Self {
        Self::Release {
            button: Button::Left,
            stay_ms: 0.0,
        }
    }

    /// Presses and releases the left button at a place.
    #[must_use]
    pub fn click(at: Point) -> Self {
        Self::Click {
            at,
            button: Button::Left,
            hold_ms: 0.0,
            stay_ms: 0.0,
        }
    }

    /// Presses and releases a key; see [`Action::Key`].
    #[must_use]
    pub fn key(name: impl Into<String>) -> Self {
        Self::Key {
            name: name.into(),
            stay_ms: 0.0,
        }
    }

    /// The same with another button. A move and a key have none.
    #[must_use]
    pub fn with_button(mut self, of: Button) -> Self {
        match &mut self {
            Self::Press { button, .. }
            | Self::Release { button, .. }
            | Self::Click { button, .. } => {
                *button = of;
            }
            Self::Move { .. } | Self::Key { .. } => {}
        }
        self
    }

    /// The same, after which the pointer stays for so many milliseconds.
    #[must_use]
    pub fn with_stay_ms(mut self, ms: f64) -> Self {
        match &mut self {
            Self::Press { stay_ms, .. }
            | Self::Move { stay_ms, .. }
            | Self::Release { stay_ms, .. }
            | Self::Click { stay_ms, .. }
            | Self::Key { stay_ms, .. } => *stay_ms = ms,
        }
        self
    }

    /// The same move, whose place is sent so many times. Other actions are sent once.
    #[must_use]
    pub fn with_repeats(mut self, times: u32) -> Self {
        if let Self::Move { repeats, .. } = &mut self {
            *repeats = times;
        }
        self
    }

    /// The same move, after which the pointer stays for at most so many milliseconds more, until the picture at its place
    /// has changed. Other actions don't wait for that.
    #[must_use]
    pub fn with_until_shown_ms(mut self, ms: f64) -> Self {
        if let Self::Move { until_shown_ms, .. } = &mut self {
            *until_shown_ms = ms;
        }
        self
    }

    /// The place that it names.
    #[must_use]
    pub fn place(&self) -> Option<Point> {
        match self {
            Self::Press { at, .. } => *at,
            Self::Move { to, .. } => Some(*to),
            Self::Click { at, .. } => Some(*at),
            Self::Release { .. } | Self::Key { .. } => None,
        }
    }

    /// How long it waits at most, in milliseconds: how long it holds a button and how long the pointer stays.
    #[must_use]
    pub(crate) fn waits_ms(&self) -> f64 {
        let held = match self {
            Self::Click { hold_ms, .. } => *hold_ms,
            Self::Move { until_shown_ms, .. } => *until_shown_ms,
            _ => 0.0,
        };
        held + self.stay_ms()
    }

    /// How long the pointer stays after it, in milliseconds.
    #[must_use]
    pub fn stay_ms(&self) -> f64 {
        match self {
            Self::Press { stay_ms, .. }
            | Self::Move { stay_ms, .. }
            | Self::Release { stay_ms, .. }
            | Self::Click { stay_ms, .. }
            | Self::Key { stay_ms, .. } => *stay_ms,
        }
    }
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}

fn is_left(button: &Button) -> bool {
    *button == Button::Left
}
