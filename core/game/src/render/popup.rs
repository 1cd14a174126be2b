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
    let shorter = 2.0 * half[0].min(half[1]);
    let place = |[x, y]: Point| [middle[0] + x * half[0], middle[1] + y * half[1]];
    canvas.block(middle, half, shorter * 0.06, PANEL.into());
    for (at, [across, down]) in BUTTONS {
        let half = [across * half[0], down * half[1]];
        let radius = half[0].min(half[1]) * 0.5;
        canvas.block(place(at), half, radius, BUTTON.into());
    }
    for (text, at, share) in WRITING {
        // Long lines stay within the panel.
        let height = share * shorter;
        let is_on_button = at[0] != 0.0;
        let room = if is_on_button { 0.6 } else { 1.8 } * half[0];
        let height = font::fitting(text, height, room);
        let [x, y] = place(at);
        let feet = [x - font::width(text, height) / 2.0, y + height / 2.0];
        let weight = (height * font::WEIGHT).max(1.0);
        canvas.stroke(font::path(text, feet, height), weight, TEXT.into());
    }
}
