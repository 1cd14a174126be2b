//! The Wayland session: what its compositor lets a program do.

use flowpipe_desktop::{Capabilities, Desktop, DesktopChoice, DesktopError, advice};
use flowpipe_wayland::{Globals, socket};
use wayland_client::Connection;

use super::time_limit::within_time;
use super::{Diagnosis, portal};

pub const WAYLAND: &str = "wayland";

const UNREACHABLE_ADVICE: &str =
    "check that the compositor of WAYLAND_DISPLAY runs, and that XDG_RUNTIME_DIR names its folder";
/// Of variables that name no compositor.
const WRONG_NAME_ADVICE: &str = "check that the compositor of WAYLAND_DISPLAY runs";
const NO_NAME_ADVICE: &str = "start flowpipe in a terminal of the desktop, or ";
const OTHER_ADVICE: &str = "set WAYLAND_DISPLAY and DBUS_SESSION_BUS_ADDRESS to those of one session, or desktop = \"mutter\" of \
     capture-screen and actuator-mouse to use that GNOME";
const NO_POINTER_ADVICE: &str = "games can be captured, not played: the compositor lacks \
     zwlr_virtual_pointer_manager_v1";
const LACKING_ADVICE: &str = "log in to an X11 session, or to one of GNOME, sway, labwc or another compositor with wlroots' \
     protocols, or start the desktop's portal (the package xdg-desktop-portal and that of your desktop). GNOME and \
     the portal answer on the session's bus: set DBUS_SESSION_BUS_ADDRESS to it if it is not set, or names another one";
const PORTAL_ADVICE: &str = "the desktop portal shows the screen: set monitor = 1 of capture-screen, and choose the game's monitor \
     in the dialog";
const PORTAL_WITHOUT_MOUSE_ADVICE: &str = "the desktop portal shows the screen and has no mouse: the game can be captured, \
     not played. Set monitor = 1 of capture-screen, and choose the game's monitor in the dialog";
#[cfg(target_os = "linux")]
pub const PIPEWIRE_ADVICE: &str = "start PipeWire (`systemctl --user start pipewire wireplumber`): all pictures of this session \
     come through it";
const NO_WINDOWS_ADVICE: &str =
    "capture a monitor or a region: of these compositors, only sway reports where windows are";

/// What is needed of a compositor, and what for.
const PICTURES: &str = "zwlr_screencopy_manager_v1";
const MOUSE: &str = "zwlr_virtual_pointer_manager_v1";
const MONITORS: &str = "zxdg_output_manager_v1";

/// How a compositor is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compositor {
    /// By wlroots' protocols, and by sway's own interface.
    Sway,
    /// By wlroots' protocols: sway, whose own socket SWAYSOCK does not name.
    UnnamedSway,
    /// By wlroots' protocols.
    Wlroots {
        /// Whether it has a virtual pointer.
        has_mouse: bool,
    },
    /// By Mutter's interfaces.
    Gnome,
    /// Through the desktop portal.
    Portal {
        /// Whether it controls the mouse.
        has_mouse: bool,
        /// Whether it reports where the pointer is.
        reports_pointer: bool,
    },
    /// By nothing: it has no interface that flowpipe knows.
    Other,
}

/// There is no Wayland session.
pub fn none() -> ([Diagnosis; 2], Option<Compositor>) {
    let found = "not a Wayland session";
    let portal = Diagnosis::skipped(portal::PORTAL, found);
    ([Diagnosis::ok(WAYLAND, found), portal], None)
}

/// What the session and its portal are good for, of which this is WAYLAND_DISPLAY, and how it is used, if it answers.
pub fn session(name: Option<&str>) -> ([Diagnosis; 2], Option<Compositor>) {
    let (portal, shown) = portal::finding();
    let (session, compositor) = compositor(name, shown);
    ([session, portal], compositor)
}

/// `portal`: it, if it shows the screen.
fn compositor(name: Option<&str>, portal: Option<Compositor>) -> (Diagnosis, Option<Compositor>) {
    let session = format!("a Wayland session ({})", name.unwrap_or("without a name"));
    let asked = match name {
        Some(_) => within_time(interfaces),
        None => Ok(Vec::new()),
    };
    let interfaces = match asked {
        Ok(interfaces) => interfaces,
        Err(reason) => {
            let found = format!("{session}: {reason}");
            let advice = format!("{WRONG_NAME_ADVICE}, or {}", advice::choose_socket());
            return (Diagnosis::problem(WAYLAND, found, advice), None);
        }
    };
    let needed = [
        (PICTURES, "pictures"),
        (MONITORS, "monitors"),
        (MOUSE, "mouse"),
    ];
    let has = |interface: &str| interfaces.iter().any(|it| it == interface);
    let (there, missing): (Vec<_>, Vec<_>) = needed
        .into_iter()
        .partition(|(interface, _)| has(interface));
    let words = |list: Vec<(&str, &str)>| {
        let words: Vec<&str> = list.into_iter().map(|(_, word)| word).collect();
        words.join(", ")
    };
    let unreachable = |reason: String| {
        let found = format!("{session}: {reason}");
        (Diagnosis::problem(WAYLAND, found, UNREACHABLE_ADVICE), None)
    };
    let desktop = match within_time(|| Ok(desktop())) {
        Ok(Ok(desktop)) => desktop,
        Ok(Err(DesktopError::OtherCompositor { .. })) => {
            let found = format!("{session}, and the GNOME on the session's bus is another one");
            return (Diagnosis::problem(WAYLAND, found, OTHER_ADVICE), None);
        }
        Ok(Err(error)) => return unreachable(error.to_string()),
        Err(reason) => return unreachable(reason),
    };
    let choice = desktop.as_ref().map(|it| it.choice);
    #[cfg(target_os = "linux")]
    if choice == Some(DesktopChoice::Mutter) {
        let compositor = flowpipe_desktop::pipewire_answers().then_some(Compositor::Gnome);
        return (super::gnome::finding(&session), compositor);
    }
    if choice != Some(DesktopChoice::Wlroots) {
        if name.is_none() && portal.is_none() {
            let advice = format!("{NO_NAME_ADVICE}{}", advice::join_wayland_session());
            let finding = Diagnosis::problem(WAYLAND, session, advice);
            return (finding, None);
        }
        let found = format!(
            "{session} without wlroots' protocols for: {}",
            words(missing)
        );
        #[cfg(target_os = "linux")]
        if portal.is_some() && !flowpipe_desktop::pipewire_answers() {
            let found = format!("{found}, in which PipeWire does not answer");
            return (Diagnosis::problem(WAYLAND, found, PIPEWIRE_ADVICE), None);
        }
        let advice = match portal {
            Some(Compositor::Portal {
                has_mouse: false, ..
            }) => PORTAL_WITHOUT_MOUSE_ADVICE,
            Some(_) => PORTAL_ADVICE,
            None => LACKING_ADVICE,
        };
        let compositor = portal.or(Some(Compositor::Other));
        let finding = match compositor {
            Some(Compositor::Portal {
                has_mouse: true, ..
            }) => Diagnosis::ok(WAYLAND, found).advised(advice),
            _ => Diagnosis::warning(WAYLAND, found, advice),
        };
        return (finding, compositor);
    }
    if !has(MOUSE) {
        let found = format!(
            "{session}: {}, and no virtual pointer: no mouse",
            words(there)
        );
        let finding = Diagnosis::warning(WAYLAND, found, NO_POINTER_ADVICE);
        return (finding, Some(Compositor::Wlroots { has_mouse: false }));
    }
    if !desktop.as_ref().is_some_and(|it| it.capabilities.windows) {
        let found = format!("{session}: {}; where windows are is unknown", words(there));
        return match desktop.and_then(|it| it.missing_variable) {
            Some(variable) => {
                let finding = Diagnosis::warning(WAYLAND, found, variable);
                (finding, Some(Compositor::UnnamedSway))
            }
            None => {
                let finding = Diagnosis::ok(WAYLAND, found).advised(NO_WINDOWS_ADVICE);
                (finding, Some(Compositor::Wlroots { has_mouse: true }))
            }
        };
    }
    let found = format!("{session}: {}, windows (sway)", words(there));
    (Diagnosis::ok(WAYLAND, found), Some(Compositor::Sway))
}

/// The desktop that `"auto"` is.
struct AutoDesktop {
    choice: DesktopChoice,
    capabilities: Capabilities,
    /// What to set so that it reports more.
    missing_variable: Option<String>,
}

/// The desktop that `"auto"` is. `None`: there is none.
fn desktop() -> Result<Option<AutoDesktop>, DesktopError> {
    let desktop = Desktop::connect_wayland()?;
    Ok(desktop.and_then(|desktop| {
        Some(AutoDesktop {
            choice: DesktopChoice::of_session_name(&desktop.session_name())?,
            capabilities: desktop.capabilities(),
            missing_variable: desktop.missing_variable(),
        })
    }))
}

/// The interfaces of the compositor.
fn interfaces() -> Result<Vec<String>, String> {
    let path = socket::of_session().map_err(|error| error.to_string())?;
    let stream = socket::open(&path).map_err(|error| error.to_string())?;
    let connection = Connection::from_socket(stream).map_err(|error| error.to_string())?;
    let globals = Globals::of(&connection).map_err(|error| error.to_string())?;
    Ok(globals.interfaces())
}
