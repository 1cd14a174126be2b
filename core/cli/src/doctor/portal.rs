//! The desktop portal of a Wayland session: what it offers. It is asked for no permission.

use super::Diagnosis;
#[cfg(target_os = "linux")]
use super::time_limit::within_time;
use super::wayland::Compositor;

pub const PORTAL: &str = "portal";

/// What the portal offers, and the portal as the session's compositor if it shows the screen.
#[cfg(target_os = "linux")]
pub fn finding() -> (Diagnosis, Option<Compositor>) {
    use flowpipe_desktop::portal::offer::PortalOffer;

    let asked = within_time(|| Ok(PortalOffer::of_session()));
    let Some(offered) = asked.ok().flatten() else {
        let found = "no desktop portal answers on the session's bus";
        return (Diagnosis::skipped(PORTAL, found), None);
    };
    let screen = match (offered.sources.monitors, offered.sources.windows) {
        _ if offered.screen_cast == 0 => "no ScreenCast: no pictures".to_owned(),
        (false, false) => format!("ScreenCast {} of nothing", offered.screen_cast),
        (true, false) => format!("ScreenCast {} of monitors", offered.screen_cast),
        (false, true) => format!("ScreenCast {} of windows", offered.screen_cast),
        (true, true) => format!("ScreenCast {} of monitors and windows", offered.screen_cast),
    };
    let reports_pointer = offered.reports_pointer();
    let place = match reports_pointer {
        true => "whose place it reports",
        false => "whose place it does not report",
    };
    let way = match offered.offers_libei() {
        true => ", through libei if the desktop behind it has that",
        false => "",
    };
    let has_mouse = offered.controls_mouse();
    let mouse = match has_mouse {
        true => format!(
            "RemoteDesktop {} with a pointer, {place}{way}",
            offered.remote_desktop
        ),
        false => "no RemoteDesktop with a pointer: no mouse".to_owned(),
    };
    let found = format!("the desktop portal has {screen}; {mouse}");
    let portal = Compositor::Portal {
        has_mouse,
        reports_pointer,
    };
    let shown = offered.shows_screen().then_some(portal);
    (Diagnosis::ok(PORTAL, found), shown)
}

/// Only Linux has one that is known here.
#[cfg(not(target_os = "linux"))]
pub fn finding() -> (Diagnosis, Option<Compositor>) {
    let found = "can't be checked on this system";
    (Diagnosis::skipped(PORTAL, found), None)
}
