//! What a pipeline can set.

use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::{Deserialize, Serialize};

/// Config of capture-files.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("dependentSchemas" = { "times": { "properties": { "repeat": { "const": false } } } }))]
pub struct Config {
    /// Pictures (PNG or JPEG): a file, a folder (the pictures right in it), or a pattern such as
    /// `frames/*.png` (`**` for folders of any depth); or a list of these, played in its order.
    /// What one folder or pattern gives is played in natural order: `2.png` before `10.png`.
    /// Relative to the pipeline file's folder.
    pub paths: Paths,
    /// Pictures a second, by the pipeline's clock. Left out: as fast as they are taken.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub fps: Option<f64>,
    /// Begin again after the last picture, until stopped.
    #[serde(default)]
    pub repeat: bool,
    /// How often all pictures are played. Left out: once.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
    /// What to do about a picture that can't be read.
    #[serde(default)]
    pub on_broken: OnBroken,
}

/// One path or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// One.
    One(#[schemars(length(min = 1))] String),
    /// Several.
    Several(#[schemars(length(min = 1))] Vec<String>),
}

/// What to do about a picture that can't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBroken {
    /// Stop with an error that names it.
    #[default]
    Fail,
    /// Warn and go on with the next one.
    Skip,
}

impl Paths {
    /// As a list.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Several(paths) => paths,
        }
    }
}

impl Config {
    /// Finds what a JSON Schema can't express.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        if let Some(fps) = self.fps
            && !(fps.is_finite() && fps > 0.0)
        {
            return Err(Error::bad_config(format!(
                "fps is {fps}, it must be more than 0"
            )));
        }
        if self.times == Some(0) {
            return Err(Error::bad_config("times is 0, it must be at least 1"));
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
        if self.repeat {
            None
        } else {
            Some(self.times.unwrap_or(1))
        }
    }
}
