//! The pixels of a window.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::sync::Arc;

use softbuffer::{Context, Rect, Surface};
use winit::window::Window;

use super::WindowError;
use super::connection::Connection;
use crate::render::{Area, Picture};

/// A window and what is written into it.
pub(super) struct WindowScreen {
    window: Arc<Window>,
    // Dropped before the connection that it works with.
    surface: Surface<Arc<Connection>, Arc<Window>>,
    connection: Arc<Connection>,
    /// What changed from one of the last pictures to the next, the newest first.
    changes: Vec<Vec<Area>>,
}

/// How many pictures back changes are remembered: as many as systems keep buffers.
const BUFFERS: usize = 3;

impl WindowScreen {
    pub(super) fn new(window: Arc<Window>) -> Result<Self, WindowError> {
        let connection = Arc::new(Connection::open(Arc::clone(&window)).map_err(draw_error)?);
        let context = Context::new(Arc::clone(&connection)).map_err(draw_error)?;
        let surface = Surface::new(&context, Arc::clone(&window)).map_err(draw_error)?;
        let changes = Vec::new();
        Ok(Self {
            window,
            surface,
            connection,
            changes,
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
        let all = vec![Area::whole((width, height))];
        let changed = if whole {
            all.clone()
        } else {
            picture.changed.clone()
        };
        self.changes.insert(0, changed.clone());
        self.changes.truncate(BUFFERS);
        // The buffer holds what it held so many pictures ago; nothing, or nothing of use, at 0.
        let age = usize::from(buffer.age());
        let stale = match self.changes.get(..age) {
            None | Some([]) => &all,
            Some(changes) => &changes.concat(),
        };
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
