//! Which way to the desktop.

use std::fmt;

/// The file in the folder of the user's state in which is kept what the desktop portal has allowed to be seen.
pub const KEPT_SCREEN_FILE: &str = "portal-screen.toml";
/// The same for the mouse, and for a capture that shares its session.
pub const KEPT_MOUSE_FILE: &str = "portal-mouse.toml";

/// Which way to the desktop is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "config",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum DesktopChoice {
    /// What fits the session: Wayland where WAYLAND_DISPLAY is set, or XDG_SESSION_TYPE is "wayland" and DISPLAY is not
    /// set; else X11, whose server may not belong to a Wayland session.
    #[default]
    Auto,
    /// The X server of DISPLAY. That of a Wayland session reports less.
    X11,
    /// The Wayland compositor of WAYLAND_DISPLAY, by wlroots' protocols: sway, labwc and others.
    Wlroots,
    /// GNOME's Wayland compositor, on the session's bus.
    Mutter,
    /// The desktop portal, on the session's bus: KDE and others. It asks, and shows the monitor or window that you choose.
    Portal,
}

impl DesktopChoice {
    /// What chooses the way of a session, by its name ([`crate::Desktop::session_name`]). `None`: nothing does.
    #[must_use]
    pub fn of_session_name(name: &str) -> Option<Self> {
        let way = match name.split(' ').next()? {
            "xwayland" => "x11",
            way => way,
        };
        let mut all = [Self::X11, Self::Wlroots, Self::Mutter, Self::Portal].into_iter();
        all.find(|it| it.to_string() == way)
    }
}

impl fmt::Display for DesktopChoice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Auto => "auto",
            Self::X11 => "x11",
            Self::Wlroots => "wlroots",
            Self::Mutter => "mutter",
            Self::Portal => "portal",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_s_way_can_be_chosen() {
        for (name, wanted) in [
            ("x11 :0", Some(DesktopChoice::X11)),
            (
                "wlroots /run/user/1000/wayland-1",
                Some(DesktopChoice::Wlroots),
            ),
            (
                "wlroots (sway) /run/user/1000/wayland-1",
                Some(DesktopChoice::Wlroots),
            ),
            ("mutter unix:path=/run/bus", Some(DesktopChoice::Mutter)),
            ("portal unix:path=/run/bus", Some(DesktopChoice::Portal)),
            ("xcap", None),
            ("xwayland :0", Some(DesktopChoice::X11)),
            ("auto", None),
        ] {
            assert_eq!(DesktopChoice::of_session_name(name), wanted, "{name}");
        }
    }
}
