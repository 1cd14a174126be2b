//! What became of gestures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FrameNote;
use crate::gestures::MOST_ACTIONS;

/// The longest time that gestures take, in nanoseconds: a day.
const LONGEST_NS: i64 = 86_400_000_000_000;

/// What became of gestures.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GestureOutcome {
    /// The plugin that played them.
    pub actuator: String,
    /// How many of the gestures were played, from the first on. Only the program under the pointer knows what it made of
    /// them.
    pub played: usize,
    /// Why the others were not played; nothing: all were. The buttons are up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// From the first action to the end, in nanoseconds.
    pub act_ns: i64,
    /// The frame that the gestures descend from.
    pub frame: FrameNote,
}

impl GestureOutcome {
    /// So many gestures on a frame were played by an actuator, without a refusal.
    #[must_use]
    pub fn new(actuator: impl Into<String>, frame: FrameNote, played: usize) -> Self {
        Self {
            actuator: actuator.into(),
            played,
            refused: None,
            act_ns: 0,
            frame,
        }
    }

    /// Checks that it can be true: as many gestures as a message can have, a time that is not negative, and a frame
    /// whose place makes sense.
    ///
    /// # Errors
    /// What can't be.
    pub fn check(&self) -> Result<(), String> {
        if self.played > MOST_ACTIONS {
            return Err(format!(
                "{} gestures, the most are {MOST_ACTIONS}",
                self.played
            ));
        }
        if !(0..=LONGEST_NS).contains(&self.act_ns) {
            return Err(format!("a time of {} ns", self.act_ns));
        }
        self.frame.check()
    }

    /// The same, and why the other gestures were not played.
    #[must_use]
    pub fn with_refused(mut self, reason: impl Into<String>) -> Self {
        self.refused = Some(reason.into());
        self
    }

    /// The same, with the time from the first action to the end in nanoseconds.
    #[must_use]
    pub fn with_act_ns(mut self, act_ns: i64) -> Self {
        self.act_ns = act_ns;
        self
    }
}
