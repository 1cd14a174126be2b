//! Pictures with a margin around them, for boards that reach up to the picture's edge.

use flowpipe_plugin::{Format, PixelInfo};

use crate::picture::{Picture, PictureError, Rgb};

/// A copy of a picture with pixels around it.
#[derive(Clone, Debug)]
pub struct PictureWithMargin {
    rgb: Vec<u8>,
    info: PixelInfo,
    /// Pixels on each side.
    margin: usize,
}

impl PictureWithMargin {
    /// A picture with `margin` pixels of one colour on each side.
    #[must_use]
    pub fn new(picture: &Picture<'_>, margin: usize, colour: Rgb) -> Self {
        let [width, height] = [picture.width(), picture.height()].map(|side| side + 2 * margin);
        let mut rgb = colour.repeat(width * height);
        let rows = rgb.chunks_exact_mut(3 * width).skip(margin);
        for (y, row) in rows.take(picture.height()).enumerate() {
            let pixels = row.chunks_exact_mut(3).skip(margin);
            for (x, pixel) in pixels.take(picture.width()).enumerate() {
                pixel.copy_from_slice(&picture.pixel(x, y).unwrap_or_default());
            }
        }
        let info = PixelInfo::new(Format::Rgb8, width as u32, height as u32);
        Self { rgb, info, margin }
    }

    /// The picture with its margin.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn picture(&self) -> Result<Picture<'_>, PictureError> {
        Picture::new(&self.rgb, self.info)
    }

    /// Pixels on each side.
    #[must_use]
    pub fn margin(&self) -> usize {
        self.margin
    }

    /// The colour of a pixel of the picture with its margin, black outside of it.
    #[must_use]
    pub fn pixel(&self, at: [usize; 2]) -> Rgb {
        let start = self.start(at);
        let pixel = start.and_then(|start| self.rgb.get(start..)?.first_chunk());
        pixel.copied().unwrap_or_default()
    }

    /// Sets the colour of a pixel of the picture with its margin, nothing outside of it.
    pub fn set(&mut self, at: [usize; 2], colour: Rgb) {
        if let Some(start) = self.start(at) {
            self.rgb[start..start + 3].copy_from_slice(&colour);
        }
    }

    fn start(&self, [x, y]: [usize; 2]) -> Option<usize> {
        let (width, height) = (self.info.width as usize, self.info.height as usize);
        (x < width && y < height).then(|| 3 * (y * width + x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_lies_within_its_margin() {
        let bytes: Vec<u8> = (0..3 * 4 * 2).collect();
        let picture = Picture::new(&bytes, PixelInfo::new(Format::Rgb8, 4, 2)).unwrap();
        let mut padded = PictureWithMargin::new(&picture, 3, [9; 3]);
        padded.set([0, 7], [1, 2, 3]);
        padded.set([10, 0], [1, 2, 3]);
        let seen = padded.picture().unwrap();
        assert_eq!((seen.width(), seen.height()), (10, 8));
        assert_eq!(seen.pixel(2, 3), Some([9; 3]));
        assert_eq!(seen.pixel(6, 4), picture.pixel(3, 1));
        assert_eq!(padded.pixel([0, 7]), [1, 2, 3]);
        assert_eq!(padded.pixel([10, 0]), [0; 3]);
    }
}
