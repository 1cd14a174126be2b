//! Pictures turned by a quarter: boards that lie on their side, or turn about a horizontal line, are read as those that
//! are upright.

use flowpipe_plugin::puzzle::{Geometry, Point};
use flowpipe_plugin::{Format, PixelInfo};

use crate::picture::{Picture, PictureError};
use crate::runs::Run;

/// Pixels that are turned together: what is read lies side by side in memory, what is written does not.
const BLOCK: usize = 32;

/// A picture turned by a quarter.
#[derive(Clone, Debug)]
pub struct Quarter {
    rgb: Vec<u8>,
    info: PixelInfo,
}

impl Quarter {
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

/// Horizontal lines of a picture of so many pixels' height, from top to bottom, as the vertical ones, from left to right,
/// that they are in the picture turned clockwise.
#[must_use]
pub fn vertical(horizontal: &[Run], height: usize) -> Vec<Run> {
    let turned = |run: &Run| Run {
        at: height as f64 - run.at,
        ..*run
    };
    horizontal.iter().rev().map(turned).collect()
}

/// Vertical lines of a picture of so many pixels' height, from left to right, as the horizontal ones, from top to bottom,
/// that they are in the picture turned clockwise.
#[must_use]
pub fn horizontal(vertical: &[Run], height: usize) -> Vec<Run> {
    let turned = |run: &Run| Run {
        from: height as f64 - run.to,
        to: height as f64 - run.from,
        ..*run
    };
    vertical.iter().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_quarters_are_none() {
        let bytes: Vec<u8> = (0..3 * 37 * 70).map(|index| (index % 251) as u8).collect();
        let info = PixelInfo::new(Format::Rgb8, 70, 37);
        let picture = Picture::new(&bytes, info).unwrap();
        let turned = Quarter::clockwise(&picture);
        let turned = turned.picture().unwrap();
        assert_eq!((turned.width(), turned.height()), (37, 70));
        // The left column lies on top, its upper end on the right.
        assert_eq!(turned.pixel(36, 0), picture.pixel(0, 0));
        assert_eq!(turned.pixel(0, 69), picture.pixel(69, 36));
        let [x, y] = back([3.5, 8.5], 37);
        assert_eq!(turned.at(3.5, 8.5), picture.at(x, y));
        let again = Quarter::anticlockwise(&turned);
        assert_eq!((again.rgb, again.info), (bytes, info));
    }

    #[test]
    fn lines_are_turned_as_pictures_are() {
        let line = Run {
            at: 10.0,
            from: 20.0,
            to: 50.0,
            width: 2.0,
            contrast: 9.0,
        };
        let (turned, [x, y]) = (vertical(&[line], 80)[0], [70.0, 20.0]);
        assert_eq!([turned.at, turned.from], [x, y]);
        assert_eq!(back([x, y], 80), [line.from, line.at]);
        let turned = horizontal(&[line], 80)[0];
        assert_eq!((turned.at, turned.from, turned.to), (10.0, 30.0, 60.0));
        assert_eq!(back([turned.from, turned.at], 80), [line.at, line.to]);
    }
}
