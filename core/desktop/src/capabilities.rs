//! What a desktop reports of what may happen while the mouse plays.

use std::fmt;

/// How the names of sessions of sway begin, where its own interface is used. Other compositors with wlroots' protocols report
/// less.
pub(crate) const SWAY: &str = "wlroots (sway)";

/// What a desktop reports of what may happen while the mouse plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Where windows are.
    pub windows: bool,
    /// What covers a window.
    pub covers: Covers,
    /// Where the pointer is, at once or later.
    pub pointer: bool,
    /// Whether a key is pressed that is watched, whichever window has the keyboard.
    pub hotkey: bool,
}

/// What a desktop reports of what covers a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// All: windows, panels, notifications, menus.
    All,
    /// Other windows.
    Windows,
    /// Nothing. At most whether the window has the keyboard.
    Nothing,
}

/// What some desktops do not report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "config",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum Unreported {
    /// Where the pointer is: a person who moves the mouse, also into a corner, does not end the run.
    Pointer,
    /// The hotkey: it does not end the run.
    Hotkey,
    /// What covers the window, such as panels and notifications: a press may go to that. `any_window = true` accepts it
    /// too.
    Covered,
}

impl Capabilities {
    /// X11.
    pub const X11: Self = Self {
        windows: true,
        covers: Covers::All,
        pointer: true,
        hotkey: true,
    };
    /// Xwayland, the X server of a Wayland session. It reports its own windows alone, and of the pointer and the keys what is
    /// over them.
    pub const XWAYLAND: Self = Self {
        windows: true,
        ..Self::WLROOTS
    };
    /// Compositors with wlroots' protocols.
    pub const WLROOTS: Self = Self {
        windows: false,
        covers: Covers::Nothing,
        pointer: false,
        hotkey: false,
    };
    /// Sway, also by its own interface.
    pub const SWAY: Self = Self {
        windows: true,
        covers: Covers::Windows,
        hotkey: true,
        ..Self::WLROOTS
    };
    /// GNOME on Wayland.
    pub const MUTTER: Self = Self {
        pointer: true,
        ..Self::WLROOTS
    };
    /// The desktop portal, where it does not report the pointer's place.
    pub const PORTAL: Self = Self::WLROOTS;
    /// The crate xcap. It does not report the pointer's place: only the mouse knows it, during a stroke.
    pub const XCAP: Self = Self {
        windows: true,
        ..Self::WLROOTS
    };

    /// What is reported in a session, by its name ([`crate::Desktop::session_name`]), as far as that is certain. `None`: no
    /// session is called so.
    #[must_use]
    pub fn of_session_name(name: &str) -> Option<Self> {
        let is_sway = name
            .strip_prefix(SWAY)
            .is_some_and(|rest| rest.starts_with(' '));
        match name.split(' ').next()? {
            _ if is_sway => Some(Self::SWAY),
            "x11" => Some(Self::X11),
            "xwayland" => Some(Self::XWAYLAND),
            "wlroots" => Some(Self::WLROOTS),
            "mutter" => Some(Self::MUTTER),
            "portal" => Some(Self::PORTAL),
            "xcap" => Some(Self::XCAP),
            _ => None,
        }
    }

    /// What is not reported.
    pub fn unreported(self) -> impl Iterator<Item = Unreported> {
        let missing = [
            (Unreported::Pointer, !self.pointer),
            (Unreported::Hotkey, !self.hotkey),
            (Unreported::Covered, self.covers != Covers::All),
        ];
        missing
            .into_iter()
            .filter_map(|(what, is_missing)| is_missing.then_some(what))
    }

    /// What is missing where something is not reported, and what follows from that.
    #[must_use]
    pub fn describe(self, what: Unreported) -> &'static str {
        match (what, self.covers) {
            (Unreported::Covered, _) if !self.windows => {
                "whether the window moves and what covers it (a press on the board may go to something else)"
            }
            (Unreported::Pointer, _) => {
                "where the pointer is (a person who moves the mouse, also into a corner, does not end the run) and which \
                 buttons you hold (while you hold one, presses go to where you hold it)"
            }
            (Unreported::Hotkey, _) => "the hotkey (it does not end the run)",
            (Unreported::Covered, Covers::Windows) => {
                "panels, notifications and menus over the window (a press on the board may go to them)"
            }
            (Unreported::Covered, _) => {
                "what covers the window (a press on the board may go to that)"
            }
        }
    }
}

/// What is reported, such as `windows and the pointer's place, not the hotkey`.
impl fmt::Display for Capabilities {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("windows", self.windows),
            ("other windows over them", self.covers != Covers::Nothing),
            (
                "panels and notifications over them",
                self.covers == Covers::All,
            ),
            ("the pointer's place", self.pointer),
            ("the hotkey", self.hotkey),
        ];
        let (there, missing): (Vec<_>, Vec<_>) = parts.into_iter().partition(|it| it.1);
        let words = |list: &[(&str, bool)], last: &str| {
            let words: Vec<&str> = list.iter().map(|it| it.0).collect();
            match words.split_last() {
                Some((end, [])) => (*end).to_owned(),
                Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
                None => String::new(),
            }
        };
        match (there.is_empty(), missing.is_empty()) {
            (_, true) => to.write_str(&words(&there, "and")),
            (true, false) => write!(to, "nothing: not {}", words(&missing, "or")),
            (false, false) => {
                write!(
                    to,
                    "{}, not {}",
                    words(&there, "and"),
                    words(&missing, "or")
                )
            }
        }
    }
}

impl fmt::Display for Unreported {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Pointer => "pointer",
            Self::Hotkey => "hotkey",
            Self::Covered => "covered",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x11_alone_reports_all() {
        let missing = |capabilities: Capabilities| {
            let names = capabilities.unreported().map(|it| it.to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(missing(Capabilities::X11), "");
        assert_eq!(missing(Capabilities::XWAYLAND), "pointer hotkey covered");
        assert_eq!(missing(Capabilities::SWAY), "pointer covered");
        assert_eq!(missing(Capabilities::MUTTER), "hotkey covered");
        assert_eq!(missing(Capabilities::XCAP), "pointer hotkey covered");
        let covered = |capabilities: Capabilities| capabilities.describe(Unreported::Covered);
        assert!(covered(Capabilities::SWAY).starts_with("panels"));
        assert!(covered(Capabilities::XCAP).starts_with("what covers"));
        assert!(covered(Capabilities::MUTTER).starts_with("whether the window moves"));
    }

    #[test]
    fn what_is_reported_comes_first() {
        let all = "windows, other windows over them, panels and notifications over them, the pointer's place and the \
                   hotkey";
        assert_eq!(Capabilities::X11.to_string(), all);
        let mutter = "the pointer's place, not windows, other windows over them, panels and notifications over them or \
                      the hotkey";
        assert_eq!(Capabilities::MUTTER.to_string(), mutter);
        let wlroots = Capabilities::WLROOTS.to_string();
        assert!(wlroots.starts_with("nothing: not windows, "), "{wlroots}");
    }

    #[test]
    fn a_session_is_known_by_how_its_name_begins() {
        for (name, wanted) in [
            ("x11 :0", Some(Capabilities::X11)),
            ("xwayland :0", Some(Capabilities::XWAYLAND)),
            (
                "wlroots /run/user/1000/wayland-1",
                Some(Capabilities::WLROOTS),
            ),
            (
                "wlroots (sway) /run/user/1000/wayland-1",
                Some(Capabilities::SWAY),
            ),
            ("mutter unix:path=/run/bus", Some(Capabilities::MUTTER)),
            ("xcap", Some(Capabilities::XCAP)),
            ("x11rb :0", None),
            ("", None),
        ] {
            assert_eq!(Capabilities::of_session_name(name), wanted, "{name}");
        }
    }
}
