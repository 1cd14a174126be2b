//! Which desktop the session decides for, as `desktop = "auto"` of `capture-screen` and `actuator-mouse` does, and what it
//! reports.

use super::Diagnosis;
use super::wayland::Compositor;

const DESKTOP: &str = "desktop";

/// What decides.
pub struct Variables<'a> {
    /// DISPLAY.
    pub display: Option<&'a str>,
    /// WAYLAND_DISPLAY.
    pub wayland: Option<&'a str>,
    /// Whether XDG_SESSION_TYPE is "wayland".
    pub is_wayland: bool,
}

impl Variables<'_> {
    /// Whether the session is taken for one of Wayland.
    pub fn choose_wayland(&self) -> bool {
        self.wayland.is_some() || self.is_wayland && self.display.is_none()
    }
}

/// The desktop of a session. `compositor`: of a Wayland session, if it answers.
pub fn finding(variables: &Variables<'_>, compositor: Option<Compositor>) -> Diagnosis {
    let by = match (variables.wayland, variables.display) {
        (Some(name), _) => format!("WAYLAND_DISPLAY={name}"),
        (None, Some(name)) => format!("DISPLAY={name}"),
        (None, None) if variables.is_wayland => "XDG_SESSION_TYPE=wayland".to_owned(),
        (None, None) => {
            return Diagnosis::skipped(DESKTOP, "neither DISPLAY nor WAYLAND_DISPLAY is set");
        }
    };
    let described = match (variables.choose_wayland(), compositor) {
        (false, _) => {
            "x11: it reports windows, what covers them, the pointer's place and which keys are down"
        }
        (true, Some(Compositor::Sway)) => {
            "wlroots (sway): it reports windows, not the pointer's place or which keys are down"
        }
        (true, Some(Compositor::Wlroots)) => {
            "wlroots: it reports neither windows, the pointer's place nor which keys are down"
        }
        (true, Some(Compositor::Gnome)) => {
            "mutter (GNOME): it reports neither windows, the pointer's place nor which keys are down"
        }
        (true, Some(Compositor::Other)) => "the desktop portal, with which nobody has played",
        (true, None) => {
            let found = format!("\"auto\" is Wayland (by {by}), which does not answer");
            return Diagnosis::skipped(DESKTOP, found);
        }
    };
    Diagnosis::ok(DESKTOP, format!("\"auto\" is {described} (by {by})"))
}
