//! What a terminal looks like.

use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Cell, Colour, Point, colour};

use super::canvas::{Canvas, Ink};
use super::{Layout, Scene, Theme, board, font, lines};

/// Radius of a disc, in cells, as measured on screenshots of the real game.
const RADIUS: f64 = 0.35;
/// Half of a block's side and the radius of its corners, in cells.
const BLOCK: [f64; 2] = [0.35, 0.1];
/// Height of a letter on a disc, in cells.
const LETTER: f64 = 0.36;
/// Height of a number, in cells.
const NUMBER: f64 = 0.5;
/// The widest that a number or letters are, in cells.
const WIDEST: f64 = 0.7;
/// Radius and width of the ring on a tile, in cells, and how bright it is, as a share of the tile.
const RING: [f64; 2] = [0.24, 0.1];
const RING_BRIGHTNESS: f64 = 0.4;

/// Draws a terminal.
pub(super) fn draw(
    canvas: &mut Canvas,
    scene: &Scene,
    layout: &Layout,
    cell: Cell,
    number: Colour,
) {
    let size = layout.cell_size();
    let middle = layout.to_frame(centre(scene.puzzle.board(), cell));
    let paint = scene.theme.paint(scene.palette, number);
    match scene.theme {
        Theme::Dark | Theme::Light | Theme::Flat => {
            canvas.disc(middle, RADIUS * size, paint.into())
        }
        Theme::Blocks => {
            let [half, corner] = BLOCK.map(|length| length * size);
            canvas.block(middle, [half, half], corner, paint.into());
        }
        Theme::Letters => {
            canvas.disc(middle, RADIUS * size, paint.into());
            let ink = contrast(paint);
            write(canvas, &colour::name(number), middle, size, LETTER, ink);
        }
        Theme::Tiles => {
            // Between the thickest lines.
            let inner = 1.0 - lines::OUTLINE * lines::width(layout) / size;
            let tile = board::inside(scene.puzzle.board(), layout, cell, inner);
            // Edges on whole pixels look the same however often they are drawn.
            let tile = tile
                .into_iter()
                .map(|corner| corner.map(f64::round))
                .collect();
            canvas.areas([tile], paint.into());
            let [radius, width] = RING.map(|length| length * size);
            let ring = paint.map(|value| (f64::from(value) * RING_BRIGHTNESS) as u8);
            canvas.ring(middle, radius, width, ring.into());
        }
        Theme::Numbers | Theme::Digits => {
            let number = (u32::from(number) + 1).to_string();
            let ink = scene.theme.ink().into();
            write(canvas, &number, middle, size, NUMBER, ink);
        }
    }
}

/// Writes about a middle, `share` of a cell high unless that is too wide.
fn write(canvas: &mut Canvas, text: &str, middle: Point, cell: f64, share: f64, ink: Ink) {
    let height = font::fitting(text, share * cell, WIDEST * cell);
    let feet = [
        middle[0] - font::width(text, height) / 2.0,
        middle[1] + height / 2.0,
    ];
    // Bolder than the header's.
    let weight = (height * font::WEIGHT * 1.4).max(1.2);
    canvas.stroke(font::path(text, feet, height), weight, ink);
}

/// Black or white, whichever is seen on a paint.
fn contrast([red, green, blue]: [u8; 3]) -> Ink {
    let luma = 0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue);
    if luma > 110.0 {
        [0, 0, 0].into()
    } else {
        [255, 255, 255].into()
    }
}
