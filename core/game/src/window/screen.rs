//! The pixels of a window.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::sync::Arc;

use softbuffer::{Context, Rect, Surface};
use winit::window::Window;

use super::WindowError;
use super::changes::Changes;
use super::connection::Connection;
use crate::render::Picture;

/// A window and what is written into it.
pub(super) struct WindowScreen {
    window: Arc<Window>,
    // Dropped before the connection that it works with.
    surface: Surface<Arc<Connection>, Arc<Window>>,
    connection: Arc<Connection>,
    changes: Changes,
}

impl WindowScreen {
    pub(super) fn new(window: Arc<Window>) -> Result<Self, WindowError> {
        let connection = Arc::new(Connection::open(Arc::clone(&window)).map_err(draw_error)?);
        let context = Context::new(Arc::clone(&connection)).map_err(draw_error)?;
        let surface = Surface::new(&context, Arc::clone(&window)).map_err(draw_error)?;
        Ok(Self {
            window,
            surface,
            connection,
            changes: Changes::default(),
        })
    }

    /// Shows a picture, and returns when the screen has it, as far as the system reports that. Unless it is
    /// to be shown `whole`, the screen still has the one before.
    pub(super) fn show(&mut self, picture: &Picture, whole: bool) -> Result<(), WindowError> {
        let side = |length: u32| NonZeroU32::new(length).unwrap_or(NonZeroU32::MIN);
        let (width, height) = (picture.width, picture.height);
        self.surface
            .resize(side(width), side(height))
            .map_err(draw_error)?;
        let mut buffer = self.surface.buffer_mut().map_err(draw_error)?;
        let changed = (!whole).then_some(&*picture.changed);
        let changed = self.changes.note((width, height), changed);
        let stale = self.changes.since(usize::from(buffer.age()));
        let row = width as usize;
        for area in stale {
            for y in area.top as usize..area.bottom() as usize {
                let pixels = y * row + area.left as usize..y * row + area.right() as usize;
                let rgba = &picture.rgba[pixels.start * 4..pixels.end * 4];
                for (shown, rgba) in buffer[pixels].iter_mut().zip(rgba.chunks_exact(4)) {
                    *shown = u32::from_be_bytes([0, rgba[0], rgba[1], rgba[2]]);
                }
            }
        }
        let damage: Vec<Rect> = changed
            .iter()
            .map(|area| Rect {
                x: area.left,
                y: area.top,
                width: side(area.width),
                height: side(area.height),
            })
            .collect();
        self.window.pre_present_notify();
        buffer.present_with_damage(&damage).map_err(draw_error)?;
        self.connection.finish().map_err(draw_error)
    }
}

fn draw_error(error: impl Display) -> WindowError {
    WindowError::Draw(error.to_string())
}
