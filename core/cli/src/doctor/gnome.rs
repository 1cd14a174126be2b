//! GNOME's Wayland session: what its compositor, Mutter, lets a program do on the session's bus.

use super::Diagnosis;
use super::time_limit::within_time;
use super::wayland::{PIPEWIRE_ADVICE, WAYLAND};

const MONITORS_ADVICE: &str =
    "capture a monitor or a region; the check desktop names all that is to be set";

/// What a session of GNOME is good for, which is described so.
pub fn finding(session: &str) -> Diagnosis {
    if !flowpipe_desktop::pipewire_answers() {
        let found = format!("{session} of GNOME, in which PipeWire does not answer");
        return Diagnosis::problem(WAYLAND, found, PIPEWIRE_ADVICE);
    }
    let has_libei = || flowpipe_desktop::mutter_offers_libei().map_err(|error| error.to_string());
    let by = match within_time(has_libei) {
        Ok(true) => " through libei",
        _ => "",
    };
    let found =
        format!("{session} of GNOME: pictures, monitors, mouse{by}; where windows are is unknown");
    Diagnosis::ok(WAYLAND, found).advised(MONITORS_ADVICE)
}
