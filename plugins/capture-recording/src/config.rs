//! What a pipeline can set.

use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::Deserialize;

/// Config of capture-recording.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The recording (MCAP), as `flowpipe run --record` writes it. Relative to the pipeline file's folder.
    pub file: String,
    /// Whose messages are played: a stage of the recorded pipeline, or `STAGE.PORT`. Left out: the stage that
    /// captured, where there is one.
    #[serde(default)]
    pub stage: Option<String>,
    /// How often faster than it was: 1 as then, 2 twice as fast. Left out: as fast as they are taken.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub speed: Option<f64>,
    /// Begin again after the last message, until stopped.
    #[serde(default)]
    pub repeat: bool,
}

impl Config {
    /// Finds what a JSON Schema can't express.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        match self.speed {
            Some(speed) if !(speed.is_finite() && speed > 0.0) => Err(Error::bad_config(format!(
                "speed is {speed}, it must be more than 0"
            ))),
            _ => Ok(()),
        }
    }
}
