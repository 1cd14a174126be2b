//! What a back end does. [`crate::Desktop`] and [`crate::Grabber`] document each function.

use std::sync::Arc;

use crate::error::Result;
use crate::grabber::Grab;
use crate::key::Key;
use crate::monitor::Monitor;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

/// One way to the desktop.
pub(crate) trait Backend: Send + Sync {
    /// Windows with a title that are to be seen, the front one first.
    fn windows(&self) -> Result<Vec<Titled>>;
    fn place(&self, window: WindowId) -> Result<Option<Rect>>;
    /// The part of a rectangle that a picture of it shows.
    fn shown_part(&self, rect: Rect) -> Result<Option<Rect>> {
        let monitors = self.monitors()?.into_iter().map(|monitor| monitor.place);
        Ok(rect.largest_part(monitors))
    }
    fn is_in_front(&self, window: WindowId, rect: Rect) -> Result<bool>;
    fn others_over(&self, window: WindowId, rect: Rect) -> Result<Vec<Rect>>;
    fn raise(&self, window: WindowId) -> Result<()>;
    fn has_keyboard(&self, window: WindowId) -> Result<bool>;
    fn pointer(&self) -> Result<[i32; 2]>;
    fn screen_size(&self) -> Result<[u32; 2]>;
    /// At least one, the main one first.
    fn monitors(&self) -> Result<Vec<Monitor>>;
    fn key_is_down(&self, key: Key) -> Result<bool>;
    /// `None`: no key has this symbol.
    fn key_code(&self, key: Key) -> Result<Option<u8>>;
    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>>;
    /// `plain`: without what makes it fast.
    fn grabber(self: Arc<Self>, plain: bool) -> Result<Box<dyn Grab>>;
}
