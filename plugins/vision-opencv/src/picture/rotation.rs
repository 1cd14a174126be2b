//! Pictures rotated by a quarter.
//!
//! Boards that are on their side, or turn about a horizontal line, are searched in the rotated picture.

use flowpipe_plugin::puzzle::{Geometry, Point};
use flowpipe_plugin::{Format, PixelInfo};

use crate::picture::{Picture, PictureError};

/// Pixels that are turned together: what is read lies side by side in memory, what is written does not.
const BLOCK: usize = 32;

/// A picture turned by a quarter.
#[derive(Clone, Debug)]
pub struct RotatedPicture {
    rgb: Vec<u8>,
    info: PixelInfo,
}

impl RotatedPicture {
    /// Clockwise: what was on the left is on top.
    #[must_use]
    pub fn clockwise(picture: &Picture<'_>) -> Self {
        let last = picture.height() - 1;
        Self::new(picture, |x, y| (last - y, x))
    }

    /// The other way: what was on the right is on top.
    #[must_use]
    pub fn anticlockwise(picture: &Picture<'_>) -> Self {
        let last = picture.width() - 1;
        Self::new(picture, |x, y| (y, last - x))
    }

    /// Each pixel to its place.
    fn new(picture: &Picture<'_>, place: impl Fn(usize, usize) -> (usize, usize)) -> Self {
        let (width, height) = (picture.height(), picture.width());
        let mut rgb = vec![0; 3 * width * height];
        for top in (0..picture.height()).step_by(BLOCK) {
            for left in (0..picture.width()).step_by(BLOCK) {
                for y in top..(top + BLOCK).min(picture.height()) {
                    for x in left..(left + BLOCK).min(picture.width()) {
                        let (across, down) = place(x, y);
                        let start = 3 * (down * width + across);
                        let colour = picture.pixel(x, y).unwrap_or_default();
                        rgb[start..start + 3].copy_from_slice(&colour);
                    }
                }
            }
        }
        let info = PixelInfo::new(Format::Rgb8, width as u32, height as u32);
        Self { rgb, info }
    }

    /// The turned picture.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn picture(&self) -> Result<Picture<'_>, PictureError> {
        Picture::new(&self.rgb, self.info)
    }

    /// Its pixels and how they lie.
    #[must_use]
    pub fn into_pixels(self) -> (Vec<u8>, PixelInfo) {
        (self.rgb, self.info)
    }
}

/// Where a point of a picture that was turned clockwise lies in the picture as it was, `height` pixels high.
#[must_use]
pub fn back([x, y]: Point, height: usize) -> Point {
    [y, height as f64 - x]
}

/// The same of a board. Its top left corner, which may lie elsewhere in the picture as it was, stays what it is.
#[must_use]
pub fn geometry_back(geometry: Geometry, height: usize) -> Geometry {
    Geometry {
        corners: geometry.corners.map(|corner| back(corner, height)),
        ..geometry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_quarters_are_none() {
        let bytes: Vec<u8> = (0..3 * 37 * 70).map(|index| (index % 251) as u8).collect();
        let info = PixelInfo::new(Format::Rgb8, 70, 37);
        let picture = Picture::new(&bytes, info).unwrap();
        let turned = RotatedPicture::clockwise(&picture);
        let turned = turned.picture().unwrap();
        assert_eq!((turned.width(), turned.height()), (37, 70));
        // The left column lies on top, its upper end on the right.
        assert_eq!(turned.pixel(36, 0), picture.pixel(0, 0));
        assert_eq!(turned.pixel(0, 69), picture.pixel(69, 36));
        let [x, y] = back([3.5, 8.5], 37);
        assert_eq!(turned.at(3.5, 8.5), picture.at(x, y));
        let again = RotatedPicture::anticlockwise(&turned);
        assert_eq!((again.rgb, again.info), (bytes, info));
    }
}
