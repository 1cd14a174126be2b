//! GNOME's Wayland session: what its compositor, Mutter, lets a program do on the session's bus.

use zbus::blocking::Connection;
use zbus::blocking::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::zvariant::OwnedObjectPath;

use super::Diagnosis;
use super::time_limit::within_time;
use super::wayland::{PIPEWIRE_ADVICE, WAYLAND};

const MONITORS_ADVICE: &str =
    "capture a monitor or a region: GNOME does not report where windows are";

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
    if !flowpipe_desktop::pipewire_answers() {
        let found = format!("{session} of GNOME, in which PipeWire does not answer");
        return Some(Diagnosis::problem(WAYLAND, found, PIPEWIRE_ADVICE));
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
