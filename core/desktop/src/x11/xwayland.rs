//! Whether an X server is Xwayland, that of a Wayland session. It knows its own windows alone, and of the pointer and the
//! keys what is over them.

use x11rb::connection::RequestConnection as _;
use x11rb::protocol::xinput::{self, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;

use super::{Result, X11, lost, monitors};

/// The extension that Xwayland has since its version 23.1.
const EXTENSION: &str = "XWAYLAND";
/// How it calls its monitors before 23.1, where the compositor does not name them.
const MONITOR: &str = "XWAYLAND";
/// How it calls its pointers and keyboards.
const DEVICE: &str = "xwayland-";
/// All devices.
const ALL_DEVICES: u16 = 0;

/// Asks the server.
pub(super) fn is_xwayland(x11: &X11) -> Result<bool> {
    let asked = x11.connection.query_extension(EXTENSION.as_bytes());
    let has_extension = asked.map_err(lost)?.reply().map_err(lost)?.present;
    let monitors = monitors::monitors(x11)?.into_iter().map(|it| it.name);
    Ok(shows(
        has_extension,
        &monitors.collect::<Vec<_>>(),
        &devices(x11)?,
    ))
}

/// The names of pointers and keyboards.
fn devices(x11: &X11) -> Result<Vec<String>> {
    let known = x11
        .connection
        .extension_information(xinput::X11_EXTENSION_NAME);
    if known.map_err(lost)?.is_none() {
        return Ok(Vec::new());
    }
    let asked = x11.connection.xinput_xi_query_device(ALL_DEVICES);
    // Servers of before 2009 do not know the question.
    let found = match asked.map_err(lost)?.reply() {
        Ok(reply) => reply.infos,
        Err(_) => Vec::new(),
    };
    let names = found.into_iter().map(|it| it.name);
    Ok(names
        .map(|name| String::from_utf8_lossy(&name).into_owned())
        .collect())
}

/// Whether this is Xwayland. `monitors`, `devices`: the names of its monitors, and of its pointers and keyboards.
fn shows(has_extension: bool, monitors: &[String], devices: &[String]) -> bool {
    let has_monitor = monitors.iter().any(|name| name.starts_with(MONITOR));
    let has_device = devices.iter().any(|name| name.starts_with(DEVICE));
    has_extension || has_monitor || has_device
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_xwayland_is_known() {
        for (has_extension, monitor, device, wanted) in [
            // 23.1 and later.
            (true, "DP-1", "", true),
            // Before.
            (false, "XWAYLAND0", "Virtual core pointer", true),
            (false, "DP-1", "xwayland-pointer:13", true),
            (false, "HDMI-1", "Virtual core XTEST pointer", false),
            (false, "screen", "", false),
        ] {
            let names = [monitor, device].map(|name| vec![name.to_owned()]);
            let shown = shows(has_extension, &names[0], &names[1]);
            assert_eq!(shown, wanted, "{monitor} {device}");
        }
    }
}
