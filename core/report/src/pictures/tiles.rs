//! Where a picture differs from another one, tile by tile.
//!
//! The tiles that differ are put side by side into a picture of their own. A tile is one of WebP's macroblocks.

use serde::Serialize;

use super::shrink::Picture;

/// The side of a tile in pixels. Those at the right and at the bottom may stand out of the picture.
pub const SIDE: u32 = 16;

/// The number of tiles in a row of a picture of tiles.
const ROW: u32 = 32;

/// Tiles of a picture, in the order of reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tiles {
    /// How many are left out, how many follow, and so on.
    runs: Vec<u32>,
    #[serde(skip)]
    count: u32,
    #[serde(skip)]
    all: u32,
}

impl Tiles {
    /// The tiles in which two pictures of one size differ.
    pub fn that_differ(one: &Picture, other: &Picture) -> Self {
        let mut tiles = Self::default();
        let (mut run, mut differing) = (0, false);
        for row in 0..one.height.div_ceil(SIDE) {
            for column in 0..one.width.div_ceil(SIDE) {
                let differs = lines(one, row, column).ne(lines(other, row, column));
                if differs != differing {
                    tiles.runs.push(run);
                    (run, differing) = (0, differs);
                }
                run += 1;
                tiles.all += 1;
                tiles.count += u32::from(differs);
            }
        }
        if differing {
            tiles.runs.push(run);
        }
        tiles
    }

    /// The part of the picture that they are, from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.count) / f64::from(self.all.max(1))
    }

    /// How many characters they take in the page, about.
    pub fn characters(&self) -> usize {
        self.runs.len() * 4
    }

    /// The tiles of a picture side by side.
    pub fn cut(&self, picture: &Picture) -> Picture {
        let columns = picture.width.div_ceil(SIDE);
        let width = self.count.min(ROW) * SIDE;
        let height = self.count.div_ceil(ROW) * SIDE;
        let mut cut = Picture {
            width,
            height,
            rgb: vec![0; width as usize * height as usize * 3],
        };
        for (place, tile) in self.numbers().enumerate() {
            let (x, y) = (place as u32 % ROW * SIDE, place as u32 / ROW * SIDE);
            for (line, pixels) in lines(picture, tile / columns, tile % columns).enumerate() {
                let start = ((y as usize + line) * width as usize + x as usize) * 3;
                if let Some(to) = cut.rgb.get_mut(start..start + pixels.len()) {
                    to.copy_from_slice(pixels);
                }
            }
        }
        cut
    }

    /// The tiles by number.
    fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = 0;
        let runs = self.runs.chunks_exact(2).map(move |run| {
            let first = next + run[0];
            next = first + run[1];
            first..next
        });
        runs.flatten()
    }
}

/// The lines of a tile, from the top.
fn lines(picture: &Picture, row: u32, column: u32) -> impl Iterator<Item = &[u8]> {
    let (left, top) = (column * SIDE, row * SIDE);
    let right = (left + SIDE).min(picture.width);
    let bottom = (top + SIDE).min(picture.height);
    (top..bottom).map(move |y| {
        let start = y as usize * picture.width as usize;
        let pixels = (start + left as usize) * 3..(start + right as usize) * 3;
        picture.rgb.get(pixels).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three tiles wide, two high, the last of each not whole.
    fn picture() -> Picture {
        Picture {
            width: 40,
            height: 20,
            rgb: vec![0; 40 * 20 * 3],
        }
    }

    fn with_pixel(mut picture: Picture, x: usize, y: usize) -> Picture {
        picture.rgb[(y * 40 + x) * 3] = 9;
        picture
    }

    #[test]
    fn tiles_that_differ_are_found_and_cut() {
        let one = picture();
        let none = Tiles::that_differ(&one, &one);
        assert_eq!((none.share(), none.runs.len()), (0.0, 0));
        let other = with_pixel(with_pixel(with_pixel(picture(), 17, 3), 39, 0), 39, 19);
        let tiles = Tiles::that_differ(&one, &other);
        assert_eq!(tiles.runs, [1, 2, 2, 1]);
        assert_eq!(tiles.numbers().collect::<Vec<_>>(), [1, 2, 5]);
        assert_eq!(tiles.share(), 0.5);
        let cut = tiles.cut(&other);
        assert_eq!((cut.width, cut.height), (48, 16));
        let marked: Vec<usize> = (0..cut.rgb.len()).filter(|&at| cut.rgb[at] > 0).collect();
        let at = |x: usize, y: usize| (y * 48 + x) * 3;
        assert_eq!(marked, [at(16 + 7, 0), at(1, 3), at(32 + 7, 3)]);
    }
}
