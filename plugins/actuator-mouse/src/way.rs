//! A stroke as the places that the pointer is put, one after the other.

use flowpipe_plugin::puzzle::Point;
use flowpipe_plugin::puzzle::message::Pace;

use crate::area::Area;

/// One place of the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The screen pixel.
    pub at: [i32; 2],
    /// How long it stays there, in milliseconds.
    pub stay_ms: f64,
    /// How often the place is told beyond the first time.
    pub again: u32,
}

/// The way through some points in board units: the press, and what follows it. `None`: no points.
pub fn way(points: &[Point], area: &Area<'_>, pace: &Pace) -> Option<(Step, Vec<Step>)> {
    let step = |point: Point, stay_ms: f64| Step {
        at: area.pixel(point),
        stay_ms,
        again: pace.repeats.saturating_sub(1),
    };
    let &first = points.first()?;
    let press = step(first, pace.ends_ms);
    let mut steps: Vec<Step> = Vec::new();
    let last = points.len() - 1;
    for (index, segment) in points.windows(2).enumerate() {
        let [from, to] = [segment[0], segment[1]];
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let parts = (length / pace.step).ceil().max(1.0) as u32;
        for part in 1..parts {
            let share = f64::from(part) / f64::from(parts);
            let between = [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share);
            steps.push(step(between, 0.0));
        }
        let stay = if index + 1 == last {
            pace.ends_ms
        } else {
            pace.dwell_ms
        };
        steps.push(step(to, stay));
    }
    Some((press, steps))
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Geometry;
    use flowpipe_plugin::puzzle::message::FrameNote;
    use proptest::prelude::*;

    use super::*;

    fn pace(step: f64) -> Pace {
        Pace {
            step,
            dwell_ms: 18.0,
            ends_ms: 4.0,
            repeats: 2,
        }
    }

    #[test]
    fn it_waits_at_turns_and_tells_the_cells_between() {
        let geometry = Geometry::upright(0.0, 0.0, 50.0, 50.0, 5, 5);
        let frame = FrameNote::of("test");
        let area = Area::new(&geometry, &frame);
        let points = [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]];
        let (press, steps) = way(&points, &area, &pace(1.0)).unwrap();
        assert_eq!((press.at, press.stay_ms, press.again), ([5, 5], 4.0, 1));
        let told: Vec<_> = steps.iter().map(|step| (step.at, step.stay_ms)).collect();
        assert_eq!(told, [([15, 5], 0.0), ([25, 5], 18.0), ([25, 15], 4.0)]);
        assert!(way(&[], &area, &pace(1.0)).is_none());
    }

    proptest! {
        /// Steps are never longer than asked for, and every point of the stroke is a place.
        #[test]
        fn steps_are_short(
            points in prop::collection::vec((0.0..10.0f64, 0.0..10.0f64), 1..8),
            step in 0.05..1.0f64,
        ) {
            let geometry = Geometry::upright(0.0, 0.0, 1000.0, 1000.0, 10, 10);
            let frame = FrameNote::of("test");
            let area = Area::new(&geometry, &frame);
            let points: Vec<Point> = points.into_iter().map(|(x, y)| [x, y]).collect();
            let (press, steps) = way(&points, &area, &pace(step)).unwrap();
            let places: Vec<[i32; 2]> = std::iter::once(press).chain(steps).map(|it| it.at).collect();
            for pair in places.windows(2) {
                let gap = f64::from(pair[0][0] - pair[1][0]).hypot(f64::from(pair[0][1] - pair[1][1]));
                prop_assert!(gap <= 100.0 * step + 2.0);
            }
            let mut left = places.iter();
            for point in points {
                prop_assert!(left.any(|at| *at == area.pixel(point)));
            }
        }
    }
}
