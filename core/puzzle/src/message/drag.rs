//! What strokes cost the player: straight lines, distance, time.

use super::{Hold, Manner, Stroke};
use crate::geometry::Point;

impl Stroke {
    /// Straight lines in it, however many points lie on them.
    #[must_use]
    pub fn segments(&self) -> usize {
        // As a count, this is for people: what is straight except for rounding is straight.
        const NOTHING: f64 = 1e-9;
        let steps = self.points.windows(2).map(|pair| {
            let [from, to] = [pair[0], pair[1]];
            [to[0] - from[0], to[1] - from[1]]
        });
        let steps: Vec<[f64; 2]> = steps
            .filter(|step| step.iter().any(|length| length.abs() > NOTHING))
            .collect();
        let goes_on = |pair: &[[f64; 2]]| {
            let [a, b] = [pair[0], pair[1]];
            let aside = a[0] * b[1] - a[1] * b[0];
            let along = a[0] * b[0] + a[1] * b[1];
            along > 0.0 && aside.abs() <= NOTHING
        };
        let turns = steps.windows(2).filter(|pair| !goes_on(pair)).count();
        turns + usize::from(!steps.is_empty())
    }

    /// How far the pointer is dragged, in board units (cells).
    #[must_use]
    pub fn length(&self) -> f64 {
        let pairs = self.points.windows(2);
        pairs.map(|pair| distance(pair[0], pair[1])).sum()
    }
}

impl Manner {
    /// How long the pointer stays at the places of strokes, in milliseconds: the least time that it takes to
    /// play them in this manner. Moving it costs no time here.
    #[must_use]
    pub fn stays_ms(&self, strokes: &[Stroke]) -> f64 {
        let of_stroke = |(index, stroke): (usize, &Stroke)| {
            let begins = index == 0 || !strokes[index - 1].held;
            let ends = !stroke.held || index + 1 == strokes.len();
            self.stays_in(stroke, begins, ends)
        };
        strokes.iter().enumerate().map(of_stroke).sum()
    }

    /// The same of one stroke, which begins with a press, ends with a release, or is a part of a drag.
    fn stays_in(&self, stroke: &Stroke, begins: bool, ends: bool) -> f64 {
        let pace = &self.pace;
        let stay = |is_end: bool| if is_end { pace.ends_ms } else { pace.dwell_ms };
        // The second click is held as long as the first one.
        let click = match self.hold {
            Hold::Clicks if ends => pace.ends_ms,
            Hold::Clicks | Hold::Drag => 0.0,
        };
        match stroke.points.as_slice() {
            [] => 0.0,
            [_] => stay(begins) + click,
            [from, to, between @ ..] => {
                let is_nudged = begins && self.nudge > 0.0 && self.nudge < distance(*from, *to);
                let turns = between.len() + usize::from(is_nudged);
                stay(begins) + turns as f64 * pace.dwell_ms + stay(ends) + click
            }
        }
    }
}

fn distance(from: Point, to: Point) -> f64 {
    (to[0] - from[0]).hypot(to[1] - from[1])
}

#[cfg(test)]
mod tests {
    use super::super::Profile;
    use super::*;

    fn stroke(points: &[Point]) -> Stroke {
        Stroke::new(0, Vec::new(), points.to_vec())
    }

    #[test]
    fn points_on_a_straight_line_make_no_segments() {
        let count = |points: &[Point]| stroke(points).segments();
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[[0.5, 0.5], [0.5, 0.5]]), 0);
        assert_eq!(count(&[[0.5, 0.5], [1.5, 0.5], [2.5, 0.5], [2.5, 1.5]]), 2);
        assert_eq!(count(&[[0.0, 0.0], [0.1, 0.3], [0.2, 0.6], [1.0, 3.0]]), 1);
        assert_eq!(
            count(&[[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]),
            2,
            "back again"
        );
        assert_eq!(
            count(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.001]]),
            2
        );
    }

    #[test]
    fn the_distance_is_that_of_all_lines() {
        assert_eq!(stroke(&[[0.5, 0.5], [3.5, 4.5], [3.5, 5.5]]).length(), 6.0);
        assert_eq!(stroke(&[[0.5, 0.5]]).length(), 0.0);
    }

    #[test]
    fn stays_are_those_at_turns_and_ends() {
        let corner = stroke(&[[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]]);
        let stays = |profile: Profile, strokes: &[Stroke]| profile.manner().stays_ms(strokes);
        let one = std::slice::from_ref(&corner);
        assert_eq!(stays(Profile::Events, one), 0.0);
        assert_eq!(stays(Profile::Segments, one), 18.0);
        assert_eq!(stays(Profile::Turns, one), 5.0 + 25.0 + 5.0);
        // The nudge is one place more.
        assert_eq!(stays(Profile::Cells, one), 5.0 + 5.0 + 5.0 + 5.0);
        assert_eq!(stays(Profile::Clicks, one), 18.0 + 18.0 + 18.0 + 18.0);
        assert_eq!(stays(Profile::Turns, &[]), 0.0);
        assert_eq!(stays(Profile::Turns, &[stroke(&[[0.5, 0.5]])]), 5.0);
    }

    #[test]
    fn a_held_stroke_has_no_end() {
        let corner = stroke(&[[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]]);
        let held = Stroke {
            held: true,
            ..corner.clone()
        };
        let turns = Profile::Turns.manner();
        assert_eq!(
            turns.stays_ms(&[held.clone(), corner]),
            5.0 + 25.0 + 25.0 + 25.0 + 25.0 + 5.0
        );
        assert_eq!(turns.stays_ms(&[held]), 35.0, "the last is let go");
    }
}
