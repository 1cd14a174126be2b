//! Shapes over a frame: what a stage has seen in it, or means to do there.
//!
//! ```
//! use flowpipe_message::{Overlay, Rectangle, Shape};
//!
//! let field = Shape::rectangle(Rectangle::new(10.0, 40.0, 144.0, 144.0)).with_label("field");
//! let mine = Shape::circle([26.0, 56.0], 5.0).with_colour([255, 0, 0]).filled();
//! assert_eq!(Overlay::new(vec![field, mine]).check(), Ok(()));
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Point, Rectangle, line};

/// Shapes over the frame that the message descends from. `flowpipe see` and the report draw them, the first one first.
/// Of the overlays of one stage on one frame the last one counts.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overlay {
    /// In the order in which they are drawn.
    pub shapes: Vec<Shape>,
}

/// A shape in pixels of the frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Its form and place.
    pub form: Form,
    /// Red, green and blue, from 0 to 255.
    #[serde(default = "magenta", skip_serializing_if = "is_magenta")]
    pub colour: [u8; 3],
    /// Whether its inside has the colour too, half transparent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_filled: bool,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The form of a shape and its place in the frame, in pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Sides parallel to the frame's.
    Rectangle(Rectangle),
    /// A circle.
    Circle {
        /// Its centre.
        at: Point,
        /// Its radius.
        radius: f64,
    },
    /// Straight lines from point to point.
    Line {
        /// At least two.
        points: Vec<Point>,
    },
    /// An area with straight sides.
    Polygon {
        /// Its corners, at least three.
        points: Vec<Point>,
    },
    /// A text.
    Text {
        /// Its centre.
        at: Point,
        /// What it says.
        text: String,
        /// The height of its letters.
        size: f64,
    },
}

/// The most shapes of one message.
pub const MOST_SHAPES: usize = 10_000;

/// The most points of one message.
pub const MOST_POINTS: usize = 100_000;

/// The most characters of a label or a text.
pub const LONGEST_LABEL: usize = 100;

/// Places and sizes are at most so far from 0, in pixels.
pub const FARTHEST: f64 = 1e6;

impl Overlay {
    /// These shapes, the first one drawn first.
    #[must_use]
    pub fn new(shapes: Vec<Shape>) -> Self {
        Self { shapes }
    }

    /// Checks the shapes in themselves: finite places, sizes that cover something, not too many of them.
    ///
    /// # Errors
    /// The first thing that is wrong, with the shape counted from 1.
    pub fn check(&self) -> Result<(), String> {
        let count = self.shapes.len();
        if count > MOST_SHAPES {
            return Err(format!("{count} shapes, the most are {MOST_SHAPES}"));
        }
        let points: usize = self.shapes.iter().map(|it| it.form.points().len()).sum();
        if points > MOST_POINTS {
            return Err(format!("{points} points, the most are {MOST_POINTS}"));
        }
        for (number, shape) in (1..).zip(&self.shapes) {
            shape
                .check()
                .map_err(|wrong| format!("shape {number}: {wrong}"))?;
        }
        Ok(())
    }
}

impl Shape {
    /// A shape of a form, magenta and not filled.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self {
            form,
            colour: magenta(),
            is_filled: false,
            label: None,
        }
    }

    /// A rectangle.
    #[must_use]
    pub fn rectangle(place: Rectangle) -> Self {
        Self::new(Form::Rectangle(place))
    }

    /// A circle around a point.
    #[must_use]
    pub fn circle(at: Point, radius: f64) -> Self {
        Self::new(Form::Circle { at, radius })
    }

    /// Straight lines from point to point.
    #[must_use]
    pub fn line(points: Vec<Point>) -> Self {
        Self::new(Form::Line { points })
    }

    /// An area with straight sides.
    #[must_use]
    pub fn polygon(points: Vec<Point>) -> Self {
        Self::new(Form::Polygon { points })
    }

    /// A text around a point; `size`: the height of its letters.
    #[must_use]
    pub fn text(at: Point, text: impl Into<String>, size: f64) -> Self {
        Self::new(Form::Text {
            at,
            text: text.into(),
            size,
        })
    }

    /// The same in a colour: red, green and blue.
    #[must_use]
    pub fn with_colour(mut self, colour: [u8; 3]) -> Self {
        self.colour = colour;
        self
    }

    /// The same with its inside in the colour too.
    #[must_use]
    pub fn filled(mut self) -> Self {
        self.is_filled = true;
        self
    }

    /// The same with what it is, for people.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    fn check(&self) -> Result<(), String> {
        let is_place = |point: &Point| point.iter().all(|value| value.abs() <= FARTHEST);
        let is_size = |size: f64| size > 0.0 && size <= FARTHEST;
        let no_place = || Err(format!("a place that is not within {FARTHEST} pixels"));
        let is_too_small = |least: usize, points: &[Point]| points.len() < least;
        match &self.form {
            Form::Rectangle(place) => {
                if !is_place(&[place.x, place.y]) {
                    return no_place();
                }
                if !is_size(place.width) || !is_size(place.height) {
                    return Err("a rectangle that covers no area".to_owned());
                }
            }
            Form::Circle { at, radius } => {
                if !is_place(at) {
                    return no_place();
                }
                if !is_size(*radius) {
                    return Err("a circle that covers no area".to_owned());
                }
            }
            Form::Line { points } if is_too_small(2, points) => {
                return Err("a line of fewer than 2 points".to_owned());
            }
            Form::Polygon { points } if is_too_small(3, points) => {
                return Err("a polygon of fewer than 3 points".to_owned());
            }
            Form::Line { points } | Form::Polygon { points } => {
                if !points.iter().all(is_place) {
                    return no_place();
                }
            }
            Form::Text { at, text, size } => {
                if !is_place(at) {
                    return no_place();
                }
                if !is_size(*size) {
                    return Err("letters without a height".to_owned());
                }
                line::check("text", text, LONGEST_LABEL)?;
            }
        }
        match &self.label {
            Some(label) => line::check("label", label, LONGEST_LABEL),
            None => Ok(()),
        }
    }
}

impl Form {
    /// The points of a line or a polygon.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        match self {
            Self::Line { points } | Self::Polygon { points } => points,
            Self::Rectangle(_) | Self::Circle { .. } | Self::Text { .. } => &[],
        }
    }
}

fn magenta() -> [u8; 3] {
    [255, 0, 255]
}

fn is_magenta(colour: &[u8; 3]) -> bool {
    *colour == magenta()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_is_what_the_documentation_says() {
        let overlay = Overlay::new(vec![
            Shape::rectangle(Rectangle::new(1.0, 2.0, 3.0, 4.0)).with_label("field"),
            Shape::circle([5.0, 6.0], 2.5)
                .with_colour([255, 0, 0])
                .filled(),
            Shape::line(vec![[0.0, 0.0], [9.0, 9.0]]),
            Shape::polygon(vec![[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]),
            Shape::text([7.0, 8.0], "3", 12.0),
        ]);
        let text = json!({ "shapes": [
            { "form": { "rectangle": { "x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0 } }, "label": "field" },
            { "form": { "circle": { "at": [5.0, 6.0], "radius": 2.5 } }, "colour": [255, 0, 0], "is_filled": true },
            { "form": { "line": { "points": [[0.0, 0.0], [9.0, 9.0]] } } },
            { "form": { "polygon": { "points": [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]] } } },
            { "form": { "text": { "at": [7.0, 8.0], "text": "3", "size": 12.0 } } },
        ] });
        assert_eq!(json!(overlay), text);
        assert_eq!(serde_json::from_value::<Overlay>(text).unwrap(), overlay);
        assert_eq!(overlay.check(), Ok(()));
    }

    #[test]
    fn shapes_that_can_not_be_drawn_are_refused() {
        let dot = Shape::circle([0.0, 0.0], 1.0);
        for (shapes, reason) in [
            (
                vec![dot.clone(); 10_001],
                "10001 shapes, the most are 10000",
            ),
            (
                vec![Shape::line(vec![[0.0, 0.0]; 100_001])],
                "100001 points, the most are 100000",
            ),
            (
                vec![
                    dot.clone(),
                    Shape::rectangle(Rectangle::new(0.0, 0.0, 0.0, 1.0)),
                ],
                "shape 2: a rectangle that covers no area",
            ),
            (
                vec![Shape::circle([f64::NAN, 0.0], 1.0)],
                "shape 1: a place that is not within 1000000 pixels",
            ),
            (
                vec![Shape::circle([0.0, 0.0], f64::INFINITY)],
                "shape 1: a circle that covers no area",
            ),
            (
                vec![Shape::line(vec![[0.0, 0.0]])],
                "shape 1: a line of fewer than 2 points",
            ),
            (
                vec![Shape::polygon(vec![[0.0, 0.0], [1e7, 0.0], [1.0, 1.0]])],
                "shape 1: a place that is not within 1000000 pixels",
            ),
            (
                vec![Shape::text([0.0, 0.0], "3", 0.0)],
                "shape 1: letters without a height",
            ),
            (
                vec![Shape::text([0.0, 0.0], "a\u{1b}[2J", 9.0)],
                "shape 1: a text with control characters",
            ),
            (
                vec![dot.with_label("x".repeat(101))],
                "shape 1: a label of 101 characters, the most are 100",
            ),
        ] {
            assert_eq!(Overlay::new(shapes).check(), Err(reason.to_owned()));
        }
    }
}
