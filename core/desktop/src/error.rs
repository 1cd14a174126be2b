//! What can go wrong.

use std::time::Duration;

use thiserror::Error;

use crate::choice::DesktopChoice;
use crate::permission;

pub(crate) type Result<T> = std::result::Result<T, DesktopError>;

/// Why the desktop did not do what it was asked.
#[derive(Debug, Error)]
pub enum DesktopError {
    /// There is no desktop, or none that can be reached.
    #[error("can't reach a desktop: {reason}{}", permission::remedy())]
    NoDesktop {
        /// Why.
        reason: String,
    },
    /// No Wayland compositor answers at the socket that the variables of the session name.
    #[error("can't reach a desktop: {reason}: {remedy}; `flowpipe doctor` checks it")]
    NoCompositor {
        /// Why.
        reason: String,
        /// What to set.
        remedy: String,
    },
    /// The desktop that was chosen is not there.
    #[error(
        "can't reach a desktop: desktop = \"{choice}\", but {reason}: remove the key `desktop` of capture-screen and \
         actuator-mouse, or set it to \"auto\", to use the desktop of this session; `flowpipe doctor` names it; for one run: \
         --set capture-screen.desktop=auto --set actuator-mouse.desktop=auto (of these, the stages that the pipeline has)"
    )]
    Unfit {
        /// What was chosen.
        choice: DesktopChoice,
        /// Why it can't be used.
        reason: String,
    },
    /// The X server belongs to a Wayland session, and it was not chosen.
    #[error(
        "can't reach a desktop: the X server of DISPLAY={display} belongs to a Wayland session, and reports neither its other \
         windows nor the pointer and keys over them: {remedy}. To use the X server all the same, set desktop = \"x11\" of \
         capture-screen and actuator-mouse; for one run: --set capture-screen.desktop=x11 --set actuator-mouse.desktop=x11"
    )]
    Xwayland {
        /// Its name.
        display: String,
        /// What to set.
        remedy: String,
    },
    /// The compositor on the session's bus is another one than that of WAYLAND_DISPLAY, and it was not chosen.
    #[error(
        "can't reach a desktop: the compositor of WAYLAND_DISPLAY={display} is not the GNOME that answers on the session's bus. \
         Set WAYLAND_DISPLAY and DBUS_SESSION_BUS_ADDRESS to those of one session. To use that GNOME all the same, set desktop = \
         \"mutter\" of capture-screen and actuator-mouse; for one run: --set capture-screen.desktop=mutter --set \
         actuator-mouse.desktop=mutter"
    )]
    OtherCompositor {
        /// The name of its socket.
        display: String,
    },
    /// The connection broke, or the desktop failed.
    #[error("the desktop does not answer any more: {0}")]
    Lost(String),
    /// The compositor has ended, and all that was asked of it.
    #[error("the desktop does not answer any more: the compositor has ended")]
    Ended,
    /// The screen's pixels can't be had.
    #[error("can't capture the screen: {reason}{}", permission::note())]
    Grab {
        /// Why.
        reason: String,
    },
    /// The system does not let this program move the pointer or press anything.
    #[error(
        "can't control the mouse and the keyboard: {reason}{}",
        permission::note()
    )]
    NoInput {
        /// Why.
        reason: String,
    },
    /// The pointer was not moved, or nothing was pressed or released.
    #[error("the mouse does not answer: {0}")]
    Input(String),
    /// The desktop has answered so late that nothing was pressed: something else may be under the pointer now.
    #[error("the desktop has answered only after {:.1} s, and nothing was pressed", .after.as_secs_f64())]
    Late {
        /// How long the answer took.
        after: Duration,
    },
    /// The monitors have changed since the pointer was put on them, and nothing was pressed: the same place is elsewhere now.
    #[error("the monitors have changed, and nothing was pressed")]
    MonitorsChanged,
    /// A key can't be watched.
    #[error("sway does not report when the key is pressed: {reason}: choose another key")]
    NoHotkey {
        /// Why.
        reason: String,
    },
    /// Something that this system does not provide, or not through the interface used here.
    #[error("{0} is not available on this system")]
    Unsupported(&'static str),
    /// A button that is not known.
    #[error(
        "there is no mouse button {number}: 1 is the left one, 2 the middle one and 3 the right one"
    )]
    UnknownButton {
        /// As X11 counts.
        number: u8,
    },
    /// A key that is not known.
    #[error(
        "there is no key named {name:?}{suggestion}; use names such as Escape, Pause, F12 or A"
    )]
    UnknownKey {
        /// As it was given.
        name: String,
        /// ", did you mean …?", or nothing.
        suggestion: String,
    },
}

impl DesktopError {
    /// Whether nothing was pressed, and the mouse still answers: what was to be pressed may be planned again.
    #[must_use]
    pub fn is_refused_press(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::MonitorsChanged)
    }
}

#[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
impl From<flowpipe_wayland::Lost> for DesktopError {
    fn from(lost: flowpipe_wayland::Lost) -> Self {
        Self::Lost(lost.0)
    }
}
