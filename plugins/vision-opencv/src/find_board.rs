//! Where a board may be: large shapes made of thin bright lines.
//!
//! Grey, then a threshold that adapts to its surroundings, dilation, contours. The threshold is a
//! white top-hat: what is brighter than its surroundings *and* thin. So neither the lights behind the
//! board nor terminals nor bright windows around it leave anything, and a line is not struck double,
//! which a comparison with the local mean does.

use opencv::core::{
    self, Mat, MatTraitConst, MatTraitConstManual, Point, Rect, Scalar, Size, Vector,
};
use opencv::imgproc;

use crate::picture::Picture;

/// Shapes looked at in one picture, largest first.
const MAX_SHAPES: usize = 24;

/// The thin bright things of a picture. Kept from picture to picture for its memory.
#[derive(Default)]
pub struct ThinLines {
    grey: Mat,
    smaller: Mat,
    /// How much brighter than its surroundings each pixel is.
    thin: Mat,
    mask: Mat,
    dilated: Mat,
    scale: u32,
    contrast: f64,
}

impl ThinLines {
    /// Looks at a picture, with `scale` by `scale` pixels made one.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn look(&mut self, picture: &Picture<'_>, scale: u32) -> opencv::Result<()> {
        self.scale = scale.max(1);
        picture.grey(&mut self.grey)?;
        if self.scale > 1 {
            let factor = 1.0 / f64::from(self.scale);
            imgproc::resize(
                &self.grey,
                &mut self.smaller,
                Size::default(),
                factor,
                factor,
                imgproc::INTER_AREA,
            )?;
            std::mem::swap(&mut self.grey, &mut self.smaller);
        }
        let (mut darkest, mut brightest) = (0.0, 0.0);
        core::min_max_loc(
            &self.grey,
            Some(&mut darkest),
            Some(&mut brightest),
            None,
            None,
            &core::no_array(),
        )?;
        self.contrast = brightest - darkest;
        let kernel = kernel(thinness(self.grey.cols().min(self.grey.rows())))?;
        imgproc::morphology_ex(
            &self.grey,
            &mut self.thin,
            imgproc::MORPH_TOPHAT,
            &kernel,
            Point::new(-1, -1),
            1,
            core::BORDER_CONSTANT,
            imgproc::morphology_default_border_value()?,
        )
    }

    /// Keeps what stands out by a share of the picture's contrast, and returns the bounding boxes of
    /// what hangs together, largest first, in pixels of the mask.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn shapes(&mut self, share: f64, min_side: i32) -> opencv::Result<Vec<Rect>> {
        // Two levels of grey are what compression and rounding leave on a flat surface.
        let level = (share * self.contrast).max(2.0);
        imgproc::threshold(
            &self.thin,
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

    /// The thin bright pixels of the last call of [`ThinLines::shapes`], 255 or 0.
    #[must_use]
    pub fn mask(&self) -> &Mat {
        &self.mask
    }

    /// How much thin things stand out, by pixel.
    ///
    /// # Errors
    /// When nothing was looked at yet.
    pub fn thin(&self) -> opencv::Result<Thin<'_>> {
        Ok(Thin {
            bytes: self.thin.data_bytes()?,
            width: self.thin.cols().max(0) as usize,
            scale: self.scale(),
        })
    }

    /// Picture pixels for one pixel of the mask.
    #[must_use]
    pub fn scale(&self) -> f64 {
        f64::from(self.scale)
    }
}

/// How much brighter than its surroundings each pixel is, where that is thin.
pub struct Thin<'a> {
    bytes: &'a [u8],
    width: usize,
    scale: f64,
}

impl Thin<'_> {
    /// The strongest of the pixels within a reach of a point, in frame pixels.
    #[must_use]
    pub fn strongest(&self, x: f64, y: f64, reach: f64) -> u8 {
        let reach = (reach / self.scale).max(2.0);
        let (x, y) = (x / self.scale, y / self.scale);
        self.rows((x - reach, x + reach), (y - reach, y + reach))
            .flatten()
            .copied()
            .max()
            .unwrap_or(0)
    }

    /// How many frame pixels' length of thin things there is in a rectangle that stands out by a
    /// level. Both sides are given in frame pixels.
    #[must_use]
    pub fn count(&self, x: (f64, f64), y: (f64, f64), level: u8) -> f64 {
        let smaller = |side: (f64, f64)| (side.0 / self.scale, side.1 / self.scale);
        let strong = |row: &[u8]| row.iter().filter(|&&value| value >= level).count();
        self.rows(smaller(x), smaller(y)).map(strong).sum::<usize>() as f64 * self.scale
    }

    /// The rows of a rectangle, as far as it lies in the picture.
    fn rows(&self, x: (f64, f64), y: (f64, f64)) -> impl Iterator<Item = &[u8]> {
        let height = self.bytes.len() / self.width.max(1);
        // Casts of negative numbers give 0.
        let columns = (x.0 as usize).min(self.width)..(x.1 as usize).min(self.width);
        let rows = (y.0 as usize).min(height)..(y.1 as usize).min(height);
        rows.filter_map(move |row| {
            self.bytes
                .get(row * self.width + columns.start..row * self.width + columns.end)
        })
    }
}

/// The side of the window that a line must be thinner than. Grid lines are some fiftieth of a cell;
/// the largest cells are a quarter of the picture's shorter side.
fn thinness(shorter_side: i32) -> i32 {
    2 * (shorter_side / 360 + 1).max(2) + 1
}

fn kernel(side: i32) -> opencv::Result<Mat> {
    Mat::new_rows_cols_with_default(side, side, core::CV_8UC1, Scalar::all(1.0))
}

fn nearly_equal(a: &Rect, b: &Rect) -> bool {
    let near = |a: i32, b: i32| (a - b).abs() <= 6;
    near(a.x, b.x)
        && near(a.y, b.y)
        && near(a.x + a.width, b.x + b.width)
        && near(a.y + a.height, b.y + b.height)
}
