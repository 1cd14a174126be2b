//! Where the board is on the screen: nothing outside of it is ever touched.

use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::puzzle::{Geometry, Point};

/// A board on the screen.
pub struct Area<'a> {
    geometry: &'a Geometry,
    frame: &'a FrameNote,
}

/// A rectangle of screen pixels: left, top, right, bottom, the last two outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl<'a> Area<'a> {
    pub fn new(geometry: &'a Geometry, frame: &'a FrameNote) -> Self {
        Self { geometry, frame }
    }

    /// The screen pixel that a point in board units lies in.
    pub fn pixel(&self, point: Point) -> [i32; 2] {
        self.on_screen(self.geometry.to_frame(point))
            .map(|value| value.floor() as i32)
    }

    /// The pixels that lie wholly inside the board's rectangle.
    pub fn bounds(&self) -> Bounds {
        let corners = self.geometry.corners.map(|corner| self.on_screen(corner));
        let least = |axis: usize| {
            corners
                .iter()
                .fold(f64::INFINITY, |least, corner| least.min(corner[axis]))
                .ceil() as i32
        };
        let most = |axis: usize| {
            corners
                .iter()
                .fold(f64::NEG_INFINITY, |most, corner| most.max(corner[axis]))
                .floor() as i32
        };
        Bounds {
            left: least(0),
            top: least(1),
            right: most(0),
            bottom: most(1),
        }
    }

    fn on_screen(&self, in_frame: Point) -> Point {
        let FrameNote { origin, scale, .. } = self.frame;
        [0, 1].map(|axis| origin[axis] + in_frame[axis] / scale)
    }
}

impl Bounds {
    /// Whether a pixel lies inside.
    pub fn hold(&self, [x, y]: [i32; 2]) -> bool {
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_and_origin_count() {
        let frame = FrameNote {
            origin: [100.0, 50.0],
            scale: 2.0,
            ..FrameNote::of("test")
        };
        let geometry = Geometry::upright(20.0, 40.0, 101.0, 200.0, 4, 2);
        let area = Area::new(&geometry, &frame);
        assert_eq!(area.pixel([0.5, 0.5]), [122, 82]);
        let bounds = area.bounds();
        let expected = Bounds {
            left: 110,
            top: 70,
            right: 160,
            bottom: 170,
        };
        assert_eq!(bounds, expected);
        assert!(bounds.hold([110, 70]) && bounds.hold([159, 169]));
        assert!(!bounds.hold([109, 70]) && !bounds.hold([160, 100]) && !bounds.hold([120, 170]));
    }
}
