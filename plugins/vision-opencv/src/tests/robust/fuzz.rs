//! Random drawings of what boards are made of, of any size and format: a reading comes back.

use fastrand::Rng;
use proptest::prelude::*;

use crate::config::Config;
use crate::picture::Picture;
use crate::tests::canvas::{Canvas, Place, Rgb};
use crate::tests::properties::{formats, repacked};
use crate::track::reader::Reader;

/// Draws one thing: noise, stripes, a rectangle, discs, or a grid with discs.
fn scribble(canvas: &mut Canvas, rng: &mut Rng) {
    let (width, height) = (canvas.width as f64, canvas.height as f64);
    let (x, y) = (rng.f64() * width, rng.f64() * height);
    let colour: Rgb = [rng.u8(..), rng.u8(..), rng.u8(..)];
    match rng.u8(..6) {
        0 => {
            let strength = rng.u8(1..);
            for value in &mut canvas.rgb {
                *value = value.wrapping_add(rng.u8(..strength));
            }
        }
        1 => {
            let (period, thick) = (1.0 + rng.f64() * 40.0, rng.f64() * 20.0);
            let vertical = rng.bool();
            let length = if vertical { width } else { height };
            for stripe in 0..(length / period) as usize {
                let at = stripe as f64 * period;
                if vertical {
                    canvas.rectangle(at, 0.0, thick, height, colour);
                } else {
                    canvas.rectangle(0.0, at, width, thick, colour);
                }
            }
        }
        2 => canvas.rectangle(x, y, rng.f64() * width, rng.f64() * height, colour),
        3 => canvas.disc(x, y, rng.f64() * width.min(height) / 2.0, colour),
        _ => {
            let cell = 2.0 + rng.f64() * rng.f64() * 80.0;
            let place = Place {
                x: x / 2.0,
                y: y / 2.0,
                cell,
            };
            // Now and then beyond the picture.
            let count =
                |free: f64, rng: &mut Rng| ((free / cell) as usize + rng.usize(..2)).clamp(1, 40);
            let (rows, cols) = (count(height - place.y, rng), count(width - place.x, rng));
            canvas.grid(place, rows, cols, colour);
            let paints: Vec<Rgb> = (0..rng.usize(1..6))
                .map(|_| [rng.u8(..), rng.u8(..), rng.u8(..)])
                .collect();
            for _ in 0..rng.usize(..14) {
                let (x, y) = place.centre(rng.usize(..rows), rng.usize(..cols));
                let radius = cell * (0.1 + 0.4 * rng.f64());
                canvas.disc(x, y, radius, paints[rng.usize(..paints.len())]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn drawings_never_panic(
        width in 1_usize..=300,
        height in 1_usize..=300,
        format in formats(),
        gap in 0_usize..70,
        things in 0_usize..5,
        seed: u64,
    ) {
        let mut rng = Rng::with_seed(seed);
        let mut canvas = Canvas::new(width, height, [rng.u8(..), rng.u8(..), rng.u8(..)]);
        for _ in 0..things {
            scribble(&mut canvas, &mut rng);
        }
        let (bytes, info) = repacked(&canvas, format, gap);
        let picture = Picture::new(&bytes, info).unwrap();
        let mut reader = Reader::new(Config::default());
        let first = reader.read(&picture);
        prop_assert!(first.is_ok(), "{:?}", first);
        // Once more, where it was, if it was.
        prop_assert_eq!(first.unwrap(), reader.read(&picture).unwrap());
    }
}
