//! Which back end is used: the one that is chosen, or that fits the session that the program runs in.

use std::sync::Arc;

use crate::backend::Backend;
use crate::choice::DesktopChoice;
use crate::error::DesktopError;

/// Connects by the way that is chosen.
pub(crate) fn connect(choice: DesktopChoice) -> Result<Arc<dyn Backend>, DesktopError> {
    let found = match choice {
        DesktopChoice::Auto => return by_session(),
        #[cfg(all(unix, not(target_os = "macos")))]
        DesktopChoice::X11 => match variable("DISPLAY").as_str() {
            "" => return Err(unfit(choice, "DISPLAY is not set")),
            display => shared(crate::x11::X11::connect(display)?),
        },
        #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
        DesktopChoice::Wlroots => match variable("WAYLAND_DISPLAY").as_str() {
            "" => return Err(unfit(choice, "WAYLAND_DISPLAY is not set")),
            _ => crate::wlroots::Wlroots::of_session()?.and_then(shared),
        },
        #[cfg(all(feature = "mutter", target_os = "linux"))]
        DesktopChoice::Mutter => crate::mutter::Mutter::of_session()?.and_then(shared),
        #[allow(unreachable_patterns, reason = "not every system has all of them")]
        _ => return Err(unfit(choice, "this system or this build does not have it")),
    };
    found.ok_or_else(|| {
        let why = match choice {
            DesktopChoice::Mutter => {
                "no GNOME on Wayland answers on the session's bus (DBUS_SESSION_BUS_ADDRESS)"
            }
            _ => "the compositor of WAYLAND_DISPLAY does not have wlroots' protocols",
        };
        unfit(choice, why)
    })
}

/// Connects by the way that fits the session.
fn by_session() -> Result<Arc<dyn Backend>, DesktopError> {
    let [wayland, x11, kind] = ["WAYLAND_DISPLAY", "DISPLAY", "XDG_SESSION_TYPE"].map(variable);
    let found = match Session::of(&wayland, &x11, &kind) {
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::X11(display) => shared(crate::x11::X11::connect(&display)?),
        Session::Other => other(&wayland)?,
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::None => None,
    };
    found.ok_or_else(|| DesktopError::NoDesktop {
        reason: "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned(),
    })
}

/// Wayland, by the name of its socket, Windows, or macOS.
#[cfg_attr(
    not(feature = "wlroots"),
    expect(unused_variables, reason = "no compositor is asked")
)]
fn other(wayland: &str) -> Result<Option<Arc<dyn Backend>>, DesktopError> {
    #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
    if !wayland.is_empty()
        && let Some(wlroots) = crate::wlroots::Wlroots::of_session()?
    {
        return Ok(shared(wlroots));
    }
    #[cfg(all(feature = "mutter", target_os = "linux"))]
    if let Some(mutter) = crate::mutter::Mutter::of_session()? {
        return Ok(shared(mutter));
    }
    #[cfg(feature = "xcap")]
    return Ok(shared(crate::other::Other::connect()?));
    #[cfg(not(feature = "xcap"))]
    Err(DesktopError::NoDesktop {
        reason: "this program was built for X11 alone, without the feature `xcap`".to_owned(),
    })
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a back end beside those that may not be there"
)]
fn shared(backend: impl Backend + 'static) -> Option<Arc<dyn Backend>> {
    Some(Arc::new(backend))
}

/// What was chosen is not there.
fn unfit(choice: DesktopChoice, why: &str) -> DesktopError {
    DesktopError::Unfit {
        choice,
        reason: why.to_owned(),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Session {
    /// X11 on a display.
    #[cfg(all(unix, not(target_os = "macos")))]
    X11(String),
    /// Wayland, Windows, macOS.
    Other,
    #[cfg(all(unix, not(target_os = "macos")))]
    None,
}

impl Session {
    /// Under Wayland an X server may run besides, but it does not see the screen. `kind`: of the session, which programs also
    /// keep that are started on an X server of their own.
    #[cfg(all(unix, not(target_os = "macos")))]
    fn of(wayland: &str, x11: &str, kind: &str) -> Self {
        match (wayland, x11, kind) {
            ("", "", "wayland") => Self::Other,
            ("", "", _) => Self::None,
            ("", display, _) => Self::X11(display.to_owned()),
            _ => Self::Other,
        }
    }

    #[cfg(not(all(unix, not(target_os = "macos"))))]
    fn of(_wayland: &str, _x11: &str, _kind: &str) -> Self {
        Self::Other
    }
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn wayland_goes_first() {
        let x11 = || Session::X11(":1".to_owned());
        for (wayland, display, kind, wanted) in [
            ("", ":1", "", x11()),
            ("", ":1", "x11", x11()),
            ("", ":1", "wayland", x11()),
            ("wayland-0", ":1", "", Session::Other),
            ("wayland-0", ":1", "x11", Session::Other),
            ("wayland-0", "", "wayland", Session::Other),
            ("", "", "wayland", Session::Other),
            ("", "", "x11", Session::None),
            ("", "", "tty", Session::None),
            ("", "", "", Session::None),
        ] {
            let found = Session::of(wayland, display, kind);
            assert_eq!(found, wanted, "{wayland:?} {display:?} {kind:?}");
        }
    }
}
