//! Boards that reach up to the picture's edge, and pictures that end at a line inside of a board.

use fastrand::Rng;
use flowpipe_plugin::puzzle::message::Reading;
use image::RgbImage;

use super::canvas::{Canvas, LINE, Place, Rgb, SIX};
use super::read;
use super::robust::pixels::noise;
use super::summary::{canonical, grid};

/// Pixels from the outer edge of a border line to that of the picture.
const ENDS: std::ops::RangeInclusive<i64> = -3..=3;
/// Pixels between the board and the edges of the whole picture.
const ROOM: i64 = 200;
const CELL: i64 = 80;
/// Half of what lines are wide, in pixels.
const HALF: i64 = 1;
/// Its last row is a flow of its own: what is left without it has a solution.
const LAST_ROW: [&str; 5] = ["RGBYO", ".....", ".....", "RGBYO", "C...C"];

/// A square board remains without its last row, which is a flow of its own too.
const OBLONG: [&str; 5] = ["RGBY", "....", "....", "RGBY", "C..C"];
/// The noise of screenshots that were packed or scaled, in levels.
const NOISE: [f64; 3] = [3.0, 6.0, 10.0];

/// Background and lines.
const LOOKS: [(Rgb, Rgb); 2] = [([0; 3], LINE), ([245; 3], [120, 124, 110])];

/// A picture of a board.
fn picture(lines: &[&str], (background, line): (Rgb, Rgb)) -> Canvas {
    let side = |cells: usize| 2 * ROOM as usize + cells * CELL as usize;
    let (rows, cols) = (lines.len(), lines[0].len());
    let mut canvas = Canvas::new(side(cols), side(rows), background);
    let place = Place {
        x: ROOM as f64,
        y: ROOM as f64,
        cell: CELL as f64,
    };
    canvas.grid(place, rows, cols, line);
    canvas.terminals(place, lines);
    canvas
}

/// A part of it. `ends`: left, right, top and bottom edge as pixels beyond the outer edge of a border line, `None`:
/// there it stays as it is.
fn part(canvas: &Canvas, ends: [Option<i64>; 4]) -> Canvas {
    let size = [canvas.width, canvas.height];
    let first = |end: Option<i64>| end.map_or(0, |end| (ROOM - HALF - end) as usize);
    let last =
        |end: Option<i64>, size: usize| size - end.map_or(0, |end| (ROOM - HALF - end) as usize);
    let (left, right) = (first(ends[0]), last(ends[1], size[0]));
    let (top, bottom) = (first(ends[2]), last(ends[3], size[1]));
    let rows = (top..bottom).map(|y| {
        let start = 3 * (y * canvas.width + left);
        &canvas.rgb[start..start + 3 * (right - left)]
    });
    Canvas {
        width: right - left,
        height: bottom - top,
        rgb: rows.flatten().copied().collect(),
    }
}

/// The same with noise.
fn noisy(canvas: Canvas, deviation: f64) -> Canvas {
    let (width, height) = (canvas.width as u32, canvas.height as u32);
    let mut picture = RgbImage::from_raw(width, height, canvas.rgb).unwrap();
    noise(&mut picture, deviation, &mut Rng::with_seed(7));
    Canvas {
        rgb: picture.into_raw(),
        ..canvas
    }
}

/// The grid that is read, or the reason why none is.
fn seen(canvas: &Canvas) -> Result<Vec<String>, String> {
    match read(canvas) {
        Reading::Board(board) => Ok(grid(&board)),
        Reading::Refused { reason, .. } => Err(reason),
    }
}

fn expected(lines: &[&str]) -> Vec<String> {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    canonical(&lines)
}

#[test]
fn square_boards_are_read_up_to_each_edge() {
    for look in LOOKS {
        let whole = picture(&SIX, look);
        for end in ENDS {
            let all = [[Some(end); 4]].into_iter();
            let one = (0..4).map(|edge| {
                let mut ends = [None; 4];
                ends[edge] = Some(end);
                ends
            });
            for ends in all.chain(one) {
                assert_eq!(
                    seen(&part(&whole, ends)),
                    Ok(expected(&SIX)),
                    "{look:?} {ends:?}"
                );
            }
        }
    }
}

#[test]
fn a_row_that_is_cut_off_is_missed() {
    for look in LOOKS {
        let whole = picture(&LAST_ROW, look);
        assert_eq!(seen(&whole), Ok(expected(&LAST_ROW)));
        for end in ENDS {
            let end = Some(end - CELL);
            for ends in [
                [None, None, None, end],
                [Some(0), Some(0), Some(0), end],
                [Some(2), Some(2), None, end],
            ] {
                let found = seen(&part(&whole, ends));
                assert!(found.is_err(), "{look:?} {ends:?}: {found:?}");
            }
        }
    }
}

/// One pixel of what goes on beyond a border is enough to see that it does, though a square is left.
#[test]
fn squares_whose_lines_go_on_are_cut_off() {
    for look in LOOKS {
        let whole = picture(&OBLONG, look);
        assert_eq!(seen(&whole), Ok(expected(&OBLONG)));
        for pixels in [1, 2, 3, 5, 8, 12] {
            let end = Some(pixels - CELL);
            for ends in [
                [None, None, None, end],
                [Some(0), Some(0), Some(0), end],
                [Some(2), Some(2), None, end],
            ] {
                let cut = part(&whole, ends);
                let found = seen(&cut);
                assert!(found.is_err(), "{look:?} {ends:?}: {found:?}");
                for deviation in NOISE {
                    let found = seen(&noisy(part(&whole, ends), deviation));
                    assert!(found.is_err(), "{look:?} {ends:?} {deviation}: {found:?}");
                }
            }
        }
    }
}

/// Noise does not look as if lines went on.
#[test]
fn square_boards_under_noise_are_read_up_to_each_edge() {
    for look in LOOKS {
        let whole = picture(&SIX, look);
        for end in ENDS {
            for deviation in NOISE {
                let found = seen(&noisy(part(&whole, [Some(end); 4]), deviation));
                assert_eq!(found, Ok(expected(&SIX)), "{look:?} {end} {deviation}");
            }
        }
    }
}

/// Two pixels beyond its border are enough to see that its lines end.
#[test]
fn boards_that_are_no_squares_need_room() {
    let whole = picture(&LAST_ROW[..4], LOOKS[0]);
    for edge in 0..4 {
        let ends = |end: i64| {
            let mut ends = [None; 4];
            ends[edge] = Some(end);
            ends
        };
        assert_eq!(
            seen(&part(&whole, ends(2))),
            Ok(expected(&LAST_ROW[..4])),
            "{edge}"
        );
        let reason = seen(&part(&whole, ends(0))).unwrap_err();
        assert!(
            reason.contains("where it may go on: show a little"),
            "{edge}: {reason}"
        );
    }
    assert_eq!(
        seen(&part(&whole, [Some(2); 4])),
        Ok(expected(&LAST_ROW[..4]))
    );
}
