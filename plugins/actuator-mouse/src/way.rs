//! A stroke as the places that the pointer is put, one after the other.

use flowpipe_plugin::puzzle::message::{Manner, Pace, Stroke};
use flowpipe_plugin::puzzle::place::lowered;
use flowpipe_plugin::puzzle::{Board, Point};

use crate::area::Area;
use crate::config::Drags;

/// The least distance of the pointer from the first cell's border after a nudge, in cells: it must not
/// have left it yet.
const INSIDE: f64 = 0.05;

/// One drag: a stroke, or a segment of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Whether the button is pressed at the first place; otherwise what is held goes on from there.
    pub begins: bool,
    /// Whether the button is released at the last place.
    pub ends: bool,
    /// The first place.
    pub first: Step,
    /// What follows.
    pub rest: Vec<Step>,
}

/// One place of the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The screen pixel.
    pub at: [i32; 2],
    /// How long it stays there, in milliseconds.
    pub stay_ms: f64,
    /// How often the place is sent beyond the first time.
    pub again: u32,
}

impl Way {
    /// All its places.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The way through some points in board units. `None`: there are none.
    fn new(
        points: &[Point],
        begins: bool,
        ends: bool,
        area: &Area<'_>,
        manner: &Manner,
    ) -> Option<Self> {
        let pace = &manner.pace;
        let step = |point: Point, stay_ms: f64| Step {
            at: area.pixel(point),
            stay_ms,
            again: pace.repeats.saturating_sub(1),
        };
        let stay = |is_end: bool| if is_end { pace.ends_ms } else { pace.dwell_ms };
        let mut points = points.to_vec();
        if begins && let Some(nudged) = nudged(area.board(), &points, manner.nudge) {
            points.insert(1, nudged);
        }
        let first = step(*points.first()?, stay(begins));
        let mut rest: Vec<Step> = Vec::new();
        let last = points.len() - 1;
        for (index, segment) in points.windows(2).enumerate() {
            let places = Pace::places(pace.step, segment[0], segment[1]);
            rest.extend(places.map(|place| step(place, 0.0)));
            if let Some(at_point) = rest.last_mut() {
                at_point.stay_ms = stay(ends && index + 1 == last);
            }
        }
        Some(Self {
            begins,
            ends,
            first,
            rest,
        })
    }
}

/// The drags of each stroke. The button is released after the last one in any case.
pub fn ways(strokes: &[Stroke], area: &Area<'_>, manner: &Manner, drags: Drags) -> Vec<Vec<Way>> {
    let of_stroke = |index: usize, stroke: &Stroke| {
        let goes_on = index > 0 && strokes[index - 1].held;
        let is_held = stroke.held && index + 1 < strokes.len();
        let parts: Vec<&[Point]> = match drags {
            Drags::Segments if stroke.points.len() > 1 => stroke.points.windows(2).collect(),
            _ => vec![&stroke.points],
        };
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate();
        let way = |(part, points): (usize, &[Point])| {
            let begins = part > 0 || !goes_on;
            let ends = part < last || !is_held;
            Way::new(points, begins, ends, area, manner)
        };
        parts.filter_map(way).collect()
    };
    let strokes = strokes.iter().enumerate();
    strokes
        .map(|(index, stroke)| of_stroke(index, stroke))
        .collect()
}

/// Where the pointer is after a nudge by so many cells from the first point towards the second: neither
/// beyond that nor out of the first cell. `None`: the second point itself is the nudge, or there is no
/// way to go.
fn nudged(board: &Board, points: &[Point], nudge: f64) -> Option<Point> {
    let &[from, to, ..] = points else {
        return None;
    };
    let low = lowered(board, from[0].floor() as i64);
    // The unit square that the pointer is in: see `puzzle::place`.
    let cell = [from[0].floor(), (from[1] - low).floor() + low];
    let to_border = |axis: usize| {
        let way = to[axis] - from[axis];
        let border = if way > 0.0 {
            cell[axis] + 1.0 - INSIDE
        } else {
            cell[axis] + INSIDE
        };
        if way == 0.0 {
            f64::INFINITY
        } else {
            (border - from[axis]) / way
        }
    };
    let length = (to[0] - from[0]).hypot(to[1] - from[1]);
    let share = (nudge / length).min(to_border(0)).min(to_border(1));
    // A way of no length gives no number.
    (share > 0.0 && share < 1.0).then(|| towards(from, to, share))
}

/// The point at a share of the way.
fn towards(from: Point, to: Point, share: f64) -> Point {
    [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Geometry;
    use flowpipe_plugin::puzzle::message::{FrameNote, Pace};
    use proptest::prelude::*;

    use super::*;

    fn manner(step: Option<f64>, nudge: f64) -> Manner {
        Manner::new(Pace {
            step,
            dwell_ms: 18.0,
            ends_ms: 4.0,
            repeats: 2,
        })
        .with_nudge(nudge)
    }

    /// The ways on a board of 10 x 10 cells of so many pixels.
    fn on_board(strokes: &[Stroke], pixels: f64, manner: &Manner, drags: Drags) -> Vec<Vec<Way>> {
        let board = Board::rectangle(10, 10).unwrap();
        let geometry = Geometry::axis_aligned(0.0, 0.0, 10.0 * pixels, 10.0 * pixels, 10, 10);
        let frame = FrameNote::of("test");
        let area = Area::new(&board, &geometry, &frame);
        ways(strokes, &area, manner, drags)
    }

    fn stroke(points: &[Point]) -> Stroke {
        Stroke::new(0, Vec::new(), points.to_vec())
    }

    fn sent(way: &Way) -> Vec<([i32; 2], f64)> {
        way.steps().map(|step| (step.at, step.stay_ms)).collect()
    }

    const CORNER: [Point; 3] = [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]];

    #[test]
    fn it_waits_at_turns_and_sends_the_cells_between() {
        let strokes = [stroke(&CORNER)];
        let ways = on_board(&strokes, 10.0, &manner(Some(1.0), 0.0), Drags::Strokes);
        let [way] = ways[0].as_slice() else {
            panic!("{ways:?}")
        };
        assert_eq!(way.first.again, 1);
        assert_eq!(
            sent(way),
            [
                ([5, 5], 4.0),
                ([15, 5], 0.0),
                ([25, 5], 18.0),
                ([25, 15], 4.0)
            ]
        );
        let nothing = on_board(
            &[stroke(&[])],
            10.0,
            &manner(Some(1.0), 0.0),
            Drags::Strokes,
        );
        assert_eq!(nothing, [vec![]]);
    }

    #[test]
    fn without_a_step_the_points_are_enough() {
        let ways = on_board(&[stroke(&CORNER)], 10.0, &manner(None, 0.0), Drags::Strokes);
        assert_eq!(
            sent(&ways[0][0]),
            [([5, 5], 4.0), ([25, 5], 18.0), ([25, 15], 4.0)]
        );
    }

    #[test]
    fn a_nudge_is_a_stop_in_the_first_cell_of_each_drag() {
        let ways = on_board(
            &[stroke(&CORNER)],
            10.0,
            &manner(None, 0.25),
            Drags::Strokes,
        );
        assert_eq!(
            sent(&ways[0][0]),
            [
                ([5, 5], 4.0),
                ([7, 5], 18.0),
                ([25, 5], 18.0),
                ([25, 15], 4.0)
            ]
        );
        let ways = on_board(
            &[stroke(&CORNER)],
            10.0,
            &manner(None, 0.25),
            Drags::Segments,
        );
        assert_eq!(
            sent(&ways[0][1]),
            [([25, 5], 4.0), ([25, 7], 18.0), ([25, 15], 4.0)]
        );
    }

    #[test]
    fn a_nudge_goes_neither_beyond_the_next_point_nor_out_of_the_cell() {
        let board = Board::rectangle(3, 3).unwrap();
        let nudged = |points: &[Point]| nudged(&board, points, 0.4);
        assert_eq!(nudged(&[[0.5, 0.5], [0.7, 0.5]]), None, "it is the nudge");
        assert_eq!(nudged(&[[0.5, 0.5], [0.5, 0.5]]), None, "nowhere to go");
        assert_eq!(nudged(&[[0.5, 0.5]]), None);
        let [x, y] = nudged(&[[0.75, 0.5], [1.5, 0.5]]).unwrap();
        assert!((x - 0.95).abs() < 1e-9 && y == 0.5, "{x}");
        let [x, y] = nudged(&[[1.5, 1.2], [1.5, 0.2]]).unwrap();
        assert!(x == 1.5 && (y - 1.05).abs() < 1e-9, "{y}");
    }

    #[test]
    fn a_held_stroke_goes_on_in_the_next_one_but_for_the_last() {
        let held = stroke(&[[8.5, 0.5], [9.5, 0.5]]).and_held();
        let next = stroke(&[[0.5, 0.5], [2.5, 0.5]]).and_held();
        let ways = on_board(&[held, next], 10.0, &manner(None, 0.25), Drags::Strokes);
        let (one, two) = (&ways[0][0], &ways[1][0]);
        assert_eq!((one.begins, one.ends), (true, false));
        assert_eq!((two.begins, two.ends), (false, true));
        // There is no wait for a missing release or press, and no nudge.
        assert_eq!(
            sent(one),
            [([85, 5], 4.0), ([87, 5], 18.0), ([95, 5], 18.0)]
        );
        assert_eq!(sent(two), [([5, 5], 18.0), ([25, 5], 4.0)]);
    }

    /// The estimated duration of strokes is the time that playing them takes.
    #[test]
    fn stays_add_up_to_what_the_manner_sets() {
        let held = stroke(&CORNER).and_held();
        let strokes = [stroke(&CORNER), held, stroke(&CORNER[..2])];
        for manner in [manner(None, 0.0), manner(Some(0.3), 0.25)] {
            let ways = on_board(&strokes, 10.0, &manner, Drags::Strokes);
            let steps = ways.iter().flatten().flat_map(Way::steps);
            let stays: f64 = steps.map(|step| step.stay_ms).sum();
            assert_eq!(stays, manner.stays_ms(&strokes));
        }
    }

    proptest! {
        /// Steps are never longer than asked for, and every point of the stroke is a place.
        #[test]
        fn steps_are_short(
            points in prop::collection::vec((0.0..10.0f64, 0.0..10.0f64), 1..8),
            step in 0.05..1.0f64,
            nudge in 0.0..1.0f64,
        ) {
            let points: Vec<Point> = points.into_iter().map(|(x, y)| [x, y]).collect();
            let manner = manner(Some(step), nudge);
            let ways = on_board(&[stroke(&points)], 100.0, &manner, Drags::Strokes);
            let places: Vec<[i32; 2]> = ways[0][0].steps().map(|it| it.at).collect();
            for pair in places.windows(2) {
                let gap = f64::from(pair[0][0] - pair[1][0]).hypot(f64::from(pair[0][1] - pair[1][1]));
                prop_assert!(gap <= 100.0 * step + 2.0);
            }
            let mut left = places.iter();
            for point in points {
                let pixel = point.map(|value| (100.0 * value).floor() as i32);
                prop_assert!(left.any(|at| *at == pixel));
            }
        }
    }
}
