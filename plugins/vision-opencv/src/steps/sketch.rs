//! Sketches: pictures in colour to draw on.

use std::io::BufWriter;
use std::path::Path;

use flowpipe_output::OutputFile;
use flowpipe_plugin::Result;
use opencv::core::{Mat, MatTraitConst, MatTraitConstManual, Point, Scalar, Size, Vec3b};
use opencv::imgproc;

use crate::picture::{Picture, Rgb};

/// The parts of a pixel that OpenCV draws to, in bits.
const FINE: i32 = 4;

/// A picture in colour to draw on. All places and lengths are in frame pixels, whatever part of the frame
/// it shows and however small.
pub struct Sketch {
    /// Red, green, blue.
    canvas: Mat,
    /// Frame pixels for one of its pixels.
    scale: f64,
    /// Its corner in the frame.
    origin: [f64; 2],
}

impl Sketch {
    /// On a copy of a picture.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is; so do all others here.
    pub fn of_picture(picture: &Picture<'_>) -> opencv::Result<Self> {
        let (width, height) = (picture.width(), picture.height());
        let pixels: Vec<Vec3b> = (0..width * height)
            .filter_map(|at| picture.pixel(at % width, at / width))
            .map(Vec3b::from)
            .collect();
        let rows = Mat::new_rows_cols_with_data(height as i32, width as i32, &pixels)?;
        Ok(Self {
            canvas: rows.try_clone()?,
            scale: 1.0,
            origin: [0.0; 2],
        })
    }

    /// On levels of grey: of a part of the frame that begins at `origin`, with `scale` by `scale` frame
    /// pixels made one.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn of_grey(grey: &Mat, scale: f64, origin: [f64; 2]) -> opencv::Result<Self> {
        let mut canvas = Mat::default();
        imgproc::cvt_color(grey, &mut canvas, imgproc::COLOR_GRAY2RGB, 0)?;
        Ok(Self {
            canvas,
            scale,
            origin,
        })
    }

    /// With the brightest level made white: what is faint is seen.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn brightened(mut self) -> opencv::Result<Self> {
        let mut brightest = 0.0;
        let levels = self.canvas.reshape(1, 0)?;
        opencv::core::min_max_loc(
            &levels,
            None,
            Some(&mut brightest),
            None,
            None,
            &opencv::core::no_array(),
        )?;
        let mut canvas = Mat::default();
        self.canvas
            .convert_to(&mut canvas, -1, 255.0 / brightest.max(1.0), 0.0)?;
        self.canvas = canvas;
        Ok(self)
    }

    /// Darker, so that what is drawn stands out.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn dimmed(mut self) -> opencv::Result<Self> {
        let mut canvas = Mat::default();
        self.canvas.convert_to(&mut canvas, -1, 0.5, 0.0)?;
        self.canvas = canvas;
        Ok(self)
    }

    /// A straight line.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn line(
        &mut self,
        from: [f64; 2],
        to: [f64; 2],
        colour: Rgb,
        width: f64,
    ) -> opencv::Result<()> {
        let (from, to, width) = (self.place(from), self.place(to), self.width(width));
        let smooth = imgproc::LINE_AA;
        imgproc::line(&mut self.canvas, from, to, ink(colour), width, smooth, FINE)
    }

    /// The rim of a disc.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn ring(
        &mut self,
        centre: [f64; 2],
        radius: f64,
        colour: Rgb,
        width: f64,
    ) -> opencv::Result<()> {
        let width = self.width(width);
        self.round(centre, radius, colour, width)
    }

    /// A line of ASCII text that begins at a place, on its base line, with letters of a height.
    ///
    /// # Errors
    /// As [`Sketch::of_picture`].
    pub fn text(
        &mut self,
        text: &str,
        place: [f64; 2],
        height: f64,
        colour: Rgb,
    ) -> opencv::Result<()> {
        /// Pixels of a capital letter at OpenCV's scale of 1.
        const CAPITAL: f64 = 21.0;
        let [x, y] = [0, 1].map(|axis| (place[axis] - self.origin[axis]) / self.scale);
        imgproc::put_text(
            &mut self.canvas,
            text,
            Point::new(x as i32, y as i32),
            imgproc::FONT_HERSHEY_SIMPLEX,
            height / self.scale / CAPITAL,
            ink(colour),
            self::width(height / self.scale / 8.0),
            imgproc::LINE_AA,
            false,
        )
    }

    /// Its width and height in its own pixels.
    ///
    /// # Errors
    /// Never for a sketch that was made.
    pub fn size(&self) -> opencv::Result<Size> {
        self.canvas.size()
    }

    /// Writes it as PNG.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let size = self.size()?;
        let mut output = OutputFile::create_derived(path)?;
        let file = BufWriter::new(&mut output);
        let mut encoder = png::Encoder::new(
            file,
            u32::try_from(size.width)?,
            u32::try_from(size.height)?,
        );
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.canvas.data_bytes()?)?;
        writer.finish()?;
        Ok(output.commit()?)
    }

    fn round(
        &mut self,
        centre: [f64; 2],
        radius: f64,
        colour: Rgb,
        width: i32,
    ) -> opencv::Result<()> {
        let centre = self.place(centre);
        let radius = fine(radius / self.scale).max(1);
        let smooth = imgproc::LINE_AA;
        imgproc::circle(
            &mut self.canvas,
            centre,
            radius,
            ink(colour),
            width,
            smooth,
            FINE,
        )
    }

    /// Frame pixels as OpenCV draws: pixels count from their centres there.
    fn place(&self, place: [f64; 2]) -> Point {
        let [x, y] = [0, 1].map(|axis| fine((place[axis] - self.origin[axis]) / self.scale - 0.5));
        Point::new(x, y)
    }

    fn width(&self, width: f64) -> i32 {
        self::width(width / self.scale)
    }
}

fn fine(length: f64) -> i32 {
    (length * f64::from(1 << FINE)).round() as i32
}

/// OpenCV refuses lines thinner than a pixel and thicker than some thousands.
fn width(width: f64) -> i32 {
    width.round().clamp(1.0, 255.0) as i32
}

fn ink([red, green, blue]: Rgb) -> Scalar {
    Scalar::new(f64::from(red), f64::from(green), f64::from(blue), 0.0)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::{Format, PixelInfo};
    use opencv::core::CV_8UC1;

    use super::*;

    fn pixel(sketch: &Sketch, x: i32, y: i32) -> Rgb {
        sketch.canvas.at_2d::<Vec3b>(y, x).unwrap().0
    }

    #[test]
    fn a_copy_of_a_picture_whatever_its_layout() {
        let bytes = [1, 2, 3, 4, 5, 6, 9, 9, 7, 8, 9, 10, 11, 12, 9, 9];
        let info = PixelInfo::new(Format::Bgr8, 2, 2).with_stride(8);
        let sketch = Sketch::of_picture(&Picture::new(&bytes, info).unwrap()).unwrap();
        let pixels = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(x, y)| pixel(&sketch, x, y));
        assert_eq!(pixels, [[3, 2, 1], [6, 5, 4], [9, 8, 7], [12, 11, 10]]);
    }

    #[test]
    fn places_are_frame_pixels_in_a_part_made_smaller() {
        let grey = Mat::new_rows_cols_with_default(50, 50, CV_8UC1, Scalar::all(20.0)).unwrap();
        let mut sketch = Sketch::of_grey(&grey, 2.0, [100.0, 200.0]).unwrap();
        let red = [255, 0, 0];
        sketch
            .line([134.0, 240.0], [146.0, 240.0], red, 8.0)
            .unwrap();
        sketch
            .line([100.0, 281.0], [200.0, 281.0], red, 6.0)
            .unwrap();
        assert_eq!(pixel(&sketch, 20, 20), red);
        assert_eq!(pixel(&sketch, 28, 20), [20; 3]);
        assert_eq!(pixel(&sketch, 30, 40), red);
        assert_eq!(pixel(&sketch, 30, 45), [20; 3]);
        assert_eq!(
            pixel(&sketch.brightened().unwrap(), 0, 0),
            [20; 3],
            "red is as bright as can be"
        );
        let bright = Sketch::of_grey(&grey, 1.0, [0.0; 2])
            .unwrap()
            .brightened()
            .unwrap();
        assert_eq!(pixel(&bright, 0, 0), [255; 3]);
    }

    #[test]
    fn what_lies_outside_is_no_error() {
        let grey = Mat::new_rows_cols_with_default(5, 5, CV_8UC1, Scalar::all(0.0)).unwrap();
        let mut sketch = Sketch::of_grey(&grey, 1.0, [0.0; 2]).unwrap();
        let white = [255; 3];
        sketch.line([-1e5, -70.0], [1e5, 70.0], white, 0.0).unwrap();
        sketch.ring([2.0, 2.0], -3.0, white, 1e9).unwrap();
        sketch.text("a", [900.0, -900.0], 0.0, white).unwrap();
    }
}
