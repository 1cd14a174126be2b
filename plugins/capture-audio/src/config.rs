//! What a pipeline can set.

use flowpipe_plugin::{Element, Error, JsonSchema, Result};
use serde::{Deserialize, Serialize};

/// Config of capture-audio.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("dependentSchemas" = { "times": { "properties": { "repeat": { "const": false } } } }))]
pub struct Config {
    /// The WAV file, relative to the pipeline file's folder.
    #[schemars(length(min = 1))]
    pub path: String,
    /// How many samples of each channel a block has. The last one of a file may have fewer.
    #[serde(default = "block")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub block: u32,
    /// What the samples become.
    #[serde(default)]
    pub element: SampleType,
    /// Emit each block when it is over by the rate of the file, and the pipeline's clock. Left out: as fast as blocks are
    /// taken.
    #[serde(default)]
    pub real_time: bool,
    /// Begin again at the end of the file, until stopped.
    #[serde(default)]
    pub repeat: bool,
    /// How often the file is played. Left out: once.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
}

/// The type of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SampleType {
    /// From -1 to 1.
    #[default]
    F32,
    /// From -32,768 to 32,767.
    I16,
}

impl From<SampleType> for Element {
    fn from(sample: SampleType) -> Self {
        match sample {
            SampleType::F32 => Self::F32,
            SampleType::I16 => Self::I16,
        }
    }
}

impl Config {
    /// Finds what a JSON Schema can't express.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        if self.block == 0 || self.times == Some(0) {
            return Err(Error::bad_config("block and times are at least 1"));
        }
        if self.repeat && self.times.is_some() {
            return Err(Error::bad_config(
                "repeat plays for ever and times a number of times: set only one of them",
            ));
        }
        Ok(())
    }

    /// How many rounds to play; `None`: no end.
    pub fn rounds(&self) -> Option<u64> {
        match self.repeat {
            true => None,
            false => Some(self.times.unwrap_or(1)),
        }
    }
}

fn block() -> u32 {
    1_024
}
