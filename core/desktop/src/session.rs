//! Which back end fits the session that the program runs in.

use std::sync::Arc;

use crate::backend::Backend;
use crate::error::DesktopError;

/// Connects by the way that fits.
pub(crate) fn connect() -> Result<Arc<dyn Backend>, DesktopError> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    match Session::of(&variable("WAYLAND_DISPLAY"), &variable("DISPLAY")) {
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::X11(display) => Ok(Arc::new(crate::x11::X11::connect(&display)?)),
        #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
        Session::Other if let Some(wlroots) = crate::wlroots::Wlroots::of_session()? => {
            Ok(Arc::new(wlroots))
        }
        #[cfg(all(feature = "mutter", target_os = "linux"))]
        Session::Other if let Some(mutter) = crate::mutter::Mutter::of_session()? => {
            Ok(Arc::new(mutter))
        }
        #[cfg(feature = "xcap")]
        Session::Other => Ok(Arc::new(crate::other::Other::connect()?)),
        #[cfg(not(feature = "xcap"))]
        Session::Other => Err(DesktopError::NoDesktop {
            reason: "this program was built for X11 alone, without the feature `xcap`".to_owned(),
        }),
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::None => Err(DesktopError::NoDesktop {
            reason: "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned(),
        }),
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
    /// Under Wayland an X server may run besides, but it does not see the screen.
    #[cfg(all(unix, not(target_os = "macos")))]
    fn of(wayland: &str, x11: &str) -> Self {
        match (wayland, x11) {
            ("", "") => Self::None,
            ("", display) => Self::X11(display.to_owned()),
            _ => Self::Other,
        }
    }

    #[cfg(not(all(unix, not(target_os = "macos"))))]
    fn of(_wayland: &str, _x11: &str) -> Self {
        Self::Other
    }
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn wayland_goes_first() {
        assert_eq!(Session::of("", ":1"), Session::X11(":1".to_owned()));
        assert_eq!(Session::of("wayland-0", ":1"), Session::Other);
        assert_eq!(Session::of("wayland-0", ""), Session::Other);
        assert_eq!(Session::of("", ""), Session::None);
    }
}
