//! The lock of a session's mouse: one run at a time controls it.

#[cfg(all(unix, not(target_os = "macos")))]
mod pointers;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use flowpipe_terminal::eprintln;

use crate::exit::Failure;
use crate::mouse_driver::MouseDriver;
use crate::user_folder;

/// Holds the lock until it is dropped, or the program ends.
#[derive(Debug, Default)]
pub struct MouseLock {
    /// One for each name of the pointer.
    held: BTreeMap<String, File>,
}

impl MouseLock {
    /// Takes the lock of this session, by all names that its pointer has, unless this holds it already. `driver`: what
    /// drives the mouse. Does nothing outside of a session. Returns the names that this did not hold.
    ///
    /// A machine on which no lock can be created prints that, and plays.
    ///
    /// # Errors
    /// When another run controls the mouse. Then this holds what it has held before.
    pub fn take(&mut self, driver: &MouseDriver) -> Result<Vec<String>, Failure> {
        let mut taken = BTreeMap::new();
        for name in names(driver.desktop.as_deref()) {
            if self.held.contains_key(&name) {
                continue;
            }
            let path = |folder: PathBuf| folder.join(file_name(&name));
            match user_folder::open().and_then(|folder| lock(&path(folder))) {
                Ok(Ok(file)) => {
                    taken.insert(name, file);
                }
                Ok(Err(holder)) => return Err(Failure::Run(held(&name, holder))),
                Err(error) => {
                    eprintln!(
                        "can't find out whether another run controls the mouse of this session ({error}): start one at a \
                         time"
                    );
                    break;
                }
            }
        }
        let names = taken.keys().cloned().collect();
        self.held.append(&mut taken);
        Ok(names)
    }

    /// Releases the lock by these names of the pointer.
    pub fn release(&mut self, names: &[String]) {
        self.held.retain(|name, _| !names.contains(name));
    }
}

/// The names of the pointer.
#[cfg(all(unix, not(target_os = "macos")))]
fn names(desktop: Option<&str>) -> Vec<String> {
    pointers::names(|name| std::env::var_os(name), desktop)
}

/// The names of the pointer: there is one.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn names(_: Option<&str>) -> Vec<String> {
    vec!["desktop".to_owned()]
}

/// The file of a name: what a file name can't contain is replaced.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let plain = name.replace(|c| !is_plain(c), "_");
    // A file name has at most 255 bytes on common systems.
    let start = plain.len().saturating_sub(200);
    format!("mouse-{}.lock", &plain[start..])
}

/// Locks a file and writes the process into it, or returns the process that has locked it, if it can be read.
fn lock(path: &Path) -> io::Result<Result<File, Option<u32>>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())?;
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // On systems where a lock prevents reading, the process is unknown.
            let _ = file.take(16).read_to_string(&mut text);
            Ok(Err(text.parse().ok()))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Why the lock can't be taken.
fn held(name: &str, holder: Option<u32>) -> String {
    let process = match holder {
        Some(pid) => format!(" (process {pid})"),
        None => String::new(),
    };
    format!(
        "another run{process} controls the mouse of this session, {name}: each would press into the other's game. \
         End it first, by Ctrl-C in its terminal"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_made_of_any_session() {
        assert_eq!(file_name(":1"), "mouse-_1.lock");
        assert_eq!(file_name("../a/b"), "mouse-.._a_b.lock");
        assert_eq!(file_name(&"é".repeat(900)).len(), 211);
    }

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mouse-_1.lock");
        std::fs::write(&path, "what an earlier version wrote").unwrap();
        let first = lock(&path).unwrap().unwrap();
        let holder = lock(&path).unwrap().unwrap_err();
        if cfg!(unix) {
            assert_eq!(holder, Some(std::process::id()));
        }
        drop(first);
        drop(lock(&path).unwrap().unwrap());
    }
}
