//! Where gestures are on the screen: nothing outside of their bounds is ever touched.

use flowpipe_desktop::Rect;
use flowpipe_plugin::message::{Action, FrameNote, Gestures, Point, Rectangle};

/// Gestures on the screen.
pub struct Area<'a> {
    gestures: &'a Gestures,
}

impl<'a> Area<'a> {
    pub fn new(gestures: &'a Gestures) -> Self {
        Self { gestures }
    }

    /// The screen pixel that a point of the gestures lies in.
    pub fn pixel(&self, point: Point) -> [i32; 2] {
        self.on_screen(self.gestures.in_frame(point))
            .map(|value| value.floor() as i32)
    }

    /// The pixels that the pointer may be put on: those that lie wholly inside the bounds, in the frame, and in `inside`,
    /// the part of the window's inside that is on the screen, where it is known.
    pub fn bounds(&self, inside: Option<Rect>) -> Rect {
        let bounds = self.pixels(&self.gestures.bounds);
        // As it was captured: a check has compared it.
        let FrameNote { scale, size, .. } = &self.gestures.frame;
        let frame = size.map(|size| {
            let [width, height] = size.map(|length| f64::from(length) * scale);
            self.pixels(&Rectangle::new(0.0, 0.0, width, height))
        });
        let limits = [frame, inside].into_iter().flatten();
        limits.fold(bounds, |bounds, limit| {
            bounds.intersection(limit).unwrap_or_default()
        })
    }

    /// The first pixel that the gestures name and that is not in a rectangle.
    pub fn outside(&self, bounds: Rect) -> Option<[i32; 2]> {
        let places = self.gestures.actions().filter_map(Action::place);
        let mut pixels = places.map(|place| self.pixel(place));
        pixels.find(|&pixel| !bounds.contains(pixel))
    }

    fn on_screen(&self, in_frame: Point) -> Point {
        let FrameNote { origin, scale, .. } = &self.gestures.frame;
        [0, 1].map(|axis| origin[axis] + in_frame[axis] / scale)
    }

    /// The screen pixels that lie wholly inside a part of the frame.
    fn pixels(&self, part: &Rectangle) -> Rect {
        let [from, _, to, _] = part.corners().map(|corner| self.on_screen(corner));
        let [left, top] = from.map(|value| value.ceil() as i32);
        let [right, bottom] = to.map(|value| value.floor() as i32);
        let length = |from: i32, to: i32| u32::try_from(i64::from(to) - i64::from(from));
        Rect {
            x: left,
            y: top,
            width: length(left, right).unwrap_or(0),
            height: length(top, bottom).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::message::Gesture;

    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    #[test]
    fn scale_and_origin_count() {
        let frame = FrameNote::of("test")
            .with_origin([100.0, 50.0])
            .with_scale(2.0);
        let bounds = Rectangle::new(20.0, 40.0, 101.0, 200.0);
        let gestures = Gestures::new("planner-test", frame, bounds, Vec::new());
        let area = Area::new(&gestures);
        assert_eq!(area.pixel([45.25, 65.0]), [122, 82]);
        let bounds = area.bounds(None);
        assert_eq!(bounds, rect(110, 70, 50, 100));
        assert!(bounds.contains([110, 70]) && bounds.contains([159, 169]));
        assert!(
            !bounds.contains([109, 70])
                && !bounds.contains([160, 100])
                && !bounds.contains([120, 170])
        );
    }

    #[test]
    fn points_of_a_named_area_are_counted_from_its_corner() {
        let bounds = Rectangle::new(0.0, 0.0, 50.0, 50.0);
        let gestures = Gestures::new("planner-test", FrameNote::of("test"), bounds, Vec::new())
            .with_area("toolbar", Rectangle::new(10.0, 20.0, 30.0, 5.0));
        assert_eq!(Area::new(&gestures).pixel([1.5, 2.0]), [11, 22]);
    }

    #[test]
    fn a_frame_of_more_pixels_than_the_screen_is_as_large() {
        let frame = FrameNote::of("test").with_size([600, 400]).with_scale(1.25);
        let bounds = Rectangle::new(500.0, 100.0, 250.0, 400.0);
        let gestures = Gestures::new("planner-test", frame, bounds, Vec::new());
        assert_eq!(Area::new(&gestures).bounds(None), rect(400, 80, 200, 320));
    }

    #[test]
    fn bounds_are_cut_to_the_window_and_to_the_frame() {
        let of = |frame: FrameNote| {
            let bounds = Rectangle::new(30.0, 30.0, 50.0, 50.0);
            let click = Gesture::new("click", vec![Action::click([32.5, 40.0])]);
            Gestures::new("planner-test", frame, bounds, vec![click])
        };
        let whole = rect(30, 30, 50, 50);
        let narrow = Some(rect(35, 0, 40, 100));
        let cut = rect(35, 30, 40, 50);
        let unknown = FrameNote::of("test");
        for frame in [
            unknown.clone(),
            unknown.clone().with_size([80, 100]),
            unknown.with_size([100_000, 100_000]),
        ] {
            let gestures = of(frame);
            let area = Area::new(&gestures);
            assert_eq!(area.bounds(narrow), cut);
            assert_eq!(area.bounds(None), whole);
            assert_eq!(area.bounds(Some(rect(500, 500, 10, 10))), rect(0, 0, 0, 0));
            assert_eq!(area.outside(whole), None);
            assert_eq!(area.outside(cut), Some([32, 40]));
        }
        let small = of(FrameNote::of("test").with_size([60, 35]));
        assert_eq!(Area::new(&small).bounds(None), rect(30, 30, 30, 5));
    }
}
