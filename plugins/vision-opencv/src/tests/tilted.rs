//! Boards that are tilted a little, as in a photograph of a screen: read exactly or refused, never wrong.

use std::f64::consts::PI;

use flowpipe_game::render::{Layout, Painter, Style, Theme};
use flowpipe_plugin::puzzle::message::Reading;
use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

use super::game::{Game, fresh, same, solved};
use super::truth::see;
use flowpipe_testing::note;

/// How a picture is tilted: degrees, and how much nearer its right and its lower edge are.
type Tilted = (f64, f64, f64);

/// From a pixel of a tilted picture to one of the picture.
fn back(size: (u32, u32), (degrees, right, low): Tilted, x: f64, y: f64) -> [f64; 2] {
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    let (x, y) = (x - width / 2.0, y - height / 2.0);
    let depth = 1.0 + right * x / width + low * y / height;
    let (sin, cos) = (degrees * PI / 180.0).sin_cos();
    [
        (x * cos + y * sin) / depth + width / 2.0,
        (y * cos - x * sin) / depth + height / 2.0,
    ]
}

/// Mixed from the four pixels around each place.
fn tilt(picture: &RgbImage, tilted: Tilted) -> RgbImage {
    let size = picture.dimensions();
    RgbImage::from_fn(size.0, size.1, |x, y| {
        let [x, y] = back(size, tilted, f64::from(x) + 0.5, f64::from(y) + 0.5);
        let (left, top) = ((x - 0.5).floor(), (y - 0.5).floor());
        let (right, lower) = (x - 0.5 - left, y - 0.5 - top);
        let mut sum = [0.0; 3];
        for (dx, dy, weight) in [
            (0.0, 0.0, (1.0 - right) * (1.0 - lower)),
            (1.0, 0.0, right * (1.0 - lower)),
            (0.0, 1.0, (1.0 - right) * lower),
            (1.0, 1.0, right * lower),
        ] {
            let at = |at: f64, length: u32| at.clamp(0.0, f64::from(length - 1)) as u32;
            let pixel = picture.get_pixel(at(left + dx, size.0), at(top + dy, size.1));
            for (sum, value) in sum.iter_mut().zip(pixel.0) {
                *sum += weight * f64::from(value);
            }
        }
        Rgb(sum.map(|value| value.round() as u8))
    })
}

/// Degrees, and how much nearer the right and the lower edge are.
const TILTS: [Tilted; 8] = [
    (0.5, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (-2.0, 0.0, 0.0),
    (4.0, 0.0, 0.0),
    (0.0, 0.06, 0.05),
    (1.0, 0.04, 0.0),
    (-2.0, 0.03, 0.06),
    (2.5, -0.06, 0.04),
];
/// The least number of them that must be read.
const READ: u32 = 48;
/// The greatest error of a corner, in cells.
const OFF: f64 = 0.1;

#[test]
fn tilted_boards_are_read_exactly_or_not_at_all() {
    let (mut read, mut refused) = (0, Vec::new());
    for (theme, window) in [(Theme::Dark, (960, 640)), (Theme::Light, (700, 700))] {
        for (size, face) in [
            ((5, 5), solved((5, 5), 4)),
            ((9, 9), fresh((9, 9), 3)),
            ((10, 8), solved((10, 8), 2)),
        ] {
            let mut game = Game {
                painter: Painter::new(7).with_theme(theme),
                size: window,
            };
            let pixels = game.paint(&face, None);
            let picture = RgbaImage::from_raw(pixels.width, pixels.height, pixels.rgba);
            let picture = DynamicImage::from(picture.unwrap()).into_rgb8();
            let layout = Layout::new(Style::Window, face.puzzle.board(), window.0, window.1);
            for tilted in TILTS {
                let name = format!("{theme}, {window:?}, {size:?}, {tilted:?}");
                let board = match see(&tilt(&picture, tilted)) {
                    Reading::Board(board) => board,
                    Reading::Refused { step, reason, .. } => {
                        refused.push(format!("{name}: {step}: {reason}"));
                        continue;
                    }
                };
                read += 1;
                assert!(same(&board, &face), "{name}");
                let corners = board.geometry.corners.into_iter();
                for ([x, y], real) in corners.zip(layout.geometry.corners) {
                    let seen = back(window, tilted, x, y);
                    let off = (seen[0] - real[0]).hypot(seen[1] - real[1]) / layout.cell[0];
                    assert!(off <= OFF, "{name}: {off}");
                }
            }
        }
    }
    note!("tilted boards: {read} read, {} refused", refused.len());
    assert!(read >= READ, "{}", refused.join("\n"));
}
