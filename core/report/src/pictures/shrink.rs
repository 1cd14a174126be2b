//! Makes pictures smaller: each new pixel is the mean of the area that it covers.

use flowpipe_recording::{Encoding, Pixels};

/// Red, green and blue, a byte each, rows without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// A part of a picture, in whole pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Area {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

/// A part of a picture, its longer side at most `longest` pixels; it is never made larger. `None`: the part is empty or
/// lies outside.
pub fn shrink(pixels: &Pixels<'_>, area: Area, longest: u32) -> Option<Picture> {
    let right = area.x.checked_add(area.width)?;
    let bottom = area.y.checked_add(area.height)?;
    if area.width == 0 || area.height == 0 || right > pixels.width || bottom > pixels.height {
        return None;
    }
    let factor = f64::from(longest) / f64::from(area.width.max(area.height));
    let factor = factor.min(1.0);
    let side = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
    let (width, height) = (side(area.width), side(area.height));
    let columns = shares(area.width, width);
    let rows = shares(area.height, height);
    let step = pixels.encoding.bytes_per_pixel() as usize;
    let mut rgb = Vec::with_capacity(width as usize * height as usize * 3);
    let mut sums = vec![0_u32; area.width as usize * step];
    for row in &rows {
        sums.fill(0);
        for (line, &share) in (area.y + row.first..).zip(&row.shares) {
            let start = line as usize * pixels.stride as usize + area.x as usize * step;
            let line = pixels.bytes.get(start..start + sums.len())?;
            for (sum, &value) in sums.iter_mut().zip(line) {
                *sum += u32::from(value) * share;
            }
        }
        across(&sums, pixels.encoding, &columns, &mut rgb);
    }
    Some(Picture { width, height, rgb })
}

/// What the shares of a new pixel add up to.
const WHOLE: u32 = 256;

/// Old pixels under a new one, along one axis.
struct Under {
    first: u32,
    shares: Vec<u32>,
}

/// How much of each of the old pixels is under each of the new ones.
fn shares(old: u32, new: u32) -> Vec<Under> {
    let ratio = f64::from(old) / f64::from(new);
    (0..new)
        .map(|place| {
            let begin = f64::from(place) * ratio;
            let end = (begin + ratio).min(f64::from(old));
            let first = begin.floor() as u32;
            let last = ((end - 1e-9).floor() as u32).clamp(first, old - 1);
            let part = |pixel: u32| {
                let covered = end.min(f64::from(pixel) + 1.0) - begin.max(f64::from(pixel));
                (covered / ratio * f64::from(WHOLE)).round().max(0.0) as u32
            };
            let mut shares: Vec<u32> = (first..=last).map(part).collect();
            let sum: u32 = shares.iter().sum();
            // What rounding took or gave goes to the largest.
            if let Some(largest) = shares.iter_mut().max() {
                *largest = (*largest + WHOLE).saturating_sub(sum);
            }
            Under { first, shares }
        })
        .collect()
}

/// A row whose values are [`WHOLE`] times as large as bytes, made narrower.
fn across(row: &[u32], encoding: Encoding, columns: &[Under], rgb: &mut Vec<u8>) {
    let step = encoding.bytes_per_pixel() as usize;
    let [red, green, blue] = match encoding {
        Encoding::Bgra8 | Encoding::Bgr8 => [2, 1, 0],
        Encoding::Rgba8 | Encoding::Rgb8 => [0, 1, 2],
        Encoding::Grey8 => [0; 3],
    };
    for under in columns {
        let mut sum = [WHOLE * WHOLE / 2; 3];
        let start = under.first as usize * step;
        let old = row.get(start..).unwrap_or_default().chunks_exact(step);
        for (pixel, share) in old.zip(&under.shares) {
            // A byte times WHOLE, times a share of WHOLE: below 2^24.
            sum[0] += pixel[red] * share;
            sum[1] += pixel[green] * share;
            sum[2] += pixel[blue] * share;
        }
        rgb.extend(sum.map(|sum| (sum / (WHOLE * WHOLE)) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: u32, height: u32, bytes: &[u8]) -> Pixels<'_> {
        Pixels {
            encoding: Encoding::Grey8,
            width,
            height,
            stride: width,
            bytes,
        }
    }

    fn whole(width: u32, height: u32) -> Area {
        Area {
            x: 0,
            y: 0,
            width,
            height,
        }
    }

    #[test]
    fn pixels_are_means_of_areas() {
        let bytes = [0, 100, 200, 100, 50, 50, 250, 150];
        let small = shrink(&grey(4, 2, &bytes), whole(4, 2), 2).unwrap();
        assert_eq!((small.width, small.height), (2, 1));
        assert_eq!(small.rgb, [50, 50, 50, 175, 175, 175]);
        // Three over two: the middle one belongs to both.
        let small = shrink(&grey(3, 1, &[0, 90, 180]), whole(3, 1), 2).unwrap();
        assert!(small.rgb[0].abs_diff(30) <= 1 && small.rgb[3].abs_diff(150) <= 1);
        let white = shrink(&grey(7, 5, &[255; 35]), whole(7, 5), 3).unwrap();
        assert!(white.rgb.iter().all(|&value| value == 255));
    }

    #[test]
    fn nothing_is_made_larger_or_read_outside() {
        let bytes: Vec<u8> = (0..12).collect();
        let same = shrink(&grey(4, 3, &bytes), whole(4, 3), 100).unwrap();
        assert_eq!((same.width, same.height, same.rgb[33]), (4, 3, 11));
        let area = Area {
            x: 1,
            y: 1,
            width: 2,
            height: 2,
        };
        let part = shrink(&grey(4, 3, &bytes), area, 100).unwrap();
        assert_eq!(
            (part.rgb[0], part.rgb[3], part.rgb[6], part.rgb[9]),
            (5, 6, 9, 10)
        );
        assert_eq!(shrink(&grey(4, 3, &bytes), whole(5, 3), 100), None);
        assert_eq!(shrink(&grey(4, 3, &bytes), whole(0, 3), 100), None);
    }

    #[test]
    fn colours_are_distinguished() {
        let pixels = Pixels {
            encoding: Encoding::Bgra8,
            width: 1,
            height: 1,
            stride: 4,
            bytes: &[1, 2, 3, 0],
        };
        assert_eq!(shrink(&pixels, whole(1, 1), 9).unwrap().rgb, [3, 2, 1]);
    }
}
