//! The message from vision to the planner.

use flowpipe_plugin::message::{FrameNote, Rectangle};
use serde::{Deserialize, Serialize};

/// Its schema id. When its meaning changes, it gets another version.
pub const TARGETS: &str = "pipeline-name.targets/1";

/// The targets in a frame.
#[derive(Serialize, Deserialize)]
pub struct Targets {
    /// Where the frame comes from: the actuator finds the window by it.
    pub frame: FrameNote,
    /// The width and the height of the frame, in pixels.
    pub size: [f64; 2],
    /// Their places, from top to bottom.
    pub targets: Vec<Rectangle>,
}
