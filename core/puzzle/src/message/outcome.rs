//! What became of strokes and of boards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::is_false;
use super::{FrameNote, Pace, Profile};
use crate::colour::Colour;
use crate::puzzle::Puzzle;
use crate::solution::Flow;

/// What became of one stroke.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrokeOutcome {
    /// The number of the colour of the flow that it was to draw.
    pub colour: Colour,
    /// Whether the flow is drawn as planned after all strokes; `null`: the actuator does not know.
    pub accepted: Option<bool>,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of the strokes.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The plugin that acted.
    pub actuator: String,
    /// The frame that it acted on.
    pub frame: FrameNote,
    /// Whether the game counts the board as solved; `null`: the actuator does not know.
    pub solved: Option<bool>,
    /// By stroke, in the order of play.
    pub strokes: Vec<StrokeOutcome>,
    /// Pipes as they are now, if the actuator knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Vec<Flow>>,
    /// Why the strokes were not played, or not to their end: the board is not where it was seen, it is
    /// covered, the sighting is too old. Looking again helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The profile that the strokes were planned for, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How fast the strokes were played, where that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Host clock from first press to last release, nanoseconds.
    pub act_ns: i64,
}

/// What became of one board, from first sight to the end.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardResult {
    /// Counts the boards from 1.
    pub number: usize,
    /// What was played.
    pub puzzle: Puzzle,
    /// Whether the board was seen solved, made way for the next one, or disappeared right after its last stroke when
    /// all others had been seen drawn.
    pub solved: bool,
    /// Whether nobody knows: the board disappeared right after its last stroke, before enough of it was seen drawn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unknown: bool,
    /// Why it was given up, or is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often strokes were played on it.
    pub attempts: usize,
    /// Strokes played.
    pub strokes: usize,
    /// Of these, strokes for flows that had been drawn before.
    pub repeated: usize,
    /// The profile of the last strokes, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The pace of the last strokes, where the actuator chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Host clock from the capture of the first frame that showed it at rest to the end of the last
    /// stroke, nanoseconds.
    pub took_ns: i64,
}

impl StrokeOutcome {
    /// Whether the flow of a stroke's colour is drawn as planned after all strokes; `None`: the actuator does not know.
    #[must_use]
    pub fn new(colour: Colour, accepted: Option<bool>) -> Self {
        Self {
            colour,
            accepted,
            reason: None,
        }
    }

    /// The same, with what went wrong.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

impl Outcome {
    /// The outcomes of an actuator's strokes on a frame's board, in the order of play. Nothing else is known.
    #[must_use]
    pub fn new(actuator: impl Into<String>, frame: FrameNote, strokes: Vec<StrokeOutcome>) -> Self {
        Self {
            actuator: actuator.into(),
            frame,
            solved: None,
            strokes,
            drawn: None,
            refused: None,
            profile: None,
            pace: None,
            act_ns: 0,
        }
    }

    /// The same, and whether the game counts the board as solved.
    #[must_use]
    pub fn with_solved(mut self, solved: bool) -> Self {
        self.solved = Some(solved);
        self
    }

    /// The same, with the pipes as they are now.
    #[must_use]
    pub fn with_drawn(mut self, drawn: Vec<Flow>) -> Self {
        self.drawn = Some(drawn);
        self
    }

    /// The same, and why not all strokes were played.
    #[must_use]
    pub fn with_refused(mut self, reason: impl Into<String>) -> Self {
        self.refused = Some(reason.into());
        self
    }

    /// The same, for strokes that were planned for a profile.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The same, with the nanoseconds from the first press to the last release.
    #[must_use]
    pub fn with_act_ns(mut self, act_ns: i64) -> Self {
        self.act_ns = act_ns;
        self
    }
}

impl BoardResult {
    /// The result of a board by its number from 1: solved, or given up for a reason. No strokes were played on it.
    #[must_use]
    pub fn new(number: usize, puzzle: Puzzle, reason: Option<String>) -> Self {
        Self {
            number,
            puzzle,
            solved: reason.is_none(),
            unknown: false,
            reason,
            attempts: 0,
            strokes: 0,
            repeated: 0,
            profile: None,
            pace: None,
            took_ns: 0,
        }
    }

    /// The same for a board of which nobody knows whether it is solved; its reason is why.
    #[must_use]
    pub fn with_unknown(mut self) -> Self {
        self.solved = false;
        self.unknown = true;
        self
    }
}
