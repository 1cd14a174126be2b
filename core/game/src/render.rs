//! The board as pixels, in the style of the real game: coloured lights behind a dark board, thin
//! lines, discs, round pipes over tinted cells, a header and buttons. A [`Theme`] changes how they look.
//!
//! The same scene at the same size always gives the same bytes on the same machine.

mod area;
mod backdrop;
mod board;
mod canvas;
mod cover;
mod flip;
mod font;
mod header;
pub mod layout;
mod lines;
mod mark;
pub mod overlay;
pub mod overlay_shapes;
pub mod paint;
mod painter;
pub mod popup;
pub mod shapes;
mod sheet;
#[cfg(test)]
mod tests;
mod theme;
mod writing;

use flowpipe_puzzle::{Flow, Puzzle};
use thiserror::Error;

pub use crate::header::Header;
pub use area::Area;
use canvas::Canvas;
pub use layout::{Button, Layout, Style};
use painter::Appearance;
pub use painter::{Painter, Picture};
pub use theme::{Theme, UnknownTheme};

/// All that is in a picture.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// The puzzle.
    pub puzzle: &'a Puzzle,
    /// The drawn pipes, each from one end to the other; they need not be complete.
    pub flows: &'a [Flow],
    /// Which device's look.
    pub style: Style,
    /// What the board is dressed in.
    pub theme: Theme,
    /// Red, green, blue by colour number; colours past its end get [`paint::colour`]'s.
    pub palette: &'a [[u8; 3]],
    /// Red, green, blue of the board's lines. Themes with a light ground make it darker.
    pub line: [u8; 3],
    /// Where the lights behind the board are: any number.
    pub lights: u64,
    /// What is written above the board.
    pub header: Header,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Red, green, blue and alpha (always 255) of each pixel, rows from the top, without padding.
    pub rgba: Vec<u8>,
}

impl Pixels {
    /// The same with blue first, as most screens have it.
    #[must_use]
    pub fn into_bgra(mut self) -> Vec<u8> {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel.swap(0, 2);
        }
        self.rgba
    }

    /// Red, green, blue of a pixel; `None` outside.
    #[must_use]
    pub fn at(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let index = (y as usize * self.width as usize + x as usize) * 4;
        Some([self.rgba[index], self.rgba[index + 1], self.rgba[index + 2]])
    }
}

/// Why a picture can't be drawn.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a picture of {width} by {height} pixels: each side must be from 1 to {MAX_SIDE}")]
pub struct SizeError {
    /// Asked for, in pixels.
    pub width: u32,
    /// Asked for, in pixels.
    pub height: u32,
}

/// The longest side of a picture, in pixels.
pub const MAX_SIDE: u32 = 8192;

/// Draws a scene. [`Layout::new`] gives the place of its board for the same style, board and size.
///
/// # Errors
/// [`SizeError`].
pub fn render(scene: &Scene, width: u32, height: u32) -> Result<Pixels, SizeError> {
    let layout = Layout::new(scene.style, scene.puzzle.board(), width, height);
    let mut canvas = Canvas::new(width, height, scene.theme.ground())?;
    backdrop::draw(&mut canvas, scene.style, scene.theme, scene.lights);
    board::draw(&mut canvas, scene, &layout);
    header::draw(&mut canvas, scene, &layout);
    Ok(canvas.into_pixels())
}
