//! Distances between colours, and means of colours.

use crate::picture::Rgb;

/// Colours that a median is taken of.
const MOST: usize = 256;
/// Levels by which the channels of a grey may differ.
const GREY: u8 = 8;

/// How far apart two colours are, in levels.
#[inline]
#[must_use]
pub fn distance(a: Rgb, b: Rgb) -> f64 {
    f64::from(square_distance(a, b)).sqrt()
}

/// The square of it.
#[inline]
#[must_use]
pub fn square_distance(a: Rgb, b: Rgb) -> u32 {
    let squares = a
        .iter()
        .zip(b)
        .map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2));
    squares.sum()
}

/// The middle one of each channel; black of none. Of more than 256 the first ones count.
#[must_use]
pub fn median(colours: &[Rgb]) -> Rgb {
    let mut values = [0; MOST];
    std::array::from_fn(|channel| {
        let count = colours.len().min(MOST);
        for (value, colour) in values.iter_mut().zip(colours) {
            *value = colour[channel];
        }
        match values.get_mut(..count) {
            Some(values @ [_, ..]) => *values.select_nth_unstable(count / 2).1,
            _ => 0,
        }
    })
}

/// The one between two.
#[must_use]
pub fn mean(a: Rgb, b: Rgb) -> Rgb {
    std::array::from_fn(|channel| a[channel].midpoint(b[channel]))
}

/// Whether a colour is no more than a shade of grey, as far as compression lets that be known.
#[must_use]
pub fn is_grey(colour: Rgb) -> bool {
    let (least, most) = (colour.iter().min(), colour.iter().max());
    most.zip(least)
        .is_some_and(|(most, least)| most - least <= GREY)
}

/// How far apart two colours look, given in CIELAB (CIE 1976).
#[must_use]
pub fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// sRGB (IEC 61966-2-1) to CIELAB under D65.
#[must_use]
pub fn lab(colour: Rgb) -> [f64; 3] {
    let [red, green, blue] = colour.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    });
    let x = 0.412_456 * red + 0.357_576 * green + 0.180_438 * blue;
    let y = 0.212_673 * red + 0.715_152 * green + 0.072_175 * blue;
    let z = 0.019_334 * red + 0.119_192 * green + 0.950_304 * blue;
    let [x, y, z] = [x / 0.950_47, y, z / 1.088_83].map(|value| {
        if value > 0.008_856 {
            value.cbrt()
        } else {
            7.787 * value + 16.0 / 116.0
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lab_is_that_of_the_standard() {
        // White, and the primary red of sRGB under D65 (Lindbloom's calculator).
        for (colour, expected) in [
            ([255; 3], [100.0, 0.0, 0.0]),
            ([255, 0, 0], [53.24, 80.09, 67.20]),
            ([0; 3], [0.0; 3]),
        ] {
            for (value, expected) in lab(colour).into_iter().zip(expected) {
                assert!(
                    (value - expected).abs() < 0.05,
                    "{colour:?}: {value} for {expected}"
                );
            }
        }
    }
}
