//! Which desktop the session decides for, as `desktop = "auto"` of `capture-screen` and `actuator-mouse` does, and what it
//! reports.

use flowpipe_desktop::session::{Session, Variables};

use super::Diagnosis;
use super::wayland::Compositor;

const DESKTOP: &str = "desktop";

/// The desktop of a session. `compositor`: of a Wayland session, if it answers.
pub fn finding(variables: &Variables, compositor: Option<Compositor>) -> Diagnosis {
    let session = variables.session();
    let by = match (variables.wayland.as_str(), &session) {
        (_, Session::None) => {
            return Diagnosis::skipped(DESKTOP, "neither DISPLAY nor WAYLAND_DISPLAY is set");
        }
        (_, Session::X11(name)) => format!("DISPLAY={name}"),
        ("", Session::Other) => "XDG_SESSION_TYPE=wayland".to_owned(),
        (name, Session::Other) => format!("WAYLAND_DISPLAY={name}"),
    };
    let described = match (session == Session::Other, compositor) {
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
            "mutter (GNOME): it reports the pointer's place, not windows or which keys are down"
        }
        (
            true,
            Some(Compositor::Portal {
                reports_pointer: true,
            }),
        ) => {
            "portal: it asks in a dialog, and reports the pointer's place, not windows or which keys are down"
        }
        (
            true,
            Some(Compositor::Portal {
                reports_pointer: false,
            }),
        ) => {
            "portal: it asks in a dialog, and reports neither windows, the pointer's place nor which keys are down"
        }
        (true, Some(Compositor::Other)) => "the crate xcap, with which nobody has played",
        (true, None) => {
            let found = format!("\"auto\" is Wayland (by {by}), which does not answer");
            return Diagnosis::skipped(DESKTOP, found);
        }
    };
    Diagnosis::ok(DESKTOP, format!("\"auto\" is {described} (by {by})"))
}
