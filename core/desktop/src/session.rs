//! Which session a program runs in, and which back end is used: the one that is chosen, or that fits the session.

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
        #[cfg(all(feature = "portal", target_os = "linux"))]
        DesktopChoice::Portal => crate::portal::Portal::of_session()?.and_then(shared),
        #[allow(unreachable_patterns, reason = "not every system has all of them")]
        _ => return Err(unfit(choice, "this system or this build does not have it")),
    };
    found.ok_or_else(|| {
        let why = match choice {
            DesktopChoice::Mutter => {
                "no GNOME on Wayland answers on the session's bus (DBUS_SESSION_BUS_ADDRESS)"
            }
            DesktopChoice::Portal => {
                "no desktop portal that shows the screen answers on the session's bus (DBUS_SESSION_BUS_ADDRESS)"
            }
            _ => "the compositor of WAYLAND_DISPLAY does not have wlroots' protocols",
        };
        unfit(choice, why)
    })
}

/// Connects by the way that fits the session.
fn by_session() -> Result<Arc<dyn Backend>, DesktopError> {
    let variables = Variables::of_process();
    let found = match variables.session() {
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::X11(display) => {
            let x11 = crate::x11::X11::connect(display)?;
            if x11.is_xwayland() {
                return Err(of_wayland(x11.display()));
            }
            shared(x11)
        }
        Session::Other => other(&variables.wayland)?,
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::None => None,
    };
    found.ok_or_else(|| DesktopError::NoDesktop {
        reason: "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned(),
    })
}

/// An X server belongs to a Wayland session.
#[cfg(all(unix, not(target_os = "macos")))]
fn of_wayland(display: &str) -> DesktopError {
    DesktopError::Xwayland {
        display: display.to_owned(),
        remedy: crate::advice::join_wayland_session(),
    }
}

/// Whether the X server of a display belongs to a Wayland session: then `desktop = "auto"` refuses it. One that can't be
/// reached does not.
#[cfg(all(unix, not(target_os = "macos")))]
#[must_use]
pub fn is_xwayland(display: &str) -> bool {
    crate::x11::X11::connect(display).is_ok_and(|x11| x11.is_xwayland())
}

/// Wayland, by the name of its socket, Windows, or macOS.
fn other(wayland: &str) -> Result<Option<Arc<dyn Backend>>, DesktopError> {
    if let Some(found) = of_wayland_session(wayland)? {
        return Ok(Some(found));
    }
    #[cfg(all(feature = "xcap", any(windows, target_os = "macos")))]
    return Ok(shared(crate::xcap::Xcap::connect()?));
    #[cfg(not(all(feature = "xcap", any(windows, target_os = "macos"))))]
    Err(DesktopError::NoDesktop {
        reason: match cfg!(any(windows, target_os = "macos")) {
            true => "this program was built without the feature `xcap`".to_owned(),
            false => no_wayland_interface(wayland),
        },
    })
}

/// That there is no way to the desktop of a Wayland session, by the name of its compositor's socket.
#[cfg(not(all(feature = "xcap", any(windows, target_os = "macos"))))]
fn no_wayland_interface(wayland: &str) -> String {
    let compositor = match wayland {
        "" => "WAYLAND_DISPLAY is not set".to_owned(),
        name => {
            format!("the compositor of WAYLAND_DISPLAY={name} does not have wlroots' protocols")
        }
    };
    format!(
        "{compositor}, and neither GNOME nor a desktop portal that shows the screen answers on the session's bus \
         (DBUS_SESSION_BUS_ADDRESS)"
    )
}

/// The Wayland session, by the name of its compositor's socket, which may have none. `None`: no interface is known to which it
/// answers.
#[cfg_attr(
    not(feature = "wlroots"),
    expect(unused_variables, reason = "no compositor is asked")
)]
#[cfg_attr(
    not(any(feature = "wlroots", feature = "mutter")),
    expect(clippy::unnecessary_wraps, reason = "nobody is asked")
)]
pub(crate) fn of_wayland_session(wayland: &str) -> Result<Option<Arc<dyn Backend>>, DesktopError> {
    #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
    if !wayland.is_empty()
        && let Some(wlroots) = crate::wlroots::Wlroots::of_session()?
    {
        return Ok(shared(wlroots));
    }
    #[cfg(all(feature = "mutter", target_os = "linux"))]
    if let Some(mutter) = crate::mutter::Mutter::of_session()? {
        #[cfg(feature = "wlroots")]
        if !wayland.is_empty() {
            let compositor = crate::wlroots::process_of_session();
            are_the_same(wayland, compositor, mutter.process())?;
        }
        return Ok(shared(mutter));
    }
    #[cfg(all(feature = "portal", target_os = "linux"))]
    if let Some(portal) = crate::portal::Portal::of_session()? {
        return Ok(shared(portal));
    }
    Ok(None)
}

/// Checks that the compositor of WAYLAND_DISPLAY is the one on the session's bus, by their processes. Without one of them, as
/// across containers, nothing is known.
///
/// # Errors
/// When it is another one.
#[cfg(all(feature = "mutter", feature = "wlroots", target_os = "linux"))]
fn are_the_same(
    display: &str,
    compositor: Option<u32>,
    on_bus: Option<u32>,
) -> Result<(), DesktopError> {
    match (compositor, on_bus) {
        (Some(compositor), Some(on_bus)) if compositor != on_bus => {
            Err(DesktopError::OtherCompositor {
                display: display.to_owned(),
            })
        }
        _ => Ok(()),
    }
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

/// The variables by which a session is known. Empty: not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// WAYLAND_DISPLAY.
    pub wayland: String,
    /// DISPLAY.
    pub x11: String,
    /// XDG_SESSION_TYPE: the kind of the session, which programs also keep that are started on an X server of their own.
    pub kind: String,
}

/// A session, as the variables name it.
#[derive(Debug, PartialEq, Eq)]
pub enum Session<'a> {
    /// X11 on a display.
    #[cfg(all(unix, not(target_os = "macos")))]
    X11(&'a str),
    /// Wayland, Windows, macOS.
    Other,
    /// None.
    #[cfg(all(unix, not(target_os = "macos")))]
    None,
    /// There is no other.
    #[doc(hidden)]
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    Never(std::convert::Infallible, std::marker::PhantomData<&'a str>),
}

impl Variables {
    /// Those that this program was started with.
    #[must_use]
    pub fn of_process() -> Self {
        let [wayland, x11, kind] = ["WAYLAND_DISPLAY", "DISPLAY", "XDG_SESSION_TYPE"].map(variable);
        Self { wayland, x11, kind }
    }

    /// The session that they name. Under Wayland there may also be an X server, but it does not see the screen.
    #[cfg(all(unix, not(target_os = "macos")))]
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        match (self.wayland.as_str(), self.x11.as_str(), self.kind.as_str()) {
            ("", "", "wayland") => Session::Other,
            ("", "", _) => Session::None,
            ("", display, _) => Session::X11(display),
            _ => Session::Other,
        }
    }

    /// The session.
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session::Other
    }
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn an_x_server_of_a_wayland_session_leads_to_that_session() {
        let error = of_wayland(":7").to_string();
        assert!(error.contains("DISPLAY=:7 belongs to a Wayland"), "{error}");
        assert!(
            error.contains(": set the variables of that session"),
            "{error}"
        );
    }

    #[test]
    fn a_desktop_that_does_not_fit_is_left_by_both_stages() {
        let error = unfit(DesktopChoice::X11, "DISPLAY is not set").to_string();
        let options = "--set capture-screen.desktop=auto --set actuator-mouse.desktop=auto";
        assert!(error.contains(options), "{error}");
    }

    #[cfg(all(feature = "mutter", feature = "wlroots", target_os = "linux"))]
    #[test]
    fn another_compositor_than_that_on_the_bus_is_refused() {
        let compared = |compositor, on_bus| are_the_same("wayland-1", compositor, on_bus);
        for (compositor, on_bus) in [(Some(7), Some(7)), (None, Some(7)), (Some(7), None)] {
            assert!(compared(compositor, on_bus).is_ok());
        }
        let error = compared(Some(8), Some(7)).unwrap_err().to_string();
        for words in ["WAYLAND_DISPLAY=wayland-1 is not", "desktop = \"mutter\""] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn wayland_goes_first() {
        let x11 = || Session::X11(":1");
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
            let [wayland, x11, kind] = [wayland, display, kind].map(str::to_owned);
            let variables = Variables { wayland, x11, kind };
            assert_eq!(variables.session(), wanted, "{variables:?}");
        }
    }
}
