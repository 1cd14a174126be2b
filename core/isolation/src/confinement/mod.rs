//! The confinement of a plugin's code in its own process: it may do what its manifest declares, and no more. Landlock
//! and seccomp enforce that on Linux.
//!
//! # Layout
//! - `files`: which files it may read and write. `libraries`: which libraries. `display`: the display server.
//! - `rules`: all of these, as rules of the system. `absent`: other systems, without rules.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod display;
mod files;
#[cfg(target_os = "linux")]
mod libraries;
#[cfg(target_os = "linux")]
mod rules;

use std::fmt;
use std::io;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Once;

#[cfg(not(target_os = "linux"))]
use absent as rules;
pub use files::Files;
use flowpipe_config::effects::EffectKind;
use flowpipe_config::manifest::Manifest;
/// What [`confine`] can't enforce on this system, each as a sentence.
pub use flowpipe_confinement::gaps;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a process may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// Everything that its user may do, except administrators' calls and access to other processes. Its manifest
    /// declares no effects, or it runs commands, whose effects are unknown.
    Loose,
    /// This and nothing else.
    To(Permissions),
}

/// What a process may do besides working with what it is sent: reading system libraries, and its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// What it may read.
    pub reads: Files,
    /// What it may write and read: these are prepared before it is confined.
    pub writes: Files,
    /// It may talk to the display server.
    pub uses_display: bool,
    /// It may talk to other machines.
    pub uses_network: bool,
}

impl Confinement {
    /// What code without any effect needs.
    #[must_use]
    pub fn without_effects() -> Self {
        Self::To(Permissions::default())
    }

    /// What a stage needs for what its manifest declares, with this config.
    #[must_use]
    pub fn of(manifest: &Manifest, config: &Value) -> Self {
        let Some(effects) = manifest.effects_with(config) else {
            return Self::Loose;
        };
        let mut permissions = Permissions::default();
        for effect in effects {
            let files = || Files::from_paths(effect.paths(manifest, config));
            match effect.kind {
                EffectKind::ReadsFiles => permissions.reads.add(files()),
                EffectKind::WritesFiles => permissions.writes.add(files()),
                EffectKind::ReadsScreen | EffectKind::DrivesMouse => {
                    permissions.uses_display = true;
                }
                EffectKind::UsesNetwork => permissions.uses_network = true,
                // It runs commands, or does what is not listed here: what that needs is unknown.
                _ => return Self::Loose,
            }
        }
        Self::To(permissions)
    }

    /// Creates what a stage is to write, so that [`confine`] can allow it. `dry`: no files, which sinks do not write then;
    /// other stages fill their folders in dry runs too.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no such processes"))]
    pub(crate) fn prepare(&self, dry: bool) {
        if let Self::To(permissions) = self {
            permissions.writes.prepare(dry);
        }
    }

    /// An error's text, with what may be behind it where the system refused something to a confined process.
    #[must_use]
    pub fn explain(&self, text: String) -> String {
        /// How the system and libraries report that something is not permitted.
        const REFUSALS: [&str; 6] = [
            "permission denied",
            "operation not permitted",
            "eacces",
            "eperm",
            "os error 13)",
            "os error 1)",
        ];
        let lower = text.to_lowercase();
        match self {
            Self::To(permissions) if REFUSALS.iter().any(|it| lower.contains(it)) => {
                format!("{text} ({permissions})")
            }
            _ => text,
        }
    }
}

/// What a confined process was not permitted to read, although a library says that it is linked with what lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// The library that is loaded.
    pub library: PathBuf,
    /// Which folder, and why.
    pub reason: String,
}

#[cfg(unix)]
impl Unreadable {
    /// Why a library can't be loaded, with what may be behind it.
    pub(crate) fn explain(all: &[Self], library: &Path, error: String) -> String {
        // As the loaders of glibc and musl say it when they do not find a library that another one needs.
        let is_missing = error.contains("shared object file") || error.contains("shared library");
        let of_library = all.iter().find(|it| it.library == library);
        match of_library {
            Some(it) if is_missing => {
                let reason = &it.reason;
                format!("{error} (a folder that it is linked with is not used: {reason})")
            }
            _ => error,
        }
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut may = Vec::new();
        may.extend(self.reads.in_words("read"));
        may.extend(self.writes.in_words("write"));
        if self.uses_display {
            may.push("use the display".to_owned());
        }
        if self.uses_network {
            may.push("use the network".to_owned());
        }
        formatter.write_str("the stage is confined to the effects that its plugin declares: ")?;
        match may.as_slice() {
            [] => formatter.write_str("none"),
            may => write!(formatter, "it may {}", may.join(", ")),
        }
    }
}

/// Confines this process, once and for all, with all that it starts. To be called before it has a second thread: one
/// that runs already is not confined. `libraries`: the files that it is about to load.
///
/// What the system can't enforce is not enforced; see [`warn_of_gaps`]. Returns what the libraries say that they are linked
/// with, and can't be read all the same.
///
/// # Errors
/// When the system refuses what it can do. Nothing of others may run in this process then.
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no such processes"))]
pub(crate) fn confine(
    confinement: &Confinement,
    libraries: &[PathBuf],
) -> Result<Vec<Unreadable>, String> {
    let failed = |error: io::Error| format!("its process can't be confined: {error}");
    let (rules, unreadable) = rules::of(confinement, libraries).map_err(failed)?;
    rules.enforce().map_err(failed)?;
    Ok(unreadable)
}

/// Logs, once in the program, what [`confine`] can't enforce on this system.
pub fn warn_of_gaps() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for gap in gaps() {
            tracing::warn!("isolated stages are not confined wholly: {gap}");
        }
    });
}

#[cfg(test)]
mod tests;
