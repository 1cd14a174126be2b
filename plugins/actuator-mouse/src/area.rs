//! Where the board is on the screen: nothing outside of it is ever touched.

use flowpipe_desktop::Rect;
use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::puzzle::{Geometry, Point};

/// A board on the screen.
pub struct Area<'a> {
    geometry: &'a Geometry,
    frame: &'a FrameNote,
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
    pub fn bounds(&self) -> Rect {
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
        let (left, top) = (least(0), least(1));
        let length = |from: i32, to: i32| u32::try_from(to - from).unwrap_or(0);
        Rect {
            x: left,
            y: top,
            width: length(left, most(0)),
            height: length(top, most(1)),
        }
    }

    fn on_screen(&self, in_frame: Point) -> Point {
        let FrameNote { origin, scale, .. } = self.frame;
        [0, 1].map(|axis| origin[axis] + in_frame[axis] / scale)
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
        let expected = Rect {
            x: 110,
            y: 70,
            width: 50,
            height: 100,
        };
        assert_eq!(bounds, expected);
        assert!(bounds.contains([110, 70]) && bounds.contains([159, 169]));
        assert!(
            !bounds.contains([109, 70])
                && !bounds.contains([160, 100])
                && !bounds.contains([120, 170])
        );
    }
}
