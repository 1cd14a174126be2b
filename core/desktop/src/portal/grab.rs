//! Pictures of what was chosen.

use std::sync::Arc;

use super::{Portal, no_windows};
use crate::error::Result;
use crate::grabber::{Capture, Grab, Picture};
use crate::rect::Rect;
use crate::window::WindowId;

pub(super) struct PortalGrabber {
    portal: Arc<Portal>,
    pixels: Vec<u8>,
}

impl PortalGrabber {
    pub(super) fn new(portal: Arc<Portal>) -> Self {
        Self {
            portal,
            pixels: Vec::new(),
        }
    }
}

impl Grab for PortalGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let pixels = &mut self.pixels;
        let copied = self.portal.see(|chosen| chosen.copy(rect, pixels))?;
        Ok(copied.map(|(part, size)| Picture::of(part, size, &self.pixels)))
    }

    fn grab_window(&mut self, _window: WindowId) -> Result<Capture<'_>> {
        Err(no_windows())
    }
}
