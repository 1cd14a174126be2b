//! What a back end does. [`crate::Desktop`] and [`crate::Grabber`] document each function.

use std::sync::Arc;

use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::hotkey::Hotkey;
use crate::key::Key;
use crate::monitor::Monitor;
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;
use crate::window::{Hidden, Titled, WindowId};

/// Whether nobody waits any more.
pub(crate) type IsOver = Box<dyn Fn() -> bool + Send + Sync>;

/// One way to the desktop.
pub(crate) trait Backend: Send + Sync {
    fn session_name(&self) -> String;
    fn capabilities(&self) -> Capabilities;
    /// Why nothing is known of windows, where a desktop does not report them.
    fn no_windows(&self) -> DesktopError {
        DesktopError::Unsupported("where windows are")
    }
    /// What to set so that the desktop reports more, or why what is set does not work, as a clause. `None`: nothing.
    fn missing_variable(&self) -> Option<String> {
        None
    }
    /// Windows with a title that are to be seen, the front one first.
    fn windows(&self) -> Result<Vec<Titled>> {
        Err(self.no_windows())
    }
    /// Windows with a title that are not to be seen, and why, as far as that is reported.
    fn hidden(&self) -> Result<Vec<Hidden>> {
        Ok(Vec::new())
    }
    fn place(&self, _window: WindowId) -> Result<Option<Rect>> {
        Err(self.no_windows())
    }
    /// The part of a rectangle that a picture of it shows.
    fn shown_part(&self, rect: Rect) -> Result<Option<Rect>> {
        let monitors = self.monitors()?.into_iter().map(|monitor| monitor.place);
        let found = rect.largest_part(monitors.map(|place| (place, ())));
        Ok(found.map(|(part, ())| part))
    }
    fn is_in_front(&self, _window: WindowId, _rect: Rect) -> Result<bool> {
        Err(self.no_windows())
    }
    /// `title`: what the window's title has to contain, where that is known.
    fn press_obstacle(
        &self,
        window: WindowId,
        rect: Rect,
        _title: Option<&str>,
    ) -> Result<Option<PressObstacle>> {
        let is_in_front = self.is_in_front(window, rect)?;
        Ok((!is_in_front).then_some(PressObstacle::Covered))
    }
    fn others_over(&self, window: WindowId, rect: Rect) -> Result<Vec<Rect>>;
    fn raise(&self, _window: WindowId) -> Result<()> {
        Err(self.no_windows())
    }
    fn has_keyboard(&self, _window: WindowId) -> Result<bool> {
        Err(self.no_windows())
    }
    fn pointer(&self) -> Result<[i32; 2]> {
        Err(DesktopError::Unsupported("the pointer's place"))
    }
    fn screen(&self) -> Result<Rect> {
        let places = self.monitors()?.into_iter().map(|monitor| monitor.place);
        Ok(places.reduce(Rect::union).unwrap_or_default())
    }
    /// At least one, the main one first.
    fn monitors(&self) -> Result<Vec<Monitor>>;
    fn hotkey(self: Arc<Self>, _key: Key) -> Result<Box<dyn Hotkey>> {
        Err(DesktopError::Unsupported("the hotkey"))
    }
    /// `None`: no key has this symbol.
    fn key_code(&self, _key: Key) -> Result<Option<u8>> {
        Err(DesktopError::Unsupported("the codes of keys"))
    }
    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>>;
    /// The same by the desktop's own methods, also where it offers libei.
    #[cfg(feature = "input")]
    fn input_without_libei(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        self.input()
    }
    /// Whether a person is asked before anything of the screen is seen.
    fn asks(&self) -> bool {
        false
    }
    /// Questions to a person and waits for a picture end when this is true.
    fn give_up_when(&self, _is_over: IsOver) {}
    /// Whether a picture of a few pixels comes within a millisecond or so, whatever the screen does.
    fn gives_pixels_at_once(&self) -> bool {
        false
    }
    /// `plain`: without what makes it fast.
    fn grabber(self: Arc<Self>, plain: bool) -> Result<Box<dyn Grab>>;
}
