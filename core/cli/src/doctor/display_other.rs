//! Windows and macOS: what they ask of a program that looks at the screen and drives the mouse.

use super::Diagnosis;

const MACOS: &str = "in System Settings, Privacy & Security, allow the terminal Screen Recording and Accessibility, and \
     start it again";

pub fn findings() -> Vec<Diagnosis> {
    vec![match cfg!(target_os = "macos") {
        true => Diagnosis::warning("display", "can't be checked on macOS", MACOS),
        false => Diagnosis::skipped("display", "can't be checked on this system"),
    }]
}
