//! The config of the plugin.

use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::Deserialize;

/// Reads a board of squares by contours, the method of a published bot, to compare other vision with. It reads boards
/// without walls, bridges and warps on which nothing is drawn, refuses most other pictures, and may misread some.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How far the square reaches to each side of a pixel with whose mean the pixel is compared, in pixels. The square
    /// has to be larger than the thickness of a line.
    pub reach: NonZeroU8,
    /// How much brighter than this mean a pixel of a line is, in levels of 256.
    pub contrast: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reach: NonZeroU8::MIN.saturating_add(4),
            contrast: 16,
        }
    }
}
