//! The monitors.

use x11rb::connection::RequestConnection as _;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;

use super::{Result, X11, lost};
use crate::backend::Backend as _;
use crate::monitor::Monitor;
use crate::rect::Rect;

/// The monitors, the main one first, then from left to right. A server that knows of none has the
/// whole screen for one.
pub(super) fn monitors(x11: &X11) -> Result<Vec<Monitor>> {
    let mut monitors = Vec::new();
    let known = x11
        .connection
        .extension_information(randr::X11_EXTENSION_NAME);
    if known.map_err(lost)?.is_some() {
        let asked = x11.connection.randr_get_monitors(x11.root, true);
        // Servers of before 2015 do not know the question.
        let mut found = match asked.map_err(lost)?.reply() {
            Ok(reply) => reply.monitors,
            Err(_) => Vec::new(),
        };
        found.sort_by_key(|monitor| (!monitor.primary, monitor.x, monitor.y));
        for it in found {
            let name = x11.connection.get_atom_name(it.name).map_err(lost)?;
            let name = name.reply().map_err(lost)?.name;
            monitors.push(Monitor {
                name: String::from_utf8_lossy(&name).into_owned(),
                place: Rect {
                    x: i32::from(it.x),
                    y: i32::from(it.y),
                    width: u32::from(it.width),
                    height: u32::from(it.height),
                },
            });
        }
    }
    if monitors.is_empty() {
        monitors.push(Monitor {
            name: "screen".to_owned(),
            place: x11.screen()?,
        });
    }
    Ok(monitors)
}
