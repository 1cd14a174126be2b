//! Where a mouse would really be.

use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::puzzle::{Geometry, Point};
use flowpipe_plugin::{Error, Result};

/// Takes planned points to the whole screen pixels that a mouse can reach, and those back to the
/// board: strokes only work here if the board's place in the frame is right.
pub struct Pointer<'a> {
    geometry: &'a Geometry,
    frame: &'a FrameNote,
    subpixel: bool,
}

impl<'a> Pointer<'a> {
    pub fn new(geometry: &'a Geometry, frame: &'a FrameNote, subpixel: bool) -> Self {
        Self {
            geometry,
            frame,
            subpixel,
        }
    }

    /// The board position, in board units, of the screen pixel nearest to a planned point.
    ///
    /// # Errors
    /// When the board's corners in the frame span no area.
    pub fn at(&self, point: Point) -> Result<Point> {
        if self.subpixel {
            return Ok(point);
        }
        let FrameNote { origin, scale, .. } = self.frame;
        let in_frame = self.geometry.to_frame(point);
        // A pointer at a screen pixel is at its middle.
        let on_screen = [0, 1].map(|axis| (origin[axis] + in_frame[axis] / scale).floor() + 0.5);
        let back = [0, 1].map(|axis| (on_screen[axis] - origin[axis]) * scale);
        self.geometry
            .to_board(back)
            .ok_or_else(|| Error::bad_message("the board's corners in the frame span no area"))
    }
}
