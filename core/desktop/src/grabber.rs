//! Pictures of the screen.

use crate::error::DesktopError;
use crate::rect::Rect;
use crate::window::WindowId;

/// One way to the pixels.
pub(crate) trait Grab: Send {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>, DesktopError>;
    fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>, DesktopError>;
}

/// Takes pictures of the screen.
pub struct Grabber(Box<dyn Grab>);

/// A picture of a part of the screen. It is gone with the next one.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// What it shows: the part asked for, less what lies beyond the screen.
    pub place: Rect,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Pixels of the picture for one screen pixel: 1 under X11; more on scaled monitors under Wayland and macOS.
    pub scale: f64,
    /// Rows without gaps, four bytes a pixel: blue, green, red, one unused.
    pub pixels: &'a [u8],
    /// Pictures of one grabber with the same number have the same pixels. `None`: only a comparison shows whether they have.
    pub number: Option<u64>,
}

/// Blue, green, red, one unused: of a picture's pixel.
pub(crate) const BYTES_PER_PIXEL: usize = 4;

/// Pixels whose first byte is red get those whose first is blue, and the other way round.
#[cfg(any(
    all(feature = "mutter", target_os = "linux"),
    all(feature = "wlroots", unix, not(target_os = "macos")),
    all(feature = "xcap", any(windows, target_os = "macos"))
))]
pub(crate) fn swap_red_and_blue(pixels: &mut [u8]) {
    for pixel in pixels.chunks_exact_mut(BYTES_PER_PIXEL) {
        pixel.swap(0, 2);
    }
}

/// No screen of today has more pixels than this, in bytes: what a compositor says is not trusted.
#[cfg(all(
    any(feature = "mutter", feature = "portal", feature = "wlroots"),
    unix,
    not(target_os = "macos")
))]
pub(crate) const LARGEST_PICTURE: u64 = 1 << 30;

#[cfg(any(
    all(feature = "mutter", target_os = "linux"),
    all(feature = "wlroots", unix, not(target_os = "macos")),
    all(feature = "xcap", any(windows, target_os = "macos"))
))]
impl<'a> Picture<'a> {
    /// A picture of a part of the screen, with a width and height in its own pixels.
    pub(crate) fn of(part: Rect, [width, height]: [u32; 2], pixels: &'a [u8]) -> Self {
        Self {
            place: part,
            width,
            height,
            scale: f64::from(width) / f64::from(part.width),
            pixels,
            number: None,
        }
    }
}

/// The result of capturing a window.
#[derive(Clone, Copy, Debug)]
pub enum Capture<'a> {
    /// This is what the screen shows at its place: the window, or what lies over it.
    Shown(Picture<'a>),
    /// It was moved or resized just then, or on sway, its size may still change: look again.
    Moving,
    /// It is gone, minimised, or wholly beyond the screen.
    Hidden,
}

impl Grabber {
    pub(crate) fn new(grab: Box<dyn Grab>) -> Self {
        Self(grab)
    }

    /// Takes a picture of a part of the screen. `None`: nothing of it is on the screen.
    ///
    /// # Errors
    /// [`DesktopError::Grab`], [`DesktopError::Lost`].
    pub fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>, DesktopError> {
        self.0.grab(rect)
    }

    /// Takes a picture of a window's inside, wherever it is now, as it is seen on the screen. On X11 and sway a
    /// picture is shown only when the window was at its place before and after it was taken.
    ///
    /// # Errors
    /// [`DesktopError::Grab`], [`DesktopError::Lost`].
    pub fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>, DesktopError> {
        self.0.grab_window(window)
    }
}
