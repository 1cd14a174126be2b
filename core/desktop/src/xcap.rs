//! Wayland, Windows and macOS, through the crate xcap. It reports less than X11 does: a window's place
//! is that of its frame, and keys and the pointer it does not know.
//!
//! Nothing of xcap is kept from one question to the next: its handles may not move between threads
//! on every system.

use std::sync::Arc;

use xcap::image::RgbaImage;
use xcap::{Monitor as XcapMonitor, Window, XCapError};

use crate::backend::Backend;
use crate::error::{DesktopError, Result};
use crate::grabber::{Capture, Grab, Picture};
use crate::monitor::Monitor;
use crate::own::OwnProcesses;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

/// The desktop through xcap.
pub(crate) struct Other;

impl Other {
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

impl Backend for Other {
    /// A program has one session, to which the library finds its own way.
    fn session_name(&self) -> String {
        "xcap".to_owned()
    }

    fn windows(&self) -> Result<Vec<Titled>> {
        let own = OwnProcesses::find();
        let mut windows: Vec<(i32, Titled)> = Window::all()
            .map_err(lost)?
            .iter()
            // Windows may go while they are asked.
            .filter_map(|window| Some((window.z().ok()?, titled(window, &own)?)))
            .collect();
        windows.sort_by_key(|(z, _)| std::cmp::Reverse(*z));
        Ok(windows.into_iter().map(|(_, window)| window).collect())
    }

    fn place(&self, window: WindowId) -> Result<Option<Rect>> {
        let window = by_id(window)?;
        Ok(window.as_ref().and_then(place))
    }

    fn is_in_front(&self, window: WindowId, _rect: Rect) -> Result<bool> {
        let window = by_id(window)?;
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
        let mut all = XcapMonitor::all().map_err(lost)?;
        all.sort_by_key(|monitor| !monitor.is_primary().unwrap_or(false));
        all.iter().map(|it| monitor(it).map_err(lost)).collect()
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(crate::system_input::SystemInput::new()?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::new(XcapGrabber { pixels: Vec::new() }))
    }
}

struct XcapGrabber {
    pixels: Vec<u8>,
}

impl Grab for XcapGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let monitors = XcapMonitor::all().map_err(grab_error)?;
        let places = monitors.iter().filter_map(|it| {
            let place = monitor(it).ok()?.place;
            Some((place, (place, it)))
        });
        // A picture is of one monitor: of the one that has most of the part asked for.
        let Some((part, (monitor, xcap))) = rect.largest_part(places) else {
            return Ok(None);
        };
        let picture = grab_part(xcap, monitor, part).map_err(grab_error)?;
        let size = picture.dimensions().into();
        self.pixels = picture.into_raw();
        for pixel in self.pixels.chunks_exact_mut(4) {
            pixel.swap(0, 2);
        }
        Ok(Some(Picture::of(part, size, &self.pixels)))
    }

    fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>> {
        let Some(before) = by_id(window)?.as_ref().and_then(place) else {
            return Ok(Capture::Hidden);
        };
        Ok(self.grab(before)?.map_or(Capture::Hidden, Capture::Shown))
    }
}

/// A part of a monitor.
fn grab_part(
    xcap: &XcapMonitor,
    monitor: Rect,
    part: Rect,
) -> std::result::Result<RgbaImage, XCapError> {
    let (x, y) = (part.x.abs_diff(monitor.x), part.y.abs_diff(monitor.y));
    if cfg!(target_os = "linux") {
        // Under Wayland, xcap takes parts of other monitors than the first from the wrong place.
        let whole = xcap.capture_image()?;
        let scale = f64::from(whole.width()) / f64::from(monitor.width);
        let [x, y, width, height] = [x, y, part.width, part.height]
            .map(|length| (f64::from(length) * scale).round() as u32);
        let part = xcap::image::imageops::crop_imm(&whole, x, y, width, height);
        return Ok(part.to_image());
    }
    xcap.capture_region(x, y, part.width, part.height)
}

fn titled(window: &Window, own: &OwnProcesses) -> Option<Titled> {
    let title = window.title().ok().filter(|title| !title.is_empty())?;
    let id = window.id().ok()?;
    (!window.is_minimized().ok()?).then(|| Titled {
        window: WindowId(u64::from(id)),
        title,
        is_own: own.own(window.pid().ok(), None),
    })
}

fn by_id(id: WindowId) -> Result<Option<Window>> {
    let mut windows = Window::all().map_err(lost)?.into_iter();
    Ok(windows.find(|window| window.id().is_ok_and(|it| WindowId(u64::from(it)) == id)))
}

/// `None`: it is gone, or minimised.
fn place(window: &Window) -> Option<Rect> {
    if window.is_minimized().ok()? {
        return None;
    }
    Some(Rect {
        x: window.x().ok()?,
        y: window.y().ok()?,
        width: window.width().ok()?,
        height: window.height().ok()?,
    })
}

fn monitor(xcap: &XcapMonitor) -> std::result::Result<Monitor, XCapError> {
    Ok(Monitor {
        name: xcap.name()?,
        place: Rect {
            x: xcap.x()?,
            y: xcap.y()?,
            width: xcap.width()?,
            height: xcap.height()?,
        },
    })
}

fn lost(error: XCapError) -> DesktopError {
    DesktopError::Lost(error.to_string())
}

fn grab_error(error: XCapError) -> DesktopError {
    DesktopError::Grab {
        reason: error.to_string(),
    }
}
