//! Shapes over a picture, in colours that show on any ground.

use flowpipe_puzzle::Point;

use super::canvas::{Canvas, Ink};
use super::{Pixels, SizeError, font};

const DARK: [u8; 3] = [0, 0, 0];
/// How much of an area's colour covers the picture.
const FILLED: f64 = 0.5;

/// A picture that is drawn on, in its pixels.
pub struct ShapeSheet {
    canvas: Canvas,
    /// The width of lines.
    line: f64,
    /// The height of a label's letters.
    label: f64,
}

impl ShapeSheet {
    /// A picture without shapes.
    ///
    /// # Errors
    /// When the picture has a side longer than [`super::MAX_SIDE`], or none.
    pub fn new(picture: Pixels) -> Result<Self, SizeError> {
        let canvas = Canvas::of_pixels(picture)?;
        let side = canvas.width().max(canvas.height()) as f64;
        Ok(Self {
            canvas,
            line: (side / 400.0).clamp(2.0, 6.0),
            label: (side / 60.0).clamp(8.0, 24.0),
        })
    }

    /// Draws straight lines from point to point.
    pub fn line(&mut self, points: Vec<Point>, colour: [u8; 3]) {
        for (width, ink) in self.inks(colour) {
            self.canvas.lines([points.clone()], width, ink);
        }
    }

    /// Draws an area by its corners.
    pub fn area(&mut self, mut corners: Vec<Point>, colour: [u8; 3], is_filled: bool) {
        if is_filled {
            self.canvas.areas([corners.clone()], half(colour));
        }
        corners.extend(corners.first().copied());
        self.line(corners, colour);
    }

    /// Draws a circle.
    pub fn circle(&mut self, centre: Point, radius: f64, colour: [u8; 3], is_filled: bool) {
        if is_filled {
            self.canvas.disc(centre, radius, half(colour));
        }
        for (width, ink) in self.inks(colour) {
            self.canvas.ring(centre, radius, width, ink);
        }
    }

    /// Writes a text around a point.
    pub fn text(&mut self, text: &str, [x, y]: Point, height: f64, colour: [u8; 3]) {
        let feet = [x - font::width(text, height) / 2.0, y + height / 2.0];
        self.write(text, feet, height, colour);
    }

    /// Writes what a shape is above it: above a point, and inside of the picture where the point is near its edge.
    pub fn label(&mut self, text: &str, [x, y]: Point, colour: [u8; 3]) {
        let height = self.label;
        let room = (self.canvas.width() as f64 - font::width(text, height)).max(0.0);
        let left = (x - font::width(text, height) / 2.0).clamp(0.0, room);
        let lowest = (self.canvas.height() as f64).max(height);
        let feet = (y - self.line - height / 4.0).clamp(height, lowest);
        self.write(text, [left, feet], height, colour);
    }

    /// The picture with all shapes.
    pub fn into_pixels(self) -> Pixels {
        self.canvas.into_pixels()
    }

    fn write(&mut self, text: &str, feet: Point, height: f64, colour: [u8; 3]) {
        let weight = font::WEIGHT * height;
        for (width, paint) in [(weight + height / 4.0, DARK), (weight * 1.3, colour)] {
            let path = font::path(text, feet, height);
            self.canvas.stroke(path, width, paint.into());
        }
    }

    /// A dark rim, and a line on it.
    fn inks(&self, colour: [u8; 3]) -> [(f64, Ink); 2] {
        let rim = Ink {
            paint: DARK,
            opacity: 0.6,
        };
        [(self.line + 2.0, rim), (self.line, colour.into())]
    }
}

fn half(colour: [u8; 3]) -> Ink {
    Ink {
        paint: colour,
        opacity: FILLED,
    }
}
