//! Which desktop the session decides for, as `desktop = "auto"` of `capture-screen` and `actuator-mouse` does, and what it
//! reports.

use flowpipe_desktop::session::{Session, Variables};
use flowpipe_desktop::{Capabilities, Unreported};

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
    let (name, capabilities) = match (session == Session::Other, compositor) {
        (false, _) => ("x11", Capabilities::X11),
        (true, Some(Compositor::Sway)) => ("wlroots (sway)", Capabilities::SWAY),
        (true, Some(Compositor::Wlroots)) => ("wlroots", Capabilities::WLROOTS),
        (true, Some(Compositor::Gnome)) => ("mutter (GNOME)", Capabilities::MUTTER),
        (true, Some(Compositor::Portal { reports_pointer })) => (
            "portal, which asks in a dialog",
            Capabilities {
                pointer: reports_pointer,
                ..Capabilities::PORTAL
            },
        ),
        (true, Some(Compositor::Other)) => (
            "the crate xcap, with which nobody has played",
            Capabilities::XCAP,
        ),
        (true, None) => {
            let found = format!("\"auto\" is Wayland (by {by}), which does not answer");
            return Diagnosis::skipped(DESKTOP, found);
        }
    };
    let found = format!("\"auto\" is {name} (by {by}). It reports {capabilities}");
    let finding = Diagnosis::ok(DESKTOP, found);
    match advice(capabilities) {
        Some(advice) => finding.advised(advice),
        None => finding,
    }
}

/// What to set for a desktop that does not report all that a run relies on. `None`: nothing.
fn advice(capabilities: Capabilities) -> Option<String> {
    let names: Vec<String> = capabilities
        .unreported()
        // `any_window` accepts it.
        .filter(|&it| capabilities.windows || it != Unreported::Covered)
        .map(|it| format!("\"{it}\""))
        .collect();
    let any_window = match capabilities.windows {
        true => "",
        false => "any_window = true and ",
    };
    let options = match capabilities.windows {
        true => "--window TITLE",
        false => "--set capture-screen.monitor=1 --set actuator-mouse.any_window=true",
    };
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "to play there, set {any_window}accept = [{names}] of actuator-mouse; for one run: `flowpipe run live {options} \
             --set actuator-mouse.accept='[{names}]'`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_has_to_be_accepted() {
        assert_eq!(advice(Capabilities::X11), None);
        let sway = "to play there, set accept = [\"pointer\", \"hotkey\", \"covered\"] of actuator-mouse; for one run: \
                    `flowpipe run live --window TITLE --set actuator-mouse.accept='[\"pointer\", \"hotkey\", \"covered\"]'`";
        assert_eq!(advice(Capabilities::SWAY).as_deref(), Some(sway));
        let gnome = "to play there, set any_window = true and accept = [\"hotkey\"] of actuator-mouse; for one run: \
                     `flowpipe run live --set capture-screen.monitor=1 --set actuator-mouse.any_window=true --set \
                     actuator-mouse.accept='[\"hotkey\"]'`";
        assert_eq!(advice(Capabilities::MUTTER).as_deref(), Some(gnome));
    }
}
