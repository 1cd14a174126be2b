//! What colours look like.

use flowpipe_puzzle::Colour;

/// The real game's sixteen, in the order in which its levels use them, as measured on screenshots
/// without compression.
pub const CLASSIC: [[u8; 3]; 16] = [
    [255, 0, 0],
    [0, 128, 0],
    [0, 0, 255],
    [238, 238, 0],
    [255, 127, 0],
    [0, 255, 255],
    [255, 0, 255],
    [165, 42, 42],
    [128, 0, 128],
    [255, 255, 255],
    [166, 166, 166],
    [0, 255, 0],
    [189, 183, 107],
    [0, 0, 139],
    [0, 128, 128],
    [255, 20, 147],
];

/// The paint of a colour unless a palette sets it: the classic sixteen, then hues in
/// steps of the golden angle, so that neighbours differ.
#[must_use]
pub fn colour(colour: Colour) -> [u8; 3] {
    let index = usize::from(colour);
    match CLASSIC.get(index) {
        Some(&paint) => paint,
        None => {
            let rest = index - CLASSIC.len();
            let brightness = [1.0, 0.7, 0.5][rest / 12 % 3];
            hue(((rest + 1) as f64 * 0.618_033_988_75).fract())
                .map(|value| (value * brightness) as u8)
        }
    }
}

/// A paint of the palette, or else [`colour`]'s.
#[must_use]
pub fn of(palette: &[[u8; 3]], number: Colour) -> [u8; 3] {
    palette
        .get(usize::from(number))
        .copied()
        .unwrap_or_else(|| colour(number))
}

/// A brighter and purer paint of the same hue; black stays black.
#[must_use]
pub(crate) fn brightest(paint: [u8; 3]) -> [u8; 3] {
    let [least, most] = [paint.into_iter().min(), paint.into_iter().max()]
        .map(|value| f64::from(value.unwrap_or(0)));
    let grey = least * 0.6;
    paint.map(|value| (255.0 * (f64::from(value) - grey) / (most - grey).max(1.0)).round() as u8)
}

/// The greatest of a paint's values.
pub(crate) fn brightness([red, green, blue]: [u8; 3]) -> u8 {
    red.max(green).max(blue)
}

/// A paint of the same hue and a given [`brightness`]; black becomes grey.
pub(crate) fn scaled(paint: [u8; 3], to: u8) -> [u8; 3] {
    match brightness(paint) {
        0 => [to; 3],
        most => paint.map(|value| (u32::from(value) * u32::from(to) / u32::from(most)) as u8),
    }
}

/// A pure hue, from 0 to 1 around the circle, each value from 0 to 255.
fn hue(turn: f64) -> [f64; 3] {
    [0.0, 2.0, 4.0].map(|third| {
        let distance = (turn * 6.0 - third + 3.0).rem_euclid(6.0) - 3.0;
        (2.0 - distance.abs()).clamp(0.0, 1.0) * 255.0
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn many_colours_look_different() {
        let paints: HashSet<_> = (0..52).map(colour).collect();
        assert_eq!(paints.len(), 52);
    }

    #[test]
    fn a_palette_goes_first() {
        assert_eq!(of(&[[1, 2, 3]], 0), [1, 2, 3]);
        assert_eq!(of(&[[1, 2, 3]], 1), CLASSIC[1]);
        assert_eq!(brightest([51, 102, 0]), [128, 255, 0]);
        assert_eq!(brightest([0, 0, 0]), [0, 0, 0]);
        assert_eq!(scaled([51, 102, 0], 204), [102, 204, 0]);
        assert_eq!(scaled([0, 0, 0], 70), [70, 70, 70]);
    }
}
