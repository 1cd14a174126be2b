//! Template matching: where a snippet is in a frame.
//!
//! A frame is searched in grey and reduced first (`TM_CCOEFF_NORMED`), and then in full around the best places, in
//! colour.

use flowpipe_plugin::message::Rectangle;
use flowpipe_plugin::{Cancel, Error, Format, PixelInfo, Result};
use image::RgbImage;
use opencv::core::{
    self, CV_8UC3, Mat, MatTraitConst, MatTraitConstManual, Point, Rect, Scalar, Size, Vec3b,
};
use opencv::imgproc;

/// How often a frame is halved for the first search, at most.
const MOST_HALVINGS: u32 = 3;
/// A frame is halved while it has more pixels.
const FEW_PIXELS: usize = 160_000;
/// Unless it has more than this, it is not halved below [`LEAST_SIDE`].
const MOST_PIXELS: usize = 1_500_000;
/// The shortest side of a reduced snippet, in pixels.
const LEAST_SIDE: f64 = 20.0;
/// Places of the first search that are examined.
const CANDIDATES: usize = 4;
/// How much lower than the threshold they may score: a reduced snippet lies between pixels.
const MARGIN: f64 = 0.3;
/// The mean difference of a level, of 255, up to which a place is the same. Correlation alone takes no notice of
/// brightness: what is greyed out scores as what is not.
const MOST_DIFFERENCE: f64 = 32.0;
/// The standard deviation of a snippet's levels below which there is nothing to search for.
const LEAST_CONTRAST: f64 = 4.0;

/// A snippet at the sizes at which it is searched.
pub struct Template {
    name: String,
    sizes: Vec<Mat>,
}

/// A place that is similar to a snippet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Where, in frame pixels.
    pub place: Rectangle,
    /// The correlation coefficient, at most 1.
    pub score: f64,
}

/// A frame to search.
pub struct Picture {
    /// Red, green, blue.
    colour: Mat,
    /// Grey, halved 0 and more times.
    reduced: Vec<Mat>,
}

impl Template {
    /// A snippet of that name at these scales.
    ///
    /// # Errors
    /// When there is nothing in the picture to search for.
    pub fn new(name: &str, picture: &RgbImage, scales: &[f64]) -> Result<Self> {
        let (width, height) = picture.dimensions();
        let pixels: Vec<Vec3b> = picture.pixels().map(|pixel| Vec3b::from(pixel.0)).collect();
        let whole = Mat::new_rows_cols_with_data(height as i32, width as i32, &pixels)?;
        if contrast(&whole)? < LEAST_CONTRAST {
            return Err(Error::bad_config(format!(
                "snippet {name}: it shows one colour, which is found anywhere: cut out more of the picture"
            )));
        }
        let mut sizes = Vec::new();
        for scale in scales {
            sizes.push(scaled(&whole, *scale)?);
        }
        let name = name.to_owned();
        Ok(Self { name, sizes })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Picture {
    /// Copies the pixels of a frame.
    ///
    /// # Errors
    /// When they do not lie as `info` describes.
    pub fn new(pixels: &[u8], info: PixelInfo) -> Result<Self> {
        let step = info.format.bytes_per_pixel();
        let (width, height) = (info.width as usize, info.height as usize);
        let is_whole = width > 0
            && height > 0
            && width.checked_mul(step).is_some_and(|it| it <= info.stride)
            && info.stride.checked_mul(height) == Some(pixels.len());
        let [Ok(cols), Ok(rows)] = [width, height].map(i32::try_from) else {
            return Err(Error::bad_message("a frame that is too large"));
        };
        if !is_whole {
            return Err(Error::bad_message(
                "a frame whose pixels do not fit its size",
            ));
        }
        let order = match info.format {
            Format::Bgra8 | Format::Bgr8 => [2, 1, 0],
            Format::Rgba8 | Format::Rgb8 => [0, 1, 2],
            Format::Grey8 => [0; 3],
        };
        let lines = pixels.chunks_exact(info.stride);
        let lines = lines.flat_map(|line| line[..width * step].chunks_exact(step));
        let pixels: Vec<Vec3b> = lines
            .map(|pixel| Vec3b::from(order.map(|at| pixel[at])))
            .collect();
        let colour = Mat::new_rows_cols_with_data(rows, cols, &pixels)?.try_clone()?;
        let mut reduced = vec![grey(&colour)?];
        for _ in 0..MOST_HALVINGS {
            let Some(last) = reduced.last().filter(|it| it.total() > FEW_PIXELS) else {
                break;
            };
            let half = scaled(last, 0.5)?;
            reduced.push(half);
        }
        Ok(Self { colour, reduced })
    }

    /// Width and height in pixels.
    ///
    /// # Errors
    /// When OpenCV fails.
    pub fn size(&self) -> Result<[f64; 2]> {
        let Size { width, height } = self.colour.size()?;
        Ok([width, height].map(f64::from))
    }

    /// The place that is most similar to a template, if one is similar at all.
    ///
    /// # Errors
    /// When OpenCV fails, or the work is cancelled.
    pub fn find(
        &self,
        template: &Template,
        threshold: f64,
        cancel: &Cancel<'_>,
    ) -> Result<Option<Match>> {
        let mut best: Option<Match> = None;
        for size in &template.sizes {
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            let found = self.find_at_size(size, threshold)?;
            let scores = |it: Option<Match>| it.map_or(f64::MIN, |it| it.score);
            if scores(found) > scores(best) {
                best = found;
            }
        }
        Ok(best)
    }

    fn find_at_size(&self, template: &Mat, threshold: f64) -> opencv::Result<Option<Match>> {
        let size = template.size()?;
        if !fits(template, &self.colour)? {
            return Ok(None);
        }
        let halvings = self.halvings(f64::from(size.width.min(size.height)));
        let factor = 0.5_f64.powi(halvings as i32);
        let small = scaled(&grey(template)?, factor)?;
        let field = &self.reduced[halvings];
        if !fits(&small, field)? {
            return Ok(None);
        }
        let mut scores = correlation(field, &small)?;
        let mut best: Option<Match> = None;
        for _ in 0..CANDIDATES {
            let (score, at) = highest(&scores)?;
            if score < threshold - MARGIN {
                break;
            }
            blank(&mut scores, at, small.size()?)?;
            let about = [at.x, at.y].map(|it| (f64::from(it) / factor).round() as i32);
            let reach = (1.0 / factor) as i32 + 2;
            let Some(found) = self.refine(template, about, reach)? else {
                continue;
            };
            if found.score >= threshold && best.is_none_or(|best| found.score > best.score) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// How often the frame is halved for a template with that shorter side.
    fn halvings(&self, side: f64) -> usize {
        let last = self.reduced.len() - 1;
        (0..last)
            .find(|&halvings| {
                let is_short = side * 0.5_f64.powi(halvings as i32 + 1) < LEAST_SIDE;
                is_short && self.reduced[halvings].total() <= MOST_PIXELS
            })
            .unwrap_or(last)
    }

    /// The best place for a template's corner within `reach` pixels of a place.
    fn refine(
        &self,
        template: &Mat,
        [x, y]: [i32; 2],
        reach: i32,
    ) -> opencv::Result<Option<Match>> {
        let Size { width, height } = template.size()?;
        let around = Rect::new(x - reach, y - reach, width + 2 * reach, height + 2 * reach);
        let around = around & Rect::from_point_size(Point::default(), self.colour.size()?);
        if around.width < width || around.height < height {
            return Ok(None);
        }
        let part = Mat::roi(&self.colour, around)?;
        let (score, at) = highest(&correlation(&part, template)?)?;
        let place = Rect::new(around.x + at.x, around.y + at.y, width, height);
        let difference = core::norm2(
            &Mat::roi(&self.colour, place)?,
            template,
            core::NORM_L1,
            &core::no_array(),
        )?;
        let levels = f64::from(width) * f64::from(height) * 3.0;
        if difference / levels > MOST_DIFFERENCE {
            return Ok(None);
        }
        let [x, y, width, height] = [place.x, place.y, width, height].map(f64::from);
        let place = Rectangle::new(x, y, width, height);
        Ok(Some(Match { place, score }))
    }
}

/// The standard deviation of the levels of the channel with the most.
fn contrast(picture: &impl core::ToInputArray) -> opencv::Result<f64> {
    let (mut mean, mut deviation) = (Mat::default(), Mat::default());
    core::mean_std_dev(picture, &mut mean, &mut deviation, &core::no_array())?;
    let deviations: Vec<f64> = deviation.data_typed::<f64>()?.to_vec();
    Ok(deviations.into_iter().fold(0.0, f64::max))
}

fn grey(colour: &Mat) -> opencv::Result<Mat> {
    debug_assert_eq!(colour.typ(), CV_8UC3);
    let mut grey = Mat::default();
    imgproc::cvt_color_def(colour, &mut grey, imgproc::COLOR_RGB2GRAY)?;
    Ok(grey)
}

/// A picture with sides of that factor, at least a pixel.
fn scaled(picture: &(impl core::ToInputArray + MatTraitConst), factor: f64) -> opencv::Result<Mat> {
    let Size { width, height } = picture.size()?;
    let side = |length: i32| ((f64::from(length) * factor).round() as i32).max(1);
    let size = Size::new(side(width), side(height));
    let how = if factor < 1.0 {
        imgproc::INTER_AREA
    } else {
        imgproc::INTER_LINEAR
    };
    let mut scaled = Mat::default();
    imgproc::resize(picture, &mut scaled, size, 0.0, 0.0, how)?;
    Ok(scaled)
}

fn fits(template: &Mat, picture: &Mat) -> opencv::Result<bool> {
    let (inner, outer) = (template.size()?, picture.size()?);
    Ok(inner.width <= outer.width && inner.height <= outer.height)
}

/// By place of the template's corner.
fn correlation(picture: &impl core::ToInputArray, template: &Mat) -> opencv::Result<Mat> {
    let mut scores = Mat::default();
    imgproc::match_template_def(picture, template, &mut scores, imgproc::TM_CCOEFF_NORMED)?;
    // Where the picture has one colour, the coefficient is not defined.
    core::patch_na_ns(&mut scores, 0.0)?;
    Ok(scores)
}

fn highest(scores: &Mat) -> opencv::Result<(f64, Point)> {
    let (mut most, mut at) = (0.0, Point::default());
    core::min_max_loc(
        scores,
        None,
        Some(&mut most),
        None,
        Some(&mut at),
        &core::no_array(),
    )?;
    Ok((most, at))
}

/// Takes the places around one out, within half of a template.
fn blank(scores: &mut Mat, at: Point, size: Size) -> opencv::Result<()> {
    let (x, y) = (size.width / 2, size.height / 2);
    let around = Rect::new(at.x - x, at.y - y, 2 * x + 1, 2 * y + 1);
    imgproc::rectangle(
        scores,
        around,
        Scalar::all(-1.0),
        imgproc::FILLED,
        imgproc::LINE_8,
        0,
    )
}
