//! A small alphabet made of strokes, so that no font file is needed.
//!
//! A letter is a list of strokes split by `|`, a stroke a list of points, a point two hexadecimal
//! digits: x to the right from 0, y down from 0 (the head of tall letters) by 3 (the head of small
//! ones) and 9 (their feet) to C (the end of tails). A stroke that begins with `~` is a curve pulled
//! by its inner points, one that begins with `@` a closed curve pulled by all of them.

use flowpipe_puzzle::Point;
use tiny_skia::PathBuilder;

/// From the head of tall letters to their feet, in the grid of the letters.
const HEIGHT: f64 = 9.0;
/// Between two letters, and the width of a space.
const GAP: f64 = 2.2;
const SPACE: f64 = 2.4;
/// Thickness of the strokes.
pub(super) const WEIGHT: f64 = 0.95 / HEIGHT;

/// How wide a line of text is at a height of its tall letters.
pub(super) fn width(text: &str, height: f64) -> f64 {
    let letters: f64 = text.chars().map(|letter| advance(letter) + GAP).sum();
    (letters - GAP).max(0.0) * height / HEIGHT
}

/// A height, or as much of it as leaves a line of text no wider than there is room.
pub(super) fn fitting(text: &str, height: f64, room: f64) -> f64 {
    let wide = width(text, height);
    if wide > room {
        height * room / wide
    } else {
        height
    }
}

/// The strokes of a line of text whose feet begin at a point.
pub(super) fn path(text: &str, [x, y]: Point, height: f64) -> PathBuilder {
    let scale = height / HEIGHT;
    let mut path = PathBuilder::new();
    let mut left = 0.0;
    for letter in text.chars() {
        let place = |[px, py]: Point| {
            (
                (x + (left + px) * scale) as f32,
                (y + (py - HEIGHT) * scale) as f32,
            )
        };
        for stroke in strokes(letter).split('|') {
            add(&mut path, stroke, place);
        }
        left += advance(letter) + GAP;
    }
    path
}

fn advance(letter: char) -> f64 {
    let points = strokes(letter).split('|').flat_map(points);
    points
        .map(|[x, _]| x)
        .fold(if letter == ' ' { SPACE } else { 0.0 }, f64::max)
}

fn points(stroke: &str) -> Vec<Point> {
    let digits: Vec<_> = stroke
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| [f64::from(pair[0]), f64::from(pair[1])])
        .collect()
}

fn add(path: &mut PathBuilder, stroke: &str, place: impl Fn(Point) -> (f32, f32)) {
    let points = points(stroke);
    let half = |a: Point, b: Point| [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0];
    let [first, .., last] = points[..] else {
        return;
    };
    let move_to = |path: &mut PathBuilder, (x, y)| path.move_to(x, y);
    let curve_to = |path: &mut PathBuilder, (cx, cy), (x, y)| path.quad_to(cx, cy, x, y);
    if stroke.starts_with('@') {
        move_to(path, place(half(last, first)));
        for (index, &pull) in points.iter().enumerate() {
            let next = points[(index + 1) % points.len()];
            curve_to(path, place(pull), place(half(pull, next)));
        }
        path.close();
    } else if stroke.starts_with('~') {
        move_to(path, place(first));
        for index in 1..points.len() - 1 {
            let is_last = index + 2 == points.len();
            let end = if is_last {
                last
            } else {
                half(points[index], points[index + 1])
            };
            curve_to(path, place(points[index]), place(end));
        }
    } else {
        move_to(path, place(first));
        for &point in &points[1..] {
            let (x, y) = place(point);
            path.line_to(x, y);
        }
    }
}

#[rustfmt::skip]
fn strokes(letter: char) -> &'static str {
    match letter {
        ' ' => "",
        'a' => "@03 53 59 09|53 59",
        'b' => "00 09|@03 53 59 09",
        'c' => "~54 43 03 09 49 58",
        'd' => "50 59|@03 53 59 09",
        'e' => "06 56|~56 53 03 09 49 58",
        'f' => "~40 10 14|13 19|03 33",
        'g' => "@03 53 59 09|53 5a|~5a 5c 0c 0b",
        'h' => "00 09|~06 03 53 56|56 59",
        'i' => "03 09|00 01",
        'j' => "23 2a|~2a 2c 0c|20 21",
        'k' => "00 09|53 06|26 59",
        'l' => "00 09",
        'm' => "03 09|~05 03 43 45|45 49|~45 43 83 85|85 89",
        'n' => "03 09|~06 03 53 56|56 59",
        'o' => "@03 53 59 09",
        'p' => "03 0c|@03 53 59 09",
        'q' => "53 5c|@03 53 59 09",
        'r' => "03 09|~06 03 33",
        's' => "~44 43 03 06 56 59 09 08",
        't' => "10 17|~17 19 39|03 33",
        'u' => "03 06|~06 09 59 56|53 59",
        'v' => "03 39 63",
        'w' => "03 29 43 69 83",
        'x' => "03 59|53 09",
        'y' => "03 39|63 2c 0c",
        'z' => "03 53 09 59",
        'A' => "09 40 89|26 66",
        'B' => "00 09|00 20|~20 50 54 24|04 24|~24 64 69 29|29 09",
        'C' => "~62 60 00 09 69 67",
        'D' => "00 09|00 20|~20 60 69 29|29 09",
        'E' => "50 00 09 59|04 44",
        'F' => "50 00 09|04 44",
        'G' => "~62 60 00 09 69 65|65 45",
        'H' => "00 09|60 69|04 64",
        'I' => "00 09",
        'J' => "40 46|~46 49 09 07",
        'K' => "00 09|60 05|24 69",
        'L' => "00 09 59",
        'M' => "09 00 46 80 89",
        'N' => "09 00 69 60",
        'O' => "@00 70 79 09",
        'P' => "00 09|00 30|~30 60 65 35|35 05",
        'Q' => "@00 70 79 09|47 79",
        'R' => "00 09|00 30|~30 60 65 35|35 05|35 69",
        'S' => "~51 50 00 04 65 69 09 08",
        'T' => "00 60|30 39",
        'U' => "00 05|~05 09 69 65|65 60",
        'V' => "00 39 60",
        'W' => "00 29 41 69 80",
        'X' => "00 69|60 09",
        'Y' => "00 34 60|34 39",
        'Z' => "00 60 09 69",
        '0' => "@00 50 59 09",
        '1' => "02 20 29",
        '2' => "~02 00 50 54 09|09 59",
        '3' => "~01 00 50 54 24|~24 54 59 09 08",
        '4' => "49 40 06 66",
        '5' => "50 10 04|~04 53 59 09 08",
        '6' => "~40 01 07|@04 54 59 09",
        '7' => "00 50 19",
        '8' => "@00 50 54 04|@04 54 59 09",
        '9' => "@00 50 55 05|~52 58 19",
        ':' => "03 04|08 09",
        '.' => "08 09",
        ',' => "18 0b",
        '-' => "06 36",
        '+' => "36 39 33|06 66",
        '/' => "0a 50",
        '%' => "@00 30 34 04|@55 85 89 59|70 19",
        '?' => "~02 00 50 54 26|28 29",
        '!' => "00 06|08 09",
        '(' => "~20 05 2a",
        ')' => "~00 25 0a",
        _ => "00 50 59 09 00",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stroke_is_well_formed() {
        for letter in ' '..='~' {
            for stroke in strokes(letter)
                .split('|')
                .filter(|stroke| !stroke.is_empty())
            {
                let digits = stroke.trim_start_matches(['~', '@']).replace(' ', "");
                assert!(
                    digits.chars().all(|digit| digit.is_ascii_hexdigit()),
                    "{letter:?}"
                );
                assert!(digits.len() >= 4 && digits.len() % 2 == 0, "{letter:?}");
                assert!(!stroke.starts_with('~') || digits.len() >= 6, "{letter:?}");
            }
        }
    }

    #[test]
    fn longer_text_is_wider() {
        assert_eq!(width("", 9.0), 0.0);
        assert_eq!(width("l", 9.0), 0.0);
        assert_eq!(width("o", 18.0), 10.0);
        assert!(width("flows: 10/12", 9.0) > width("flows: 1/5", 9.0));
        assert_eq!(fitting("o", 18.0, 11.0), 18.0);
        assert_eq!(fitting("o", 18.0, 5.0), 9.0);
        assert!(path(" ", [0.0, 0.0], 9.0).finish().is_none());
    }
}
