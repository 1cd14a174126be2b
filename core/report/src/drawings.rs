//! Shapes over frames as the page draws them. Each shape is stored once, since most overlays show what the one before
//! showed.

use std::collections::HashMap;

use flowpipe_message::{Form, Overlay, Point, Shape};
use serde::Serialize;

use crate::room::Allowance;
use crate::shown;

/// The shapes of all overlays, and which ones an overlay has.
#[derive(Debug, Serialize)]
pub struct Drawings {
    shapes: Vec<DrawnShape>,
    /// By drawing: its shapes in the order in which they are drawn, as `first, count, first, count …`.
    drawings: Vec<Vec<usize>>,
    #[serde(skip)]
    known_shapes: HashMap<String, usize>,
    #[serde(skip)]
    known_drawings: HashMap<Vec<usize>, usize>,
    #[serde(skip)]
    room: Allowance,
}

/// A shape in pixels of the frame.
#[derive(Debug, PartialEq, Serialize)]
struct DrawnShape {
    kind: &'static str,
    /// Of a rectangle: left, top, width and height. Of a circle: its centre and radius. Of a text: its centre and the
    /// height of its letters. Of others: their points.
    numbers: Vec<f32>,
    /// `#rrggbb`.
    colour: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    filled: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: String,
}

impl Drawings {
    /// None yet; they may take so many characters of the page.
    pub fn new(characters: usize) -> Self {
        Self {
            shapes: Vec::new(),
            drawings: Vec::new(),
            known_shapes: HashMap::new(),
            known_drawings: HashMap::new(),
            room: Allowance::of(characters),
        }
    }

    /// How many shapes a drawing has.
    pub fn shape_count(&self, drawing: usize) -> usize {
        let runs = self.drawings.get(drawing);
        runs.map_or(0, |runs| runs.chunks(2).filter_map(|run| run.get(1)).sum())
    }

    /// The place of an overlay in the list. `None`: there is no room for it.
    pub fn drawing(&mut self, overlay: &Overlay) -> Option<usize> {
        let mut runs: Vec<usize> = Vec::new();
        let mut fresh: HashMap<String, usize> = HashMap::new();
        let mut added = Vec::new();
        let mut characters = 0;
        for shape in &overlay.shapes {
            let shape = DrawnShape::of(shape);
            let key = shown::json(&shape);
            let place = match self.known_shapes.get(&key).or_else(|| fresh.get(&key)) {
                Some(&place) => place,
                None => {
                    let place = self.shapes.len() + added.len();
                    // The page writes `<` in six characters.
                    characters += key.len() + 5 * key.matches('<').count() + 1;
                    added.push(shape);
                    fresh.insert(key, place);
                    place
                }
            };
            match runs[..] {
                [.., first, ref mut count] if first + *count == place => *count += 1,
                _ => runs.extend([place, 1]),
            }
        }
        if let Some(&known) = self.known_drawings.get(&runs) {
            return Some(known);
        }
        characters += shown::json(&runs).len() + 1;
        if !self.room.take(characters) {
            return None;
        }
        self.shapes.append(&mut added);
        self.known_shapes.extend(fresh);
        self.drawings.push(runs.clone());
        let place = self.drawings.len() - 1;
        self.known_drawings.insert(runs, place);
        Some(place)
    }
}

impl DrawnShape {
    fn of(shape: &Shape) -> Self {
        let mut text = String::new();
        let (kind, numbers) = match &shape.form {
            Form::Rectangle(it) => ("rectangle", vec![it.x, it.y, it.width, it.height]),
            Form::Circle { at, radius } => ("circle", vec![at[0], at[1], *radius]),
            Form::Line { points } => ("line", flat(points)),
            Form::Polygon { points } => ("polygon", flat(points)),
            Form::Text {
                at,
                text: says,
                size,
            } => {
                text.clone_from(says);
                ("text", vec![at[0], at[1], *size])
            }
        };
        // A hundredth of a pixel is finer than what is seen.
        let rounded = |value: f64| ((value * 100.0).round() / 100.0) as f32;
        let [red, green, blue] = shape.colour;
        Self {
            kind,
            numbers: numbers.into_iter().map(rounded).collect(),
            colour: format!("#{red:02x}{green:02x}{blue:02x}"),
            filled: shape.is_filled,
            text,
            label: shape.label.clone().unwrap_or_default(),
        }
    }
}

fn flat(points: &[Point]) -> Vec<f64> {
    points.iter().copied().flatten().collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_message::Rectangle;
    use serde_json::json;

    use super::*;

    fn cell(number: usize) -> Shape {
        let left = 16.0 * number as f64;
        Shape::rectangle(Rectangle::new(left, 0.0, 16.0, 16.0))
    }

    #[test]
    fn the_same_is_kept_once() {
        let mut drawings = Drawings::new(10_000);
        let four: Vec<Shape> = (0..4).map(cell).collect();
        assert_eq!(drawings.drawing(&Overlay::new(four.clone())), Some(0));
        assert_eq!(drawings.drawing(&Overlay::new(four.clone())), Some(0));
        let mut other = four;
        other[2] = other[2].clone().filled().with_label("mine");
        other.push(cell(0));
        assert_eq!(drawings.drawing(&Overlay::new(other)), Some(1));
        assert_eq!(drawings.drawing(&Overlay::new(Vec::new())), Some(2));
        assert_eq!([0, 1, 2].map(|it| drawings.shape_count(it)), [4, 5, 0]);
        let json = json!(drawings);
        assert_eq!(
            json["drawings"],
            json!([[0, 4], [0, 2, 4, 1, 3, 1, 0, 1], []])
        );
        assert_eq!(
            json["shapes"][4],
            json!({ "kind": "rectangle", "numbers": [32.0, 0.0, 16.0, 16.0], "colour": "#ff00ff",
                    "filled": true, "label": "mine" })
        );
    }

    #[test]
    fn every_form_has_its_numbers() {
        let shapes = vec![
            Shape::circle([1.0, 2.0], 0.123).with_colour([1, 2, 255]),
            Shape::line(vec![[1.0, 2.0], [3.0, 4.0]]),
            Shape::polygon(vec![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
            Shape::text([1.0, 2.0], "3", 12.0),
        ];
        let mut drawings = Drawings::new(10_000);
        drawings.drawing(&Overlay::new(shapes));
        let json = json!(drawings)["shapes"].clone();
        let kind = |it: usize| json[it]["kind"].as_str().unwrap().to_owned();
        assert_eq!(
            [0, 1, 2, 3].map(kind),
            ["circle", "line", "polygon", "text"]
        );
        assert_eq!(json[0]["colour"], "#0102ff");
        assert_eq!(json[1]["numbers"], json!([1.0, 2.0, 3.0, 4.0]));
        assert_eq!(json[2]["numbers"].as_array().unwrap().len(), 6);
        assert_eq!(json[3]["text"], "3");
        let radius = json[0]["numbers"][2].as_f64().unwrap();
        assert!((radius - 0.12).abs() < 1e-6, "{radius}");
    }

    #[test]
    fn what_has_no_room_leaves_nothing_behind() {
        let mut drawings = Drawings::new(1_000);
        let many: Vec<Shape> = (0..100).map(cell).collect();
        assert_eq!(drawings.drawing(&Overlay::new(many)), None);
        assert_eq!(drawings.drawing(&Overlay::new(vec![cell(7)])), Some(0));
        assert_eq!(drawings.shapes.len(), 1);
        let written = json!(drawings).to_string().len();
        assert!(written < 1_000, "{written}");
    }
}
