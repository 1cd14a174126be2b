//! Pictures of what was chosen.

use std::sync::Arc;

use super::{Portal, no_windows};
use crate::error::Result;
use crate::grabber::{Capture, Grab, Picture};
use crate::pipewire::Cut;
use crate::rect::Rect;
use crate::window::WindowId;

pub(super) struct PortalGrabber {
    portal: Arc<Portal>,
    cut: Cut,
}

impl PortalGrabber {
    pub(super) fn new(portal: Arc<Portal>) -> Self {
        Self {
            portal,
            cut: Cut::default(),
        }
    }
}

impl Grab for PortalGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let cut = &mut self.cut;
        let taken = self.portal.see(|chosen| chosen.take(rect, cut))?;
        Ok(taken.map(|(part, size)| self.cut.picture(part, size)))
    }

    fn grab_window(&mut self, _window: WindowId) -> Result<Capture<'_>> {
        Err(no_windows())
    }
}
