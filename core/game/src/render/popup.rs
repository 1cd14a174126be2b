//! A window of another kind over the middle of a picture, as games put them up: for tests of what reads
//! pictures.

use flowpipe_puzzle::Point;

use super::canvas::Canvas;
use super::{Pixels, SizeError, font};

/// Red, green, blue of the panel, of its buttons and of its text.
const PANEL: [u8; 3] = [52, 54, 60];
const BUTTON: [u8; 3] = [88, 92, 104];
const TEXT: [u8; 3] = [235, 235, 235];

/// What is written, each with the middle of its letters and their height, in shares of the panel's half
/// width and half height from its middle, and of its shorter side.
const WRITING: [(&str, Point, f64); 5] = [
    ("level complete!", [0.0, -0.7], 0.09),
    ("You drew all flows", [0.0, -0.35], 0.055),
    ("and covered the board.", [0.0, -0.15], 0.055),
    ("menu", [-0.42, 0.6], 0.06),
    ("next", [0.42, 0.6], 0.06),
];
/// Middle and half of the sides of the buttons, in the same shares.
const BUTTONS: [(Point, Point); 2] = [([-0.42, 0.6], [0.34, 0.17]), ([0.42, 0.6], [0.34, 0.17])];

/// Paints a popup with a title, some text and two buttons over the middle of a picture: a panel with
/// round corners, `share` of the picture's width and of its height, from 0 to 1.
///
/// # Errors
/// [`SizeError`] for a picture that could not have been drawn.
pub fn cover(pixels: &Pixels, share: f64) -> Result<Pixels, SizeError> {
    let mut canvas = Canvas::new(pixels.width, pixels.height, [0; 3])?;
    for (to, from) in canvas.rgba_mut().iter_mut().zip(&pixels.rgba) {
        *to = *from;
    }
    let middle = [pixels.width, pixels.height].map(|side| f64::from(side) / 2.0);
    let half = middle.map(|side| side * share.clamp(0.0, 1.0));
    // No panel is thinner than a pixel, nor as wide as no number.
    if half.iter().all(|&half| half >= 0.5) {
        draw(&mut canvas, middle, half);
    }
    Ok(canvas.into_pixels())
}

/// Draws the panel about a middle, by half of its width and height.
fn draw(canvas: &mut Canvas, middle: Point, half: Point) {
    draw_panel(canvas, [middle, half], &BUTTONS, &WRITING);
}

/// A text, the middle of its letters and their height, as in [`WRITING`].
pub(super) type Written<'a> = (&'a str, Point, f64);

/// Draws a panel, given by its middle and half of its sides, with its buttons, given as in [`BUTTONS`], and
/// what is written on them and on the rest of it: a text with the middle of a button stays within that.
pub(super) fn draw_panel(
    canvas: &mut Canvas,
    [middle, half]: [Point; 2],
    buttons: &[(Point, Point)],
    writing: &[Written],
) {
    let shorter = 2.0 * half[0].min(half[1]);
    let place = |[x, y]: Point| [middle[0] + x * half[0], middle[1] + y * half[1]];
    canvas.block(middle, half, shorter * 0.06, PANEL.into());
    for &(at, [across, down]) in buttons {
        let half = [across * half[0], down * half[1]];
        let radius = half[0].min(half[1]) * 0.5;
        canvas.block(place(at), half, radius, BUTTON.into());
    }
    for &(text, at, share) in writing {
        // Long lines stay within the panel.
        let height = share * shorter;
        let button = buttons.iter().find(|(middle, _)| *middle == at);
        let room = button.map_or(1.8, |(_, [across, _])| 1.76 * across) * half[0];
        let height = font::fitting(text, height, room);
        let [x, y] = place(at);
        let feet = [x - font::width(text, height) / 2.0, y + height / 2.0];
        let weight = (height * font::WEIGHT).max(1.0);
        canvas.stroke(font::path(text, feet, height), weight, TEXT.into());
    }
}
