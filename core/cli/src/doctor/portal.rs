//! The desktop portal of a Wayland session: what it offers. It is asked for no permission.

use super::Diagnosis;
#[cfg(target_os = "linux")]
use super::time_limit::within_time;

pub const PORTAL: &str = "portal";

/// What the portal offers, and whether that is the screen.
#[cfg(target_os = "linux")]
pub fn finding() -> (Diagnosis, bool) {
    use flowpipe_desktop::portal::capabilities::Capabilities;

    let asked = within_time(|| Ok(Capabilities::of_session()));
    let Some(offered) = asked.ok().flatten() else {
        let found = "no desktop portal answers on the session's bus";
        return (Diagnosis::skipped(PORTAL, found), false);
    };
    let screen = match (offered.sources.monitors, offered.sources.windows) {
        _ if offered.screen_cast == 0 => "no ScreenCast: no pictures".to_owned(),
        (false, false) => format!("ScreenCast {} of nothing", offered.screen_cast),
        (true, false) => format!("ScreenCast {} of monitors", offered.screen_cast),
        (false, true) => format!("ScreenCast {} of windows", offered.screen_cast),
        (true, true) => format!("ScreenCast {} of monitors and windows", offered.screen_cast),
    };
    let mouse = match offered.controls_mouse() {
        true => format!("RemoteDesktop {} with a pointer", offered.remote_desktop),
        false => "no RemoteDesktop with a pointer: no mouse".to_owned(),
    };
    let found = format!("the desktop portal has {screen}; {mouse}");
    (Diagnosis::ok(PORTAL, found), offered.shows_screen())
}

/// Only Linux has one that is known here.
#[cfg(not(target_os = "linux"))]
pub fn finding() -> (Diagnosis, bool) {
    (
        Diagnosis::skipped(PORTAL, "can't be checked on this system"),
        false,
    )
}
