//! What the mouse should do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::is_false;
use super::{Manner, Profile, Sighting};
use crate::board::Cell;
use crate::colour::Colour;
use crate::geometry::Point;
use crate::solution::Solution;

/// One press, drag and release.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stroke {
    /// The number of the colour of the flow that it draws.
    pub colour: Colour,
    /// The indices (`row * cols + col`) of the cells that it is meant to pass, first to last.
    pub cells: Vec<Cell>,
    /// `[x, y]` in board units (a cell is one unit wide): press at the first, drag in straight lines through all, release at the last.
    pub points: Vec<Point>,
    /// The button stays down, and the next stroke goes on from another place: on boards that warp, in
    /// games where a drag goes on from the other side.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
}

impl Stroke {
    /// A stroke of its own: the button goes up after it.
    #[must_use]
    pub fn new(colour: Colour, cells: Vec<Cell>, points: Vec<Point>) -> Self {
        Self {
            colour,
            cells,
            points,
            held: false,
        }
    }

    /// The same stroke, after which the button stays down.
    #[must_use]
    pub fn and_held(mut self) -> Self {
        self.held = true;
        self
    }
}

/// What the mouse should do.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Strokes {
    /// The plugin that planned.
    pub planner: String,
    /// In the order of play.
    pub strokes: Vec<Stroke>,
    /// What they take the game to need, where that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How to play them; nothing: as the actuator thinks best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<Manner>,
    /// The solution that they draw.
    pub solution: Solution,
    /// The sighting that they belong to.
    pub sighting: Sighting,
}

impl Strokes {
    /// A planner's strokes, in the order of play, with the solution that they draw and the sighting that they belong
    /// to.
    #[must_use]
    pub fn new(
        planner: impl Into<String>,
        strokes: Vec<Stroke>,
        solution: Solution,
        sighting: Sighting,
    ) -> Self {
        Self {
            planner: planner.into(),
            strokes,
            profile: None,
            manner: None,
            solution,
            sighting,
        }
    }

    /// The same strokes, planned for a profile.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The same strokes, played in a manner.
    #[must_use]
    pub fn with_manner(mut self, manner: Manner) -> Self {
        self.manner = Some(manner);
        self
    }
}
