//! Windows and macOS, through the crate xcap. It reports less than X11 does: a window's place is that of its frame, and keys
//! and the pointer it does not know.
//!
//! Nothing of xcap is kept from one question to the next: its handles may not move between threads
//! on every system.

mod grab;
mod monitors;
mod windows;

use std::sync::Arc;

use xcap::{Monitor as XcapMonitor, XCapError};

use crate::backend::Backend;
use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::monitor::Monitor;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

/// The desktop through xcap.
pub(crate) struct Xcap;

impl Xcap {
    pub(crate) fn connect() -> Result<Self> {
        let monitors = XcapMonitor::all();
        let reason = match monitors {
            Ok(monitors) if !monitors.is_empty() => return Ok(Self),
            Ok(_) => "there is no monitor".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(DesktopError::NoDesktop { reason })
    }
}

impl Backend for Xcap {
    /// A program has one session, to which the library finds its own way.
    fn session_name(&self) -> String {
        "xcap".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::XCAP
    }

    fn windows(&self) -> Result<Vec<Titled>> {
        windows::titled()
    }

    fn place(&self, window: WindowId) -> Result<Option<Rect>> {
        let window = windows::by_id(window)?;
        Ok(window.as_ref().and_then(windows::place))
    }

    fn is_in_front(&self, window: WindowId, _rect: Rect) -> Result<bool> {
        let window = windows::by_id(window)?;
        Ok(window.is_some_and(|window| window.is_focused().unwrap_or(false)))
    }

    fn others_over(&self, _window: WindowId, _rect: Rect) -> Result<Vec<Rect>> {
        Ok(Vec::new())
    }

    fn raise(&self, _window: WindowId) -> Result<()> {
        Err(DesktopError::Unsupported("bringing a window to the front"))
    }

    fn has_keyboard(&self, _window: WindowId) -> Result<bool> {
        Err(DesktopError::Unsupported("which window has the keyboard"))
    }

    fn monitors(&self) -> Result<Vec<Monitor>> {
        monitors::all()
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(crate::input::system::SystemInput::new(None)?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::<grab::XcapGrabber>::default())
    }
}

fn lost(error: XCapError) -> DesktopError {
    DesktopError::Lost(error.to_string())
}
