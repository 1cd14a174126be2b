//! What systems want before they show windows and pixels to a program.

/// On X11.
pub const X11: &str = "X11 asks for nothing; DISPLAY must name the screen";
/// On Wayland.
pub const WAYLAND: &str = "Wayland: flowpipe needs sway, another compositor with wlroots' protocols, GNOME, or a desktop \
     portal whose dialog you allow";
/// On Wayland, where there is a desktop.
const WAYLAND_OFFER: &str = "`flowpipe doctor` prints what this desktop offers";
/// On macOS.
pub const MACOS: &str = "macOS: allow this program (or the terminal that starts it) Screen Recording, and for the mouse \
     Accessibility, in System Settings under Privacy & Security, then start it again";
/// On Windows.
pub const WINDOWS: &str = "Windows asks for nothing, but shows neither the lock screen nor the windows of programs that \
     run as administrator";

/// What this system wants of who captures or plays, in brackets after an error. Empty on X11, which asks for nothing.
pub(crate) fn note() -> String {
    match hint() {
        X11 => String::new(),
        WAYLAND => format!(" ({WAYLAND_OFFER})"),
        hint => format!(" ({hint})"),
    }
}

/// What to do about a desktop that can't be reached, after its reason.
pub(crate) fn remedy() -> String {
    match hint() {
        X11 => format!(
            ": {}; `flowpipe doctor` checks it",
            crate::advice::choose_session()
        ),
        hint => format!(" ({hint}); `flowpipe doctor` checks it"),
    }
}

/// What this system wants.
#[must_use]
pub fn hint() -> &'static str {
    if cfg!(target_os = "macos") {
        MACOS
    } else if cfg!(windows) {
        WINDOWS
    } else if std::env::var_os("WAYLAND_DISPLAY").is_some_and(|name| !name.is_empty()) {
        WAYLAND
    } else {
        X11
    }
}
