//! The monitors.

use xcap::{Monitor as XcapMonitor, XCapError};

use super::lost;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::rect::Rect;

/// The main one first.
pub(super) fn all() -> Result<Vec<Monitor>> {
    let mut all = XcapMonitor::all().map_err(lost)?;
    all.sort_by_key(|monitor| !monitor.is_primary().unwrap_or(false));
    all.iter().map(|it| described(it).map_err(lost)).collect()
}

pub(super) fn described(xcap: &XcapMonitor) -> std::result::Result<Monitor, XCapError> {
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
