//! Which parts of a captured window show windows of other programs.

use flowpipe_desktop::Desktop;
use flowpipe_plugin::Result;
use flowpipe_plugin::message::Rectangle;

use crate::target::Seen;

/// Between two questions, in nanoseconds: each asks the system about all windows that lie over the captured one.
const EVERY_NS: i64 = 100_000_000;

/// What lay over the window when it was last asked for.
#[derive(Default)]
pub struct Covers {
    parts: Vec<Rectangle>,
    asked_ns: Option<i64>,
}

impl Covers {
    /// The parts of a capture that show windows of other programs, in pixels of the frame. Asked for now and then.
    ///
    /// # Errors
    /// When the connection to the desktop is lost.
    pub fn over(
        &mut self,
        desktop: &Desktop,
        seen: &Seen<'_>,
        now_ns: i64,
    ) -> Result<&[Rectangle]> {
        let Some(window) = seen.window else {
            return Ok(&[]);
        };
        let is_due = |asked: i64| now_ns.saturating_sub(asked) >= EVERY_NS;
        if self.asked_ns.is_none_or(is_due) {
            self.asked_ns = Some(now_ns);
            let (place, scale) = (seen.picture.place, seen.picture.scale);
            let parts = desktop.others_over(window, place)?.into_iter();
            let in_frame = |at: i32, from: i32| (f64::from(at) - f64::from(from)) * scale;
            let rectangle = |part: flowpipe_desktop::Rect| {
                let [width, height] = [part.width, part.height].map(|side| f64::from(side) * scale);
                Rectangle::new(
                    in_frame(part.x, place.x),
                    in_frame(part.y, place.y),
                    width,
                    height,
                )
            };
            self.parts = parts.map(rectangle).collect();
        }
        Ok(&self.parts)
    }
}
