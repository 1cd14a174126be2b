//! What users can set.

use flowpipe_game::Settings;
use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::{Deserialize, Serialize};

/// Plays strokes on a board in memory, under the game's rules of dragging, and reports which were
/// accepted.
///
/// There is no time and no button here: of the manner that the planner asks for only the steps count,
/// and clicks are played as drags.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How far from its border a cell has to be entered to count, in cells: 0 to 0.45.
    #[schemars(range(min = 0.0, max = 0.45))]
    pub margin: f64,
    /// How the game takes its input.
    pub input: Input,
    /// Let the pointer be between screen pixels, which no mouse can.
    pub subpixel: bool,
    /// Write a picture of each board after the strokes into this folder (made if it is
    /// not there), as PNG.
    #[schemars(extend("format" = "created-folder"))]
    pub pictures: Option<String>,
}

/// How a game takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// It samples the pointer once a frame and fills the straight line between two samples, as phone
    /// and web games do.
    Frames,
    /// It only knows the cells where an event came: a jump of more than one cell loses the rest.
    Events,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            margin: Settings::default().margin,
            input: Input::Frames,
            subpixel: false,
            pictures: None,
        }
    }
}

impl Config {
    /// Enforces the limits of the schema even where it was not validated.
    ///
    /// # Errors
    /// When the margin is out of its range.
    pub fn check(&self) -> Result<()> {
        if (0.0..=0.45).contains(&self.margin) {
            Ok(())
        } else {
            Err(Error::bad_config(format!(
                "margin is {}, it must be 0 to 0.45",
                self.margin
            )))
        }
    }

    /// The game's settings.
    pub fn settings(&self) -> Settings {
        Settings {
            margin: self.margin,
            fill: self.input == Input::Frames,
            ..Settings::default()
        }
    }
}
