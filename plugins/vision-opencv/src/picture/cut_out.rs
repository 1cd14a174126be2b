//! Parts of a picture on a plain background.

use flowpipe_plugin::{Format, PixelInfo};

use crate::picture::{Picture, PictureError, Rgb};

/// A copy of a picture of which only some parts are left.
#[derive(Clone, Debug)]
pub struct CutOut {
    rgb: Vec<u8>,
    info: PixelInfo,
}

impl CutOut {
    /// The parts of a picture, each as left, top, right and bottom edge in whole pixels, on a background of one colour.
    #[must_use]
    pub fn new(picture: &Picture<'_>, parts: &[[usize; 4]], background: Rgb) -> Self {
        let (width, height) = (picture.width(), picture.height());
        let mut rgb = background.repeat(width * height);
        for [left, top, right, bottom] in parts {
            for y in *top..*bottom.min(&height) {
                for x in *left..*right.min(&width) {
                    let start = 3 * (y * width + x);
                    let pixel = picture.pixel(x, y).unwrap_or(background);
                    rgb[start..start + 3].copy_from_slice(&pixel);
                }
            }
        }
        let info = PixelInfo::new(Format::Rgb8, width as u32, height as u32);
        Self { rgb, info }
    }

    /// The picture that is left.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn picture(&self) -> Result<Picture<'_>, PictureError> {
        Picture::new(&self.rgb, self.info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parts_are_left() {
        let bytes: Vec<u8> = (0..3 * 4 * 3).collect();
        let picture = Picture::new(&bytes, PixelInfo::new(Format::Rgb8, 4, 3)).unwrap();
        let cut = CutOut::new(&picture, &[[1, 0, 3, 2], [3, 2, 9, 9]], [7; 3]);
        let left = cut.picture().unwrap();
        for (x, y) in [(1, 0), (2, 1), (3, 2)] {
            assert_eq!(left.pixel(x, y), picture.pixel(x, y));
        }
        for (x, y) in [(0, 0), (3, 1), (2, 2)] {
            assert_eq!(left.pixel(x, y), Some([7; 3]));
        }
    }
}
