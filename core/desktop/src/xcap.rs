//! Other Wayland sessions, Windows and macOS, through the crate xcap. It reports less than X11 does: a window's place
//! is that of its frame, and keys and the pointer it does not know.
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
            Err(error) => cause(&error),
        };
        Err(DesktopError::NoDesktop { reason })
    }
}

/// Why there are no monitors. The library looks for them through an X server also under Wayland, and reports a missing
/// one in its own words.
fn cause(error: &XCapError) -> String {
    let text = error.to_string();
    match text.contains("Connection closed") {
        true => {
            "neither DISPLAY nor WAYLAND_DISPLAY names a display server that answers".to_owned()
        }
        false => text,
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
        // On Linux the mouse would be that of X11 programs alone, which knows neither Wayland's windows nor its pointer.
        if cfg!(target_os = "linux") {
            return Err(DesktopError::NoInput {
                reason: "this desktop has neither wlroots' protocols, nor GNOME's interfaces, nor a portal that controls \
                         the mouse"
                    .to_owned(),
            });
        }
        Ok(Box::new(crate::input::system::SystemInput::new(None)?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::<grab::XcapGrabber>::default())
    }
}

fn lost(error: XCapError) -> DesktopError {
    DesktopError::Lost(error.to_string())
}
