//! Lines, discs and areas on a picture, in frame pixels.

use flowpipe_puzzle::Point;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Shader, Stroke, Transform,
};

use super::{MAX_SIDE, Pixels, SizeError};

/// A picture that is being drawn.
#[derive(Clone)]
pub(super) struct Canvas {
    pixmap: Pixmap,
}

/// Red, green, blue and opacity from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ink {
    pub(super) paint: [u8; 3],
    pub(super) opacity: f64,
}

impl From<[u8; 3]> for Ink {
    fn from(paint: [u8; 3]) -> Self {
        Self {
            paint,
            opacity: 1.0,
        }
    }
}

impl Canvas {
    /// A black picture.
    pub(super) fn new(width: u32, height: u32) -> Result<Self, SizeError> {
        let pixmap = (width.max(height) <= MAX_SIDE)
            .then(|| Pixmap::new(width, height))
            .flatten();
        let mut pixmap = pixmap.ok_or(SizeError { width, height })?;
        pixmap.fill(Color::BLACK);
        Ok(Self { pixmap })
    }

    pub(super) fn width(&self) -> usize {
        self.pixmap.width() as usize
    }

    pub(super) fn height(&self) -> usize {
        self.pixmap.height() as usize
    }

    /// Fills areas given by their corners as one shape.
    pub(super) fn areas(&mut self, areas: impl IntoIterator<Item = Vec<Point>>, ink: Ink) {
        let mut path = PathBuilder::new();
        for area in areas {
            add_line(&mut path, &area);
            path.close();
        }
        self.fill(path, ink);
    }

    pub(super) fn disc(&mut self, centre: Point, radius: f64, ink: Ink) {
        let mut path = PathBuilder::new();
        path.push_circle(centre[0] as f32, centre[1] as f32, radius as f32);
        self.fill(path, ink);
    }

    pub(super) fn ring(&mut self, centre: Point, radius: f64, width: f64, ink: Ink) {
        let mut path = PathBuilder::new();
        path.push_circle(centre[0] as f32, centre[1] as f32, radius as f32);
        self.stroke(path, width, ink);
    }

    /// Draws lines through points as one shape with round ends and joins.
    pub(super) fn lines(
        &mut self,
        lines: impl IntoIterator<Item = Vec<Point>>,
        width: f64,
        ink: Ink,
    ) {
        let mut path = PathBuilder::new();
        for line in lines {
            add_line(&mut path, &line);
        }
        self.stroke(path, width, ink);
    }

    /// Draws a path with round ends and joins.
    pub(super) fn stroke(&mut self, path: PathBuilder, width: f64, ink: Ink) {
        // No path comes of no points: then there is nothing to draw.
        let Some(path) = path.finish() else { return };
        let stroke = Stroke {
            width: width as f32,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..Stroke::default()
        };
        self.pixmap
            .stroke_path(&path, &ink_of(ink), &stroke, Transform::identity(), None);
    }

    fn fill(&mut self, path: PathBuilder, ink: Ink) {
        let Some(path) = path.finish() else { return };
        let (paint, upright) = (ink_of(ink), Transform::identity());
        self.pixmap
            .fill_path(&path, &paint, FillRule::Winding, upright, None);
    }

    /// Adds light, row by row: `row_light` adds red, green and blue, each up to 255, to the zeros
    /// of a row's pixels.
    pub(super) fn add_light(&mut self, row_light: impl Fn(usize, &mut [[f32; 3]])) {
        let mut light = vec![[0.0; 3]; self.width()];
        let row_bytes = self.width() * 4;
        for (y, row) in self
            .pixmap
            .data_mut()
            .chunks_exact_mut(row_bytes)
            .enumerate()
        {
            light.fill([0.0; 3]);
            row_light(y, &mut light);
            for (pixel, light) in row.chunks_exact_mut(4).zip(&light) {
                for (value, light) in pixel.iter_mut().zip(light) {
                    *value = (f32::from(*value) + light) as u8;
                }
            }
        }
    }

    /// The colour at a point between pixels' middles, which have whole numbers; beyond the edge it is
    /// the edge's.
    pub(super) fn between(&self, x: f64, y: f64) -> [u8; 3] {
        let x = x.clamp(0.0, (self.width() - 1) as f64);
        let y = y.clamp(0.0, (self.height() - 1) as f64);
        let (left, top) = (x as usize, y as usize);
        let right = (left + 1).min(self.width() - 1);
        let below = (top + 1).min(self.height() - 1);
        // Shares in 256ths are as fine as the values themselves.
        let (across, down) = ((x.fract() * 256.0) as u32, (y.fract() * 256.0) as u32);
        let data = self.pixmap.data();
        let [a, b, c, d] = [(left, top), (right, top), (left, below), (right, below)]
            .map(|(x, y)| (y * self.width() + x) * 4);
        [0, 1, 2].map(|index| {
            let value = |start: usize| u32::from(data[start + index]);
            let upper = value(a) * (256 - across) + value(b) * across;
            let lower = value(c) * (256 - across) + value(d) * across;
            ((upper * (256 - down) + lower * down) >> 16) as u8
        })
    }

    /// Sets an opaque pixel, which must be inside.
    pub(super) fn set(&mut self, x: usize, y: usize, pixel: [u8; 3]) {
        let start = (y * self.width() + x) * 4;
        self.pixmap.data_mut()[start..start + 3].copy_from_slice(&pixel);
    }

    pub(super) fn into_pixels(self) -> Pixels {
        let (width, height) = (self.pixmap.width(), self.pixmap.height());
        // Every pixel is opaque, for the picture begins black, so that nothing is premultiplied.
        Pixels {
            width,
            height,
            rgba: self.pixmap.take(),
        }
    }
}

fn add_line(path: &mut PathBuilder, points: &[Point]) {
    for (index, point) in points.iter().enumerate() {
        let (x, y) = (point[0] as f32, point[1] as f32);
        if index == 0 {
            path.move_to(x, y)
        } else {
            path.line_to(x, y)
        }
    }
}

fn ink_of(
    Ink {
        paint: [red, green, blue],
        opacity,
    }: Ink,
) -> Paint<'static> {
    let alpha = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    Paint {
        shader: Shader::SolidColor(Color::from_rgba8(red, green, blue, alpha)),
        ..Paint::default()
    }
}
