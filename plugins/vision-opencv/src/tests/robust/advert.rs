//! Advertisements and other things beside boards, some of which look like boards.

use fastrand::Rng;
use image::RgbImage;

use crate::tests::canvas::{Canvas, Rgb};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advert {
    /// A shop: tiles in rows, each with something on it.
    Shop,
    /// Squares of two alternating colours.
    Chequers,
    /// Another game: a grid of buttons with a gap between them.
    Buttons,
    /// Coloured discs anywhere.
    Discs,
    /// Lines of strokes, as writing looks from afar.
    Writing,
}

impl Advert {
    pub const ALL: [Self; 5] = [
        Self::Shop,
        Self::Chequers,
        Self::Buttons,
        Self::Discs,
        Self::Writing,
    ];

    /// One of its kind, of a size in pixels.
    pub fn draw(self, width: u32, height: u32, rng: &mut Rng) -> RgbImage {
        let ground = if rng.bool() {
            [245, 245, 240]
        } else {
            colour(rng).map(|value| value / 3)
        };
        let mut canvas = Canvas::new(width as usize, height as usize, ground);
        match self {
            Self::Shop => tiles(&mut canvas, 0.12, rng, |canvas, [x, y, side], rng| {
                canvas.rectangle(x, y, side, side, colour(rng));
                canvas.disc(x + side / 2.0, y + 0.4 * side, 0.25 * side, colour(rng));
                let (left, low) = (x + 0.2 * side, y + 0.8 * side);
                canvas.stroke(
                    (left, low),
                    (x + 0.8 * side, low),
                    0.06 * side,
                    [30, 30, 30],
                );
            }),
            Self::Chequers => {
                let paints = [colour(rng), colour(rng)];
                let side = f64::from(width.min(height)) / rng.f64().mul_add(6.0, 4.0);
                for row in 0..=(f64::from(height) / side) as usize {
                    for col in 0..=(f64::from(width) / side) as usize {
                        let (x, y) = (col as f64 * side, row as f64 * side);
                        canvas.rectangle(x, y, side, side, paints[(row + col) % 2]);
                    }
                }
            }
            Self::Buttons => {
                let paint = colour(rng).map(|value| value / 2);
                tiles(&mut canvas, 0.04, rng, |canvas, [x, y, side], rng| {
                    canvas.rectangle(x, y, side, side, paint);
                    if rng.f64() < 0.4 {
                        let middle = (x + side / 2.0, y + side / 2.0);
                        canvas.disc(middle.0, middle.1, 0.36 * side, colour(rng));
                    }
                });
            }
            Self::Discs => {
                for _ in 0..rng.usize(5..25) {
                    let radius = f64::from(width.min(height)) * (0.02 + 0.1 * rng.f64());
                    let (x, y) = (f64::from(width) * rng.f64(), f64::from(height) * rng.f64());
                    canvas.disc(x, y, radius, colour(rng));
                }
            }
            Self::Writing => writing(&mut canvas, rng),
        }
        RgbImage::from_raw(width, height, canvas.rgb).unwrap()
    }
}

fn colour(rng: &mut Rng) -> Rgb {
    [rng.u8(..), rng.u8(..), rng.u8(..)]
}

/// Square tiles with a gap, a share of a tile, between them.
fn tiles(
    canvas: &mut Canvas,
    gap: f64,
    rng: &mut Rng,
    tile: impl Fn(&mut Canvas, [f64; 3], &mut Rng),
) {
    let (width, height) = (canvas.width as f64, canvas.height as f64);
    let period = width.min(height) / rng.usize(3..9) as f64;
    let side = period * (1.0 - gap);
    for row in 0..(height / period) as usize {
        for col in 0..(width / period) as usize {
            let place = [col, row].map(|index| (index as f64 + gap / 2.0) * period);
            tile(canvas, [place[0], place[1], side], rng);
        }
    }
}

/// Letters are vertical strokes with now and then a slash of another.
fn writing(canvas: &mut Canvas, rng: &mut Rng) {
    let (width, height) = (canvas.width as f64, canvas.height as f64);
    let size = (width.min(height) / 14.0).max(5.0);
    let ink = colour(rng).map(|value| value / 2);
    let mut y = size;
    while y + size < height {
        let mut x = size;
        while x + size < width * (0.6 + 0.4 * rng.f64()) {
            let low = (x, y + size * 0.8);
            canvas.stroke((x, y), low, size / 8.0, ink);
            if rng.bool() {
                canvas.stroke(low, (x + size * 0.4, low.1), size / 8.0, ink);
            }
            x += size * (0.6 + 0.4 * rng.f64());
        }
        y += size * 1.6;
    }
}
