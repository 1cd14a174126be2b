//! GNOME's Wayland session: what its compositor, Mutter, lets a program do on the session's bus.

use std::path::{Path, PathBuf};

use zbus::blocking::Connection;
use zbus::blocking::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::zvariant::OwnedObjectPath;

use super::Diagnosis;
use super::time_limit::within_time;
use super::wayland::WAYLAND;

const MONITORS_ADVICE: &str =
    "capture a monitor or a region: GNOME does not report where windows are";
const PIPEWIRE_ADVICE: &str = "start PipeWire (`systemctl --user start pipewire wireplumber`): GNOME sends its \
     pictures through it";

/// The interfaces that are needed, and what for.
const NEEDED: [(&str, &str); 3] = [
    ("org.gnome.Mutter.ScreenCast", "pictures"),
    ("org.gnome.Mutter.DisplayConfig", "monitors"),
    ("org.gnome.Mutter.RemoteDesktop", "mouse"),
];

/// What a session is good for, which is described so. `None`: it is not one of GNOME, or not all of it.
pub fn finding(session: &str) -> Option<Diagnosis> {
    if !within_time(has_mutter).unwrap_or(false) {
        return None;
    }
    if !pipewire().is_some_and(|socket| socket.exists()) {
        let found = format!("{session} of GNOME, without PipeWire");
        return Some(Diagnosis::warning(WAYLAND, found, PIPEWIRE_ADVICE));
    }
    let words = NEEDED.map(|(_, word)| word).join(", ");
    let by = match within_time(has_libei) {
        Ok(true) => " through libei",
        _ => "",
    };
    let found = format!("{session} of GNOME: {words}{by}; where windows are is unknown");
    Some(Diagnosis::warning(WAYLAND, found, MONITORS_ADVICE))
}

fn has_mutter() -> Result<bool, String> {
    let ask = || {
        let bus = Connection::session()?;
        let names = DBusProxy::new(&bus)?;
        for (name, _) in NEEDED {
            if !names.name_has_owner(BusName::try_from(name)?)? {
                return Ok(false);
            }
        }
        zbus::Result::Ok(true)
    };
    ask().map_err(|error| error.to_string())
}

/// Whether Mutter gives sockets for emulated input. A session that is not started does nothing, and ends with the
/// connection.
fn has_libei() -> Result<bool, String> {
    const SERVICE: &str = "org.gnome.Mutter.RemoteDesktop";
    let ask = || {
        let bus = Connection::session()?;
        let path = "/org/gnome/Mutter/RemoteDesktop";
        let created = bus.call_method(Some(SERVICE), path, Some(SERVICE), "CreateSession", &())?;
        let session: OwnedObjectPath = created.body().deserialize()?;
        let interface = Some("org.freedesktop.DBus.Introspectable");
        let described = bus.call_method(Some(SERVICE), &session, interface, "Introspect", &())?;
        let described: String = described.body().deserialize()?;
        zbus::Result::Ok(described.contains("\"ConnectToEIS\""))
    };
    ask().map_err(|error| error.to_string())
}

/// The socket on which PipeWire answers.
fn pipewire() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR")?;
    let name = std::env::var_os("PIPEWIRE_REMOTE").unwrap_or_else(|| "pipewire-0".into());
    Some(Path::new(&folder).join(name))
}
