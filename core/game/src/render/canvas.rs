//! Lines, discs and areas on a picture, in frame pixels.

use flowpipe_puzzle::Point;
use tiny_skia::{
    Color, FillRule, IntRect, IntSize, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Shader,
    Stroke, Transform,
};

use super::{Area, MAX_SIDE, Pixels, SizeError};

/// A picture that is being drawn, or a part of one.
#[derive(Clone)]
pub(super) struct Canvas {
    pixmap: Pixmap,
    /// The place of its first pixel in the frame: not zero in a part.
    origin: [u32; 2],
}

/// Red, green, blue and opacity from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// A picture of one paint.
    pub(super) fn new(
        width: u32,
        height: u32,
        [red, green, blue]: [u8; 3],
    ) -> Result<Self, SizeError> {
        let pixmap = (width.max(height) <= MAX_SIDE)
            .then(|| Pixmap::new(width, height))
            .flatten();
        let mut pixmap = pixmap.ok_or(SizeError { width, height })?;
        pixmap.fill(Color::from_rgba8(red, green, blue, 255));
        let origin = [0, 0];
        Ok(Self { pixmap, origin })
    }

    /// A picture that is there already, made opaque.
    pub(super) fn of_pixels(pixels: Pixels) -> Result<Self, SizeError> {
        let (width, height) = (pixels.width, pixels.height);
        let mut rgba = pixels.rgba;
        for pixel in rgba.chunks_exact_mut(4) {
            pixel[3] = u8::MAX;
        }
        let pixmap = IntSize::from_wh(width, height)
            .filter(|_| width.max(height) <= MAX_SIDE)
            .and_then(|size| Pixmap::from_vec(rgba, size));
        Ok(Self {
            pixmap: pixmap.ok_or(SizeError { width, height })?,
            origin: [0, 0],
        })
    }

    /// A copy of a part, to be drawn on with the frame's coordinates. `None` where nothing of the
    /// area is inside.
    pub(super) fn part(&self, area: Area) -> Option<Self> {
        let (left, top) = (area.left as i32, area.top as i32);
        let rect = IntRect::from_xywh(left, top, area.width, area.height)?;
        let pixmap = self.pixmap.as_ref().clone_rect(rect)?;
        let origin = [area.left, area.top];
        Some(Self { pixmap, origin })
    }

    /// Puts a part back.
    pub(super) fn paste(&mut self, part: &Self) {
        let [left, top] = part.origin.map(|value| value as usize);
        let (width, row_bytes) = (self.width() * 4, part.width() * 4);
        let rows = self.pixmap.data_mut().chunks_exact_mut(width).skip(top);
        for (row, from) in rows.zip(part.pixmap.data().chunks_exact(row_bytes)) {
            row[left * 4..left * 4 + row_bytes].copy_from_slice(from);
        }
    }

    /// Takes over an area of a picture of the same size.
    pub(super) fn copy(&mut self, from: &Self, area: Area) {
        let row_bytes = self.width() * 4;
        let bytes = area.left as usize * 4..area.right() as usize * 4;
        let rows = area.top as usize * row_bytes..area.bottom() as usize * row_bytes;
        let to = self.pixmap.data_mut()[rows.clone()].chunks_exact_mut(row_bytes);
        for (to, from) in to.zip(from.pixmap.data()[rows].chunks_exact(row_bytes)) {
            to[bytes.clone()].copy_from_slice(&from[bytes.clone()]);
        }
    }

    pub(super) fn width(&self) -> usize {
        self.pixmap.width() as usize
    }

    pub(super) fn height(&self) -> usize {
        self.pixmap.height() as usize
    }

    /// Width and height in pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.pixmap.width(), self.pixmap.height())
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

    /// Fills a rectangle with round corners about a middle, by half of its width and height.
    pub(super) fn block(&mut self, middle: Point, half: Point, radius: f64, ink: Ink) {
        let [left, top] = [0, 1].map(|axis| (middle[axis] - half[axis]) as f32);
        let [right, bottom] = [0, 1].map(|axis| (middle[axis] + half[axis]) as f32);
        let radius = radius as f32;
        let mut path = PathBuilder::new();
        path.move_to(left + radius, top);
        path.line_to(right - radius, top);
        path.quad_to(right, top, right, top + radius);
        path.line_to(right, bottom - radius);
        path.quad_to(right, bottom, right - radius, bottom);
        path.line_to(left + radius, bottom);
        path.quad_to(left, bottom, left, bottom - radius);
        path.line_to(left, top + radius);
        path.quad_to(left, top, left + radius, top);
        path.close();
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
        self.stroke(path_of(lines), width, ink);
    }

    /// The same with flat ends and square corners.
    pub(super) fn flat_lines(
        &mut self,
        lines: impl IntoIterator<Item = Vec<Point>>,
        width: f64,
        ink: Ink,
    ) {
        self.stroke_with(path_of(lines), width, ink, (LineCap::Butt, LineJoin::Miter));
    }

    /// Draws a path with round ends and joins.
    pub(super) fn stroke(&mut self, path: PathBuilder, width: f64, ink: Ink) {
        self.stroke_with(path, width, ink, (LineCap::Round, LineJoin::Round));
    }

    fn stroke_with(
        &mut self,
        path: PathBuilder,
        width: f64,
        ink: Ink,
        (line_cap, line_join): (LineCap, LineJoin),
    ) {
        // No path comes of no points: then there is nothing to draw.
        let Some(path) = path.finish() else { return };
        let stroke = Stroke {
            width: width as f32,
            line_cap,
            line_join,
            ..Stroke::default()
        };
        let place = self.place();
        self.pixmap
            .stroke_path(&path, &ink_of(ink), &stroke, place, None);
    }

    fn fill(&mut self, path: PathBuilder, ink: Ink) {
        let Some(path) = path.finish() else { return };
        let (paint, place) = (ink_of(ink), self.place());
        self.pixmap
            .fill_path(&path, &paint, FillRule::Winding, place, None);
    }

    /// From the frame to this part of it.
    fn place(&self) -> Transform {
        let [left, top] = self.origin.map(|value| value as f32);
        Transform::from_translate(-left, -top)
    }

    /// Adds light, row by row: `row_light` adds red, green and blue, each from -255 to 255, to the
    /// zeros of a row's pixels.
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

    /// Red, green, blue and alpha of each pixel, row by row. All must stay opaque.
    pub(super) fn rgba_mut(&mut self) -> &mut [u8] {
        self.pixmap.data_mut()
    }

    /// Red, green, blue and alpha of each pixel, row by row.
    pub(super) fn rgba(&self) -> &[u8] {
        self.pixmap.data()
    }

    pub(super) fn into_pixels(self) -> Pixels {
        let (width, height) = (self.pixmap.width(), self.pixmap.height());
        // Every pixel is opaque, for the picture begins so, and so that nothing is premultiplied.
        Pixels {
            width,
            height,
            rgba: self.pixmap.take(),
        }
    }
}

fn path_of(lines: impl IntoIterator<Item = Vec<Point>>) -> PathBuilder {
    let mut path = PathBuilder::new();
    for line in lines {
        add_line(&mut path, &line);
    }
    path
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
