//! The pose of a board at rest.

use flowpipe_plugin::puzzle::Point;

/// How much a line stands out at least, as a share of what the lines at rest do: those that are seen
/// narrow stand out less.
const STRONG: f64 = 0.25;

/// A board that lay at rest where one now may turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestPose {
    /// Its middle, in frame pixels.
    pub middle: Point,
    /// Its width and height, in frame pixels.
    pub size: [f64; 2],
    /// How many pixels wide its lines are.
    pub thickness: f64,
    /// How much they stand out in the top-hat.
    pub strength: f64,
}

impl RestPose {
    /// What stands out less is no line.
    #[must_use]
    pub fn level(&self) -> u8 {
        (STRONG * self.strength).max(3.0) as u8
    }

    /// Where a board may be seen that turns here: left, top, width and height in frame pixels, which may
    /// lie outside of the frame. The next board's sides may be longer than this one's, and the side that
    /// comes towards the eye is seen longer.
    #[must_use]
    pub fn room(&self) -> [f64; 4] {
        let longer = self.size[0].max(self.size[1]);
        let (width, height) = (1.1 * longer, 1.6 * longer);
        let [x, y] = self.middle;
        [x - width / 2.0, y - height / 2.0, width, height]
    }
}
