//! Which desktop the session decides for, as `desktop = "auto"` of `capture-screen` and `actuator-mouse` does, and what it
//! reports.

use flowpipe_desktop::session::{Session, Variables};
use flowpipe_desktop::{Acceptance, Capabilities, advice};

use super::Diagnosis;
use super::wayland::Compositor;

const DESKTOP: &str = "desktop";
const NO_MOUSE_ADVICE: &str =
    "games can be captured, not played: this desktop does not let programs control the mouse";
const NO_DESKTOP_ADVICE: &str =
    "nothing can be captured or played there: see the check of the Wayland session";
const SWAY_ADVICE: &str = "follow the advice of the check wayland about SWAYSOCK, and check again: windows and the hotkey are \
     reported then";

/// The desktop of a session. `compositor`: of a Wayland session, if it answers. `is_xwayland`: whether the X server of a display
/// belongs to a Wayland session, if it answers.
pub fn finding(
    variables: &Variables,
    compositor: Option<Compositor>,
    is_xwayland: impl FnOnce(&str) -> Option<bool>,
) -> Diagnosis {
    let session = variables.session();
    let x_server = match session {
        Session::X11(display) => Some((display, is_xwayland(display))),
        _ => None,
    };
    if let Some((display, None)) = x_server {
        let found = format!("\"auto\" is x11 (by DISPLAY={display}), which does not answer");
        return Diagnosis::skipped(DESKTOP, found);
    }
    if let Some((display, Some(true))) = x_server {
        let found = format!(
            "\"auto\" is an error: the X server of DISPLAY={display} belongs to a Wayland session. It reports {}",
            Capabilities::XWAYLAND
        );
        let x11 = Acceptance::of(Capabilities::XWAYLAND, |_| true).keys();
        let advice = format!(
            "for live play {}. Or set desktop = \"x11\" of capture-screen and actuator-mouse, and {x11} of actuator-mouse",
            advice::join_wayland_session()
        );
        return Diagnosis::warning(DESKTOP, found, advice);
    }
    let by = match (variables.wayland.as_str(), &session) {
        (_, Session::None) => {
            return Diagnosis::skipped(DESKTOP, "neither DISPLAY nor WAYLAND_DISPLAY is set");
        }
        (_, Session::X11(name)) => format!("DISPLAY={name}"),
        ("", Session::Other) => "XDG_SESSION_TYPE=wayland".to_owned(),
        (name, Session::Other) => format!("WAYLAND_DISPLAY={name}"),
    };
    let (name, capabilities, has_mouse) = match (session == Session::Other, compositor) {
        (false, _) => ("x11", Capabilities::X11, true),
        (true, Some(Compositor::Sway)) => ("wlroots (sway)", Capabilities::SWAY, true),
        (true, Some(Compositor::UnnamedSway)) => {
            let found = format!(
                "\"auto\" is wlroots (sway, {}, by {by}). It reports {}",
                unnamed(std::env::var_os("SWAYSOCK").is_some_and(|it| !it.is_empty())),
                Capabilities::WLROOTS
            );
            return Diagnosis::ok(DESKTOP, found).advised(SWAY_ADVICE);
        }
        (true, Some(Compositor::Wlroots { has_mouse })) => {
            ("wlroots", Capabilities::WLROOTS, has_mouse)
        }
        (true, Some(Compositor::Gnome)) => ("mutter (GNOME)", Capabilities::MUTTER, true),
        (
            true,
            Some(Compositor::Portal {
                has_mouse,
                reports_pointer,
            }),
        ) => (
            "portal, which asks in a dialog",
            Capabilities {
                pointer: reports_pointer,
                ..Capabilities::PORTAL
            },
            has_mouse,
        ),
        (true, Some(Compositor::Other)) => {
            let found = format!(
                "\"auto\" is an error: this Wayland session (by {by}) has no interface by which flowpipe captures"
            );
            return Diagnosis::warning(DESKTOP, found, NO_DESKTOP_ADVICE);
        }
        (true, None) => {
            let found = format!("\"auto\" is Wayland (by {by}), which does not answer");
            return Diagnosis::skipped(DESKTOP, found);
        }
    };
    let without_mouse = match has_mouse {
        true => "",
        false => ". It has no mouse",
    };
    let found = format!("\"auto\" is {name} (by {by}). It reports {capabilities}{without_mouse}");
    let finding = Diagnosis::ok(DESKTOP, found);
    match advice(capabilities, has_mouse) {
        Some(advice) => finding.advised(advice),
        None => finding,
    }
}

/// How sway's own socket is not named.
fn unnamed(is_set: bool) -> &'static str {
    match is_set {
        true => "SWAYSOCK does not answer",
        false => "without SWAYSOCK",
    }
}

/// What to set for a desktop that does not report all that a run relies on. `None`: nothing. Without a mouse, that nothing can
/// be played there.
fn advice(capabilities: Capabilities, has_mouse: bool) -> Option<String> {
    if !has_mouse {
        return Some(NO_MOUSE_ADVICE.to_owned());
    }
    let acceptance = Acceptance::of(capabilities, |_| true);
    let window = match acceptance.needs_monitor() {
        true => "",
        false => "--window TITLE ",
    };
    (!acceptance.is_met_by(&[])).then(|| {
        format!(
            "to play there, set {} of actuator-mouse; for one run: `flowpipe run live {window}{}`",
            acceptance.keys(),
            acceptance.options()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_x_server_of_a_wayland_session_is_no_desktop() {
        let variables = Variables {
            x11: ":7".to_owned(),
            kind: "wayland".to_owned(),
            ..Variables::default()
        };
        let shown = |is_xwayland: Option<bool>| {
            let finding = finding(&variables, None, |display| {
                is_xwayland.filter(|_| display == ":7")
            });
            format!("{finding:?}")
        };
        assert!(shown(Some(false)).contains("is x11 (by DISPLAY=:7)"));
        let dead = shown(None);
        assert!(dead.contains("is x11 (by DISPLAY=:7), which does not answer"));
        assert!(!dead.contains("It reports"), "{dead}");
        let xwayland = shown(Some(true));
        for part in [
            "belongs to a Wayland session",
            "for live play set the variables of that session",
        ] {
            assert!(xwayland.contains(part), "{xwayland}");
        }
    }

    #[test]
    fn sway_without_its_socket_leads_to_it() {
        let variables = Variables {
            wayland: "wayland-1".to_owned(),
            ..Variables::default()
        };
        let finding = finding(&variables, Some(Compositor::UnnamedSway), |_| None);
        assert!(finding.found.contains("(sway, "), "{finding:?}");
        assert_eq!(unnamed(false), "without SWAYSOCK");
        assert_eq!(unnamed(true), "SWAYSOCK does not answer");
        let advice = finding.advice.unwrap();
        assert!(advice.contains("about SWAYSOCK"), "{advice}");
        assert!(!advice.contains("accept"), "{advice}");
    }

    #[test]
    fn what_is_not_reported_has_to_be_accepted() {
        assert_eq!(advice(Capabilities::X11, true), None);
        let sway = "to play there, set accept = [\"pointer\", \"covered\"] of actuator-mouse; for one run: \
                    `flowpipe run live --window TITLE --set actuator-mouse.accept='[\"pointer\", \"covered\"]'`";
        assert_eq!(advice(Capabilities::SWAY, true).as_deref(), Some(sway));
        let gnome = "to play there, set any_window = true and accept = [\"hotkey\"] of actuator-mouse; for one run: \
                     `flowpipe run live --set capture-screen.monitor=1 --set actuator-mouse.any_window=true --set \
                     actuator-mouse.accept='[\"hotkey\"]'`";
        assert_eq!(advice(Capabilities::MUTTER, true).as_deref(), Some(gnome));
    }

    fn wayland() -> Variables {
        Variables {
            wayland: "wayland-0".to_owned(),
            ..Variables::default()
        }
    }

    #[test]
    fn a_compositor_without_a_known_interface_is_no_desktop() {
        let finding = finding(&wayland(), Some(Compositor::Other), |_| None);
        assert_eq!(finding.advice.as_deref(), Some(NO_DESKTOP_ADVICE));
    }

    #[test]
    fn nothing_is_played_without_a_mouse() {
        let portal = |has_mouse| Compositor::Portal {
            has_mouse,
            reports_pointer: true,
        };
        let wlroots = |has_mouse| Compositor::Wlroots { has_mouse };
        for (compositor, has_mouse) in [
            (wlroots(true), true),
            (wlroots(false), false),
            (portal(true), true),
            (portal(false), false),
            (Compositor::Gnome, true),
        ] {
            let finding = finding(&wayland(), Some(compositor), |_| None);
            let advice = finding.advice.unwrap();
            let to_play = advice.contains("to play there, set ");
            assert_eq!(to_play, has_mouse, "{compositor:?}: {advice}");
            assert_eq!(advice == NO_MOUSE_ADVICE, !has_mouse, "{compositor:?}");
        }
    }
}
