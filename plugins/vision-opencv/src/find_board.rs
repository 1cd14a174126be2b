//! Where a board may be: large shapes made of thin bright lines.
//!
//! What is thin and bright stands out ([`TopHat`]); a threshold, dilation and contours make shapes of it.

use opencv::core::{self, Mat, Point, Rect, Vector};
use opencv::imgproc;

use crate::thin::{TopHat, kernel};

/// Shapes looked at in one picture, largest first.
const MAX_SHAPES: usize = 24;

/// The shapes of a picture. Kept from picture to picture for its memory.
#[derive(Default)]
pub struct Shapes {
    mask: Mat,
    dilated: Mat,
}

impl Shapes {
    /// Keeps what stands out by a level of grey, and returns the bounding boxes
    /// of what hangs together, largest first, in pixels of the mask.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn find(&mut self, thin: &TopHat, level: f64, min_side: i32) -> opencv::Result<Vec<Rect>> {
        // Two levels of grey are what compression and rounding leave on a flat surface.
        let level = level.max(2.0);
        imgproc::threshold(
            thin.mat(),
            &mut self.mask,
            level,
            255.0,
            imgproc::THRESH_BINARY,
        )?;
        imgproc::dilate(
            &self.mask,
            &mut self.dilated,
            &kernel(3)?,
            Point::new(-1, -1),
            1,
            core::BORDER_CONSTANT,
            imgproc::morphology_default_border_value()?,
        )?;
        // All contours, not the outer ones alone: a frame around the board would hide it.
        let mut contours = Vector::<Vector<Point>>::new();
        imgproc::find_contours(
            &self.dilated,
            &mut contours,
            imgproc::RETR_LIST,
            imgproc::CHAIN_APPROX_SIMPLE,
            Point::default(),
        )?;
        let mut shapes = Vec::new();
        for contour in &contours {
            // A shape with both sides long enough has at least three corners.
            if contour.len() < 3 {
                continue;
            }
            let shape = imgproc::bounding_rect(&contour)?;
            if shape.width.min(shape.height) >= min_side {
                shapes.push(shape);
            }
        }
        shapes.sort_by_key(|shape| (-i64::from(shape.area()), shape.x, shape.y));
        shapes.dedup_by(|a, b| nearly_equal(a, b));
        shapes.truncate(MAX_SHAPES);
        Ok(shapes)
    }

    /// The thin bright pixels of the last call of [`Shapes::find`], 255 or 0.
    #[must_use]
    pub fn mask(&self) -> &Mat {
        &self.mask
    }
}

fn nearly_equal(a: &Rect, b: &Rect) -> bool {
    let near = |a: i32, b: i32| (a - b).abs() <= 6;
    near(a.x, b.x)
        && near(a.y, b.y)
        && near(a.x + a.width, b.x + b.width)
        && near(a.y + a.height, b.y + b.height)
}
