//! Pictures of the screen.

use xcap::image::RgbaImage;
use xcap::{Monitor as XcapMonitor, XCapError};

use super::{monitors, windows};
use crate::error::{DesktopError, Result};
use crate::grabber::{Capture, Grab, Picture, swap_red_and_blue};
use crate::rect::Rect;
use crate::window::WindowId;

#[derive(Default)]
pub(super) struct XcapGrabber {
    pixels: Vec<u8>,
}

impl Grab for XcapGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let monitors = XcapMonitor::all().map_err(grab_error)?;
        let places = monitors.iter().filter_map(|it| {
            let place = monitors::described(it).ok()?.place;
            Some((place, (place, it)))
        });
        // A picture is of one monitor: of the one that has most of the part asked for.
        let Some((part, (monitor, xcap))) = rect.largest_part(places) else {
            return Ok(None);
        };
        let picture = grab_part(xcap, monitor, part).map_err(grab_error)?;
        let size = picture.dimensions().into();
        self.pixels = picture.into_raw();
        swap_red_and_blue(&mut self.pixels);
        Ok(Some(Picture::of(part, size, &self.pixels)))
    }

    fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>> {
        let Some(before) = windows::by_id(window)?.as_ref().and_then(windows::place) else {
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
    xcap.capture_region(x, y, part.width, part.height)
}

fn grab_error(error: XCapError) -> DesktopError {
    DesktopError::Grab {
        reason: error.to_string(),
    }
}
