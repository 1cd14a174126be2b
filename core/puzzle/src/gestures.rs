//! Strokes as gestures: what a pointer has to do to draw them. Every actuator plays strokes in this form.

use flowpipe_message::{Action, Gesture, Gestures, Rectangle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::colour;
use crate::geometry::{Geometry, Point};
use crate::message::{Hold, Manner, Pace, Stroke, Strokes};
use crate::place::{cell_at, lowered, reach};
use crate::puzzle::Puzzle;

/// The least distance of the pointer from the first cell's border after a nudge, in cells: it must not
/// have left it yet.
const INSIDE: f64 = 0.05;

/// What is one drag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Drags {
    /// A whole stroke.
    #[default]
    Strokes,
    /// Each straight segment of a stroke: for games that lose long drags. They must let a pipe be
    /// drawn on from its end.
    Segments,
}

impl Strokes {
    /// The gestures that play the strokes in a manner, one for each stroke. `None`: they belong to no board.
    ///
    /// Nothing may happen outside of the board. Where pipes leave it over its edges and the board's window is known, the
    /// bounds contain a cell beyond as well, which may reach out of the window.
    #[must_use]
    pub fn gestures(&self, manner: &Manner, drags: Drags) -> Option<Gestures> {
        let seen = self.sighting.board()?;
        let (board, geometry) = (seen.puzzle.board(), &seen.geometry);
        let frame = self.sighting.frame.clone();
        let bounds = bounds(board, geometry, frame.window.is_some())?;
        let conversion = Conversion {
            puzzle: &seen.puzzle,
            geometry,
            manner,
            drags,
        };
        let gestures =
            (0..self.strokes.len()).map(|stroke| conversion.gesture(&self.strokes, stroke));
        Some(Gestures::new(
            self.planner.as_str(),
            frame,
            bounds,
            gestures.collect(),
        ))
    }
}

/// The part of the frame, in its pixels, that strokes may touch.
fn bounds(board: &Board, geometry: &Geometry, has_window: bool) -> Option<Rectangle> {
    let beyond = reach(board) as f64;
    if beyond == 0.0 || !has_window {
        return Rectangle::around(&geometry.corners);
    }
    let (right, bottom) = (geometry.cols as f64 + beyond, geometry.rows as f64 + beyond);
    let corners = [
        [-beyond, -beyond],
        [right, -beyond],
        [right, bottom],
        [-beyond, bottom],
    ];
    Rectangle::around(&corners.map(|corner| geometry.to_frame(corner)))
}

/// Strokes of a board that become gestures.
struct Conversion<'a> {
    puzzle: &'a Puzzle,
    geometry: &'a Geometry,
    manner: &'a Manner,
    drags: Drags,
}

impl Conversion<'_> {
    /// One of the strokes. The button is released after the last one in any case.
    fn gesture(&self, strokes: &[Stroke], index: usize) -> Gesture {
        let stroke = &strokes[index];
        let goes_on = index > 0 && strokes[index - 1].held;
        let is_held = stroke.held && index + 1 < strokes.len();
        let parts: Vec<&[Point]> = match self.drags {
            Drags::Segments if stroke.points.len() > 1 => stroke.points.windows(2).collect(),
            _ => vec![&stroke.points],
        };
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate();
        let actions = parts.flat_map(|(part, points)| {
            let begins = part > 0 || !goes_on;
            let ends = part < last || !is_held;
            self.drag(points, begins, ends)
        });
        Gesture::new(
            format!("draw {}", colour::name(stroke.colour)),
            actions.collect(),
        )
    }

    /// A drag through some points in board units. Without `begins`, what is held goes on from the first point; without
    /// `ends`, it goes on from the last one.
    fn drag(&self, points: &[Point], begins: bool, ends: bool) -> Vec<Action> {
        let Manner { pace, nudge, hold } = *self.manner;
        let mut points = points.to_vec();
        let nudged = nudged(self.puzzle.board(), &points, nudge).filter(|_| begins);
        if let Some(nudged) = nudged {
            points.insert(1, nudged);
        }
        let Some(&first) = points.first() else {
            return Vec::new();
        };
        let stay = |is_end: bool| if is_end { pace.ends_ms } else { pace.dwell_ms };
        let at = |point: Point| self.geometry.to_frame(point);
        let mut actions = Vec::new();
        let mut last_stay = stay(begins);
        if begins {
            actions.push(Action::press(at(first)).with_stay_ms(last_stay));
            if hold == Hold::Clicks {
                actions.push(Action::release());
            }
        } else {
            actions.push(Action::move_to(at(first)).with_stay_ms(last_stay));
        }
        let last = points.len() - 1;
        for (index, segment) in points.windows(2).enumerate() {
            let places = Pace::places(pace.step, segment[0], segment[1]);
            let moves = places.map(|place| Action::move_to(at(place)).with_repeats(pace.repeats));
            actions.extend(moves);
            let is_end = ends && index + 1 == last;
            last_stay = stay(is_end);
            // A nudge changes nothing, a pipe is not seen on a terminal, and the click at the end comes later.
            let is_nudge = index == 0 && nudged.is_some();
            let is_clicked = is_end && hold == Hold::Clicks;
            let until_shown_ms = match is_nudge || is_clicked || self.is_terminal(segment[1]) {
                true => 0.0,
                false => pace.until_shown_ms,
            };
            // Each segment has at least one place: its end.
            if let Some(end) = actions.pop() {
                let end = end.with_stay_ms(last_stay);
                actions.push(end.with_until_shown_ms(until_shown_ms));
            }
        }
        if ends && hold == Hold::Clicks {
            actions.push(Action::press_here().with_stay_ms(last_stay));
        }
        if ends {
            actions.push(Action::release());
        }
        actions
    }

    /// Whether a point in board units lies in the cell of a terminal.
    fn is_terminal(&self, point: Point) -> bool {
        let cell = cell_at(self.puzzle.board(), point);
        cell.is_some_and(|cell| self.puzzle.terminal_at(cell).is_some())
    }
}

/// Where the pointer is after a nudge by so many cells from the first point towards the second: neither
/// beyond that nor out of the first cell. `None`: the second point itself is the nudge, or there is no
/// way to go.
fn nudged(board: &Board, points: &[Point], nudge: f64) -> Option<Point> {
    let &[from, to, ..] = points else {
        return None;
    };
    let low = lowered(board, from[0].floor() as i64);
    // The unit square that the pointer is in: see `crate::place`.
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
mod tests;
