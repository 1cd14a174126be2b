//! Finds the board: the largest contour of the thresholded picture.

use opencv::core::{Mat, Point, Rect, Vector};
use opencv::imgproc;

use crate::config::Config;
use crate::error::{ReadError, refuse};

/// The shortest side of a board in pixels.
const SHORTEST: i32 = 40;
/// The share of its bounding box that a board fills, at least.
const FILLED: f64 = 0.95;

/// Returns the lines of a picture: 255 in their pixels, 0 elsewhere.
///
/// The threshold marks what is brighter than its surroundings: a bright line, or the pixels on both sides of a dark one.
/// The dilation joins the two sides, and closes small gaps.
pub fn lines(picture: &Mat, config: &Config) -> Result<Mat, ReadError> {
    let mut grey = Mat::default();
    imgproc::cvt_color_def(picture, &mut grey, imgproc::COLOR_RGB2GRAY)?;
    let mut edges = Mat::default();
    let (mean, bright) = (imgproc::ADAPTIVE_THRESH_MEAN_C, imgproc::THRESH_BINARY);
    // What is larger than the mean less a negative number.
    let (side, less) = (
        2 * i32::from(config.reach.get()) + 1,
        -f64::from(config.contrast),
    );
    imgproc::adaptive_threshold(&grey, &mut edges, 255.0, mean, bright, side, less)?;
    let mut lines = Mat::default();
    // An empty kernel stands for a square of 3 x 3 pixels.
    imgproc::dilate_def(&edges, &mut lines, &Mat::default())?;
    Ok(lines)
}

/// Returns the bounding box of the largest shape. Refuses a picture where it is small or not a rectangle.
pub fn largest(lines: &Mat) -> Result<Rect, ReadError> {
    let (mut most, mut bounds) = (0.0, Rect::default());
    for contour in outer(lines)? {
        let area = imgproc::contour_area_def(&contour)?;
        if area > most {
            (most, bounds) = (area, imgproc::bounding_rect(&contour)?);
        }
    }
    if bounds.width.min(bounds.height) < SHORTEST {
        return refuse("board", "there is no large shape");
    }
    if most < FILLED * f64::from(bounds.area()) {
        return refuse("board", "the largest shape is not a rectangle");
    }
    Ok(bounds)
}

/// Returns the outer contours of the shapes that are not 0. What lies inside of a shape is no part of it.
pub fn outer(picture: &Mat) -> Result<Vector<Vector<Point>>, ReadError> {
    let mut contours = Vector::new();
    let (mode, method) = (imgproc::RETR_EXTERNAL, imgproc::CHAIN_APPROX_SIMPLE);
    imgproc::find_contours_def(picture, &mut contours, mode, method)?;
    Ok(contours)
}
