//! The names of the pointer that a run moves. Two runs with a name in common may move the same pointer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The ways of the config key `desktop` that do not use the session's bus.
const WITHOUT_BUS: [&str; 2] = ["x11", "wlroots"];
/// Those that use nothing else.
const BY_BUS: [&str; 2] = ["mutter", "portal"];

/// The names, by the variables of a process: the socket of the Wayland compositor, the X display, and the session's bus.
///
/// A display that X11 offers under Wayland has the same pointer as Wayland. A bus has the pointer of GNOME and of the
/// portal. Several X servers may share a bus, so it does not count where the display is all that is used.
///
/// `desktop`: the config key of the stage with the mouse.
pub fn names(variable: impl Fn(&str) -> Option<OsString>, desktop: Option<&str>) -> Vec<String> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let folder = set("XDG_RUNTIME_DIR").map(PathBuf::from);
    let wayland = set("WAYLAND_DISPLAY").map(|name| socket(folder.as_deref(), Path::new(&name)));
    let x11 = set("DISPLAY").map(|name| display(&name.to_string_lossy()));
    let uses_bus = match desktop {
        Some(way) if WITHOUT_BUS.contains(&way) => false,
        Some(way) if BY_BUS.contains(&way) => true,
        _ => wayland.is_some() || x11.is_none(),
    };
    let bus = || match set("DBUS_SESSION_BUS_ADDRESS") {
        Some(address) => Some(bus(&address.to_string_lossy())),
        // Where programs look for it then.
        None => Some(folder.as_ref()?.join("bus"))
            .filter(|path| path.exists())
            .map(|path| canonical(&path)),
    };
    let bus = uses_bus.then(bus).flatten();
    [wayland, x11, bus].into_iter().flatten().collect()
}

/// The path of a compositor's socket, which may be given relative to a folder.
fn socket(folder: Option<&Path>, name: &Path) -> String {
    match folder {
        Some(folder) => canonical(&folder.join(name)),
        None => canonical(name),
    }
}

/// An X display. `:0.0` is a screen of `:0`, with the same pointer.
fn display(name: &str) -> String {
    let Some((host, number)) = name.rsplit_once(':') else {
        return name.to_owned();
    };
    let host = if host == "unix" { "" } else { host };
    let number = number.split('.').next().unwrap_or(number);
    format!("{host}:{number}")
}

/// The bus of an address, such as `unix:path=/run/user/1000/bus,guid=…`.
fn bus(address: &str) -> String {
    let path = address
        .split(';')
        .find_map(|one| one.strip_prefix("unix:"))
        .and_then(|keys| keys.split(',').find_map(|key| key.strip_prefix("path=")));
    match path {
        Some(path) => canonical(Path::new(path)),
        None => address.to_owned(),
    }
}

/// A path without links, or as it is where nothing is there.
fn canonical(path: &Path) -> String {
    let found = path.canonicalize();
    found.as_deref().unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(variables: &[(&str, &str)], desktop: Option<&str>) -> Vec<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|it| it.0 == name);
            found.map(|it| OsString::from(it.1))
        };
        names(value, desktop)
    }

    #[test]
    fn a_compositor_and_its_x_server_are_both_named() {
        let both = [
            ("WAYLAND_DISPLAY", "/nowhere/wayland-0"),
            ("DISPLAY", ":0.0"),
        ];
        assert_eq!(named(&both, None), ["/nowhere/wayland-0", ":0"]);
        assert_eq!(named(&[("DISPLAY", "unix:1")], None), [":1"]);
        assert_eq!(named(&[("DISPLAY", "host:1.0")], None), ["host:1"]);
        let empty = [("WAYLAND_DISPLAY", ""), ("DISPLAY", ":1")];
        assert_eq!(named(&empty, None), [":1"]);
        assert!(named(&[], None).is_empty());
    }

    #[test]
    fn a_socket_has_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wayland-0");
        std::fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        let folder = folder.path().to_str().unwrap();
        let name = |name: &str| {
            let variables = [("XDG_RUNTIME_DIR", folder), ("WAYLAND_DISPLAY", name)];
            named(&variables, None)
        };
        let relative = name("wayland-0");
        assert_eq!(relative.len(), 1);
        assert_eq!(relative, name(path.to_str().unwrap()));
        assert_eq!(relative, name("link"));
        assert_ne!(relative, name("wayland-1"));
    }

    #[test]
    fn a_bus_counts_unless_a_display_is_all_that_is_used() {
        let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus,guid=1");
        let (wayland, x11) = (("WAYLAND_DISPLAY", "/w"), ("DISPLAY", ":1"));
        for (variables, desktop, wanted) in [
            (vec![bus], None, vec!["/nowhere/bus"]),
            (vec![bus, x11], None, vec![":1"]),
            (vec![bus, x11], Some("auto"), vec![":1"]),
            (vec![bus, x11], Some("mutter"), vec![":1", "/nowhere/bus"]),
            (vec![bus, x11], Some("portal"), vec![":1", "/nowhere/bus"]),
            (vec![bus, wayland], None, vec!["/w", "/nowhere/bus"]),
            (vec![bus, wayland], Some("wlroots"), vec!["/w"]),
            (vec![bus, wayland, x11], Some("x11"), vec!["/w", ":1"]),
        ] {
            assert_eq!(named(&variables, desktop), wanted, "{variables:?}");
        }
        let other = [("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/bus")];
        assert_eq!(named(&other, None), ["unix:abstract=/tmp/bus"]);
    }

    #[test]
    fn a_bus_without_an_address_is_where_programs_look_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bus");
        let [folder, address] = [folder.path(), &path].map(|it| it.display().to_string());
        let address = format!("unix:path={address}");
        let by_folder = || named(&[("XDG_RUNTIME_DIR", &folder)], None);
        assert!(by_folder().is_empty());
        std::fs::write(&path, "").unwrap();
        let by_address = named(&[("DBUS_SESSION_BUS_ADDRESS", &address)], None);
        assert_eq!(by_folder(), by_address);
    }
}
