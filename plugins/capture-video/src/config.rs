//! What a pipeline can set.

use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::Deserialize;

/// The most that `max_pixels` can be.
pub const MOST_PIXELS: u32 = 134_217_728;

/// Config of capture-video.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["path"] }, { "required": ["camera"] }]))]
#[schemars(extend("dependentSchemas" = {
    "times": { "required": ["path"], "properties": { "repeat": { "const": false } } },
    "size": { "required": ["camera"] },
    "fps": { "required": ["camera"] },
}))]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "real_time": { "const": true } }, "required": ["real_time"] },
        "then": { "required": ["path"] },
    },
    {
        "if": { "properties": { "repeat": { "const": true } }, "required": ["repeat"] },
        "then": { "required": ["path"] },
    },
]))]
pub struct Config {
    /// The video file, relative to the pipeline file's folder: MP4, Matroska, WebM, AVI, MPEG, Ogg, FLV, GIF or Y4M.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// The camera: a device of Video4Linux such as `/dev/video0`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^/dev/\.?([A-Za-z0-9/_:-]+\.?)+$"))]
    pub camera: Option<String>,
    /// With `camera`: the width and height to ask the camera for, in pixels. Left out: its own.
    #[serde(default)]
    #[schemars(inner(range(min = 1, max = 16_384)))]
    pub size: Option<[u32; 2]>,
    /// With `camera`: the frames a second to ask the camera for. Left out: its own.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1_000))]
    pub fps: Option<f64>,
    /// With `path`: emit each frame when it is due by the video's own times, and the pipeline's clock. Left out: as fast as
    /// frames are taken.
    #[serde(default)]
    pub real_time: bool,
    /// With `path`: begin again after the last frame, until stopped.
    #[serde(default)]
    pub repeat: bool,
    /// With `path`: how often the video is played. Left out: once.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
    /// End after so many frames. Left out: with the video.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_frames: Option<u64>,
    /// The most pixels of a frame. A video with larger ones is refused.
    #[serde(default = "max_pixels")]
    #[schemars(range(min = 1, max = MOST_PIXELS))]
    pub max_pixels: u32,
    /// How long ffmpeg may take for a frame, in milliseconds.
    #[serde(default = "stall_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    pub stall_ms: u64,
    /// The program: a path, or a name that is searched in PATH.
    #[serde(default = "ffmpeg")]
    #[schemars(length(min = 1))]
    pub ffmpeg: String,
}

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A file.
    File(&'a str),
    /// A device.
    Camera(&'a str),
}

impl Config {
    /// What it names, if all its keys fit together.
    ///
    /// # Errors
    /// Which keys don't.
    pub fn source(&self) -> Result<Source<'_>> {
        if self.times == Some(0) {
            return Err(Error::bad_config("times is 0, it must be at least 1"));
        }
        if self.repeat && self.times.is_some() {
            return Err(Error::bad_config(
                "repeat plays for ever and times a number of times: set only one of them",
            ));
        }
        if self.fps.is_some_and(|fps| !(fps.is_finite() && fps > 0.0)) {
            return Err(Error::bad_config("fps must be more than 0"));
        }
        match (&self.path, &self.camera) {
            (Some(path), None) if self.size.is_some() || self.fps.is_some() => {
                Err(Error::bad_config(format!(
                    "size and fps are for cameras: leave them out for {path}"
                )))
            }
            (Some(path), None) => Ok(Source::File(path)),
            (None, Some(camera)) => {
                if self.real_time || self.repeat || self.times.is_some() {
                    return Err(Error::bad_config(
                        "real_time, repeat and times are for files: a camera has its own clock, and no end",
                    ));
                }
                if !camera.starts_with("/dev/") || camera.contains("..") {
                    return Err(Error::bad_config(format!(
                        "camera = {camera:?}: it is a device such as /dev/video0"
                    )));
                }
                Ok(Source::Camera(camera))
            }
            _ => Err(Error::bad_config("set exactly one of path and camera")),
        }
    }

    /// How many rounds to play; `None`: no end.
    pub fn rounds(&self) -> Option<u64> {
        match self.repeat {
            true => None,
            false => Some(self.times.unwrap_or(1)),
        }
    }
}

fn max_pixels() -> u32 {
    4_096 * 2_304
}

fn stall_ms() -> u64 {
    10_000
}

fn ffmpeg() -> String {
    "ffmpeg".to_owned()
}
