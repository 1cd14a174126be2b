//! What `flowpipe doctor` consists of: it checks what playing needs, and changes nothing.
//!
//! - [`display`]: the display, its window manager, XTEST. [`wayland`]: what a Wayland session is good for, and `gnome` one
//!   of GNOME. [`portal`]: what the desktop portal offers. [`desktop`]: which of them is used.
//! - [`loaded`]: plugin folders, and vision-opencv.
//! - [`system`]: permissions, confinement, disk space. [`time_limit`]: questions that may get no answer.

#[cfg(all(unix, not(target_os = "macos")))]
mod desktop;
#[cfg(all(unix, not(target_os = "macos")))]
mod display;
#[cfg(not(all(unix, not(target_os = "macos"))))]
#[path = "display_other.rs"]
mod display;
#[cfg(target_os = "linux")]
mod gnome;
mod loaded;
#[cfg(all(unix, not(target_os = "macos")))]
mod portal;
mod system;
#[cfg(all(unix, not(target_os = "macos")))]
mod time_limit;
#[cfg(all(unix, not(target_os = "macos")))]
mod wayland;

use serde::Serialize;

use crate::args::Global;
use crate::plugins;

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// The check's name.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// How bad a diagnosis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// It can't be checked here.
    Skipped,
    /// Some commands and pipelines do not work; others do.
    Warning,
    /// What is set up does not work.
    Problem,
}

impl Diagnosis {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self::without_advice(check, Severity::Ok, found.into())
    }

    fn skipped(check: &'static str, found: impl Into<String>) -> Self {
        Self::without_advice(check, Severity::Skipped, found.into())
    }

    fn warning(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let found = Self::without_advice(check, Severity::Warning, found.into());
        found.advised(advice)
    }

    fn problem(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let found = Self::without_advice(check, Severity::Problem, found.into());
        found.advised(advice)
    }

    fn without_advice(check: &'static str, severity: Severity, found: String) -> Self {
        Self {
            check,
            severity,
            found,
            advice: None,
        }
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        Self {
            advice: Some(advice.into()),
            ..self
        }
    }
}

/// Runs all checks.
pub fn findings(global: &Global) -> Vec<Diagnosis> {
    let folders = plugins::folders(global);
    let catalogue = plugins::load_from(&folders);
    let mut findings = display::findings();
    findings.push(system::permissions());
    findings.push(system::confinement());
    findings.push(loaded::folders(&folders, &catalogue));
    findings.push(loaded::opencv(&catalogue));
    findings.push(system::disk_space());
    findings
}
