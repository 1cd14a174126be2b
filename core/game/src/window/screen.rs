//! The pixels of a window.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::rc::Rc;

use softbuffer::{Context, Surface};
use winit::window::Window;

use super::WindowError;
use crate::render::Pixels;

/// A window and what is written into it.
pub(super) struct Screen {
    window: Rc<Window>,
    surface: Surface<Rc<Window>, Rc<Window>>,
}

impl Screen {
    pub(super) fn new(window: Rc<Window>) -> Result<Self, WindowError> {
        let context = Context::new(Rc::clone(&window)).map_err(draw_error)?;
        let surface = Surface::new(&context, Rc::clone(&window)).map_err(draw_error)?;
        Ok(Self { window, surface })
    }

    /// Width and height in pixels, at least 1.
    pub(super) fn size(&self) -> (u32, u32) {
        let size = self.window.inner_size();
        (size.width.max(1), size.height.max(1))
    }

    pub(super) fn request_redraw(&self) {
        self.window.request_redraw();
    }

    /// Shows a picture as large as the window.
    pub(super) fn show(&mut self, pixels: &Pixels) -> Result<(), WindowError> {
        let side = |length: u32| NonZeroU32::new(length).unwrap_or(NonZeroU32::MIN);
        self.surface
            .resize(side(pixels.width), side(pixels.height))
            .map_err(draw_error)?;
        let mut buffer = self.surface.buffer_mut().map_err(draw_error)?;
        for (shown, pixel) in buffer.iter_mut().zip(pixels.rgba.chunks_exact(4)) {
            *shown = u32::from_be_bytes([0, pixel[0], pixel[1], pixel[2]]);
        }
        self.window.pre_present_notify();
        buffer.present().map_err(draw_error)
    }
}

fn draw_error(error: impl Display) -> WindowError {
    WindowError::Draw(error.to_string())
}
