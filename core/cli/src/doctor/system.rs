//! Permissions, confinement and disk space.

use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_isolation::confinement;

use super::Diagnosis;

const PERMISSIONS: &str = "permissions";
const CONFINEMENT: &str = "confinement";
const DISK: &str = "disk-space";

const PERMISSIONS_ADVICE: &str = "start flowpipe in a folder of yours, name outputs in one (`--record FILE`), and check \
     the owner of the folders (`ls -ld`)";
const CONFINEMENT_ADVICE: &str =
    "Linux 6.12 or newer confines wholly; until then don't use plugins that you don't trust";
#[cfg(unix)]
const DISK_ADVICE: &str = "free space there, or record elsewhere (`--record FILE`)";

/// Less free space is a warning: a long recording needs it.
#[cfg(unix)]
const LITTLE: u64 = 2 << 30;
/// With less, a recording fails soon.
#[cfg(unix)]
const TOO_LITTLE: u64 = 64 << 20;

/// Whether the folders that the program writes to can be written to.
pub fn permissions() -> Diagnosis {
    let mut folders = vec![(PathBuf::from("."), "the working folder, for recordings")];
    if let Ok(own) = choose_native_strategy() {
        let state = own.state_dir().unwrap_or_else(|| own.data_dir());
        folders.push((state, "for what games need from the mouse"));
        folders.push((own.data_dir(), "for installed plugins"));
    }
    let wrong: Vec<String> = folders
        .iter()
        .filter(|(folder, _)| !can_write(existing(folder)))
        .map(|(folder, use_of)| {
            let folder = existing(folder).display();
            format!("{folder} can't be written to ({use_of})")
        })
        .collect();
    match wrong.is_empty() {
        true => Diagnosis::ok(
            PERMISSIONS,
            "the folders that are written to can be written to",
        ),
        false => Diagnosis::warning(PERMISSIONS, wrong.join("\n"), PERMISSIONS_ADVICE),
    }
}

/// The nearest folder that exists: those below it would be created.
fn existing(folder: &Path) -> &Path {
    let mut all = folder.ancestors();
    all.find(|it| it.exists()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn can_write(folder: &Path) -> bool {
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, access).is_ok()
}

#[cfg(not(unix))]
fn can_write(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|it| !it.permissions().readonly())
}

/// What isolated stages are not confined from.
pub fn confinement() -> Diagnosis {
    if !cfg!(target_os = "linux") {
        let found = "isolated stages are confined on Linux only";
        return Diagnosis::skipped(CONFINEMENT, found);
    }
    let gaps = confinement::gaps();
    match gaps.is_empty() {
        true => Diagnosis::ok(
            CONFINEMENT,
            "isolated stages are confined (Landlock, seccomp)",
        ),
        false => Diagnosis::warning(CONFINEMENT, gaps.join("\n"), CONFINEMENT_ADVICE),
    }
}

/// Whether there is space for recordings in the working folder.
#[cfg(unix)]
pub fn disk_space() -> Diagnosis {
    match rustix::fs::statvfs(".") {
        Err(error) => Diagnosis::skipped(DISK, format!("the system does not report it: {error}")),
        Ok(there) => space(there.f_bavail.saturating_mul(there.f_frsize)),
    }
}

#[cfg(not(unix))]
pub fn disk_space() -> Diagnosis {
    Diagnosis::skipped(DISK, "can't be checked on this system")
}

#[cfg(unix)]
fn space(free: u64) -> Diagnosis {
    let found = format!(
        "{} MiB free in the working folder, for recordings",
        free >> 20
    );
    match free {
        ..TOO_LITTLE => Diagnosis::problem(DISK, found, DISK_ADVICE),
        TOO_LITTLE..LITTLE => Diagnosis::warning(DISK, found, DISK_ADVICE),
        _ => Diagnosis::ok(DISK, found),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::Severity;
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_almost_none_a_problem() {
        assert_eq!(space(u64::MAX).severity, Severity::Ok);
        let little = space(1 << 30);
        assert_eq!(little.severity, Severity::Warning);
        assert!(little.found.starts_with("1024 MiB free"), "{little:?}");
        assert_eq!(space(1 << 20).severity, Severity::Problem);
    }

    #[test]
    fn a_missing_folder_is_judged_by_the_nearest_one_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("a/b/c");
        assert_eq!(existing(&missing), folder.path());
        assert!(can_write(existing(&missing)));
        assert!(!can_write(&missing));
    }
}
