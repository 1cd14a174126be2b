//! Colours: numbers in the model, letters, names and paints for people.

use std::sync::{Mutex, PoisonError};

/// A colour's number. Which number means which paint does not matter to any rule.
pub type Colour = u16;

/// What a colour looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Paint {
    /// Its English name.
    pub name: &'static str,
    /// Red, green, blue.
    pub rgb: [u8; 3],
}

/// The paints of Flow Free's classic theme, as they look on screens.
pub const FLOW_FREE: [Paint; 16] = [
    paint("red", [0xff, 0x00, 0x00]),
    paint("green", [0x00, 0x8d, 0x00]),
    paint("blue", [0x0c, 0x29, 0xfe]),
    paint("yellow", [0xea, 0xe0, 0x00]),
    paint("orange", [0xfb, 0x89, 0x00]),
    paint("cyan", [0x00, 0xff, 0xff]),
    paint("magenta", [0xff, 0x0a, 0xca]),
    paint("maroon", [0xa5, 0x2a, 0x2a]),
    paint("purple", [0x80, 0x00, 0x80]),
    paint("white", [0xff, 0xff, 0xff]),
    paint("grey", [0x9f, 0x9f, 0xbd]),
    paint("lime", [0x00, 0xff, 0x00]),
    paint("tan", [0xbd, 0xb7, 0x6b]),
    paint("dark blue", [0x00, 0x00, 0x8b]),
    paint("teal", [0x00, 0x81, 0x80]),
    paint("pink", [0xff, 0x14, 0x93]),
];

const fn paint(name: &'static str, rgb: [u8; 3]) -> Paint {
    Paint { name, rgb }
}

/// The letter or, past 26, letters of a colour: A, B, … Z, AA, AB, …
#[must_use]
pub fn name(colour: Colour) -> String {
    let letter = char::from(b'A' + (colour % 26) as u8);
    let mut name = match colour / 26 {
        0 => String::new(),
        more => self::name(more - 1),
    };
    name.push(letter);
    name
}

/// The name of the paint of [`FLOW_FREE`] that looks most like a colour seen.
#[must_use]
pub fn nearest_name(rgb: [u8; 3]) -> &'static str {
    let seen = oklab(rgb);
    let difference = |paint: &&Paint| distance(seen, oklab(paint.rgb));
    let nearest = FLOW_FREE
        .iter()
        .min_by(|a, b| difference(a).total_cmp(&difference(b)));
    nearest.map_or("", |paint| paint.name)
}

/// The paints of the first `count` colours, by number: Flow Free's sixteen, then others, each chosen
/// as far as can be from all before it and from a black background. The same for every call; a
/// shorter palette is the beginning of a longer one. Past 3,984 colours they repeat.
#[must_use]
pub fn palette(count: usize) -> Vec<[u8; 3]> {
    // What was chosen before: thousands of puzzles are read in a row.
    static CHOSEN: Mutex<Vec<[u8; 3]>> = Mutex::new(Vec::new());
    if count <= FLOW_FREE.len() {
        return FLOW_FREE[..count].iter().map(|it| it.rgb).collect();
    }
    // A panic leaves the beginning of the palette, or nothing.
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if chosen.len() < count {
        let mut longer: Vec<_> = FLOW_FREE.iter().map(|paint| paint.rgb).collect();
        extend(&mut longer, count.next_power_of_two());
        *chosen = longer;
    }
    chosen[..count].to_vec()
}

/// Farthest-point choice among 16 steps of red, green and blue.
fn extend(palette: &mut Vec<[u8; 3]>, count: usize) {
    let black = oklab([0, 0, 0]);
    let steps = || (0..=255_u8).step_by(17);
    let candidates: Vec<([u8; 3], [f64; 3])> = steps()
        .flat_map(|red| steps().flat_map(move |green| steps().map(move |blue| [red, green, blue])))
        .map(|rgb| (rgb, oklab(rgb)))
        // Too dark to differ from the background.
        .filter(|(_, seen)| seen[0] >= 0.3)
        .collect();
    let mut nearest: Vec<f64> = candidates
        .iter()
        .map(|&(_, seen)| {
            let known = palette.iter().map(|&rgb| distance(seen, oklab(rgb)));
            known.fold(distance(seen, black), f64::min)
        })
        .collect();
    let unused = palette.len();
    while palette.len() < count {
        let farthest = nearest.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((chosen, _)) = farthest.filter(|(_, away)| **away > 0.0) else {
            // Every candidate is in use: begin again.
            let again: Vec<_> = palette[unused..].to_vec();
            palette.extend(again.iter().cycle().take(count - palette.len()));
            return;
        };
        let (rgb, seen) = candidates[chosen];
        palette.push(rgb);
        for (away, &(_, other)) in nearest.iter_mut().zip(&candidates) {
            *away = away.min(distance(seen, other));
        }
    }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

/// sRGB to Oklab, in which equal distances look about equally different (Ottosson, "A perceptual
/// color space for image processing", 2020).
fn oklab(rgb: [u8; 3]) -> [f64; 3] {
    let [red, green, blue] = rgb.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    });
    let long = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
    let medium = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
    let short = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
    [
        0.210_454_255_3 * long + 0.793_617_785_0 * medium - 0.004_072_046_8 * short,
        1.977_998_495_1 * long - 2.428_592_205_0 * medium + 0.450_593_709_9 * short,
        0.025_904_037_1 * long + 0.782_771_766_2 * medium - 0.808_675_766_0 * short,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_on_past_z() {
        let names: Vec<String> = [0, 25, 26, 51, 52, 701, 702, Colour::MAX].map(name).into();
        assert_eq!(names, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA", "CRXP"]);
    }

    #[test]
    fn every_paint_has_its_own_name_and_darker_or_washed_ones_too() {
        for paint in FLOW_FREE {
            assert_eq!(nearest_name(paint.rgb), paint.name);
        }
        for (rgb, name) in [
            ([240, 30, 25], "red"),
            ([20, 120, 15], "green"),
            ([250, 250, 240], "white"),
            ([240, 230, 40], "yellow"),
            ([30, 50, 230], "blue"),
        ] {
            assert_eq!(nearest_name(rgb), name, "{rgb:?}");
        }
    }

    #[test]
    fn generated_paints_lie_apart_and_off_black() {
        let palette = palette(64);
        for (index, &a) in palette.iter().enumerate().skip(FLOW_FREE.len()) {
            assert!(
                distance(oklab(a), oklab([0, 0, 0])) > 0.1,
                "{a:?} is too dark"
            );
            for &b in &palette[..index] {
                assert!(
                    distance(oklab(a), oklab(b)) > 0.06,
                    "{a:?} and {b:?} look alike"
                );
            }
        }
    }

    #[test]
    fn a_palette_of_any_length_begins_the_longer_ones() {
        let long = palette(5000);
        assert_eq!(long.len(), 5000);
        let distinct: std::collections::HashSet<_> = long[..3984].iter().collect();
        assert_eq!(distinct.len(), 3984);
        for count in [0, 1, 16, 17, 100] {
            assert_eq!(palette(count), long[..count]);
        }
    }
}
