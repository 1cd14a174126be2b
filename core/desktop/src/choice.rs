//! Which way to the desktop.

use std::fmt;

/// Which way to the desktop is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "config",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum DesktopChoice {
    /// What fits the session: Wayland where WAYLAND_DISPLAY is set, or XDG_SESSION_TYPE is "wayland" and DISPLAY is not
    /// set; else X11.
    #[default]
    Auto,
    /// The X server of DISPLAY.
    X11,
    /// The Wayland compositor of WAYLAND_DISPLAY, by wlroots' protocols: sway, labwc and others.
    Wlroots,
    /// GNOME's Wayland compositor, on the session's bus.
    Mutter,
}

impl fmt::Display for DesktopChoice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Auto => "auto",
            Self::X11 => "x11",
            Self::Wlroots => "wlroots",
            Self::Mutter => "mutter",
        })
    }
}
