//! What a pipeline can set.

use flowpipe_plugin::puzzle::message::Pace;
use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::{Deserialize, Serialize};

/// Plays strokes with the real mouse: presses, drags, releases.
///
/// It acts only inside the board that was seen, only while the board's window is where it was and
/// nothing covers the board, and only on what was captured a moment ago. It lets go and ends the run as
/// soon as somebody moves the mouse, throws the pointer into a corner of the screen, or presses the
/// hotkey; and lets go when the run ends for whatever reason.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How fast to drag.
    pub pace: PaceChoice,
    /// Whether the button stays down through a whole stroke.
    pub drags: Drags,
    /// Play only what was captured within the last so many milliseconds.
    pub max_age_ms: u64,
    /// The key that ends the run at once, by its X11 name, such as "F12", "Escape" or "Pause"; "" for
    /// none. Only X11 tells which keys are down.
    pub hotkey: String,
    /// End the run when the pointer is in a corner of the screen.
    pub corners: bool,
    /// End the run when the pointer is not where it was put last: somebody else moves it.
    pub by_hand: bool,
    /// Play on what was captured from a monitor or a region too, where nobody can tell whether the
    /// board's window is in front. Otherwise capture-screen has to be given a window.
    pub any_window: bool,
}

/// What is one drag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Drags {
    /// A whole stroke.
    #[default]
    Strokes,
    /// Each straight segment of a stroke: for games that lose long drags. They must let a pipe be
    /// drawn on from its end.
    Segments,
}

/// How fast to drag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PaceChoice {
    /// By name.
    Named(Named),
    /// In figures.
    Given(Pace),
}

/// Paces by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// Starts with `fast`, and takes the next slower one when the game is seen to miss drags.
    Auto,
    /// Without waiting, with every cell on the way told: for games that handle every event.
    Fast,
    /// A display frame at each turn: for games that look at the pointer once a frame.
    Frames,
    /// Longer at each turn, and each place told more than once: for games that lose events.
    Careful,
    /// As slow as a person.
    Slow,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pace: PaceChoice::Named(Named::Auto),
            drags: Drags::default(),
            max_age_ms: 300,
            hotkey: "F12".to_owned(),
            corners: true,
            by_hand: true,
            any_window: false,
        }
    }
}

impl Config {
    /// Finds what can't be meant.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        if let PaceChoice::Given(pace) = &self.pace {
            let time = |ms: f64| (0.0..=10_000.0).contains(&ms);
            if !(0.05..=1.0).contains(&pace.step) {
                return Err(Error::bad_config(format!(
                    "pace.step is {}, it must be 0.05 to 1 cell",
                    pace.step
                )));
            }
            if !time(pace.dwell_ms) || !time(pace.ends_ms) {
                return Err(Error::bad_config(
                    "pace.dwell_ms and pace.ends_ms must be 0 to 10000",
                ));
            }
            if !(1..=20).contains(&pace.repeats) {
                return Err(Error::bad_config(format!(
                    "pace.repeats is {}, it must be 1 to 20",
                    pace.repeats
                )));
            }
        }
        Ok(())
    }
}
